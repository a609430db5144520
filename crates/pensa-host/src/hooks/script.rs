//! Generates the text of our git hooks, and inserts it into other tools' hook scripts and removes it again.

use std::fmt;
use std::str::FromStr;

use pensa_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// The git hooks that Pensa uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hook {
    PreCommit,
    PostMerge,
    PostCheckout,
    PostRewrite,
}

impl Hook {
    pub const ALL: [Hook; 4] = [Hook::PreCommit, Hook::PostMerge, Hook::PostCheckout, Hook::PostRewrite];

    pub fn name(self) -> &'static str {
        match self {
            Hook::PreCommit => "pre-commit",
            Hook::PostMerge => "post-merge",
            Hook::PostCheckout => "post-checkout",
            Hook::PostRewrite => "post-rewrite",
        }
    }
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Hook {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = Hook::ALL.into_iter().find(|hook| hook.name() == name);
        known.ok_or_else(|| {
            let names = Hook::ALL.map(Hook::name).join(", ");
            Error::invalid(format!("not a hook of ours: {name:?}")).hint(format!("one of {names}"))
        })
    }
}

/// How a hook file came to contain our part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HookKind {
    /// There was no hook: the whole file is ours.
    Own,
    /// Another tool's shell script, with our part inserted at its beginning.
    Guest,
    /// The file is ours and calls another tool's hook, which was renamed.
    Chain,
}

impl HookKind {
    const ALL: [HookKind; 3] = [HookKind::Own, HookKind::Guest, HookKind::Chain];

    fn opening(self) -> &'static str {
        match self {
            HookKind::Own => "# >>> pensa (pn hooks remove deletes this file)",
            HookKind::Guest => "# >>> pensa (pn hooks remove takes this part out again)",
            HookKind::Chain => "# >>> pensa (pn hooks remove puts back the hook that was here)",
        }
    }
}

const CLOSING: &str = "# <<< pensa";
const SHEBANG: &str = "#!/bin/sh\n";
const PROGRAM: &str = "pensa_pn=";
const STORE: &str = "pensa_store=";

/// The new name of another tool's hook that ours calls.
pub(super) fn chained_name(hook: Hook) -> String {
    format!("{hook}.pre-pensa")
}

/// The values that differ between installations, each a quoted shell word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HookParams {
    /// The name or path of `pn`.
    pub(super) program: String,
    /// The project's path relative to the root of the work tree.
    pub(super) store: String,
}

/// Quotes a text as one shell word.
pub(super) fn quote(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./+@:".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The text of a shell word; `None` if its quotes are unbalanced.
pub(super) fn unquote(word: &str) -> Option<String> {
    shlex::split(word)?.pop()
}

/// Our part of a hook. It must work at the beginning of any shell script: it leaves `$@`, standard input and the
/// working directory alone, and no command in it fails in a way that `set -e` would act on.
pub(super) fn part(hook: Hook, kind: HookKind, params: &HookParams) -> String {
    let (opening, chain) = (kind.opening(), if kind == HookKind::Chain { chain(hook) } else { String::new() });
    let HookParams { program, store } = params;
    let failed = match hook {
        Hook::PreCommit => "git commit --no-verify commits without an export' >&2; exit 1",
        Hook::PostCheckout | Hook::PostMerge | Hook::PostRewrite => "pn import tells more' >&2",
    };
    let otherwise = match hook {
        Hook::PreCommit => "issues are not exported with this commit",
        _ => "issues are not imported",
    };
    let run = format!(r#""$pensa_pn" --store "$pensa_store" hooks run {hook} </dev/null || pensa_status=$?"#);
    format!(
        r#"{opening}
{PROGRAM}{program}
{STORE}{store}
pensa_status=0
if ! command -v "$pensa_pn" >/dev/null 2>&1; then pensa_pn=pn; fi
if ! command -v "$pensa_pn" >/dev/null 2>&1; then
  echo 'pensa: pn is not installed here: {otherwise}' >&2
else
  {run}
fi
if [ "$pensa_status" -ne 0 ]; then
  echo 'pensa: the {hook} hook failed; {failed}
fi
{chain}{CLOSING}
"#
    )
}

fn chain(hook: Hook) -> String {
    let next = chained_name(hook);
    format!(
        r#"pensa_next=$(dirname -- "$0")/{next}
PENSA_HOOK_DEPTH=$((${{PENSA_HOOK_DEPTH:-0}} + 1))
export PENSA_HOOK_DEPTH
if [ "$PENSA_HOOK_DEPTH" -gt 8 ]; then echo 'pensa: the {hook} hooks call each other in a circle' >&2; exit 1; fi
if [ -x "$pensa_next" ]; then exec "$pensa_next" "$@"; fi
"#
    )
}

/// A complete hook file.
pub(super) fn file(hook: Hook, kind: HookKind, params: &HookParams) -> Vec<u8> {
    format!("{SHEBANG}{}", part(hook, kind, params)).into_bytes()
}

/// Inserts our part after the first line of another tool's script; `None` if it is not a shell script.
pub(super) fn insert(script: &[u8], hook: Hook, params: &HookParams) -> Option<Vec<u8>> {
    let end = script.iter().position(|byte| *byte == b'\n')? + 1;
    let first = str::from_utf8(script.get(..end)?).ok()?;
    if !is_shell(first) || script.contains(&0) {
        return None;
    }
    let (head, tail) = script.split_at(end);
    Some([head, part(hook, HookKind::Guest, params).as_bytes(), tail].concat())
}

/// Whether a shebang line names a shell, and flags, that our part works with.
fn is_shell(line: &str) -> bool {
    let Some(line) = line.strip_prefix("#!") else { return false };
    let Some(line) = line.strip_suffix('\n').filter(|line| !line.ends_with('\r')) else { return false };
    let mut words = line.split_ascii_whitespace();
    let base = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let mut interpreter = words.next().map(base);
    if interpreter.as_deref() == Some("env") {
        interpreter = words.find(|word| *word != "-S").map(base);
    }
    let harmless = |word: &str| word.strip_prefix('-').is_some_and(|flags| flags.chars().all(|c| "eux".contains(c)));
    let known = ["sh", "bash", "dash", "ash", "ksh", "zsh"];
    interpreter.is_some_and(|name| known.contains(&name.as_str())) && words.all(harmless)
}

/// A hook file that contains our part.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InstalledHook {
    pub(super) kind: HookKind,
    part: Vec<u8>,
    /// The file without our part.
    pub(super) rest: Vec<u8>,
}

impl InstalledHook {
    /// Whether a file of ours contains nothing else.
    pub(super) fn is_unmodified(&self) -> bool {
        self.rest == SHEBANG.as_bytes()
    }

    /// The values in our part, if they can be parsed.
    pub(super) fn params(&self) -> Option<HookParams> {
        let text = str::from_utf8(&self.part).ok()?;
        let word = |name| text.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        Some(HookParams { program: word(PROGRAM)?, store: word(STORE)? })
    }

    /// Whether our part is what this version would write with the same values.
    pub(super) fn is_current(&self, hook: Hook) -> bool {
        self.params().is_some_and(|params| self.is_equal_to(hook, &params))
    }

    pub(super) fn is_equal_to(&self, hook: Hook, params: &HookParams) -> bool {
        part(hook, self.kind, params).as_bytes() == self.part
    }

    /// The file with our part replaced by this version's.
    pub(super) fn renewed(&self, hook: Hook, params: &HookParams) -> Vec<u8> {
        let end = self.rest.iter().position(|byte| *byte == b'\n').map_or(self.rest.len(), |at| at + 1);
        let (head, tail) = self.rest.split_at(end);
        [head, part(hook, self.kind, params).as_bytes(), tail].concat()
    }
}

/// Finds our part in a hook file.
pub(super) fn find(file: &[u8]) -> Option<InstalledHook> {
    let (kind, start) = HookKind::ALL.into_iter().find_map(|kind| {
        let line = format!("{}\n", kind.opening());
        position(file, line.as_bytes()).map(|at| (kind, at))
    })?;
    let closing = format!("{CLOSING}\n");
    let end = start + position(file.get(start..)?, closing.as_bytes())? + closing.len();
    let (part, rest) = (file.get(start..end)?.to_vec(), [file.get(..start)?, file.get(end..)?].concat());
    Some(InstalledHook { kind, part, rest })
}

fn position(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    bytes.windows(pattern.len()).position(|window| window == pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params() -> HookParams {
        HookParams { program: quote("/opt/it's here/pn"), store: quote(".") }
    }

    #[test]
    fn inserting_and_removing_our_part_restores_the_script() {
        let scripts: [&[u8]; 4] =
            [b"#!/bin/sh\n", b"#!/usr/bin/env -S bash -eu\necho \xff\n", b"#!/bin/zsh\nno end", b"#!/bin/sh -e\n\n\n"];
        for script in scripts {
            for hook in Hook::ALL {
                let with = insert(script, hook, &params()).expect("a shell's script");
                let found = find(&with).expect("our part");
                assert_eq!((found.kind, found.rest.as_slice()), (HookKind::Guest, script));
                assert_eq!(found.params(), Some(params()));
                assert!(found.is_current(hook));
                assert_eq!(found.renewed(hook, &params()), with);
            }
        }
    }

    #[test]
    fn only_shell_scripts_are_changed() {
        let others: [&[u8]; 9] = [
            b"",
            b"\x7fELF",
            b"#!/usr/bin/env python3\n",
            b"#!/bin/sh",
            b"#!/bin/sh\r\necho\r\n",
            b"echo no first line\n",
            b"#!/bin/sh\n\0",
            b"#!/bin/sh -n\n",
            b"#!/usr/bin/fish\n",
        ];
        for other in others {
            assert_eq!(insert(other, Hook::PreCommit, &params()), None, "{other:?}");
        }
    }

    #[test]
    fn a_part_of_another_version_is_not_current() {
        let file = file(Hook::PostMerge, HookKind::Own, &params());
        let older = String::from_utf8(file).expect("text").replace("pensa_status=0\n", "");
        let found = find(older.as_bytes()).expect("our part");
        assert!(!found.is_current(Hook::PostMerge) && found.is_unmodified());
        assert!(find(b"#!/bin/sh\n# >>> pensa, says somebody\n").is_none());
    }

    #[test]
    fn words_are_quoted_only_if_they_need_it() {
        assert_eq!(quote("/usr/local/bin/pn"), "/usr/local/bin/pn");
        assert_eq!(quote(""), "''");
        assert_eq!(quote("a b;'c"), r"'a b;'\''c'");
        for text in ["a b;'c", "$x `y` \\ \"", "'", "é", "a\nb"] {
            assert_eq!(unquote(&quote(text)).as_deref(), Some(text));
        }
    }
}
