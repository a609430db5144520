//! End-to-end tests of `pn`: real processes and files, embedded and through the daemon.

mod agents;
mod beyond;
mod claims;
mod cleaned;
mod clients;
mod completion;
mod concurrency;
mod config;
mod contracts;
mod cost;
mod crash;
mod daemon;
mod documents;
mod doubt;
mod drawings;
mod edit;
mod equality;
mod errors;
mod events;
mod export_html;
mod first_format;
mod foreign_records;
mod hook;
mod hooks;
mod hooks_doctor;
mod hooks_others;
mod hooks_prek;
mod hooks_world;
mod hostile;
mod hostile_clone;
mod import_from;
mod import_marks;
mod importers;
mod interactive;
mod jobs;
mod learnings;
mod leases;
mod loops;
mod mcp;
mod mcp_frames;
mod memory;
mod pages;
mod profile;
mod reading;
mod records;
mod recovery;
mod redaction;
mod remotes;
mod retention;
mod run_faults;
mod runs;
mod scenarios;
mod setup;
mod shapes;
mod snapshots;
mod snapshots_killed;
mod steps;
mod store;
mod sync;
mod terminal;
mod traces;
mod trackers;
mod transcripts;
mod tui;
mod typing;
mod undo;
mod upgrade;
mod views;
mod web;
mod windows;
mod words;
mod work;
mod wrong_answers;

use pensa_testkit::Sandbox;

const PN: &str = env!("CARGO_BIN_EXE_pn");

/// A sandbox whose project has a store.
fn sandbox() -> Sandbox {
    Sandbox::with_store(PN)
}

/// Turns each function that takes a sandbox into two tests: embedded, and through a daemon.
macro_rules! in_both_modes {
    ($($test:ident,)*) => {$(
        mod $test {
            use pensa_testkit::{Mode, Sandbox};

            #[test]
            fn embedded() {
                super::$test(&Sandbox::in_mode(crate::PN, Mode::Embedded));
            }

            #[test]
            fn through_the_daemon() {
                super::$test(&Sandbox::in_mode(crate::PN, Mode::Daemon));
            }
        }
    )*};
}
use in_both_modes;
