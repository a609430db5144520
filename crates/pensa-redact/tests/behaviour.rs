//! Redaction preserves everything else, is idempotent, and takes linear time.

use std::borrow::Cow;

use pensa_redact::{Allowlist, RedactingStream, Redactor, text, value};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A GitHub token, in pieces.
fn token(last: char) -> String {
    ["gh", "p_", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3gH"].concat() + &last.to_string()
}

fn header(word: &str) -> String {
    format!("-----{word} RSA PRIV{}-----", "ATE KEY")
}

#[test]
fn text_without_secrets_is_not_copied() {
    for harmless in ["", "nothing here", "the github token is in the environment", "\0\u{1b}[31mé"] {
        assert!(matches!(text(harmless), (Cow::Borrowed(same), 0) if same == harmless));
    }
}

#[test]
fn the_replacement_names_the_kind() {
    let mut redactor = Redactor::default();
    let given = format!("a {} b {} c", token('1'), token('2'));
    assert_eq!(redactor.text(&given), "a [REDACTED:github-pat] b [REDACTED:github-pat] c");
    assert_eq!((redactor.count(), redactor.kinds().iter().collect::<Vec<_>>()), (2, vec![("github-pat", 2)]));
}

#[test]
fn a_secret_matched_by_several_rules_is_redacted_once_with_the_best_kind() {
    let given = format!("curl -H \"Authorization: Bearer {}\" https://example.com", token('1'));
    let (clean, count) = text(&given);
    assert_eq!((&*clean, count), ("curl -H \"Authorization: Bearer [REDACTED:github-pat]\" https://example.com", 1));
}

#[test]
fn a_token_longer_than_its_pattern_is_redacted_completely() {
    let given =
        format!("{}xY9_z-0, and bedrock-api-{}{}.", token('1'), "key-YmVkcm9jay5hbWF6b25hd3MuY29t", "Lz9BY3Rpb24/+==");
    let expected = "[REDACTED:github-pat], and [REDACTED:aws-amazon-bedrock-api-key-short-lived].";
    assert_eq!(text(&given), (Cow::Owned(expected.to_owned()), 2));
}

#[test]
fn earlier_redactions_stay_unchanged() {
    for given in [
        "[REDACTED:github-pat]",
        "aws_secret_access_key = \"[REDACTED:aws-secret-access-key]\"",
        "curl -u [REDACTED:curl-auth-user] x",
        "curl -u admin:[REDACTED:whatever] x",
        "postgres://me:[REDACTED:url-password]@db/x",
        "[REDACTED:jfrog-api-key] = [REDACTED:jfrog-api-key]",
    ] {
        assert_eq!(text(given), (Cow::Borrowed(given), 0));
    }
    let beside = format!("[REDACTED:github-pat]{}[REDACTED:jwt]", token('1'));
    assert_eq!(text(&beside).0, "[REDACTED:github-pat][REDACTED:github-pat][REDACTED:jwt]");
}

#[test]
fn every_text_in_a_json_value_is_redacted_and_nothing_else_changes() {
    let mut given = json!({
        "n": 1, "null": null, "t": true, "list": ["x", [token('1')], {"deep": {"er": format!("<{}>", token('2'))}}],
    });
    assert_eq!(value(&mut given), 2);
    let expected = json!({
        "n": 1, "null": null, "t": true,
        "list": ["x", ["[REDACTED:github-pat]"], {"deep": {"er": "<[REDACTED:github-pat]>"}}],
    });
    assert_eq!(given, expected);
    assert_eq!(value(&mut given), 0);
    assert_eq!(given, expected);
}

#[test]
fn member_names_identify_secret_values() {
    let secret = "wJ4l/rXU+tnFEMi7K2MDENGbPxRfiCYzQmT8pLs0";
    let mut named = json!({"AWS_SECRET_ACCESS_KEY": secret});
    let mut unnamed = json!({"digest": secret});
    assert_eq!((value(&mut named), value(&mut unnamed)), (1, 0));
    assert_eq!(named, json!({"AWS_SECRET_ACCESS_KEY": "[REDACTED:aws-secret-access-key]"}));
    let mut quoted = json!({"aws_secret_access_key": format!("{secret}\"\\\n\u{1b}")});
    assert_eq!(value(&mut quoted), 1);
    assert_eq!(quoted, json!({"aws_secret_access_key": "[REDACTED:aws-secret-access-key]\"\\\n\u{1b}"}));
}

#[test]
fn secret_member_names_are_redacted_in_place_and_no_member_is_lost() {
    let mut members = serde_json::Map::new();
    for name in ["first", &token('1'), "[REDACTED:github-pat]", &token('2'), "last"] {
        members.insert(name.to_owned(), json!(members.len()));
    }
    let mut redactor = Redactor::default();
    redactor.map(&mut members);
    assert_eq!(redactor.count(), 2);
    let expected =
        r#"{"first":0,"[REDACTED:github-pat] 2":1,"[REDACTED:github-pat]":2,"[REDACTED:github-pat] 3":3,"last":4}"#;
    assert_eq!(serde_json::to_string(&members).expect("JSON"), expected);
}

#[test]
fn a_mention_of_a_header_is_not_a_key() {
    for around in
        ["if text.contains(\"{}\") {\n    return Err(Error::private_key(path))\n}", "look for {}", "{}\n...\n"]
    {
        let given = around.replace("{}", &header("BEGIN"));
        assert_eq!(text(&given), (Cow::Borrowed(&*given), 0));
        let given = format!("{given}\n{}\nmore text", header("END"));
        assert_eq!(text(&given).1, 0, "{given}");
    }
}

#[test]
fn a_private_key_ends_at_its_end_line_or_at_the_end_of_the_text() {
    let line = "MIIEpAIBAAKCAQEA7bq1Xo3vZs9kQ2fYtR8uWcLdPgHjNmSx4e6TiOyUaBzVwE5r";
    for newline in ["\n", "\r\n", "\\n", "\\\\r\\\\n", "\n     2\t", "\n+"] {
        let torn = ["before ", &header("BEGIN"), newline, line, newline, &line[..9]].concat();
        assert_eq!(text(&torn).0, "before [REDACTED:private-key]");
        let whole = [&torn, newline, &header("END"), " after"].concat();
        assert_eq!(text(&whole).0, "before [REDACTED:private-key] after");
    }
    let two = [&header("BEGIN"), "\n", line, "\n", &header("END")].concat();
    assert_eq!(text(&format!("{two}\nand\n{two}")).0, "[REDACTED:private-key]\nand\n[REDACTED:private-key]");
}

#[test]
fn passwords_in_urls_are_redacted_and_placeholders_stay() {
    let secret = "x9Kq3!vT%40wLp7";
    for scheme in ["postgres", "postgresql", "mysql", "mongodb+srv", "redis", "amqp", "https", "postgresql+asyncpg"] {
        let given = format!("DATABASE_URL={scheme}://ada:{secret}@db.example.com:5432/app");
        let expected = format!("DATABASE_URL={scheme}://ada:[REDACTED:url-password]@db.example.com:5432/app");
        assert_eq!(text(&given).0, expected);
    }
    for placeholder in
        ["password", "postgres", "${DB_PASSWORD}", "<password>", "$PASS", "***", "your-secret", "xxxxxxx"]
    {
        let given = format!("postgres://ada:{placeholder}@localhost/app");
        assert_eq!(text(&given).1, 0, "{given}");
    }
}

#[test]
fn redaction_keeps_multibyte_characters_whole() {
    let given = format!("é{}é→\u{1F600}{}", token('1'), token('2'));
    assert_eq!(text(&given).0, "é[REDACTED:github-pat]é→\u{1F600}[REDACTED:github-pat]");
}

#[test]
fn json_of_any_depth_is_redacted() {
    let mut deep = json!(token('1'));
    for _ in 0..2_000 {
        deep = Value::Array(vec![deep]);
    }
    assert_eq!(value(&mut deep), 1);
}

/// Pieces of which rules are made, so that random texts come close to what they look for.
const PIECES: &[&str] = &[
    "-----BEGIN ",
    "PRIVATE KEY",
    "-----",
    "-----END ",
    "\n",
    "\\n",
    "ghp_",
    "AKIA",
    "sk-",
    "T3BlbkFJ",
    "eyJ",
    ".ey",
    "://",
    ":",
    "@",
    "curl -u ",
    "curl -H 'Authorization: Bearer ",
    "\"",
    "'",
    "[REDACTED:",
    "github-pat]",
    "[REDACTED:jwt]",
    "é",
    "\u{1b}[31m",
    "%3D",
    "\\u001b[0m",
    "\\",
    "=",
    "aws_secret_access_key",
    "sentry",
    "linkedin",
    "discord",
    "AccountKey=",
    "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3gH5",
    "0123456789abcdef0123456789abcdef",
    "MTA",
    " ",
    "  ",
    "\0",
    "xoxb-",
    "1234567890",
];

fn near_secrets() -> impl Strategy<Value = String> {
    let piece = prop_oneof![4 => prop::sample::select(PIECES).prop_map(str::to_owned), 1 => ".{0,12}"];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_second_pass_over_any_text_changes_nothing(given in near_secrets()) {
        let (once, count) = text(&given);
        prop_assert_eq!(count == 0, once == given);
        prop_assert_eq!(text(&once), (once.clone(), 0));
    }

    #[test]
    fn any_value_stays_valid_json_and_is_clean_after_one_pass(name in near_secrets(), given in near_secrets()) {
        let mut whole = json!({name.clone(): given.clone(), "list": [given, {name: 1}]});
        value(&mut whole);
        let back: Value = serde_json::from_str(&whole.to_string()).expect("JSON");
        prop_assert_eq!(&back, &whole);
        prop_assert_eq!(value(&mut whole), 0);
        prop_assert_eq!(back, whole);
    }
}

#[test]
fn long_texts_full_of_keywords_take_linear_time() {
    let started = std::time::Instant::now();
    for piece in [
        "curl -u a -H ",
        "eyJaaaaaaaaaaaaaaaaaaaaa.",
        "https://a:",
        "sentry = heroku: ",
        "aws_secret_access_key=",
        "\\\\\\n%3D[",
    ] {
        let long = piece.repeat((1 << 20) / piece.len());
        assert_eq!(text(&long).1, 0, "{piece}");
    }
    for many in [header("BEGIN") + "\n", token('1') + " "] {
        let long = many.repeat((1 << 20) / many.len());
        text(&long);
        text(&format!("{long}{}", header("END")));
    }
    // Quadratic time would be hours here.
    assert!(started.elapsed().as_secs() < 120, "{:?}", started.elapsed());
}

#[test]
fn may_hold_is_true_for_texts_with_secrets() {
    let secret = token('a');
    for (value, found) in [
        (json!({"text": "nothing"}), false),
        (json!({"text": secret}), true),
        (json!({"list": [1, [{"deep": secret}]]}), true),
        (json!({"list": [null, true, secret]}), true),
        (json!({secret: 1}), true),
        (json!({}), false),
    ] {
        assert_eq!(pensa_redact::may_hold(value.to_string().as_bytes()), found, "{value}");
        assert_eq!(pensa_redact::may_be_in(&value), found, "{value}");
        assert_eq!(pensa_redact::value(&mut value.clone()) > 0, found);
    }
}

#[test]
fn allowed_secrets_stay_and_invalid_patterns_are_named() {
    let allow = Allowlist::new(vec!["^ghp_aB3d".to_owned(), "no such".to_owned()]);
    assert_eq!(allow.check(), Ok(()));
    let mut redactor = Redactor::new(Some(std::sync::Arc::new(allow)));
    let other = token('1').replace("aB3d", "xB3d");
    let given = format!("{} and {other}", token('1'));
    assert_eq!(redactor.text(&given), format!("{} and [REDACTED:github-pat]", token('1')));
    let wrong = Allowlist::new(vec!["fine".to_owned(), "(open".to_owned()]).check().expect_err("no pattern");
    assert!(wrong.contains("(open"), "{wrong}");
}

/// The lines of a key, from its header to its end.
fn key_lines() -> Vec<String> {
    let line = "MIIEpAIBAAKCAQEA7bq1Xo3vZs9kQ2fYtR8uWcLdPgHjNmSx4e6TiOyUaBzVwE5r";
    vec![header("BEGIN"), line.to_owned(), line.chars().rev().collect(), "aGVs".to_owned(), header("END")]
}

#[test]
fn a_private_key_spread_over_list_items_or_entries_is_redacted() {
    let lines = key_lines();
    let mut list = json!({"lines": lines, "after": "aGVs", "commit": "0123456789abcdef0123456789abcdef01234567"});
    assert!(value(&mut list) > 0);
    let text = list.to_string();
    assert!(!lines[1..4].iter().any(|line| list["lines"].to_string().contains(line.as_str())), "{text}");
    assert!(text.contains(r#""after":"aGVs","commit":"0123"#), "{text}");
    let entries: Vec<_> = lines
        .iter()
        .map(|line| json!({"type": "output", "at": "2026-01-02T03:04:05.000Z", "data": {"text": format!("{line}\n")}}))
        .collect();
    let mut entries = json!(entries);
    value(&mut entries);
    assert!(!lines[1..4].iter().any(|line| entries.to_string().contains(line.as_str())), "{entries}");
    assert_eq!(entries[1]["at"], "2026-01-02T03:04:05.000Z");
}

#[test]
fn a_mention_of_a_header_does_not_hide_what_follows_it() {
    let mut mention = json!([header("BEGIN"), "0123456789abcdef0123456789abcdef01234567", "src/lib.rs", "word"]);
    assert_eq!(value(&mut mention), 0, "{mention}");
}

fn streamed(text: &[u8], size: usize) -> Vec<u8> {
    let mut stream = RedactingStream::new(Redactor::default());
    let mut out = Vec::new();
    for chunk in text.chunks(size) {
        out.extend(stream.push(chunk));
    }
    out.extend(stream.finish());
    out
}

#[test]
fn a_secret_in_a_stream_is_redacted_however_it_is_split() {
    let text = format!(
        "start\n\u{1b}[32mtoken\u{1b}[0m {} end\n{}\nlast {}",
        token('1'),
        key_lines().join("\r\n"),
        token('2')
    );
    let expected = String::from_utf8(streamed(text.as_bytes(), text.len())).expect("text");
    assert!(!expected.contains(&token('1')[4..20]) && !expected.contains(&token('2')[4..20]), "{expected}");
    assert!(!key_lines()[1..4].iter().any(|line| expected.contains(line.as_str())), "{expected}");
    assert!(expected.starts_with("start\n") && expected.contains(" end\n"), "{expected}");
    for size in [1, 2, 3, 7, 16, 39, 40, 41, 64, 100, 1000] {
        let out = String::from_utf8(streamed(text.as_bytes(), size)).expect("text");
        assert!(!out.contains(&token('1')[4..20]) && !out.contains(&token('2')[4..20]), "{size}: {out}");
        assert!(!key_lines()[1..4].iter().any(|line| out.contains(line.as_str())), "{size}: {out}");
    }
}

#[test]
fn a_stream_without_newlines_is_passed_on_and_binary_data_stays() {
    let mut long = b"\xff\x00".repeat(3);
    long.extend("word ".repeat(20_000).as_bytes());
    long.extend(token('1').as_bytes());
    long.extend(" word".repeat(10_000).as_bytes());
    let mut stream = RedactingStream::new(Redactor::default());
    let early = stream.push(&long);
    assert!(early.len() > long.len() - (20 << 10), "{}", early.len());
    let out = [early, stream.finish()].concat();
    let found = String::from_utf8_lossy(&out);
    assert!(out.starts_with(b"\xff\x00\xff") && found.contains("word [REDACTED:github-pat] word"));
    assert_eq!(out.len(), long.len() - token('1').len() + "[REDACTED:github-pat]".len());
}
