//! What every engine must do, whatever database it runs on: each test takes a [`World`] and is instantiated for
//! every driver by [`conformance!`].

mod agent_journal;
mod agents;
mod backups;
mod batches;
mod claims;
mod entities;
mod graph;
mod histories;
mod intake;
mod jobs;
mod journal;
mod learnings;
mod leases;
mod life;
mod log;
mod lookup;
mod loops;
mod peers;
mod postgres;
mod record_files;
mod records;
mod refs;
mod retention;
mod runs;
mod schema;
mod secrets;
mod sessions;
mod site;
mod snapshots;
mod sync;
mod traces;
mod transfer;
mod undo;
mod work;
mod world;
mod writers;

/// Declares tests that run once for each driver.
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
