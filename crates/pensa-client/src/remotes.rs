//! Stores the addresses and tokens of named servers in a file of the user.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use pensa_core::{Code, Error, Result};
use toml_edit::{Document, Item, Table, TableLike, value};

use crate::http;
use crate::token::Token;
use crate::toml_file::{FilePolicy, TomlFile};

/// The user's name for a server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RemoteName(String);

impl RemoteName {
    const MAX_LENGTH: usize = 64;
}

impl FromStr for RemoteName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let fits = (1..=Self::MAX_LENGTH).contains(&text.len());
        if fits && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)) {
            return Ok(Self(text.to_owned()));
        }
        Err(Error::invalid(format!("not the name of a remote: {text:?}"))
            .hint(format!("letters, digits, - and _, at most {}", Self::MAX_LENGTH)))
    }
}

impl fmt::Display for RemoteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The settings of a named server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteEntry {
    pub url: String,
    pub token: Option<Token>,
    /// A PEM file with the certificate authorities to trust instead of the usual ones.
    pub ca_cert: Option<PathBuf>,
}

/// The file of named servers.
#[derive(Debug)]
pub struct Remotes {
    file: TomlFile,
}

impl Remotes {
    /// The file in the user's settings directory, which may not exist yet.
    pub fn in_dir(dir: &Path) -> Self {
        Self { file: TomlFile::new(dir.join("remotes.toml"), FilePolicy::Secret) }
    }

    /// All servers, sorted by name.
    pub fn list(&self) -> Result<Vec<(RemoteName, RemoteEntry)>> {
        let doc = self.read()?;
        let Some(table) = doc.get(TABLE).and_then(Item::as_table_like) else {
            return Ok(Vec::new());
        };
        let mut all = Vec::new();
        for (name, item) in table.iter() {
            let name: RemoteName = name.parse().map_err(|e: Error| e.within(self.display_path()))?;
            let entry = self.entry(&name, item)?;
            all.push((name, entry));
        }
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(all)
    }

    pub fn get(&self, name: &RemoteName) -> Result<RemoteEntry> {
        let doc = self.read()?;
        let item = doc.get(TABLE).and_then(|table| table.get(&name.0)).ok_or_else(|| unknown(name))?;
        self.entry(name, item)
    }

    /// Whether a server could be added; callers check this before they prompt for a token.
    pub fn check(&self, name: &RemoteName, entry: &RemoteEntry) -> Result<()> {
        http::server_address(&entry.url)?;
        match self.get(name) {
            Ok(_) => Err(name_conflict(name)),
            Err(e) if e.code == Code::NotFound => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Saves a server; a conflict if the name is taken.
    pub fn add(&self, name: &RemoteName, entry: &RemoteEntry) -> Result<()> {
        let mut item = Table::new();
        item["url"] = value(http::server_address(&entry.url)?);
        if let Some(token) = &entry.token {
            item["token"] = value(token.reveal());
        }
        if let Some(file) = &entry.ca_cert {
            let file = file.to_str().ok_or_else(|| Error::invalid(format!("not UTF-8: {}", file.display())))?;
            item["ca_cert"] = value(file);
        }
        self.change(|table| {
            if table.contains_key(&name.0) {
                return Err(name_conflict(name));
            }
            table.insert(&name.0, Item::Table(item));
            Ok(())
        })
    }

    /// Removes a server and its token.
    pub fn remove(&self, name: &RemoteName) -> Result<()> {
        // Check first, so that no file is created.
        self.get(name)?;
        self.change(|table| table.remove(&name.0).map(drop).ok_or_else(|| unknown(name)))
    }

    fn entry(&self, name: &RemoteName, item: &Item) -> Result<RemoteEntry> {
        let text = |field: &str| item.get(field).and_then(Item::as_str);
        let url = text("url").ok_or_else(|| {
            Error::invalid(format!("{}: the remote {name} has no url", self.display_path()))
                .hint(format!("pn remote remove {name}, and add it again"))
        });
        let token = text("token").map(str::parse).transpose();
        let token = token.map_err(|e: Error| e.within(format_args!("{}: {name}", self.display_path())))?;
        Ok(RemoteEntry { url: url?.to_owned(), token, ca_cert: text("ca_cert").map(PathBuf::from) })
    }

    /// Reads the file, which must be readable by the user only.
    fn read(&self) -> Result<Document<String>> {
        self.file.read()?.map_or_else(|| self.file.parse(String::new()), Ok)
    }

    fn change(&self, change: impl FnOnce(&mut dyn TableLike) -> Result<()>) -> Result<()> {
        self.file.change(|doc| {
            let mut fresh = Table::new();
            fresh.set_implicit(true);
            let table = doc.entry(TABLE).or_insert(Item::Table(fresh)).as_table_like_mut();
            change(table.ok_or_else(|| Error::invalid(format!("{}: remote is no table", self.display_path())))?)
        })
    }

    fn display_path(&self) -> impl fmt::Display {
        self.file.path().display()
    }
}

/// `[remote.NAME]`
const TABLE: &str = "remote";

fn unknown(name: &RemoteName) -> Error {
    Error::not_found("remote", name).hint("pn remote list")
}

fn name_conflict(name: &RemoteName) -> Error {
    Error::new(Code::Conflict, format!("there is a remote {name} already"))
        .hint(format!("pn remote remove {name} first"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::thread;

    fn name(text: &str) -> RemoteName {
        text.parse().expect("a name")
    }

    fn entry(token: Option<&str>) -> RemoteEntry {
        let token = token.map(|token| token.parse().expect("a token"));
        RemoteEntry { url: "https://host/p/web".into(), token, ca_cert: Some("/ca.pem".into()) }
    }

    impl Remotes {
        fn path(&self) -> &Path {
            self.file.path()
        }

        fn dir(&self) -> &Path {
            self.path().parent().expect("a directory")
        }
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("there").mode() & 0o777
    }

    #[test]
    fn added_remotes_are_listed_until_removed() {
        let home = tempfile::tempdir().expect("a directory");
        let remotes = Remotes::in_dir(&home.path().join("config/pensa"));
        assert_eq!(remotes.list().expect("none"), []);
        assert_eq!(remotes.remove(&name("web")).expect_err("none").code, Code::NotFound);
        assert!(!remotes.dir().exists(), "looking makes nothing");
        remotes.add(&name("web"), &entry(Some("s3\"cret"))).expect("added");
        remotes.add(&name("api-2"), &entry(None)).expect("added");
        assert_eq!((mode(remotes.path()), mode(remotes.dir())), (0o600, 0o700));
        assert_eq!(remotes.get(&name("web")).expect("there"), entry(Some("s3\"cret")));
        let error = remotes.add(&name("web"), &entry(None)).expect_err("taken");
        assert_eq!((error.code, error.hint.as_deref()), (Code::Conflict, Some("pn remote remove web first")));
        let names: Vec<String> = remotes.list().expect("two").iter().map(|(name, _)| name.to_string()).collect();
        assert_eq!(names, ["api-2", "web"]);
        remotes.remove(&name("web")).expect("removed");
        assert_eq!(remotes.get(&name("web")).expect_err("gone").code, Code::NotFound);
        assert!(!fs::read_to_string(remotes.path()).expect("there").contains("cret"));
        assert_eq!(fs::read_dir(remotes.dir()).expect("there").count(), 1, "no drafts are left");
    }

    #[test]
    fn names_are_short_words() {
        for bad in ["", "a b", "a.b", "a/b", "é", "http://x", "localhost:1", &"x".repeat(65)] {
            assert!(bad.parse::<RemoteName>().is_err(), "{bad:?}");
        }
        assert!("x".repeat(64).parse::<RemoteName>().is_ok());
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let home = tempfile::tempdir().expect("a directory");
        let remotes = Remotes::in_dir(home.path());
        remotes.add(&name("web"), &entry(Some("s3cret"))).expect("added");
        for open in [0o640, 0o604, 0o620, 0o610] {
            fs::set_permissions(remotes.path(), fs::Permissions::from_mode(open)).expect("changed");
            let error = remotes.get(&name("web")).expect_err("open to others");
            assert_eq!(error.code, Code::Forbidden);
            assert!(error.hint.is_some_and(|hint| hint.contains("chmod 600")));
        }
    }

    #[test]
    fn links_are_refused() {
        let home = tempfile::tempdir().expect("a directory");
        let real = Remotes::in_dir(&home.path().join("real"));
        real.add(&name("web"), &entry(None)).expect("added");
        symlink(real.dir(), home.path().join("linked")).expect("a link");
        let linked = Remotes::in_dir(&home.path().join("linked"));
        assert_eq!(linked.get(&name("web")).expect_err("a link").code, Code::InvalidInput);
        assert_eq!(linked.add(&name("b"), &entry(None)).expect_err("a link").code, Code::InvalidInput);
        let other = Remotes::in_dir(&home.path().join("other"));
        fs::create_dir(other.dir()).expect("made");
        symlink(real.path(), other.path()).expect("a link");
        assert_eq!(other.list().expect_err("a link").code, Code::InvalidInput);
    }

    #[test]
    fn error_for_a_broken_file_names_the_line_and_hides_secrets() {
        let home = tempfile::tempdir().expect("a directory");
        let remotes = Remotes::in_dir(home.path());
        for broken in [
            "[remote.web]\nurl = \"http://x\"\ntoken = \"s3cret",
            "[remote.web]\ntoken = \"s3cret\"\n",
            "[remote.web]\nurl = \"http://x\"\ntoken = \"s3cret word\"\n",
            "remote = \"s3cret\"",
        ] {
            fs::write(remotes.path(), broken).expect("written");
            fs::set_permissions(remotes.path(), fs::Permissions::from_mode(0o600)).expect("changed");
            let error = remotes.get(&name("web")).expect_err("broken");
            assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
        }
        fs::write(remotes.path(), "[remote.web]\nurl = \"http://x\"\ntoken = s3cret\n").expect("written");
        assert!(remotes.list().expect_err("broken").message.contains("line 3"));
    }

    #[test]
    fn concurrent_changes_are_all_kept() {
        let home = tempfile::tempdir().expect("a directory");
        let dir = home.path().join("pensa");
        thread::scope(|scope| {
            for at in 0..8 {
                let dir = &dir;
                scope.spawn(move || {
                    Remotes::in_dir(dir).add(&name(&format!("r{at}")), &entry(None)).expect("added");
                });
            }
        });
        assert_eq!(Remotes::in_dir(&dir).list().expect("all").len(), 8);
    }
}
