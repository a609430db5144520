//! Made-up secrets of known kinds, and texts that they stand in. Prefixes are written in pieces, so that nothing here
//! looks like a secret itself.

use crate::random::{ALNUM, BASE32, BASE64, DIGITS, HEX, LOWER, Random, URL64};

/// How a kind is recognised, and how much may slip through.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// By its own form, without exception.
    Always,
    /// By its own form.
    ByForm,
    /// Only next to the name of what it is for.
    ByName,
}

pub(crate) struct Kind {
    /// What it is usually called where it is set.
    pub(crate) name: &'static str,
    pub(crate) known: Known,
    pub(crate) make: fn(&mut Random) -> String,
}

macro_rules! kinds {
    ($($name:literal $known:ident $random:ident => $make:expr;)*) => {
        pub(crate) const KINDS: &[Kind] = &[$(
            Kind { name: $name, known: Known::$known, make: |$random| $make },
        )*];
    };
}

kinds! {
    "AWS_ACCESS_KEY_ID" Always r => r.of(&["AK", "AS"]).to_owned() + "IA" + &r.text(BASE32, 16);
    "AWS_SECRET_ACCESS_KEY" ByName r => r.text(BASE64, 40);
    "GITHUB_TOKEN" Always r => r.of(&["ghp", "gho", "ghu", "ghs", "ghr"]).to_owned() + "_" + &r.text(ALNUM, 36);
    "GITHUB_PAT" Always r => format!("github{}_{}_{}", "_pat", r.text(ALNUM, 22), r.text(ALNUM, 59));
    "GITLAB_TOKEN" ByForm r => "glp".to_owned() + "at-" + &r.text(URL64, 20);
    "SLACK_BOT_TOKEN" ByForm r => ["xox", "b-", &r.text(DIGITS, 12), "-", &r.text(DIGITS, 12), "-", &r.text(ALNUM, 24)].concat();
    "SLACK_USER_TOKEN" ByForm r => {
        let numbers = [(); 3].map(|()| r.text(DIGITS, 12)).join("-");
        ["xox", "p-", &numbers, "-", &r.text(HEX, 32)].concat()
    };
    "SLACK_WEBHOOK" ByForm r => {
        ["https://hooks.slack", ".com/services/T", &r.text(BASE32, 8), "/B", &r.text(BASE32, 8), "/", &r.text(ALNUM, 24)].concat()
    };
    "STRIPE_KEY" ByForm r => r.of(&["sk", "rk"]).to_owned() + "_" + r.of(&["live", "test"]) + "_" + &r.between(ALNUM, 24, 99);
    "OPENAI_API_KEY" Always r => ["sk-", &r.text(ALNUM, 20), "T3Blbk", "FJ", &r.text(ALNUM, 20)].concat();
    "OPENAI_PROJECT_KEY" Always r => {
        let length = *r.of(&[&20, &58, &74]);
        let kind = r.of(&["proj", "svcacct", "admin", "None"]).to_lowercase();
        ["sk-", &kind, "-", &r.text(ALNUM, 1), &r.text(URL64, length - 1), "T3Blbk", "FJ", &r.text(URL64, length - 1), &r.text(ALNUM, 1)].concat()
    };
    "ANTHROPIC_API_KEY" Always r => ["sk-", "ant-", r.of(&["api03", "admin01", "oat01"]), "-", &r.text(URL64, 93), "AA"].concat();
    "GOOGLE_API_KEY" ByForm r => "AI".to_owned() + "zaSy" + &r.text(ALNUM, 32) + &r.text(URL64, 1);
    "GOOGLE_CLIENT_SECRET" ByForm r => "GOC".to_owned() + "SPX-" + &r.text(URL64, 28);
    "GOOGLE_REFRESH_TOKEN" ByForm r => "1/".to_owned() + "/0" + &r.text(URL64, 60) + &r.text(ALNUM, 1);
    "GOOGLE_ACCESS_TOKEN" ByForm r => "ya".to_owned() + "29." + &r.between(URL64, 120, 200) + &r.text(ALNUM, 1);
    "NPM_TOKEN" ByForm r => "np".to_owned() + "m_" + &r.text(ALNUM, 36);
    "PYPI_TOKEN" ByForm r => "pypi-AgEI".to_owned() + "cHlwaS5vcmc" + &r.between(URL64, 100, 160) + &r.text(ALNUM, 1);
    "CARGO_REGISTRY_TOKEN" ByForm r => "ci".to_owned() + "o" + &r.text(ALNUM, 32);
    "HF_TOKEN" ByForm r => "h".to_owned() + "f_" + &r.text(&(LOWER.to_owned() + &LOWER.to_uppercase()), 34);
    "SENDGRID_API_KEY" ByForm r => ["S", "G.", &r.text(URL64, 22), ".", &r.text(URL64, 43)].concat();
    "TWILIO_API_KEY" ByForm r => "S".to_owned() + "K" + &r.text(HEX, 32);
    "MAILGUN_API_KEY" ByName r => "ke".to_owned() + "y-" + &r.text(HEX, 32);
    "DIGITALOCEAN_TOKEN" ByForm r => r.of(&["dop", "doo", "dor"]).to_owned() + "_v1_" + &r.text(HEX, 64);
    "HEROKU_API_KEY" ByName r => r.uuid();
    "HEROKU_OAUTH" ByForm r => "HRK".to_owned() + "U-AA" + &r.text(URL64, 57) + &r.text(ALNUM, 1);
    "JWT" ByForm r => {
        ["ey", "JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.ey", "J", &r.between(URL64, 30, 200), ".", &r.text(URL64, 42), &r.text(ALNUM, 1)].concat()
    };
    "TELEGRAM_BOT_TOKEN" ByForm r => {
        ["1", &r.text(DIGITS, 9), ":A", "A", &r.text(URL64, 32), &r.text(ALNUM, 1)].concat()
    };
    "DISCORD_BOT_TOKEN" ByName r => [r.of(&["MT", "NT", "OT"]), &r.text(ALNUM, 22), ".G", &r.text(URL64, 5), ".", &r.text(URL64, 37), &r.text(ALNUM, 1)].concat();
    "AZURE_STORAGE_KEY" ByName r => r.text(BASE64, 86) + "==";
    "GRAFANA_TOKEN" ByForm r => ["gl", "sa_", &r.text(ALNUM, 32), "_", &r.text(HEX, 8)].concat();
    "SHOPIFY_TOKEN" ByForm r => "shp".to_owned() + "at_" + &r.text(HEX, 32);
    "LINEAR_API_KEY" ByForm r => "lin_".to_owned() + "api_" + &r.text(ALNUM, 40);
    "NOTION_TOKEN" ByForm r => "nt".to_owned() + "n_" + &r.text(DIGITS, 11) + &r.text(ALNUM, 35);
    "DATABRICKS_TOKEN" ByForm r => "da".to_owned() + "pi" + &r.text(HEX, 32);
    "VAULT_TOKEN" ByForm r => "hv".to_owned() + "s." + &r.text(ALNUM, 95);
    "AGE_KEY" ByForm r => "AGE-SEC".to_owned() + "RET-KEY-1" + &r.text("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58);
}

/// A key in the form of a file, with a label such as `RSA `.
pub(crate) fn private_key(random: &mut Random) -> String {
    let label = random.of(&["", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ", "PGP "]);
    let block = if label == "PGP " { " BLOCK" } else { "" };
    let head = match label {
        "PGP " => "Version: GnuPG v2\n\n",
        "RSA " => {
            random.of(&["", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF0123456789ABCDEF\n\n"])
        }
        _ => "",
    };
    let count = 3 + random.below(30);
    let body = random.lines(count, if label == "OPENSSH " { 70 } else { 64 });
    let line = |word: &str| format!("-----{word} {label}PRIV{}{block}-----", "ATE KEY");
    format!("{}\n{head}{body}\n{}", line("BEGIN"), line("END"))
}

/// A text in which `secret` stands behind `name`.
pub(crate) fn named(random: &mut Random, name: &str, secret: &str) -> String {
    match random.below(12) {
        0 => format!("const {name} = \"{secret}\";\n"),
        1 => format!("$ export {name}={secret}\n$ cargo test\nrunning 3 tests\n"),
        2 => format!("{{\"level\":\"info\",\"{name}\":\"{secret}\",\"n\":1}}"),
        3 => format!(r#"{{"body":"{{\"env\":{{\"{name}\":\"{secret}\"}}}}"}}"#),
        4 => format!("services:\n  web:\n    environment:\n      {name}: {secret}\n"),
        5 => format!("The {name}: {secret}, which should not be here."),
        6 => format!("{} = '{secret}'", name.to_lowercase()),
        7 => format!(r"first line\n{name}={secret}\nlast line"),
        8 => format!("\u{1b}[1m{name}\u{1b}[0m=\u{1b}[32m{secret}\u{1b}[0m\r\n"),
        9 => format!("os.environ[\"{name}\"] = \"{secret}\"  # für später\n"),
        10 => format!("docker run -e {name}={secret} image"),
        _ => format!("[auth]\n{} = \"{secret}\"\n", name.to_lowercase()),
    }
}

/// A text in which `secret` stands anywhere.
pub(crate) fn anywhere(random: &mut Random, secret: &str) -> String {
    match random.below(12) {
        0 => format!("please use {secret} for the deployment"),
        1 => format!("the key ({secret}) was rotated."),
        2 => format!("I set it to {secret}."),
        3 => format!("let client = Client::new(\"{secret}\");"),
        4 => format!("| key | {secret} |\n"),
        5 => format!("- `{secret}`\n- another"),
        6 => format!("curl -s -H \"Authorization: Bearer {secret}\" https://api.example.com/v1/me"),
        7 => format!("GET /v1/items?key={secret}&page=2 HTTP/1.1"),
        8 => format!("redirect=https%3A%2F%2Fexample.com%3Ftoken%3D{secret}%26x"),
        9 => format!("<code>{secret}</code>"),
        10 => format!("schlüssel: »{secret}«"),
        _ => secret.to_owned(),
    }
}
