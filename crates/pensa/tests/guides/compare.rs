//! Compares what a guide shows with what a command printed. Ids differ from run to run, and so do times and durations: the
//! first time a guide shows an id, it stands for the one that was printed in its place, in later commands too.

use std::collections::HashMap;

/// The ids that a guide shows, and the real ones.
#[derive(Default)]
pub(crate) struct Ids {
    real: HashMap<String, String>,
}

/// What a word may differ in.
#[derive(PartialEq, Eq)]
enum Kind<'a> {
    /// With its prefix: `pn`, `ln`; none for UUIDs and hashes.
    Id(&'a str),
    Time,
    /// A number, with the unit that follows it in the same word.
    Number(&'a str),
    Plain,
}

fn kind(word: &str) -> Kind<'_> {
    let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
    let digits = word.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(word.len());
    if word.len() >= 10 && word.starts_with("20") && word.as_bytes()[4] == b'-' && word.as_bytes()[7] == b'-' {
        return Kind::Time;
    }
    if word.starts_with("pensa_") {
        return Kind::Id("pensa_");
    }
    match word.rsplit_once('-') {
        _ if word.len() == 36 && is_hex(&word.replace('-', "")) => Kind::Id("uuid"),
        _ if (word.len() == 7 || word.len() >= 12) && is_hex(word) => Kind::Id("hash"),
        Some((prefix, hex)) if hex.len() >= 8 && is_hex(hex) => Kind::Id(prefix),
        // Only durations and sizes: other numbers are facts.
        _ if digits > 0 && ["ms", "s", "m", "h", "MB", "kB", "KiB", "MiB", "B"].contains(&&word[digits..]) => {
            Kind::Number(&word[digits..])
        }
        _ => Kind::Plain,
    }
}

fn is_part_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.:".contains(c)
}

/// The words of a line and what stands between them.
fn words(line: &str) -> Vec<&str> {
    let mut rest = line;
    let mut words = Vec::new();
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_part_of_word(c) != is_part_of_word(first)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let inner = word.trim_start_matches(':');
        let plain = inner.trim_end_matches(['.', ':']);
        let parts = [&word[..word.len() - inner.len()], plain, &inner[plain.len()..]];
        words.extend(parts.into_iter().filter(|part| !part.is_empty()));
        rest = after;
    }
    words
}

impl Ids {
    /// A command of the guide, with the real ids; beginnings of ids too.
    pub(crate) fn real(&self, command: &str) -> String {
        words(command)
            .into_iter()
            .map(|word| {
                let is_beginning =
                    |shown: &String| shown.starts_with(word) && word.len() > shown.find('-').unwrap_or(6) + 1;
                let known =
                    self.real.keys().find(|shown| *shown == word || (word.contains('-') && is_beginning(shown)));
                known.map_or(word, |shown| {
                    let real = &self.real[shown];
                    real.get(..word.len()).filter(|_| word.len() < shown.len()).unwrap_or(real)
                })
            })
            .collect()
    }

    /// A line that was printed, with the ids that the guide shows.
    pub(crate) fn shown(&self, printed: &str) -> String {
        self.real.iter().fold(printed.to_owned(), |line, (shown, real)| line.replace(real, shown))
    }

    pub(crate) fn compare(&mut self, shown: &[&str], printed: &[&str]) -> Result<(), String> {
        let (mut shown, mut printed) = (shown, printed);
        while let [first, rest @ ..] = shown {
            if *first == "…" {
                let from = (0..=printed.len()).find(|at| self.clone_compare(rest, &printed[*at..]).is_ok());
                let Some(from) = from else { return Err("Nothing of it matches what follows …".to_owned()) };
                (shown, printed) = (rest, &printed[from..]);
                continue;
            }
            let Some((line, after)) = printed.split_first() else { return Err(format!("It lacks: {first}")) };
            if !self.line(first, line) {
                return Err(format!("- {first}\n+ {line}"));
            }
            (shown, printed) = (rest, after);
        }
        printed.first().map_or(Ok(()), |line| Err(format!("+ {line}")))
    }

    fn clone_compare(&self, shown: &[&str], printed: &[&str]) -> Result<(), String> {
        Self { real: self.real.clone() }.compare(shown, printed)
    }

    fn line(&mut self, shown: &str, printed: &str) -> bool {
        if let Some((before, after)) = shown.split_once('…') {
            let (left, right) = (words(before), words(after));
            let all = words(printed);
            // What stands around `…` is compared word by word, so that ids in it are learnt.
            let fits = all.len() >= left.len() + right.len() && !after.contains('…');
            return fits
                && self.words(&left, &all[..left.len()])
                && self.words(&right, &all[all.len() - right.len()..]);
        }
        self.words(&words(shown), &words(printed))
    }

    fn words(&mut self, shown: &[&str], printed: &[&str]) -> bool {
        shown.len() == printed.len() && shown.iter().zip(printed).all(|(shown, printed)| self.word(shown, printed))
    }

    fn word(&mut self, shown: &str, printed: &str) -> bool {
        match (kind(shown), kind(printed)) {
            (Kind::Id(prefix), Kind::Id(same)) if prefix == same => {
                let real = self.real.entry(shown.to_owned()).or_insert_with(|| printed.to_owned());
                real == printed
            }
            (Kind::Plain, Kind::Plain) => shown == printed || (is_space(shown) && is_space(printed)),
            (one, other) => one == other,
        }
    }
}

/// Columns move when a duration has more digits.
fn is_space(text: &str) -> bool {
    text.bytes().all(|b| b == b' ')
}
