//! The team server as its users meet it: real processes in front of a real PostgreSQL, or of a directory.

mod access;
mod claims;
mod commands;
mod directory;
mod events;
mod failover;
mod identities;
mod keys;
mod logs;
mod mcp;
mod meetings;
#[path = "../git/model.rs"]
#[expect(dead_code, reason = "only clones of git combine commits")]
mod model;
mod operators;
mod outages;
mod proxy;
mod rate;
mod reads;
mod rows;
mod setting;
mod sync;
mod tls;
mod tokens;

const PN: &str = env!("CARGO_BIN_EXE_pn");

/// Makes a test for each of the two databases that a server can have.
macro_rules! on_both_databases {
    ($($test:ident,)*) => {$(
        mod $test {
            use crate::setting::Team;

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
