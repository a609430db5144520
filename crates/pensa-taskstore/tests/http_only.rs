//! Uses records through a real daemon. `cargo xtask test` runs this on a build without the engine, once `pn` is built.

use std::path::PathBuf;

use pensa_client::RemoteOptions;
use pensa_taskstore::{Code, Filter, Record, TaskStore};
use pensa_testkit::Sandbox;
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Part {
    id: String,
    status: String,
}

impl Record for Part {
    fn collection_name() -> &'static str {
        "parts"
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn updated_at(&self) -> i64 {
        1_772_202_600_000
    }
}

/// The `pn` built in the same target directory.
fn pn() -> PathBuf {
    let here = std::env::current_exe().expect("a test with a path");
    here.ancestors().nth(2).expect("target/debug/deps").join("pn")
}

#[test]
#[ignore = "needs target/debug/pn; cargo xtask test runs it"]
fn records_are_stored_through_a_daemon_without_an_engine() {
    let sandbox = Sandbox::with_store(pn());
    let daemon = sandbox.daemon();
    let options = RemoteOptions { url: daemon.url.clone(), ..RemoteOptions::default() };
    let store = TaskStore::connect(options, "me").expect("connects");
    let part = |id: &str, status: &str| Part { id: id.into(), status: status.into() };
    store.create_many(&[part("a", "open"), part("b", "done")]).expect("kept");
    let rev = store.get::<Part>("a").expect("answered").expect("there").rev;
    store.update_if(&part("a", "done"), rev).expect("updated");
    assert_eq!(store.update_if(&part("a", "open"), rev).expect_err("somebody was first").code, Code::Conflict);
    let done = store.query::<Part>(&[Filter::eq("status", "done")]).expect("found");
    assert_eq!(done, [part("a", "done"), part("b", "done")]);
}
