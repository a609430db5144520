//! The answer of every operation in the catalog, the form of every error, the exported files, and events.

use pensa_core::Code;

use super::script::{ScriptRun, steps};

/// Declares a test per script, and a list of all.
macro_rules! scripts {
    ($($name:ident,)*) => {
        const SCRIPTS: &[&str] = &[$(include_str!(concat!("scripts/", stringify!($name), ".txt")),)*];

        mod answers {
            $(#[test]
            fn $name() {
                let script = include_str!(concat!("scripts/", stringify!($name), ".txt"));
                super::holds(stringify!($name), script);
            })*
        }
    };
}

scripts! {
    agent, carried, comment, commands, conflict, dep, errors, import, issue, job, kv, learning, lock, loops, planning, profile, record,
    refs, release, repo, run, server, session, setup, signal, skill, snapshot, store, sync, transcript, triage, work,
}

fn holds(name: &str, script: &str) {
    let pn = crate::sandbox();
    pn.git_init();
    super::unchanged(name, &ScriptRun::new(&pn).run(script));
}

/// Whether a step of some script has this label.
fn is_in_a_script(label: &str) -> bool {
    SCRIPTS.iter().any(|script| steps(script).any(|step| step.label == label))
}

#[test]
fn every_operation_of_the_catalog_is_in_a_snapshot() {
    let catalog = pensa_engine::catalog();
    let missing: Vec<&str> = catalog.iter().map(|entry| entry.name).filter(|name| !is_in_a_script(name)).collect();
    assert!(missing.is_empty(), "in no script: {missing:?}");
    let known = |label: &str| {
        ["pn", "serve", "sh"].contains(&label)
            || catalog.iter().any(|entry| entry.name == label)
            || Code::ALL.iter().any(|code| code.as_str() == label)
    };
    for step in SCRIPTS.iter().flat_map(|script| steps(script)) {
        assert!(known(step.label), "no operation, code or kind of step: {}", step.label);
    }
}

/// Codes that need more than one or two commands, and where they are tested.
const HARD_TO_PROVOKE: [(Code, &str); 3] = [
    (Code::DiskFull, "needs a disk of its own; crash.rs"),
    (Code::UnknownOutcome, "needs a connection that is cut; doubt.rs"),
    (Code::Internal, "means a bug"),
];

#[test]
fn every_code_is_in_a_snapshot_or_says_why_not() {
    for code in Code::ALL {
        let excused = HARD_TO_PROVOKE.iter().any(|(hard, _)| hard == code);
        assert!(
            excused != is_in_a_script(code.as_str()),
            "{code}: in a script, or in the list of those that are hard to get"
        );
    }
}
