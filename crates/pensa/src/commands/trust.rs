//! `pn trust`: trusts the `remote-server` and the `redact.allow` that a repository sets.

use clap::Args;
use pensa_client::config::{REDACT_ALLOW, TrustedServer};
use pensa_core::{Code, Error, Result};
use serde::Serialize;

use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

/// Trust the server that this repository names as its remote-server
///
/// A repository can name any server. Until you trust it for this store, no command goes there or shows it a token.
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// The address you expect; fails if the repository names another
    #[arg(value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Stop trusting it
    #[arg(long)]
    pub(crate) revoke: bool,
    /// List what you trust, in all repositories
    #[arg(long, conflicts_with_all = ["url", "revoke"])]
    pub(crate) list: bool,
}

#[derive(Debug, Serialize)]
struct TrustOutput {
    /// `trusted` or `revoked`
    status: &'static str,
    #[serde(flatten)]
    trusted: TrustedServer,
}

pub(super) fn run(options: &GlobalOptions, output: Output, args: &TrustArgs) -> Result<()> {
    let trusts = connect::trusts()?;
    if args.list {
        return output.answer(&trusts.list()?);
    }
    let allow = connect::repository_setting(options, &REDACT_ALLOW)?;
    let allow = allow.map(|patterns| connect::trusted_redact_allow(options, &patterns)).transpose()?;
    let trusted = match (connect::repository_server(options)?, allow) {
        (Some(server), allow) => {
            if let Some(allow) = allow.filter(|_| args.url.is_none()) {
                if args.revoke {
                    trusts.remove(&allow)?;
                } else {
                    trusts.add(&allow)?;
                }
                output.note(&format!("{} {}", if args.revoke { "revoked" } else { "trusted" }, allow.url));
            }
            connect::trusted_server(options, &server)?
        }
        (None, Some(allow)) => allow,
        (None, None) => {
            return Err(Error::new(Code::NotFound, "this repository names no remote-server and no redact.allow")
                .hint("flags, variables and your own settings need no trust"));
        }
    };
    if let Some(expected) = args.url.as_ref().filter(|expected| expected.trim_end_matches('/') != trusted.url) {
        let message = format!("this repository names {}, not {expected}", trusted.url);
        return Err(Error::new(Code::Conflict, message).hint("look at .pensa/config.toml, and who changed it"));
    }
    if !args.revoke {
        trusts.add(&trusted)?;
        return output.answer(&TrustOutput { status: "trusted", trusted });
    }
    if !trusts.remove(&trusted)? {
        return Err(Error::new(Code::NotFound, format!("{} was not trusted for this store", trusted.url)));
    }
    output.answer(&TrustOutput { status: "revoked", trusted })
}

impl Render for TrustOutput {
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

impl Render for Vec<TrustedServer> {
    fn render(&self, screen: &mut Screen) {
        for trusted in self {
            screen.text(&trusted.url).plain(" for store ").text(&trusted.store).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|trusted| trusted.url.clone()).collect()
    }
}
