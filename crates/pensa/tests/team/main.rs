//! Tests team servers as real processes, on PostgreSQL and on a directory of SQLite stores.

mod access;
mod claims;
mod commands;
mod directory;
mod events;
mod failover;
mod fixture;
mod identities;
mod keys;
mod logs;
mod mcp;
#[path = "../git/model.rs"]
#[expect(dead_code, reason = "only clones of git combine commits")]
mod model;
mod operators;
mod outages;
mod pages;
mod proxy;
mod rate;
mod reads;
mod rows;
mod sync;
mod sync_histories;
mod tls;
mod tokens;
mod web;

const PN: &str = env!("CARGO_BIN_EXE_pn");

/// Makes a test for each of the two databases.
macro_rules! on_both_databases {
    ($($test:ident,)*) => {$(
        mod $test {
            use crate::fixture::Team;

            #[test]
            fn postgres() {
                super::$test(Team::on_postgres());
            }

            #[test]
            fn sqlite() {
                super::$test(Team::on_sqlite());
            }
        }
    )*};
}
use on_both_databases;
