//! Adds the MCP server to a TOML file (Codex), as a managed block, and takes it out again.

use pensa_core::{Error, Result};
use toml_edit::DocumentMut;

use super::block::{self, CommentSyntax};
use super::{PartState, SERVER_NAME};

const SYNTAX: CommentSyntax = CommentSyntax::Hash;
const TABLE: &str = "mcp_servers";

/// The body of the block.
pub(super) fn body() -> String {
    format!("[{TABLE}.{SERVER_NAME}]\ncommand = \"pn\"\nargs = [\"mcp\"]")
}

fn parse(text: &str) -> Result<DocumentMut> {
    text.parse().map_err(|e: toml_edit::TomlError| {
        let why = e.message().lines().next().unwrap_or_default().to_owned();
        Error::invalid(format!("is not TOML: {why}")).hint("mend the file by hand")
    })
}

fn has_server(text: &str) -> Result<bool> {
    Ok(parse(text)?.get(TABLE).and_then(|servers| servers.get(SERVER_NAME)).is_some())
}

/// The state of the server; one that a person wrote, without the marks, counts as edited.
pub(super) fn state(text: Option<&str>) -> Result<PartState> {
    let Some(text) = text else { return Ok(PartState::Missing) };
    let is_there = has_server(text)?;
    match block::state(SYNTAX, text, &body())? {
        PartState::Missing if is_there => Ok(PartState::Edited),
        state => Ok(state),
    }
}

pub(super) fn add(text: Option<&str>, force: bool) -> Result<String> {
    match state(text)? {
        PartState::Current => return Ok(text.unwrap_or_default().to_owned()),
        PartState::Edited if !force => return Ok(text.unwrap_or_default().to_owned()),
        PartState::Edited if block::body(SYNTAX, text.unwrap_or_default()).is_none() => {
            return Err(Error::invalid(format!("has a table {TABLE}.{SERVER_NAME} of its own"))
                .hint("delete it by hand; pn setup then writes it"));
        }
        _ => {}
    }
    let with = block::add(SYNTAX, text, &body())?;
    // Where the servers are written on one line, a table of that name is an error.
    if has_server(&with).unwrap_or(false) {
        return Ok(with);
    }
    Err(Error::invalid(format!("has {TABLE} in a form that no table can be added to"))
        .hint(format!("add {SERVER_NAME} = {{ command = \"pn\", args = [\"mcp\"] }} to it by hand")))
}

pub(super) fn remove(text: &str, force: bool) -> Result<Option<String>> {
    let body = body();
    block::remove(SYNTAX, text, &body.lines().collect::<Vec<_>>(), force)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_server_is_added_at_the_end_and_understood() {
        let with = add(Some("# mine\nmodel = \"x\"\n[mcp_servers.other]\ncommand = 'y'\n"), false).expect("added");
        let doc = parse(&with).expect("TOML");
        assert_eq!(doc["mcp_servers"]["pensa"]["args"][0].as_str(), Some("mcp"));
        assert_eq!(doc["mcp_servers"]["other"]["command"].as_str(), Some("y"));
        assert_eq!(state(Some(&with)).expect("readable"), PartState::Current);
    }

    #[test]
    fn a_server_that_a_person_wrote_is_left_alone() {
        let own = "[mcp_servers.pensa]\ncommand = \"/opt/pn\"\n";
        assert_eq!(state(Some(own)).expect("readable"), PartState::Edited);
        assert_eq!(add(Some(own), false).expect("left"), own);
        assert!(add(Some(own), true).is_err());
        assert_eq!(remove(own, true).expect("left").as_deref(), Some(own));
    }

    #[test]
    fn files_that_cannot_be_merged_are_refused() {
        for text in ["a =", "mcp_servers = { other = { command = 'x' } }\n", "mcp_servers = 1\n", "[[mcp_servers]]\n"] {
            assert!(add(Some(text), false).is_err(), "{text}");
        }
    }

    /// TOML with comments, tables and several line ends.
    fn documents() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            Just("# c"),
            Just(""),
            Just("  # d  "),
            Just("a = 1 # why"),
            Just("text = \"\"\"\n[mcp_servers.pensa]\n\"\"\""),
            Just("b.c = [\n  1, # one\n]"),
        ];
        let table = prop_oneof![
            Just("[x]\n  k = 'v'"),
            Just("[mcp_servers.other]\ncommand = \"x\""),
            Just("[[y]]\nz = 1"),
            Just("[mcp_servers]"),
        ];
        (prop::collection::vec(line, 0..4), table, any::<bool>(), any::<bool>()).prop_map(
            |(lines, table, crlf, has_end)| {
                let mut kept: Vec<&str> = Vec::new();
                lines.into_iter().for_each(|line| {
                    if !kept.contains(&line) {
                        kept.push(line)
                    }
                });
                let text = [kept, vec![table]].concat().join("\n") + if has_end { "\n" } else { "" };
                if crlf { text.replace('\n', "\r\n") } else { text }
            },
        )
    }

    proptest! {
        #[test]
        fn add_check_add_again_and_remove_give_the_same_bytes(text in documents()) {
            prop_assume!(parse(&text).is_ok());
            let with = add(Some(&text), false).expect("a table fits");
            prop_assert_eq!(state(Some(&with)).expect("readable"), PartState::Current);
            prop_assert_eq!(&add(Some(&with), false).expect("again"), &with);
            prop_assert_eq!(remove(&with, false).expect("removed"), Some(text));
        }
    }
}
