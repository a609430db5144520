//! Tests layers, settings files and trust.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::*;

/// A file path for every layer.
fn files(dir: &Path) -> ConfigPaths {
    fs::create_dir_all(dir.join("p/.pensa/local")).expect("made");
    ConfigPaths {
        local: Some(dir.join("p/.pensa/local/config.toml")),
        project: Some(dir.join("p/.pensa/config.toml")),
        user: Some(dir.join("home/pensa/config.toml")),
        system: Some(dir.join("etc/pensa/config.toml")),
    }
}

fn overrides(flag: Option<&str>, variables: &[(&str, &str)]) -> ConfigOverrides {
    ConfigOverrides {
        flags: flag.map(|given| ("remote-server", "--remote-server", given.to_owned())).into_iter().collect(),
        variables: variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect(),
    }
}

const LAYERS: [Layer; 6] = [Layer::Flag, Layer::Environment, Layer::Local, Layer::Project, Layer::User, Layer::System];

/// Settings in which each of these layers sets its own server.
fn configured(dir: &Path, layers: &[Layer]) -> Config {
    let files = files(dir);
    let url = |layer: Layer| format!("http://{layer}");
    for layer in &layers.iter().copied().filter(|layer| *layer >= Layer::Local).collect::<Vec<_>>() {
        files.set(*layer, "remote-server", &url(*layer)).expect("set");
    }
    let flag = layers.contains(&Layer::Flag).then(|| url(Layer::Flag));
    let variable = url(Layer::Environment);
    let variables: &[(&str, &str)] =
        if layers.contains(&Layer::Environment) { &[("PN_DAEMON", &variable)] } else { &[] };
    Config::read(overrides(flag.as_deref(), variables), &files).expect("read")
}

#[test]
fn strongest_layer_wins() {
    for chosen in 0..1u32 << LAYERS.len() {
        let layers: Vec<Layer> =
            LAYERS.into_iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1).map(|(_, layer)| layer).collect();
        let dir = tempfile::tempdir().expect("a directory");
        let config = configured(dir.path(), &layers);
        let found = config.get(&REMOTE_SERVER).expect("readable");
        assert_eq!(found.as_ref().map(|setting| setting.layer), layers.first().copied(), "{layers:?}");
        if let Some(setting) = found {
            assert_eq!(setting.value, SettingValue::Text(format!("http://{}", layers[0])));
            let origin = match setting.layer {
                Layer::Flag => "--remote-server".to_owned(),
                Layer::Environment => "PN_DAEMON".to_owned(),
                layer => format!("{} line 1", files(dir.path()).of(layer).expect("a file").path().display()),
            };
            assert_eq!(setting.origin, origin);
        }
    }
}

#[test]
fn pn_remote_server_takes_precedence_over_pn_daemon() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = |variables: &[(&str, &str)]| {
        let config = Config::read(overrides(None, variables), &files(dir.path())).expect("read");
        config.get(&REMOTE_SERVER).expect("readable").map(|setting| (setting.value.to_string(), setting.origin))
    };
    let resolved = |url: &str, by: &str| Some((url.to_owned(), by.to_owned()));
    assert_eq!(server(&[("PN_REMOTE_SERVER", "http://a")]), resolved("http://a", "PN_REMOTE_SERVER"));
    assert_eq!(server(&[("PN_DAEMON", "http://b")]), resolved("http://b", "PN_DAEMON"));
    assert_eq!(
        server(&[("PN_DAEMON", "http://b"), ("PN_REMOTE_SERVER", "http://a")]),
        resolved("http://a", "PN_REMOTE_SERVER")
    );
}

#[test]
fn empty_value_overrides_weaker_layers() {
    let dir = tempfile::tempdir().expect("a directory");
    let files = files(dir.path());
    files.set(Layer::User, "remote-server", "http://user").expect("set");
    files.set(Layer::User, "export.events", "true").expect("set");
    let server = |reported| Config::read(reported, &files).expect("read").get(&REMOTE_SERVER).expect("readable");
    assert!(server(ConfigOverrides::default()).is_some());
    assert_eq!(server(overrides(Some(""), &[])), None);
    assert_eq!(server(overrides(None, &[("PN_DAEMON", "")])), None);
    let config = Config::read(overrides(None, &[("PN_EXPORT_EVENTS", "")]), &files).expect("read");
    assert!(!config.is_on(&EXPORT_EVENTS).expect("readable"));
    files.set(Layer::Local, "remote-server", "").expect("set");
    assert_eq!(server(ConfigOverrides::default()), None);
}

#[test]
fn setting_a_value_leaves_the_rest_of_the_file_unchanged() {
    let before = "# ours\nstore_id = \"x\"   # never change it\n\n[run]\n# which one\nharness = 'codex' # for now\nruntime = \"local\"\n\n# the end\n";
    let dir = tempfile::tempdir().expect("a directory");
    let files = files(dir.path());
    let path = files.project.clone().expect("a path");
    let text = || fs::read_to_string(&path).expect("there");
    fs::write(&path, before).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("changed");
    files.set(Layer::Project, "run.harness", "claude-code@2.1").expect("set");
    assert_eq!(text(), before.replace("'codex'", "\"claude-code@2.1\""));
    files.set(Layer::Project, "run.harness", "codex").expect("set");
    files.set(Layer::Project, "export.events", "true").expect("set");
    assert!(text().starts_with(&before.replace("'codex'", "\"codex\"").replace("\n# the end\n", "")), "{}", text());
    assert!(text().contains("[export]\nevents = true\n") && text().contains("# the end"), "{}", text());
    assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o644, "its mode stays");
    assert!(files.unset(Layer::Project, "run.harness").expect("unset").0);
    assert!(text().contains("[run]\n# which one\nruntime = \"local\"\n"), "{}", text());
    assert!(!files.unset(Layer::Project, "run.harness").expect("nothing to do").0);
    assert_eq!(fs::read_dir(path.parent().expect("a directory")).expect("there").count(), 2, "no drafts are left");
}

#[test]
fn unsetting_one_value_of_an_inline_table_keeps_the_others() {
    let dir = tempfile::tempdir().expect("a directory");
    let files = files(dir.path());
    let path = files.project.clone().expect("a path");
    for before in
        ["run = { harness = \"codex\", runtime = \"local\" }\n", "run.harness = \"codex\"\nrun.runtime = \"local\"\n"]
    {
        fs::write(&path, before).expect("written");
        files.unset(Layer::Project, "run.harness").expect("unset");
        let config = Config::read(ConfigOverrides::default(), &files).expect("read");
        assert_eq!(config.text(&RUN_HARNESS).expect("readable"), None, "{before}");
        assert_eq!(config.text(&RUN_RUNTIME).expect("readable").as_deref(), Some("local"), "{before}");
        files.set(Layer::Project, "run.harness", "codex").expect("set");
        let config = Config::read(ConfigOverrides::default(), &files).expect("read");
        assert_eq!(config.text(&RUN_HARNESS).expect("readable").as_deref(), Some("codex"), "{before}");
    }
}

#[test]
fn files_and_directories_are_created_on_the_first_set_only() {
    let dir = tempfile::tempdir().expect("a directory");
    let files = files(dir.path());
    assert!(!files.unset(Layer::User, "actor").expect("nothing to do").0);
    Config::read(ConfigOverrides::default(), &files).expect("read");
    assert!(!dir.path().join("home").exists() && !dir.path().join("etc").exists());
    let mode = |path: &str| fs::metadata(dir.path().join(path)).expect("there").permissions().mode() & 0o777;
    files.set(Layer::User, "actor", "ana").expect("set");
    files.set(Layer::System, "actor", "machine").expect("set");
    assert_eq!((mode("home/pensa"), mode("home/pensa/config.toml")), (0o700, 0o600));
    assert_eq!((mode("etc/pensa"), mode("etc/pensa/config.toml")), (0o755, 0o644));
}

#[test]
fn unknown_keys_are_reported_with_the_nearest_known_key() {
    let dir = tempfile::tempdir().expect("a directory");
    let files = files(dir.path());
    let path = files.project.clone().expect("a path");
    fs::write(&path, "store_id = \"x\"\nremote-sever = \"http://x\"\n[export]\nevent = true\n").expect("written");
    let config = Config::read(ConfigOverrides::default(), &files).expect("read");
    let reported: Vec<String> = config.unknown().iter().map(ToString::to_string).collect();
    let file = path.display();
    assert_eq!(
        reported,
        [
            format!("unknown setting remote-sever ({file} line 2); the nearest is remote-server"),
            format!("unknown setting export.event ({file} line 4); the nearest is export.events"),
        ]
    );
    let all: Vec<String> = config.all().expect("readable").into_iter().map(|setting| setting.key).collect();
    assert_eq!(all, ["export.event", "remote-sever"]);
}

#[test]
fn error_for_a_wrong_value_names_file_and_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let files = files(dir.path());
    let path = files.user.clone().expect("a path");
    fs::create_dir_all(path.parent().expect("a directory")).expect("made");
    for (text, key, line, word) in [
        ("# a\nexport.events = \"yes\"\n", EXPORT_EVENTS, "line 2", "true or false"),
        ("[export]\n\nevents = 1\n", EXPORT_EVENTS, "line 3", "integer"),
        ("[[export]]\nevents = 1\n", REMOTE_SERVER, "", ""),
        ("remote-server = 1\n", REMOTE_SERVER, "line 1", "a string"),
        ("\n\nremote-server = 'ftp://x'\n", REMOTE_SERVER, "line 3", "remote-server"),
        ("[remote-server]\nx = 1\n", REMOTE_SERVER, "line 1", "table"),
    ] {
        fs::write(&path, text).expect("written");
        let found = Config::read(ConfigOverrides::default(), &files).expect("read").get(&key);
        if line.is_empty() {
            assert_eq!(found.expect("another table"), None);
            continue;
        }
        let error = found.expect_err("wrong");
        let file = path.display().to_string();
        assert!([&file, line, word].iter().all(|part| error.message.contains(part)), "{text}: {error}");
        assert_eq!(error.code, Code::InvalidInput);
    }
    fs::write(&path, "a = 1\nb = \n").expect("written");
    let error = Config::read(ConfigOverrides::default(), &files).expect_err("no TOML");
    assert!(error.message.contains("line 2"), "{error}");
}

#[test]
fn hostile_files_and_invalid_keys_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let files = files(dir.path());
    let path = files.project.clone().expect("a path");
    for bytes in
        [vec![b'#'; 2 << 20], vec![0xff, 0xfe], "[".repeat(100_000).into_bytes(), "a.".repeat(100_000).into_bytes()]
    {
        fs::write(&path, &bytes).expect("written");
        Config::read(ConfigOverrides::default(), &files).expect_err("refused");
        files.set(Layer::Project, "actor", "x").expect_err("refused");
        assert_eq!(fs::read(&path).expect("there"), bytes, "left as it was");
    }
    fs::remove_file(&path).expect("removed");
    symlink(dir.path().join("elsewhere"), &path).expect("a link");
    files.set(Layer::Project, "actor", "x").expect_err("a link");
    assert!(!dir.path().join("elsewhere").exists());
    fs::remove_file(&path).expect("removed");
    for key in ["", ".", "a..b", "a b", "store_id", "é", "a.b.c.d.e.f.g.h.i", &"x".repeat(201), "a\u{1b}"] {
        assert_eq!(files.set(Layer::Project, key, "x").expect_err(key).code, Code::InvalidInput);
        assert_eq!(files.unset(Layer::Project, key).expect_err(key).code, Code::InvalidInput);
    }
    assert!(!path.exists());
}

#[test]
fn symlink_of_the_user_is_followed_and_kept() {
    let dir = tempfile::tempdir().expect("a directory");
    let files = files(dir.path());
    let (path, real) = (files.user.clone().expect("a path"), dir.path().join("dotfiles.toml"));
    fs::create_dir_all(path.parent().expect("a directory")).expect("made");
    fs::write(&real, "# mine\n").expect("written");
    symlink(&real, &path).expect("a link");
    files.set(Layer::User, "actor", "ana").expect("set");
    assert!(fs::symlink_metadata(&path).expect("there").is_symlink());
    assert_eq!(fs::read_to_string(&real).expect("there"), "# mine\nactor = \"ana\"\n");
}

#[test]
fn trust_covers_one_url_for_one_store_until_removed() {
    let home = tempfile::tempdir().expect("a directory");
    let trusts = TrustedServers::in_dir(&home.path().join("pensa"));
    let trusted = |store: &str, url: &str| TrustedServer { store: store.to_owned(), url: url.to_owned() };
    let web = trusted("one \"two\"", "https://h/p/web");
    assert!(!trusts.is_trusted(&web).expect("nothing there") && !trusts.remove(&web).expect("nothing there"));
    assert!(!home.path().join("pensa").exists(), "looking makes nothing");
    for _ in 0..2 {
        trusts.add(&web).expect("added");
    }
    trusts.add(&trusted("other", "https://h/p/api")).expect("added");
    assert!(trusts.is_trusted(&web).expect("there"));
    for other in [
        trusted("one \"two\"", "https://h/p/api"),
        trusted("other", "https://h/p/web"),
        trusted("one", "https://h/p/web"),
    ] {
        assert!(!trusts.is_trusted(&other).expect("there"), "{other:?}");
    }
    assert_eq!(trusts.list().expect("there").len(), 2);
    assert!(trusts.remove(&web).expect("removed"));
    assert_eq!(trusts.list().expect("there"), [trusted("other", "https://h/p/api")]);
}
