//! Locates the user's files on each platform.
//!
//! Nothing here reads the environment: the caller passes a function that looks up variables.

use std::ffi::OsString;
use std::path::PathBuf;

/// The platforms with different conventions for user directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    Linux,
    MacOs,
    Windows,
}

impl Platform {
    pub const HERE: Platform = if cfg!(windows) {
        Platform::Windows
    } else if cfg!(target_os = "macos") {
        Platform::MacOs
    } else {
        Platform::Linux
    };
}

/// The directory of the user's own store; `var` looks up an environment variable.
pub fn user_store_root(platform: Platform, var: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let dir = |name| var(name).map(PathBuf::from).filter(|path| !path.as_os_str().is_empty());
    match platform {
        // The XDG specification says to ignore relative paths.
        Platform::Linux => dir("XDG_STATE_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| Some(dir("HOME")?.join(".local/state")))
            .map(|state| state.join("pensa")),
        Platform::MacOs => Some(dir("HOME")?.join("Library/Application Support/Pensa")),
        Platform::Windows => Some(dir("LOCALAPPDATA")?.join("Pensa")),
    }
}

/// The directory of the user's settings, which must not be in a repository; `var` looks up an environment variable.
pub fn user_config_dir(platform: Platform, var: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let dir = |name| var(name).map(PathBuf::from).filter(|path| !path.as_os_str().is_empty());
    match platform {
        Platform::Linux => dir("XDG_CONFIG_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| Some(dir("HOME")?.join(".config")))
            .map(|config| config.join("pensa")),
        Platform::MacOs => Some(dir("HOME")?.join("Library/Application Support/Pensa")),
        Platform::Windows => Some(dir("APPDATA")?.join("Pensa")),
    }
}

/// The settings file for all users of this machine; `var` looks up an environment variable.
pub fn system_config(platform: Platform, var: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let named = |name| var(name).map(PathBuf::from).filter(|path| !path.as_os_str().is_empty());
    named("PN_SYSTEM_CONFIG").or_else(|| match platform {
        Platform::Linux | Platform::MacOs => Some("/etc/pensa/config.toml".into()),
        Platform::Windows => Some(named("PROGRAMDATA")?.join("Pensa/config.toml")),
    })
}

/// The default directory for the projects of a server without a database.
pub fn server_root(platform: Platform, var: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let store = user_store_root(platform, var)?;
    let mut name = store.file_name()?.to_owned();
    name.push(if platform == Platform::Linux { "-server" } else { " Server" });
    Some(store.with_file_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Vars = &'static [(&'static str, &'static str)];

    fn vars(pairs: Vars) -> impl Fn(&str) -> Option<OsString> {
        move |name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
    }

    #[test]
    fn user_settings_are_in_the_platform_directory() {
        let table: [(Platform, Vars, Option<&str>); 9] = [
            (Platform::Linux, &[("HOME", "/h")], Some("/h/.config/pensa")),
            (Platform::Linux, &[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c")], Some("/c/pensa")),
            (Platform::Linux, &[("HOME", "/h"), ("XDG_CONFIG_HOME", "rel")], Some("/h/.config/pensa")),
            (Platform::Linux, &[("HOME", "/h"), ("XDG_CONFIG_HOME", "")], Some("/h/.config/pensa")),
            (Platform::Linux, &[("HOME", "")], None),
            (Platform::MacOs, &[("HOME", "/h")], Some("/h/Library/Application Support/Pensa")),
            (Platform::MacOs, &[("XDG_CONFIG_HOME", "/c")], None),
            (Platform::Windows, &[("APPDATA", "C:/R")], Some("C:/R/Pensa")),
            (Platform::Windows, &[("LOCALAPPDATA", "C:/L")], None),
        ];
        for (platform, pairs, expected) in table {
            assert_eq!(user_config_dir(platform, vars(pairs)), expected.map(PathBuf::from), "{platform:?} {pairs:?}");
        }
    }

    #[test]
    fn system_settings_are_in_the_platform_directory() {
        let table: [(Platform, Vars, Option<&str>); 5] = [
            (Platform::Linux, &[("HOME", "/h")], Some("/etc/pensa/config.toml")),
            (Platform::MacOs, &[], Some("/etc/pensa/config.toml")),
            (Platform::Windows, &[("PROGRAMDATA", "C:/D")], Some("C:/D/Pensa/config.toml")),
            (Platform::Windows, &[], None),
            (Platform::Linux, &[("PN_SYSTEM_CONFIG", "/s.toml")], Some("/s.toml")),
        ];
        for (platform, pairs, expected) in table {
            assert_eq!(system_config(platform, vars(pairs)), expected.map(PathBuf::from), "{platform:?} {pairs:?}");
        }
    }

    #[test]
    fn user_store_is_in_the_platform_directory() {
        let root = |platform, pairs| user_store_root(platform, vars(pairs));
        assert_eq!(root(Platform::Linux, &[("HOME", "/h")]), Some("/h/.local/state/pensa".into()));
        assert_eq!(root(Platform::Linux, &[("HOME", "/h"), ("XDG_STATE_HOME", "/s")]), Some("/s/pensa".into()));
        assert_eq!(
            root(Platform::Linux, &[("HOME", "/h"), ("XDG_STATE_HOME", "rel")]),
            Some("/h/.local/state/pensa".into())
        );
        assert_eq!(root(Platform::MacOs, &[("HOME", "/h")]), Some("/h/Library/Application Support/Pensa".into()));
        assert_eq!(root(Platform::Windows, &[("LOCALAPPDATA", "C:/L")]), Some("C:/L/Pensa".into()));
        assert_eq!(root(Platform::Linux, &[]), None);
    }
}
