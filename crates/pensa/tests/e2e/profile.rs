//! `pn profile`: domains are described in files that travel with git, and are renewed by a sync.

use std::fs;
use std::os::unix::fs::symlink;

use pensa_testkit::Sandbox;
use serde_json::Value;

/// A repository with a backend in Rust and tests.
fn with_code(pn: &Sandbox) {
    pn.git_init();
    for (path, content) in [
        ("Cargo.toml", "[package]\nname = \"shop\"\n[dependencies]\naxum = \"0.8\"\n"),
        ("src/main.rs", ""),
        ("tests/all.rs", ""),
    ] {
        let path = pn.project().join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        fs::write(path, content).expect("written");
    }
    pn.git(["add", "--all"]);
    pn.git(["commit", "--quiet", "-m", "begin"]);
}

fn file(pn: &Sandbox, domain: &str) -> String {
    fs::read_to_string(pn.store().join(format!("agents/{domain}.md"))).unwrap_or_default()
}

fn actions(report: &Value) -> Vec<String> {
    let shown = |file: &Value| {
        format!("{} {}", file["action"].as_str().unwrap_or("-"), file["path"].as_str().unwrap_or_default())
    };
    report["files"].as_array().expect("files").iter().map(shown).collect()
}

#[test]
fn domains_are_described_with_skills_and_learnings() {
    let pn = &crate::sandbox();
    with_code(pn);
    pn.pn(["skill", "set", "backend.md", "rust-style"]).ok();
    pn.pn(["skill", "set", "frontend", "design"]).ok();
    pn.pn(["skill", "set", "reviewer.md", "taste"]).ok();
    pn.pn(["remember", "handlers return early", "--file", "src/main.rs", "--kind", "pattern"]).ok();
    pn.pn(["remember", "unrelated"]).ok();
    let report = pn.pn(["profile", "generate", "--dry-run"]).ok_json();
    let wanted = ["backend", "frontend", "testing"].map(|name| format!("create .pensa/agents/{name}.md"));
    assert_eq!(actions(&report), wanted);
    assert!(!pn.store().join("agents").exists(), "a dry run writes nothing");
    pn.pn(["profile", "generate"]).ok();
    let backend = file(pn, "backend");
    for line in ["Where: `src`", "Frameworks: axum", "`cargo test`", "Skills: rust-style", "handlers return early"] {
        assert!(backend.contains(line), "{line}: {backend}");
    }
    assert!(!backend.contains("unrelated") && file(pn, "frontend").contains("Skills: design"), "{backend}");
    assert_eq!(pn.pn(["profile", "list", "-q"]).ok(), "backend\nfrontend\ntesting\n");
    assert!(actions(&pn.pn(["profile", "generate"]).ok_json()).iter().all(|done| done.starts_with("- ")), "stable");

    // What a person writes outside the marks stays, also at the next agent's start.
    let path = pn.store().join("agents/backend.md");
    fs::write(&path, format!("Ask Ana about money.\n\n{backend}\nLast words.\n")).expect("written");
    pn.pn(["remember", "timeouts are 5 s", "--tag", "backend"]).ok();
    pn.pn(["profile", "generate", "backend"]).ok();
    let renewed = file(pn, "backend");
    assert!(renewed.starts_with("Ask Ana") && renewed.ends_with("Last words.\n"), "{renewed}");
    assert!(renewed.contains("timeouts are 5 s"), "{renewed}");
    let prime = pn.pn(["prime", "--domain", "backend"]).ok();
    let domain = prime.split("## Known about the domain\n").nth(1).expect("a domain");
    assert!(domain.starts_with("- Ask Ana about money.\n- Where: `src`\n"), "{domain}");
    assert!(domain.contains("timeouts are 5 s") && !domain.contains("pensa:begin"), "{domain}");
    assert!(prime.len() <= 4_000, "{}", prime.len());
    assert!(!pn.pn(["prime"]).ok().contains("Ask Ana"));

    // An edited section stays unless forced.
    fs::write(&path, renewed.replace("cargo test", "cargo mine")).expect("written");
    pn.pn(["profile", "generate"]).ok();
    assert!(file(pn, "backend").contains("cargo mine"));
    pn.pn(["profile", "generate", "--force"]).ok();
    assert!(!file(pn, "backend").contains("cargo mine"));

    // A daemon has the learnings and skills, this directory the code.
    let daemon = pn.daemon();
    let described = file(pn, "backend");
    fs::remove_file(&path).expect("deleted");
    pn.pn(["profile", "generate", "backend"]).env("PN_DAEMON", &daemon.url).ok();
    assert!(described.contains(file(pn, "backend").trim_end()), "{described}");
    let error = pn.pn(["prime", "--domain", "bakcend"]).fails("not_found");
    assert_eq!(error["hint"], "did you mean backend?");
    pn.pn(["prime", "--domain", "../config"]).fails("invalid_input");
}

#[test]
fn descriptions_travel_with_git() {
    let pn = crate::sandbox();
    with_code(&pn);
    pn.pn(["profile", "generate", "billing", "backend"]).ok();
    assert!(file(&pn, "billing").starts_with("<!-- pensa:begin"));
    pn.git(["add", "--all"]);
    let staged = pn.git(["diff", "--cached", "--name-only"]);
    assert!(staged.contains(".pensa/agents/backend.md\n") && staged.contains(".pensa/agents/billing.md"), "{staged}");
    pn.pn(["doctor"]).ok();
}

#[test]
fn nothing_is_described_outside_git_and_through_links() {
    let pn = crate::sandbox();
    assert!(pn.pn(["profile", "list"]).ok().contains("pn profile generate"));
    pn.pn(["profile", "generate"]).fails("no_repo");
    with_code(&pn);
    let outside = pn.path("outside");
    fs::create_dir(&outside).expect("made");
    symlink(&outside, pn.store().join("agents")).expect("a link");
    let refused = pn.pn(["profile", "generate", "backend"]).answer();
    assert!(refused.code == Some(1) && refused.stderr.contains("leads out of the repository"), "{refused:?}");
    assert_eq!(fs::read_dir(&outside).expect("a directory").count(), 0);
    pn.pn(["prime", "--domain", "backend"]).fails("invalid_input");
    let bare = Sandbox::bare(crate::PN);
    bare.pn(["profile", "generate"]).fails("no_store");
}

#[test]
fn a_sync_renews_what_is_described_and_nothing_else() {
    let pn = &crate::sandbox();
    with_code(pn);
    let there = crate::sandbox();
    let daemon = there.daemon();
    pn.pn(["remote", "add", "home", &daemon.url, "--no-token"]).ok();
    pn.pn(["sync", "home"]).ok();
    assert!(!pn.store().join("agents").exists(), "nothing that nobody asked for");
    pn.pn(["profile", "generate", "backend"]).ok();
    fs::write(pn.store().join("agents/mine.md"), "By hand.\n").expect("written");
    there.pn(["remember", "found over there", "--tag", "api"]).ok();
    pn.pn(["sync", "home"]).ok();
    assert!(file(pn, "backend").contains("found over there"));
    assert_eq!(file(pn, "mine"), "By hand.\n");
    assert_eq!(file(pn, "testing"), "");
    // A file that cannot be renewed fails no sync.
    let broken = file(pn, "backend").replace("<!-- pensa:end -->\n", "");
    fs::write(pn.store().join("agents/backend.md"), &broken).expect("written");
    there.pn(["remember", "one more", "--tag", "api"]).ok();
    pn.pn(["sync", "home"]).ok();
    assert_eq!(file(pn, "backend"), broken);
}
