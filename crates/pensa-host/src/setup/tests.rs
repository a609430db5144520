//! Agents are set up, checked and removed in real directories.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use super::*;

/// Files that people have already, with comments, other servers and other hooks.
const FOREIGN: [(&str, &str); 20] = [
    ("AGENTS.md", "# Rules\n\nBe kind.\n"),
    ("CLAUDE.md", "Be brief.\r\nBe right."),
    ("GEMINI.md", ""),
    (".mcp.json", "{\n\t\"mcpServers\": {\n\t\t\"other\": { \"command\": \"x\" }\n\t}\n}"),
    (
        ".claude/settings.json",
        "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say\"}]}]}}\n",
    ),
    (".codex/config.toml", "model = \"x\" # mine\n\n[mcp_servers.other]\ncommand = 'y'"),
    (".codex/hooks.json", "{}\n"),
    (".agents/hooks.json", "{\n  \"mine\": {\n    \"Stop\": []\n  }\n}\n"),
    (".agents/mcp_config.json", "{\"mcpServers\": {}}\n"),
    (".gemini/settings.json", "{\n    // dark\n    \"theme\": \"x\",\n}\n"),
    (".cursor/hooks.json", "{\n  \"version\": 1\n}\n"),
    (".cursor/mcp.json", "{\"mcpServers\":{\"a\":{}}}"),
    (".github/hooks/pensa.json", "{\n  \"version\": 1,\n  \"hooks\": {}\n}\n"),
    ("opencode.json", "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}\n"),
    (".amp/settings.json", "{ }"),
    (".zed/settings.json", "// Zed\n{\n  \"context_servers\": {\n    // none\n  }\n}\n"),
    (".kiro/settings/mcp.json", "{\r\n  \"mcpServers\": {}\r\n}\r\n"),
    (".junie/guidelines.md", "\n\n"),
    (".aider.conf.yml", "# mine\nread:\n  - CONVENTIONS.md\nmodel: x\n"),
    (".factory/mcp.json", "{\"mcpServers\": {\"b\": {\"type\": \"http\", \"url\": \"https://b\"}}}\n"),
];

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn empty() -> Self {
        Self { dir: tempfile::tempdir().expect("a directory") }
    }

    fn with_files() -> Self {
        let place = Self::empty();
        FOREIGN.iter().for_each(|(path, text)| place.write(path, text));
        place
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    fn setup(&self) -> Setup {
        Setup::new(self.dir.path(), SetupScope::Project).expect("a place")
    }

    /// All files and directories, with the bytes of files.
    fn all(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let (mut all, mut left) = (BTreeMap::new(), vec![self.dir.path().to_owned()]);
        while let Some(dir) = left.pop() {
            for entry in fs::read_dir(dir).expect("a directory").flatten() {
                let path = entry.path();
                if entry.file_type().expect("a kind").is_dir() {
                    left.push(path.clone());
                    all.insert(path, None);
                } else {
                    let link = fs::read_link(&path).map(|to| to.into_os_string().into_encoded_bytes());
                    let bytes = link.or_else(|_| fs::read(&path)).expect("read");
                    all.insert(path, Some(bytes));
                }
            }
        }
        all
    }
}

fn agents(names: &[&str]) -> Vec<&'static AgentSoftware> {
    names.iter().map(|name| AgentSoftware::find(name).expect("an agent")).collect()
}

#[track_caller]
fn comes_back(place: &Place, agents: &[&'static AgentSoftware], profile: Option<Profile>) {
    let names: Vec<&str> = agents.iter().map(|agent| agent.name).collect();
    for scope in [SetupScope::Project, SetupScope::Home] {
        let setup = Setup { profile, ..Setup::new(place.dir.path(), scope).expect("a place") };
        let before = place.all();
        let added = setup.add(agents).expect("set up");
        assert!(added.is_done(), "{names:?}: {added:?}");
        let checked = setup.check(agents).expect("checked");
        assert!(checked.is_current(), "{names:?}: {checked:?}");
        let between = place.all();
        let again = setup.add(agents).expect("again");
        assert!(again.files.iter().all(|file| file.action.is_none()), "{names:?}: {again:?}");
        assert_eq!(place.all(), between, "{names:?}");
        let removed = setup.remove(agents).expect("removed");
        assert!(removed.is_done(), "{names:?}: {removed:?}");
        assert_eq!(place.all(), before, "{names:?} {scope:?}");
    }
}

#[test]
fn every_agent_leaves_nothing_behind() {
    for agent in &AGENTS {
        comes_back(&Place::empty(), &[agent], None);
        comes_back(&Place::with_files(), &[agent], None);
    }
    for profile in Profile::ALL {
        comes_back(&Place::with_files(), &AGENTS.iter().collect::<Vec<_>>(), Some(profile));
    }
}

/// JSON as people have it in their settings, with and without what belongs to others where ours goes.
fn json_texts() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![Just(json!(1)), Just(json!("}]{,//")), Just(json!({})), Just(json!([])), Just(json!("é\n"))];
    let value = leaf.prop_recursive(2, 8, 3, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from);
        let object = prop::collection::btree_map("[ab]", inner, 0..3);
        prop_oneof![list, object.prop_map(|fields| Value::Object(fields.into_iter().collect()))]
    });
    let servers = prop_oneof![Just(json!({})), Just(json!({"other": {"command": "x"}})), Just(json!([]))];
    let theirs = json!([{"hooks": [{"type": "command", "command": "say"}]}]);
    let hooks = prop_oneof![Just(json!({})), Just(json!({"Stop": theirs, "x": []})), Just(json!({"SessionStart": []}))];
    let member = prop_oneof![
        ("a|version|amp\\.mcpServers", value),
        ("mcpServers|mcp|context_servers|amp\\.mcpServers", servers),
        hooks.prop_map(|value| ("hooks".to_owned(), value)),
    ];
    let document = prop::collection::vec(member, 0..4).prop_map(|all| Value::Object(all.into_iter().collect()));
    let end = prop_oneof![Just(""), Just("\n"), Just("\n\n"), Just(" \t")];
    (document, any::<[bool; 3]>(), end).prop_map(|(document, [is_wide, is_commented, is_windows], end)| {
        let text = if is_wide { format!("{document:#}") } else { document.to_string() };
        let text = format!("{}{text}{end}", if is_commented { "// mine\n" } else { "" });
        if is_windows { text.replace('\n', "\r\n") } else { text }
    })
}

/// What somebody may have in a file of this name; `None` for no file.
fn texts(path: &str) -> BoxedStrategy<Option<String>> {
    let lines: &'static [&'static str] = match path.rsplit('.').next() {
        Some("json") => return prop::option::of(json_texts()).boxed(),
        Some("toml") => &["# mine", "", "a = 1 # why", "[x]", "[mcp_servers.other]", "command = 'y'", "[[z]]"],
        Some("yml") => &["# mine", "", "model: x", "read:", "  - b.md", "auto-commits: false"],
        // Files that are ours as a whole.
        Some("ts") => return Just(None).boxed(),
        _ if path.ends_with("SKILL.md") => return Just(None).boxed(),
        _ => &["# Rules", "", "Be kind.", "@AGENTS.md", "<!-- mine -->", "  ", "```", "pn prime"],
    };
    let some = prop::collection::vec(prop::sample::select(lines), 0..6);
    let end = prop_oneof![Just("\n"), Just("\r\n")];
    let text =
        (some, end, any::<bool>()).prop_map(|(lines, end, has_end)| lines.join(end) + if has_end { end } else { "" });
    prop::option::of(text).boxed()
}

#[test]
fn whatever_people_have_in_the_files_of_an_agent_comes_back() {
    for (agent, scope) in AGENTS.iter().flat_map(|agent| [(agent, SetupScope::Project), (agent, SetupScope::Home)]) {
        let rows = if scope == SetupScope::Project { agent.project } else { agent.home };
        let mut paths: Vec<&str> = rows.iter().map(|(path, _)| *path).collect();
        paths.dedup();
        let contents: Vec<_> = paths.iter().map(|path| texts(path)).collect();
        let check = |contents: Vec<Option<String>>| {
            let place = Place::empty();
            for (path, text) in paths.iter().zip(&contents) {
                text.iter().for_each(|text| place.write(path, text));
            }
            let before = place.all();
            let setup = Setup::new(place.dir.path(), scope).expect("a place");
            let added = setup.add(&[agent]).expect("set up");
            for refused in added.files.iter().filter(|file| file.error.is_some()) {
                let path = place.path(&refused.path);
                prop_assert_eq!(fs::read(&path).ok(), before.get(&path).cloned().flatten(), "refused, so left alone");
            }
            let between = place.all();
            setup.add(&[agent]).expect("again");
            prop_assert_eq!(&place.all(), &between);
            let checked = setup.check(&[agent]).expect("checked");
            prop_assert_eq!(checked.is_current(), added.is_done(), "{:?} {:?}", added, checked);
            setup.remove(&[agent]).expect("removed");
            prop_assert_eq!(place.all(), before);
            Ok(())
        };
        let done = TestRunner::new(Config::with_cases(12)).run(&contents, check);
        done.unwrap_or_else(|e| panic!("{} {scope:?}: {e}", agent.name));
    }
}

#[test]
fn agents_that_share_files_can_go_one_by_one() {
    let place = Place::with_files();
    let before = place.all();
    let (claude, codex) = (agents(&["claude"]), agents(&["codex"]));
    place.setup().add(&claude).expect("set up");
    let with_claude = place.all();
    place.setup().add(&codex).expect("set up");
    place.setup().remove(&codex).expect("removed");
    assert_eq!(place.all(), with_claude);
    place.setup().remove(&claude).expect("removed");
    assert_eq!(place.all(), before);
}

#[test]
fn an_edited_section_stays_unless_forced() {
    let place = Place::empty();
    let claude = agents(&["claude"]);
    place.setup().add(&claude).expect("set up");
    let edited = place.read("AGENTS.md").replace("Keep plans", "Hide plans");
    place.write("AGENTS.md", &edited);
    let report = place.setup().check(&claude).expect("checked");
    let state = |report: &SetupReport| report.files.iter().find(|file| file.path == "AGENTS.md").expect("listed").state;
    assert_eq!(state(&report), Some(PartState::Edited));
    place.setup().add(&claude).expect("set up");
    assert_eq!(place.read("AGENTS.md"), edited);
    Setup { force: true, ..place.setup() }.add(&claude).expect("set up");
    assert!(place.setup().check(&claude).expect("checked").is_current());
}

#[test]
fn a_file_that_cannot_be_merged_is_named_and_the_others_are_set_up() {
    let place = Place::empty();
    place.write(".mcp.json", "{ broken");
    let claude = agents(&["claude"]);
    let report = place.setup().add(&claude).expect("set up");
    assert!(!report.is_done());
    let refused: Vec<&str> =
        report.files.iter().filter(|file| file.error.is_some()).map(|file| file.path.as_str()).collect();
    assert_eq!(refused, [".mcp.json"]);
    assert_eq!(place.read(".mcp.json"), "{ broken");
    assert!(place.read(".claude/settings.json").contains("pn hook SessionStart --agent claude"));
    assert!(place.setup().remove(&claude).expect("removed").is_done());
    assert_eq!(place.all().len(), 1);
}

#[test]
fn links_inside_the_repository_are_followed_and_others_refused() {
    let (place, outside) = (Place::empty(), Place::empty());
    place.write("AGENTS.md", "# Rules\n");
    outside.write("settings.json", "{}\n");
    symlink("AGENTS.md", place.path("CLAUDE.md")).expect("a link");
    symlink(outside.dir.path(), place.path(".claude")).expect("a link");
    symlink("/dev/zero", place.path(".mcp.json")).expect("a link");
    let (before, outside_before) = (place.all().len(), outside.all());
    let report = place.setup().add(&agents(&["claude"])).expect("set up");
    let refused: Vec<&str> =
        report.files.iter().filter(|file| file.error.is_some()).map(|file| file.path.as_str()).collect();
    assert_eq!(refused, [".claude/skills/pensa/SKILL.md", ".claude/settings.json", ".mcp.json"]);
    assert_eq!(outside.all(), outside_before);
    assert!(place.read("AGENTS.md").contains("pn prime") && !place.read("AGENTS.md").contains("@AGENTS.md"));
    assert_eq!(place.all().len(), before, "no new files");
    assert!(fs::symlink_metadata(place.path("CLAUDE.md")).expect("there").is_symlink());
    let removed = place.setup().remove(&agents(&["claude"])).expect("removed");
    assert!(removed.is_done() && place.read("AGENTS.md") == "# Rules\n", "{removed:?}");
}

#[test]
fn a_dry_run_and_a_check_write_nothing() {
    let place = Place::with_files();
    let before = place.all();
    let all: Vec<_> = AGENTS.iter().collect();
    let report = Setup { dry_run: true, ..place.setup() }.add(&all).expect("tried");
    assert!(report.files.iter().all(|file| file.action.is_some()), "{report:?}");
    assert!(!place.setup().check(&all).expect("checked").is_current());
    assert_eq!(place.all(), before);
}

#[test]
fn no_text_tells_an_agent_to_push_commit_or_install() {
    let all: Vec<_> = AGENTS.iter().collect();
    for profile in Profile::ALL {
        let setup = Setup { profile: Some(profile), ..Place::empty().setup() };
        for (path, text) in setup.print(&all).expect("texts") {
            for word in ["git ", "push ", "commit", "install "] {
                let lines: Vec<&str> =
                    text.lines().filter(|line| line.contains(word) && !line.contains("output.")).collect();
                assert!(lines.is_empty(), "{path}: {lines:?}");
            }
        }
    }
}

/// Where a hook shows the text, the instructions must not have it too.
#[test]
fn instructions_do_not_repeat_what_hooks_show() {
    for profile in Profile::ALL {
        let section = profile.section();
        for line in pensa_core::prime::USAGE.lines().filter(|line| line.len() > 20) {
            assert!(!section.contains(line), "{line}");
        }
        assert!(section.len() < 1_600, "{}", section.len());
    }
}

#[test]
fn an_agent_is_noticed_by_its_files_and_programs() {
    let (place, home) = (Place::empty(), Place::empty());
    home.write(".codex/config.toml", "");
    place.write(".cursor/rules/a.mdc", "");
    let is_program = |name: &str| name == "agy";
    let noticed = |name: &str| {
        place.setup().detect(AgentSoftware::find(name).expect("known"), Some(home.dir.path()), &is_program)
    };
    assert_eq!(noticed("cursor").as_deref(), Some(".cursor is here"));
    assert_eq!(noticed("antigravity").as_deref(), Some("agy is installed"));
    assert_eq!(noticed("codex").as_deref(), Some("~/.codex is there"));
    assert_eq!(noticed("zed"), None);
}

#[test]
fn the_plugin_has_what_a_set_up_writes() {
    let files: BTreeMap<&str, String> = plugin_files().expect("files").into_iter().collect();
    let json = |path: &str| -> Value { serde_json::from_str(&files[path]).expect("JSON") };
    assert_eq!(json(".claude-plugin/plugin.json")["version"], pensa_core::VERSION);
    assert_eq!(json(".claude-plugin/marketplace.json")["plugins"][0]["name"], "pensa");
    assert_eq!(json("plugin.json")["hooks"], "./hooks/hooks.json");
    let written: BTreeMap<String, String> =
        Place::empty().setup().print(&agents(&["claude"])).expect("texts").into_iter().collect();
    let settings: Value = serde_json::from_str(&written[".claude/settings.json"]).expect("JSON");
    assert_eq!(json("hooks/hooks.json"), settings);
    assert_eq!(json(".mcp.json"), serde_json::from_str::<Value>(&written[".mcp.json"]).expect("JSON"));
    assert_eq!(files["skills/pensa/SKILL.md"], written[".claude/skills/pensa/SKILL.md"]);
}
