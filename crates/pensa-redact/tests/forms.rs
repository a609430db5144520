//! Secrets in the forms used by files, headers and vendors are found in texts that agents write.

use serde_json::json;

/// Name, text and secret part of each form. Prefixes are split, so that nothing here looks like a secret.
fn forms() -> Vec<(&'static str, String, String)> {
    let alnum =
        "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3gH5kL7nP9rT1vX3zB5dF7hJ9lN1pR3tV5xZ7bD9fH1jL3nP5rT7vX9zA2cE4gI6kM8oQ0sU";
    let hex = "9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c5b4a39281706f5e4d3c2b1a0";
    let base64 = "q7Xo3vZs9kQ2fYtR8uWcLdPgHjNmSx4e6TiOyUaBzVwE5rM+/A1b2C3d4E5f6G7h8I9j0K";
    let plain = |kind, secret: String| (kind, format!("use {secret} here"), secret);
    let around =
        |kind, before: &str, secret: &str, after: &str| (kind, format!("{before}{secret}{after}"), secret.to_owned());
    let key = "MIIEpAIBAAKCAQEA7bq1Xo3vZs9kQ2fYtR8uWcLdPgHjNmSx4e6TiOyUaBzVwE5r";
    let pem = format!("-----BEGIN RSA PRIV{}-----\n{key}\n{key}\n-----END RSA PRIV{0}-----\n", "ATE KEY");
    let session = ["IQoJb3JpZ2lu", "X2VjEHoaCXVzLWVhc3QtMSJHMEUCIQD", &base64.repeat(3)].concat();
    let github = ["gh", "p_", &alnum[..36]].concat();
    vec![
        plain("pensa", format!("pensa_{hex}")),
        plain("pensa daemon", format!("pensa_d_{hex}")),
        plain("aws session", session.clone()),
        around("aws session by name", "AWS_SESSION_TOKEN=", &session, "\n"),
        plain("openrouter", format!("sk-or-{}{hex}", "v1-")),
        plain("groq", format!("gs{}{}", "k_", &alnum[..52])),
        plain("xai", format!("xa{}{}", "i-", &alnum[..80])),
        plain("stripe webhook", format!("whs{}{}", "ec_", &alnum[..32])),
        plain("docker pat", format!("dckr_{}{}", "pat_", &alnum[..27])),
        plain("docker oat", format!("dckr_{}{}", "oat_", &alnum[..32])),
        plain("notion", format!("nt{}{}", "n_", &alnum[..46])),
        plain("notion old", format!("sec{}{}", "ret_", &alnum[..43])),
        plain("supabase", format!("sb{}{}", "p_", &hex[..40])),
        plain("supabase secret", format!("sb_sec{}{}", "ret_", &alnum[..31])),
        plain("cloudflare", format!("cf{}{}", "ut_", &alnum[..48])),
        plain("discord", ["MTA4", "NzY1NDMyMTA5ODc2NTQzMjE", ".GaBcDe.", &alnum[..38]].concat()),
        around("discord bare", "", &["MTA4", "NzY1NDMyMTA5ODc2NTQzMjE", ".GaBcDe.", &alnum[..38]].concat(), ""),
        around("npmrc", "//registry.example.com/:_authToken=", &alnum[..36], "\n"),
        around("npmrc auth", "\n_auth=", "YWRhOng5S3EzIXZUd0xwNw==", "\n"),
        around(
            "azure sas",
            "https://a.blob.core.windows.net/c/b?sv=2022-11-02&ss=b&se=2026-01-01&sig=",
            &format!("{}%3D", &base64[..43].replace('+', "%2B").replace('/', "%2F")),
            "&x=1",
        ),
        around(
            "service bus",
            "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=",
            &format!("{}=", &base64[..43]),
            "",
        ),
        around(
            "azure account",
            "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=",
            &format!("{}{}==", &base64[..43], &base64[..43]),
            ";EndpointSuffix=core.windows.net",
        ),
        around("basic", "Authorization: Basic ", "YWRhOng5S3EzIXZUd0xwNw==", "\r\n"),
        around("bearer", "authorization: Bearer ", &alnum[..40], "\n"),
        around("bearer quoted", "headers={\"Authorization\": \"Bearer ", &alnum[..40], "\"}"),
        around("bearer short", "-H 'Authorization: Bearer ", "x9Kq3vTwLp7", "'"),
        around("authorization token", "Authorization: token ", &hex[..40], ""),
        around("proxy", "Proxy-Authorization: Basic ", "YWRhOng5S3EzIXZUd0xwNw==", ""),
        around("cookie", "Cookie: session=", &alnum[..32], ""),
        around("cookies", "Cookie: theme=dark; sid=s%3A", &alnum[..40], ""),
        around("set-cookie", "Set-Cookie: sessionid=", &alnum[..32], "; Path=/; HttpOnly"),
        around("netrc", "machine api.example.com login ada password ", "x9Kq3!vTwLp7", "\n"),
        around("netrc lines", "machine api.example.com\n  login ada\n  password ", "x9Kq3!vTwLp7", "\n"),
        around(
            "docker config",
            r#"{"auths":{"https://index.docker.io/v1/":{"auth":""#,
            "YWRhOng5S3EzIXZUd0xwNw==",
            r#""}}}"#,
        ),
        around("kubeconfig", "users:\n- name: me\n  user:\n    client-key-data: ", &base64_of(&pem), "\n"),
        around("kubeconfig token", "    token: ", &alnum[..48], "\n"),
        around("base64", "data: ", &base64_of(&github), ""),
        around("base64 in lines", "", &lines(&base64_of(&format!("first line\n{pem}last line"))), "\n"),
        around("base64 of env", "x=", &base64_of("export DB_PASSWORD=x9Kq3!vTwLp7\n"), " y"),
        around(
            "percent value",
            "https://x/cb?aws_secret_access_key=",
            "q7Xo3vZs9kQ2fYtR8uWcLdPgHjNmSx4e6%2FiOyUaB",
            "&b=1",
        ),
        around("percent password", "next=https%3A%2F%2Fada%3A", "x9Kq3vTwLp7zz", "%40db.example.com%2Fapp"),
        around("percent name", "redirect?x=password%3D", "x9Kq3vT8wLp7", "%26y"),
        ("pem", format!("key:\n{pem}"), key.to_owned()),
        ("pem in yaml", format!("key: |\n  {}\n", pem.replace('\n', "\n  ")), key.to_owned()),
        ("pem in a diff", format!("+{}\n", pem.replace('\n', "\n+")), key.to_owned()),
        ("pem escaped", format!("{{\"private_key\": \"{}\"}}", pem.replace('\n', "\\n")), key.to_owned()),
        around("env", "DB_PASSWORD=", "hunter2x9", "\n"),
        around("env key", "DEPLOY_KEY=", &alnum[..24], "\n"),
        around("env secret", "export APP_SECRET='", &alnum[..20], "'\n"),
        around("env quoted", "SMTP_PASSWORD=\"", "pa!x9Kq3 vT".split(' ').next().expect("a word"), "\"\n"),
        around("json password", r#"{"user": "ada", "password": ""#, "x9Kq3!vT", r#""}"#),
        around("json secret", r#"{"client_secret": ""#, &alnum[..32], r#""}"#),
        around("yaml password", "db:\n  password: ", "x9Kq3!vT", "\n"),
        around("ini password", "[db]\npassword = ", "x9Kq3!vTz", "\n"),
        around("toml api key", "api_key = \"", &alnum[..24], "\"\n"),
        around("connection string", "Server=db;User Id=sa;Password=", "x9Kq3!vT", ";Encrypt=true"),
        around("flag", "deploy --token ", &alnum[..24], " --force"),
        around("xml", "<password>", "x9Kq3!vT", "</password>"),
        around("header", "X-Api-Key: ", &alnum[..32], "\n"),
        around("query", "GET /v1?access_token=", &alnum[..32], "&page=2"),
    ]
}

fn base64_of(text: &str) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for part in text.as_bytes().chunks(3) {
        let bits = part.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - part.len()));
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at) & 63) as usize];
            out.push(if at <= part.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

fn lines(base64: &str) -> String {
    let lines: Vec<_> = base64.as_bytes().chunks(76).map(|line| String::from_utf8_lossy(line)).collect();
    lines.join("\n")
}

#[test]
fn every_form_is_redacted_completely_in_text() {
    let mut missed = Vec::new();
    for (kind, text, secret) in forms() {
        for text in [
            text.clone(),
            format!("before it\n{text}\nand after"),
            format!("\"{}\"", text.replace('"', "\\\"").replace('\n', "\\n")),
        ] {
            let (clean, count) = pensa_redact::text(&text);
            let secret = secret.replace('\n', if text.contains('\n') { "\n" } else { "\\n" });
            // A fragment long enough to be useful.
            let piece = &secret[secret.len() / 3..(secret.len() / 3 + 12).min(secret.len())];
            if count == 0 || clean.contains(piece) {
                missed.push((kind, clean.into_owned()));
            }
        }
    }
    assert!(missed.is_empty(), "{} missed: {missed:#?}", missed.len());
}

#[test]
fn every_form_is_redacted_in_json() {
    let mut missed = Vec::new();
    for (kind, text, secret) in forms() {
        let mut value = json!({"type": "text", "data": [{"text": text}]});
        pensa_redact::value(&mut value);
        let piece = &secret[secret.len() / 3..(secret.len() / 3 + 12).min(secret.len())];
        if value.to_string().contains(piece) {
            missed.push((kind, value));
        }
    }
    assert!(missed.is_empty(), "{} missed: {missed:#?}", missed.len());
}

#[test]
fn names_in_json_identify_secret_values_at_any_level() {
    for mut value in [
        json!({"password": "x9Kq3!vT"}),
        json!({"env": {"DB_PASSWORD": "x9Kq3!vT"}}),
        json!({"env": [{"name": "DB_PASSWORD", "value": "x9Kq3!vT"}]}),
        json!({"key": "db_password", "scope": "app", "value": "x9Kq3!vT"}),
        json!({"command": ["mysql", "--password", "x9Kq3!vT"]}),
        json!({"command": ["mysql", "--password=x9Kq3!vT"]}),
        json!({"headers": {"Authorization": "Basic eDlLcTMhdlQ6eDlLcTMhdlQ="}, "x": "x9Kq3"}),
    ] {
        let before = value.to_string();
        assert_eq!(pensa_redact::value(&mut value), 1, "{before} → {value}");
        assert!(!value.to_string().contains("!vT") && !value.to_string().contains("eDlL"), "{value}");
    }
}

#[test]
fn lookalikes_are_left_alone() {
    for text in [
        "pensa_http_request_duration_seconds_bucket_and_more_words 1",
        "use pensa_core::ops; pensa_redact::text(x)",
        "Authorization: Bearer <token>",
        "Authorization: Bearer $TOKEN",
        "the Authorization header: Bearer authentication is used",
        "Set-Cookie: a; Path=/",
        "cookie = jar.get(name)",
        "a cookie: see RFC6265",
        "machine learning login page password reset",
        "?sig=short&x=1",
        "let token = lexer.next_token2();",
        "const API_KEY: &str = env!(\"API_KEY\");",
        "secret_key_base: <%= ENV[\"SECRET_KEY_BASE\"] %>",
        "token: 550e8400-e29b is cut",
        "password: String, // at least 8 characters",
        "key: value, other_key: 12345678901234567890",
        "cache_key = \"9f8e7d6c5b4a39281706f5e4d3c2b1a0\"",
        "primary_key: \"aB3dE5gH7jK9mN1pQ3sT5vW7\"",
        "next_page_token=\"aB3dE5gH7jK9mN1pQ3sT5vW7\"",
        "sha512-aB3dE5gH7jK9mN1pQ3sT5vW7aB3dE5gH7jK9mN1pQ3sT5vW7==",
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
        "%7B%22name%22%3A%22value%22%7D",
        "crates/pensa-redact/src/very/long/path/to/some/file.rs",
        "docker_auth: true",
        "basic auth: see the docs",
    ] {
        assert_eq!(pensa_redact::text(text).0, text);
    }
}
