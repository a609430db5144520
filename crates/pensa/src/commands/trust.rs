//! `pn trust`: whether to follow the server that a repository names, and to keep what it says is no secret.

use pensa_client::config::{REDACT_ALLOW, Trusted};
use pensa_core::{Code, Error, Result};
use serde::Serialize;

use crate::cli::{Options, Trust};
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

#[derive(Debug, Serialize)]
struct Said {
    /// `trusted` or `revoked`
    status: &'static str,
    #[serde(flatten)]
    trusted: Trusted,
}

pub(super) fn run(options: &Options, output: Output, args: &Trust) -> Result<()> {
    let trusts = connect::trusts()?;
    if args.list {
        return output.answer(&trusts.list()?);
    }
    let allow = connect::setting_of_repository(options, &REDACT_ALLOW)?;
    let allow = allow.map(|patterns| connect::trusted_allow(options, &patterns)).transpose()?;
    let trusted = match (connect::server_of_repository(options)?, allow) {
        (Some(server), allow) => {
            if let Some(allow) = allow.filter(|_| args.url.is_none()) {
                if args.revoke {
                    trusts.remove(&allow)?;
                } else {
                    trusts.add(&allow)?;
                }
                output.note(&format!("{} {}", if args.revoke { "revoked" } else { "trusted" }, allow.url));
            }
            connect::trusted(options, &server)?
        }
        (None, Some(allow)) => allow,
        (None, None) => {
            return Err(Error::new(Code::NotFound, "this repository names no remote-server and no redact.allow")
                .hint("flags, variables and your own settings need no trust"));
        }
    };
    if let Some(meant) = args.url.as_ref().filter(|meant| meant.trim_end_matches('/') != trusted.url) {
        let message = format!("this repository names {}, not {meant}", trusted.url);
        return Err(Error::new(Code::Conflict, message).hint("look at .pensa/config.toml, and who changed it"));
    }
    if !args.revoke {
        trusts.add(&trusted)?;
        return output.answer(&Said { status: "trusted", trusted });
    }
    if !trusts.remove(&trusted)? {
        return Err(Error::new(Code::NotFound, format!("{} was not trusted for this store", trusted.url)));
    }
    output.answer(&Said { status: "revoked", trusted })
}

impl Render for Said {
    fn render(&self, screen: &mut Screen) {
        screen
            .plain(self.status)
            .plain(" ")
            .text(&self.trusted.url)
            .plain(" for store ")
            .text(&self.trusted.store)
            .end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.trusted.url.clone()]
    }
}

impl Render for Vec<Trusted> {
    fn render(&self, screen: &mut Screen) {
        for trusted in self {
            screen.text(&trusted.url).plain(" for store ").text(&trusted.store).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|trusted| trusted.url.clone()).collect()
    }
}
