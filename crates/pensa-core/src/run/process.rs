//! The processes of a run, and the terminal multiplexer window that shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::closed_enum::closed_enum;
use crate::error::{Error, Result};
use crate::text;

/// A process of one machine, distinguishable from a later one with the same number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Process {
    pub pid: i64,
    /// Its start time, as its machine states it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub born: Option<String>,
}

impl Process {
    pub fn check(&self) -> Result<()> {
        if self.pid < 1 {
            return Err(Error::invalid(format!("not the number of a process: {}", self.pid)));
        }
        self.born.as_ref().map_or(Ok(()), |born| text::line("the birth of a process", born).map(drop))
    }
}

closed_enum! {
    /// A terminal multiplexer.
    Mux "unknown multiplexer: {:?}" {
        Tmux "tmux",
        Zellij "zellij",
        Screen "screen",
    }
}

/// The window of a multiplexer that a run is in.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MuxWindow {
    pub multiplexer_kind: Option<Mux>,
    pub mux_session: Option<String>,
    pub mux_window: Option<i64>,
    pub pane_left: Option<String>,
    pub pane_right: Option<String>,
}

impl MuxWindow {
    pub fn check(&self) -> Result<()> {
        for (what, given) in
            [("mux_session", &self.mux_session), ("pane_left", &self.pane_left), ("pane_right", &self.pane_right)]
        {
            given.as_ref().map_or(Ok(()), |given| text::line(what, given).map(drop))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_have_numbers_and_multiplexers_one_spelling() {
        assert!(Process { pid: 1, born: None }.check().is_ok());
        assert!(Process { pid: 0, born: None }.check().is_err() && Process { pid: -1, born: None }.check().is_err());
        assert!(Process { pid: 1, born: Some("\n".into()) }.check().is_err());
        for mux in Mux::ALL {
            assert_eq!(serde_json::json!(mux), mux.as_str());
            assert_eq!(mux.as_str().parse::<Mux>().expect("known"), mux);
        }
        assert!("byobu".parse::<Mux>().is_err());
    }
}
