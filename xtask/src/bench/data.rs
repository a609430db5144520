//! Made-up issues, the same ones on every machine.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::json;

use crate::Result;

const VERBS: [&str; 12] =
    ["fix", "add", "drop", "test", "move", "split", "cache", "trace", "retry", "guard", "parse", "merge"];
const KINDS: [&str; 16] = [
    "stale", "empty", "slow", "broken", "nested", "hidden", "shared", "local", "remote", "signed", "large", "partial",
    "double", "early", "late", "quiet",
];
const THINGS: [&str; 20] = [
    "token", "login", "index", "queue", "socket", "header", "query", "ledger", "branch", "commit", "lease", "worker",
    "config", "buffer", "schema", "upload", "banner", "cursor", "thread", "budget",
];
const SYLLABLES: [&str; 20] = [
    "ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "zu", "la", "me", "si", "to",
    "nu",
];

/// Numbers that look random and are the same every time (splitmix64).
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) >> 33).unwrap_or_default() % end.max(1)
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    /// Titles differ about as much as real ones: now and then two are nearly the same.
    pub(super) fn title(&mut self) -> String {
        let file: String = (0..3).map(|_| self.pick(&SYLLABLES)).collect();
        let (verb, kind, thing) = (self.pick(&VERBS), self.pick(&KINDS), self.pick(&THINGS));
        format!("{verb} {kind} {thing} in {file}.rs when the {} is {}", self.pick(&THINGS), self.pick(&KINDS))
    }

    /// Words of which titles have some.
    pub(super) fn question(&mut self) -> String {
        format!("{} {} {}", self.pick(&VERBS), self.pick(&KINDS), self.pick(&THINGS))
    }

    pub(super) fn description(&mut self) -> String {
        format!("Seen in CI: {}.\nExpected: {}.", self.title(), self.title())
    }
}

/// The id of the issue with this number. Multiplying by an odd number maps no two to the same id.
pub(super) fn id(number: usize) -> String {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    format!("pn-{:08x}", number.wrapping_mul(2_654_435_761))
}

/// Any moment of 2026's January will do, as long as later issues are later.
pub(super) fn time(number: usize) -> String {
    let s = number * 20;
    format!("2026-01-{:02}T{:02}:{:02}:{:02}.000Z", 1 + s / 86400, s / 3600 % 24, s / 60 % 60, s % 60)
}

/// Writes the JSONL files of a store with `size` issues. Each depends on the one before it, so that there are long
/// chains, and on one more at random; half of them are closed; one in `comment_every` has a comment.
pub(super) fn write(dir: &Path, size: usize, comment_every: usize) -> Result {
    let open = |name: &str| File::create(dir.join(name)).map(BufWriter::new);
    let (mut issues, mut deps, mut comments) = (open("issues.jsonl")?, open("deps.jsonl")?, open("comments.jsonl")?);
    let mut dice = Dice::new(size as u64);
    for n in 0..size {
        writeln!(issues, "{}", issue(n, &mut dice))?;
        let before = (n > 0).then(|| n - 1);
        let at_random = (n > 1).then(|| dice.below(n - 1));
        for parent in before.into_iter().chain(at_random) {
            writeln!(deps, "{}", json!({"issue_id": id(n), "depends_on_id": id(parent)}))?;
        }
        if n % comment_every == 0 {
            let comment = json!({"id": format!("pn-c{n:07x}"), "issue_id": id(n), "actor": "agent",
                "text": dice.description(), "created_at": time(n)});
            writeln!(comments, "{comment}")?;
        }
    }
    for mut file in [issues, deps, comments] {
        file.flush()?;
    }
    Ok(())
}

/// The lines of a `pn batch` that creates `size` tasks, all of them ready.
pub(super) fn creates(size: usize, mut title: impl FnMut(usize) -> String) -> String {
    let create = |n| json!({"op": "issue.create", "title": title(n), "issue_type": "task"});
    (0..size).map(create).map(|line| format!("{line}\n")).collect()
}

fn issue(n: usize, dice: &mut Dice) -> serde_json::Value {
    let mut issue = json!({
        "id": id(n),
        "title": dice.title(),
        "description": dice.description(),
        "issue_type": dice.pick(&["bug", "task", "task", "test", "chore"]),
        "status": "open",
        "priority": dice.pick(&["p0", "p1", "p2", "p2", "p3"]),
        "created_at": time(n),
        "updated_at": time(n),
    });
    match dice.below(10) {
        0..5 => {
            issue["status"] = "closed".into();
            issue["closed_at"] = time(n).into();
            issue["close_reason"] = "done".into();
        }
        5 => {
            issue["status"] = "in_progress".into();
            issue["assignee"] = format!("agent-{}", dice.below(20)).into();
        }
        _ => {}
    }
    issue
}
