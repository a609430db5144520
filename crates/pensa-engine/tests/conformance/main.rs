//! What every engine must do on any database: each test takes a [`World`] and runs once per driver through
//! [`conformance!`].

mod agent_journal;
mod agents;
mod backups;
mod batches;
mod claims;
mod closed_store;
mod entities;
mod graph;
mod histories;
mod imports;
mod jobs;
mod journal;
mod learnings;
mod leases;
mod lifecycle;
mod log;
mod lookup;
mod loops;
mod memory;
mod peer_sessions;
mod peers;
mod planning;
mod postgres;
mod rebuild;
mod recall;
mod record_files;
mod records;
mod refs;
mod retention;
mod runs;
mod schema;
mod secrets;
mod sessions;
mod snapshots;
mod sync;
mod traces;
mod trackers;
mod transfer;
mod triage;
mod undo;
mod vectors;
mod work;
mod world;
mod writers;

/// Declares tests that run once per driver.
#[macro_export]
macro_rules! conformance {
    ($($(#[$meta:meta])* fn $name:ident($world:ident: $World:ty) $body:block)*) => {
        $($(#[$meta])* fn $name($world: $World) $body)*

        mod sqlite {
            $(#[test] fn $name() { super::$name($crate::world::World::sqlite()); })*
        }

        mod postgres {
            $(#[test] fn $name() { super::$name($crate::world::World::postgres()); })*
        }
    };
}
