//! The clients for TypeScript and Python: in step with the API, and tested by their own tests against real daemons.
//!
//! `UPDATE_CLIENTS=1 cargo nextest run -p pensa clients` generates their files again.

use std::env;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use pensa_testkit::{Http, Sandbox, clients, within};
use rustix::process::{Pid, Signal, kill_process_group};

/// Time limit for all tests of one client.
const TIME_LIMIT: Duration = Duration::from_secs(300);
const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/programs.md");

/// Runs a program to its end, and stops what it leaves behind. Returns what it printed.
#[track_caller]
pub(crate) fn run(machine: &Sandbox, command: &mut Command) -> String {
    let path = machine.path("printed");
    let printed = File::create(&path).expect("a file");
    command.stdin(Stdio::null()).stdout(printed.try_clone().expect("a file")).stderr(printed).process_group(0);
    let mut child = command.spawn().unwrap_or_else(|e| panic!("these tests need {:?}: {e}", command.get_program()));
    let group = Pid::from_child(&child);
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        within(TIME_LIMIT, "the end of the tests of a client", || child.try_wait().expect("a child of ours"))
    }));
    let _ = kill_process_group(group, Signal::KILL);
    let printed = String::from_utf8_lossy(&fs::read(path).expect("a file")).into_owned();
    let success = ended.is_ok_and(|status| status.success());
    assert!(success, "{command:?} failed:\n{printed}");
    printed
}

/// Checks that files that a generator wrote are those of the repository, or makes them so.
fn in_step(generated: &Path, committed: &Path, names: &[&str]) {
    for name in names {
        let text = fs::read_to_string(generated.join(name)).expect("a generated file");
        let path = committed.join(name);
        if env::var_os("UPDATE_CLIENTS").is_some() {
            fs::write(&path, text).expect("written");
            continue;
        }
        let old = fs::read_to_string(&path).unwrap_or_default();
        let differs = old.lines().zip(text.lines()).position(|(old, new)| old != new);
        let place = differs.map_or("at the end".to_owned(), |line| format!("in line {}", line + 1));
        assert!(old == text, "{} is not in step with the API {place}: UPDATE_CLIENTS=1 updates it", path.display());
    }
}

/// The API's description, as a daemon gives it.
fn openapi(machine: &Sandbox) -> PathBuf {
    let daemon = machine.daemon();
    let path = machine.path("openapi.json");
    fs::write(&path, Http::to(&daemon.url).get("/openapi.json").body).expect("written");
    path
}

/// A copy of the TypeScript client with the packages that it is built and tested with.
fn typescript(machine: &Sandbox) -> PathBuf {
    let (from, to) = (clients::directory().join("typescript"), machine.path("typescript"));
    for directory in ["", "src", "test"] {
        fs::create_dir_all(to.join(directory)).expect("a directory");
        for entry in fs::read_dir(from.join(directory)).expect("a directory of the client").flatten() {
            if entry.path().is_file() {
                fs::copy(entry.path(), to.join(directory).join(entry.file_name())).expect("copied");
            }
        }
    }
    symlink(clients::node_modules(), to.join("node_modules")).expect("a link");
    to
}

/// The first block of the guide in this language.
fn example(language: &str) -> String {
    let guide = fs::read_to_string(GUIDE).expect("the guide");
    let block = guide.split(&format!("```{language}\n")).nth(1).and_then(|rest| rest.split("```").next());
    block.unwrap_or_else(|| panic!("the guide has no block in {language}")).to_owned()
}

#[test]
fn generated_files_of_the_typescript_client_are_in_step_with_the_api() {
    let machine = crate::sandbox();
    let (document, client) = (openapi(&machine), typescript(&machine));
    run(&machine, machine.command("node").arg("generate.mjs").arg(document).current_dir(&client));
    in_step(&client.join("src"), &clients::directory().join("typescript/src"), &["schema.ts", "operations.ts"]);
}

#[test]
fn generated_files_of_the_python_client_are_in_step_with_the_api() {
    let machine = crate::sandbox();
    let generator = clients::directory().join("python/generate.py");
    run(&machine, machine.command("python3").arg(generator).arg(openapi(&machine)).arg(machine.path("elsewhere")));
    let package = clients::directory().join("python/src/pensa_client");
    in_step(&machine.path("elsewhere"), &package, &["types.py", "operations.py"]);
}

#[test]
fn the_typescript_client_passes_its_tests_against_real_daemons() {
    let machine = crate::sandbox();
    let client = typescript(&machine);
    // The guide imports the package by its name, as its readers do.
    fs::write(client.join("test/guide.ts"), example("ts")).expect("written");
    run(&machine, machine.command("node").arg("node_modules/typescript/bin/tsc").current_dir(&client));
    let is_test = |path: &PathBuf| path.to_string_lossy().ends_with(".test.js");
    let built = fs::read_dir(client.join("dist/test")).expect("built");
    let tests: Vec<PathBuf> = built.flatten().map(|entry| entry.path()).filter(is_test).collect();
    let mut node = machine.command("node");
    let printed = run(&machine, node.arg("--test").args(&tests).env("PN", crate::PN).current_dir(&client));
    assert!(!tests.is_empty() && printed.contains("fail 0"), "{printed}");
    let daemon = machine.daemon();
    let mut guide = machine.command("node");
    run(&machine, guide.arg("dist/test/guide.js").env("PN_DAEMON", &daemon.url).current_dir(&client));
}

#[test]
fn the_python_client_passes_its_tests_against_real_daemons() {
    let machine = crate::sandbox();
    let mut python = machine.command("python3");
    python
        .args(["-m", "unittest", "discover", "-t", ".", "-s", "tests"])
        .current_dir(clients::directory().join("python"));
    python.env("PN", crate::PN).env("PYTHONPATH", clients::python_path()).env("PYTHONDONTWRITEBYTECODE", "1");
    let printed = run(&machine, &mut python);
    assert!(printed.contains("\nOK"), "{printed}");
}
