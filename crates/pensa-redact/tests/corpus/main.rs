//! Measures detection and false alarms on texts generated from fixed seeds.

mod benign;
mod random;
mod secrets;

use std::collections::BTreeMap;

use random::Random;
use secrets::{KINDS, Kind, Known};
use serde_json::{Value, json};

const EACH: usize = 400;

/// Texts with one secret each, which is given beside them.
fn samples(kind: &Kind, random: &mut Random) -> Vec<(String, String)> {
    let make = |_| {
        let secret = (kind.make)(random);
        let by_name = kind.known == Known::ByName || random.below(2) == 0;
        let text =
            if by_name { secrets::named(random, kind.name, &secret) } else { secrets::anywhere(random, &secret) };
        (secret, text)
    };
    (0..EACH).map(make).collect()
}

#[test]
fn nearly_every_secret_is_found_and_all_of_the_worst_kinds() {
    let mut random = Random(5);
    let (mut all, mut missed) = (0, BTreeMap::<&str, Vec<String>>::new());
    for kind in KINDS {
        for (secret, text) in samples(kind, &mut random) {
            all += 1;
            let (clean, count) = pensa_redact::text(&text);
            if clean.contains(&secret) || count == 0 {
                missed.entry(kind.name).or_default().push(text);
            }
        }
    }
    let count: usize = missed.values().map(Vec::len).sum();
    let show: Vec<_> = missed.iter().map(|(name, texts)| (name, texts.len(), &texts[0])).collect();
    assert!(KINDS.len() >= 25);
    assert!(count * 50 <= all, "missed {count} of {all}: {show:#?}");
    for kind in KINDS.iter().filter(|kind| kind.known == Known::Always) {
        assert!(!missed.contains_key(kind.name), "missed: {show:#?}");
    }
    for (name, texts) in &missed {
        assert!(texts.len() * 20 <= EACH, "{name}: missed {} of {EACH}: {show:#?}", texts.len());
    }
}

#[test]
fn a_secret_in_json_is_found_as_in_text() {
    let mut random = Random(6);
    let (mut all, mut missed) = (0, Vec::new());
    for kind in KINDS {
        for _ in 0..EACH / 4 {
            let secret = (kind.make)(&mut random);
            let mut value = match random.below(3) {
                0 => json!({"env": [{kind.name: secret}], "n": 1}),
                1 => json!({kind.name.to_lowercase(): secret, "ok": true}),
                _ => json!({"content": [{"type": "text", "text": format!("{}={secret}", kind.name)}]}),
            };
            all += 1;
            let count = pensa_redact::value(&mut value);
            let text = value.to_string();
            assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), value);
            if text.contains(&secret) || count == 0 {
                missed.push((kind, text));
            }
        }
    }
    assert!(missed.len() * 50 <= all, "missed {} of {all}: {:?}", missed.len(), missed.last().map(|last| &last.1));
    for (kind, text) in missed {
        assert!(kind.known != Known::Always, "{text}");
    }
}

#[test]
fn private_keys_are_redacted_completely_in_every_form() {
    let mut random = Random(7);
    for _ in 0..EACH {
        let key = secrets::private_key(&mut random);
        let written = match random.below(6) {
            0 => key.replace('\n', "\\n"),
            1 => key.replace('\n', "\r\n"),
            2 => key.replace('\n', "\\\\n"),
            3 => key.replace('\n', "\\n\" +\n  \""),
            4 => key.replace('\n', "\n    "),
            _ => key.clone(),
        };
        let cut = random.below(2) == 0;
        // Cut off anywhere behind the first characters of the key itself.
        let whole = written.len();
        let written = if cut { &written[..whole * (60 + random.below(35)) / 100] } else { &written[..] };
        let text = format!("$ cat key.pem\n{written}");
        let (clean, count) = pensa_redact::text(&text);
        assert_eq!((&*clean, count), ("$ cat key.pem\n[REDACTED:private-key]", 1), "{text}");
        if !cut {
            let longer = format!("{text}\" and so on");
            let (clean, _) = pensa_redact::text(&longer);
            assert!(clean.ends_with("[REDACTED:private-key]\" and so on"), "{clean}");
        }
    }
}

#[test]
fn harmless_text_is_left_alone() {
    let mut random = Random(8);
    let all = 20_000;
    let mut alarms: Vec<(String, String)> = Vec::new();
    for _ in 0..all {
        let text = benign::sample(&mut random);
        let clean = pensa_redact::text(&text).0;
        if clean != text {
            alarms.push((clean.into_owned(), text));
        }
    }
    assert!(
        alarms.len() * 1000 <= all,
        "{} false alarms in {all}: {:#?}",
        alarms.len(),
        &alarms[..alarms.len().min(20)]
    );
}

#[test]
fn a_second_pass_changes_nothing() {
    let mut random = Random(9);
    for _ in 0..40 {
        let mut text = String::new();
        for kind in KINDS {
            let secret = (kind.make)(&mut random);
            text += &secrets::named(&mut random, kind.name, &secret);
            text += random.of(&[" ", "\n", ", ", ""]);
            text += &benign::sample(&mut random);
        }
        let (once, count) = pensa_redact::text(&text);
        assert!(count >= KINDS.len() / 2, "{once}");
        assert_eq!(pensa_redact::text(&once), (once.clone(), 0));
    }
}
