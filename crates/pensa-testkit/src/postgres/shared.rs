//! Shares one cluster among tests, with a database for each.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

use super::{Cluster, programs};

/// Environment variable with the URL of a cluster started for all tests, such as `postgres://postgres@127.0.0.1:5432`.
pub const SHARED_CLUSTER: &str = "PENSA_TEST_POSTGRES";

/// A cluster shared by tests. Changes of the whole cluster affect the other tests.
#[derive(Debug)]
pub struct Shared {
    address: String,
    /// Our cluster, unless the environment names one. Never dropped; its guard stops it after this process.
    _own: Option<Cluster>,
}

/// The cluster named by `PENSA_TEST_POSTGRES`, or else one for this process.
pub fn shared() -> &'static Shared {
    static SHARED: OnceLock<Shared> = OnceLock::new();
    SHARED.get_or_init(|| match std::env::var(SHARED_CLUSTER) {
        Ok(address) if !address.is_empty() => Shared { address: address.trim_end_matches('/').to_owned(), _own: None },
        _ => {
            let own = Cluster::start();
            Shared { address: own.address(), _own: Some(own) }
        }
    })
}

impl Shared {
    /// Creates an empty database.
    pub fn database(&self) -> Database {
        let name = format!("pensa_test_{:016x}", random());
        let maintenance = format!("{}/postgres", self.address);
        programs::psql(&maintenance, &format!("CREATE DATABASE {name} TEMPLATE template0"));
        Database { url: format!("{}/{name}", self.address), name, maintenance }
    }
}

/// A random number, to make names unique among tests.
pub(super) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A database that is deleted when dropped.
#[derive(Debug)]
pub struct Database {
    pub url: String,
    name: String,
    maintenance: String,
}

impl Database {
    /// Runs `sql` like [`Cluster::psql`].
    #[track_caller]
    pub fn psql(&self, sql: &str) -> String {
        programs::psql(&self.url, sql)
    }

    /// Runs `sql`, which must fail. Returns psql's error output.
    #[track_caller]
    pub fn psql_fails(&self, sql: &str) -> String {
        programs::psql_fails(&self.url, sql)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // If this fails, the database is removed with the cluster.
        programs::run_psql(&self.maintenance, &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}
