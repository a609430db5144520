//! Harmless texts such as agents see all day: code, logs, hashes, ids and blobs.

use crate::random::{ALNUM, BASE64, DIGITS, HEX, LOWER, Random, URL64};

const VENDORS: &[&str] = &[
    "sentry",
    "datadog",
    "heroku",
    "github",
    "linear",
    "discord",
    "twitter",
    "dropbox",
    "cloudflare",
    "okta",
    "jira",
    "codecov",
    "travis",
    "slack",
    "facebook",
    "fastly",
    "etsy",
    "plaid",
    "confluent",
    "sonar",
    "square",
    "asana",
];
const WORDS: &[&str] = &[
    "token",
    "key",
    "secret",
    "password",
    "api_key",
    "auth",
    "access_token",
    "credential",
    "session",
    "client_secret",
];

/// One harmless text.
pub(crate) fn sample(r: &mut Random) -> String {
    match r.below(4) {
        0 => hashes(r),
        1 => code(r),
        2 => blobs(r),
        _ => output(r),
    }
}

fn hashes(r: &mut Random) -> String {
    let vendor = r.of(VENDORS);
    match r.below(10) {
        0 => r.uuid(),
        1 => format!("{}  {}.tar.gz", r.text(HEX, 64), vendor),
        2 => format!("commit {}\nAuthor: Ada <ada@example.com>\n\n    {vendor}: fix token refresh", r.text(HEX, 40)),
        3 => format!("{} {vendor}: use the key of the session", r.text(HEX, 7)),
        4 => format!("[[package]]\nname = \"{vendor}\"\nversion = \"1.2.3\"\nchecksum = \"{}\"\n", r.text(HEX, 64)),
        5 => format!(
            "\"{vendor}@^7.1.0\":\n  resolved \"https://registry.yarnpkg.com/{vendor}/-/{vendor}-7.1.0.tgz#{}\"\n  integrity sha512-{}==",
            r.text(HEX, 40),
            r.text(BASE64, 86)
        ),
        6 => format!("uses: {vendor}/action@{}\n", r.text(HEX, 40)),
        7 => format!("FROM {vendor}/agent@sha256:{}\n", r.text(HEX, 64)),
        8 => format!("etag: W/\"{}\"\nx-request-id: {}", r.text(HEX, 32), r.uuid()),
        _ => format!("pn-{} blocks pn-{}: {vendor} login ({})", r.text(HEX, 8), r.text(HEX, 8), r.uuid()),
    }
}

fn code(r: &mut Random) -> String {
    let (word, vendor, name) = (r.of(WORDS), r.of(VENDORS), r.between(LOWER, 6, 24));
    match r.below(14) {
        0 => format!("let {word} = env::var(\"{}\")?;", word.to_uppercase()),
        1 => format!("const {word} = process.env.{}_{} ?? '';", vendor.to_uppercase(), word.to_uppercase()),
        2 => format!("{word} = request.headers.get(\"Authorization\")  # {name}"),
        3 => format!("if s.{name}({word}) {{ return self.{word}.{name}(); }}"),
        4 => format!("{vendor}_{word}: ${{{{ secrets.{} }}}}", name.to_uppercase()),
        5 => format!("{}_{}=<your-{word}>", vendor.to_uppercase(), word.to_uppercase()),
        6 => format!("export {}=sk-...", word.to_uppercase()),
        7 => format!("assert!(text.starts_with(\"-----BEGIN {}\")); // {name}", "PRIVATE KEY-----"),
        8 => format!("postgres://postgres:postgres@localhost:5432/{name}"),
        9 => format!("https://user:password@example.com/{name}?{word}=1"),
        10 => format!("{vendor}: {name}{}", r.between(LOWER, 4, 40)),
        11 => format!("{vendor}_{word} = get_{name}_{word}(config, \"{name}\")"),
        12 => format!("curl -s https://{vendor}.com/api/{name} -H \"Accept: application/json\""),
        _ => format!("type {word} = {{ {name}: string; {vendor}Id: number }}; // {}", r.text(DIGITS, 12)),
    }
}

fn blobs(r: &mut Random) -> String {
    match r.below(7) {
        0 => format!("data:image/png;base64,iVBORw0KGgo{}=", r.between(BASE64, 200, 4000)),
        1 => r.lines(20, 76),
        2 => {
            // Binary data is full of zeros, which is AAAA in base64.
            (0..60)
                .map(|_| r.of(&["AAAA", "AAAB", "EAAA", "gAAA", "/EAA", "+AAA"]).to_owned() + &r.text(BASE64, 4))
                .collect()
        }
        3 => format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----", r.lines(20, 64)),
        4 => format!("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{} ada@example.com", r.text(BASE64, 43)),
        5 => format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----", r.lines(6, 64)),
        _ => format!("snapshot {} cursor={}", r.between(BASE64, 40, 400), r.text(URL64, 48)),
    }
}

fn output(r: &mut Random) -> String {
    let (word, vendor, name) = (r.of(WORDS), r.of(VENDORS), r.between(LOWER, 4, 20));
    match r.below(11) {
        0 => format!("test {name}::{word}_is_refused ... ok\ntest {name}::{vendor} ... FAILED"),
        1 => format!(
            "{{\"id\":\"{}\",\"{word}_id\":\"{}\",\"{vendor}\":{{\"url\":\"https://{vendor}.com/{name}\"}}}}",
            r.uuid(),
            r.text(DIGITS, 18)
        ),
        2 => {
            format!("2026-02-27T14:30:00.123Z INFO {vendor}: {word} refreshed for user {} in 12 ms", r.text(DIGITS, 9))
        }
        3 => format!(
            "error[E0425]: cannot find value `{word}` in this scope --> src/{name}/{vendor}.rs:{}:9",
            r.text(DIGITS, 3)
        ),
        4 => format!("https://example.com/{name}/{}?{word}_type=bearer&state={}", r.uuid(), r.text(ALNUM, 12)),
        5 => format!("The {word} of {vendor} is read from the environment; see {name}, and ask the team for one."),
        6 => format!("/home/{name}/projects/{vendor}/src/{word}/mod.rs"),
        7 => format!(
            "call_{} toolu_{} msg_{} req_{}",
            r.text(ALNUM, 24),
            r.text(ALNUM, 24),
            r.text(ALNUM, 24),
            r.text(ALNUM, 24)
        ),
        8 => format!("{} {} {}", r.text(LOWER, 24), r.text(DIGITS, 13), r.text(DIGITS, 10)),
        9 => format!("{vendor} {word}: {} tokens used, {} cached", r.text(DIGITS, 6), r.text(DIGITS, 5)),
        _ => format!(
            "-rw-r--r-- 1 {name} staff {} Feb 27 14:30 {vendor}-{word}.{}.js",
            r.text(DIGITS, 5),
            r.text(HEX, 8)
        ),
    }
}
