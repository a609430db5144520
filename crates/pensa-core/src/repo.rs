//! The repository in which runs take place, and the normal form of remote URLs.
//!
//! `pensa-host` finds the repository of a directory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::closed_enum::closed_enum;
use crate::entity;
use crate::error::{Error, Result};
use crate::id::{RepoId, WorkspaceId};
use crate::text;
use crate::time::Timestamp;

closed_enum! {
    /// The version control system of a repository.
    Vcs "unknown version control: {:?}" {
        Git "git",
        Hg "hg",
        Jj "jj",
        Bzr "bzr",
        Fossil "fossil",
        Pijul "pijul",
    }
}

/// Environment variables that git sets in hooks or that change how it reads paths. They must be removed before running
/// git in another repository.
pub const GIT_ENVIRONMENT: [&str; 14] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
];

/// Where a repository is: its directory on a machine, its remote, or both.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Seen")]
pub struct RepoLocation {
    pub vcs: Vcs,
    /// The machine that has the directory
    pub host: Option<String>,
    pub root_path: Option<String>,
    pub remote_url: Option<String>,
    pub default_branch: Option<String>,
}

impl RepoLocation {
    /// Returns the location in normal form; refuses one with neither root nor remote.
    pub fn checked(&self) -> Result<Self> {
        let line = |what: &str, given: &Option<String>| text::optional_line(what, given.as_ref());
        let root_path = line("root_path", &self.root_path)?;
        let remote_url = line("remote_url", &self.remote_url)?.map(|url| normal_url(&url));
        if root_path.is_none() && remote_url.is_none() {
            return Err(
                Error::invalid("a repository has a root or a remote").hint("give its directory, or its address")
            );
        }
        let host = line("host", &self.host)?.filter(|_| root_path.is_some());
        Ok(Self { vcs: self.vcs, host, root_path, remote_url, default_branch: line("branch", &self.default_branch)? })
    }
}

/// A repository of runs.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repo {
    pub id: RepoId,
    pub vcs: Vcs,
    /// The machine that has the directory
    pub host: Option<String>,
    pub root_path: Option<String>,
    pub remote_url: Option<String>,
    pub default_branch: Option<String>,
    pub created_at: Timestamp,
}

entity!(Repo: "repo" in "repos", keys 1 {
    id, vcs, host, root_path, remote_url, default_branch, created_at,
});

/// A named group of runs on a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Workspace {
    pub id: WorkspaceId,
    pub name: String,
    /// Its id in another system
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    pub created_at: Timestamp,
}

entity!(Workspace: "workspace" in "workspaces", keys 1 { id, name, external_id, created_at });

/// The normal form of a remote's URL, without credentials.
///
/// The protocols that hosts serve side by side (ssh, git, http) become https, so that one repository has one URL. Paths
/// stay paths.
pub fn normal_url(url: &str) -> String {
    let url = url.trim();
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest),
        None => match scp_like(url) {
            Some((host, path)) => return https(host, path),
            None => return trimmed(url).to_owned(),
        },
    };
    match scheme.strip_prefix("git+").unwrap_or(&scheme) {
        "https" | "http" | "ssh" | "git" => {
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            https(host, path)
        }
        "file" => format!("file://{}", trimmed(rest)),
        _ => format!("{scheme}://{}", trimmed(rest)),
    }
}

/// Splits `user@host:path`; `None` for local paths and drive letters.
fn scp_like(url: &str) -> Option<(&str, &str)> {
    let (host, path) = url.split_once(':')?;
    let is_host = host.len() > 1 && !host.contains(['/', '\\', ' ']) && !path.is_empty();
    is_host.then_some((host, path))
}

fn https(host: &str, path: &str) -> String {
    // The user is not part of the address, and may include a password.
    let host = host.rsplit('@').next().unwrap_or(host).to_ascii_lowercase();
    let host =
        [":443", ":80", ":22", ":9418"].iter().find_map(|port| host.strip_suffix(port)).unwrap_or(&host).to_owned();
    let path = trimmed(path.trim_start_matches('/'));
    if path.is_empty() { format!("https://{host}") } else { format!("https://{host}/{path}") }
}

fn trimmed(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn remote_urls_have_one_normal_form() {
        let same = [
            "git@github.com:Org/Repo.git",
            "https://github.com/Org/Repo",
            "https://github.com/Org/Repo.git/",
            "https://user:secret@GitHub.com/Org/Repo.git",
            "http://github.com:80/Org/Repo",
            "ssh://git@github.com/Org/Repo.git",
            "ssh://git@github.com:22/Org/Repo",
            "git+ssh://git@github.com/Org/Repo",
            "git://github.com/Org/Repo",
            " https://github.com:443/Org/Repo ",
        ];
        for url in same {
            assert_eq!(normal_url(url), "https://github.com/Org/Repo", "{url}");
        }
        for (url, normal) in [
            ("https://example.test:8443/a/b.git", "https://example.test:8443/a/b"),
            ("/srv/git/a.git", "/srv/git/a"),
            ("../a.git/", "../a"),
            ("file:///srv/git/a.git", "file:///srv/git/a"),
            ("C:\\repos\\a", "C:\\repos\\a"),
            ("C:/repos/a", "C:/repos/a"),
            ("host:a/b.git", "https://host/a/b"),
            ("https://example.test", "https://example.test"),
            ("bzr://example.test/a/", "bzr://example.test/a"),
            ("", ""),
        ] {
            assert_eq!(normal_url(url), normal, "{url}");
            assert_eq!(normal_url(normal), normal, "{url}: once is enough");
        }
    }

    #[test]
    fn location_needs_a_root_or_a_remote() {
        let seen = |root: Option<&str>, url: Option<&str>| RepoLocation {
            vcs: Vcs::Git,
            host: Some("here".into()),
            root_path: root.map(str::to_owned),
            remote_url: url.map(str::to_owned),
            default_branch: Some(" ".into()),
        };
        let checked = seen(Some("/a"), Some("git@h.test:x/y.git")).checked().expect("fine");
        assert_eq!((checked.remote_url.as_deref(), checked.default_branch), (Some("https://h.test/x/y"), None));
        assert_eq!(seen(None, Some("https://h.test/x")).checked().expect("fine").host, None, "a host has directories");
        assert!(seen(None, None).checked().is_err() && seen(Some(" "), None).checked().is_err());
        assert!(seen(Some("/a\nb"), None).checked().is_err());
    }

    #[test]
    fn vcs_words_are_the_same_in_json_and_on_the_command_line() {
        for vcs in Vcs::ALL {
            assert_eq!(serde_json::json!(vcs), vcs.as_str());
            assert_eq!(vcs.as_str().parse::<Vcs>().expect("known"), vcs);
            assert_eq!(vcs.to_possible_value().expect("shown").get_name(), vcs.as_str());
        }
        assert!("svn".parse::<Vcs>().expect_err("unknown").hint.is_some());
    }
}
