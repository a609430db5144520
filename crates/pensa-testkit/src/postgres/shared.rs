//! One cluster for many tests, and a fresh database of it for each.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

use super::{Cluster, programs};

/// Where a cluster is that somebody else has started for all tests, such as `postgres://postgres@127.0.0.1:5432`.
pub const SHARED_CLUSTER: &str = "PENSA_TEST_POSTGRES";

/// A cluster that tests share. What they do to it as a whole, they do to each other.
#[derive(Debug)]
pub struct Shared {
    address: String,
    /// Ours, unless the environment named one. It is never dropped; its guard ends it after this process.
    _own: Option<Cluster>,
}

/// The cluster that the environment names in `PENSA_TEST_POSTGRES`, else one for this process.
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
    /// An empty database of the caller's own.
    pub fn database(&self) -> Database {
        let name = format!("pensa_test_{:016x}", random());
        let maintenance = format!("{}/postgres", self.address);
        programs::psql(&maintenance, &format!("CREATE DATABASE {name} TEMPLATE template0"));
        Database { url: format!("{}/{name}", self.address), name, maintenance }
    }
}

/// A number that no other test has, in this process or another.
pub(super) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A database that exists until dropped.
#[derive(Debug)]
pub struct Database {
    pub url: String,
    name: String,
    maintenance: String,
}

impl Database {
    /// What `sql` answers, as [`Cluster::psql`].
    #[track_caller]
    pub fn psql(&self, sql: &str) -> String {
        programs::psql(&self.url, sql)
    }

    /// What psql says on standard error when the server refuses `sql`.
    #[track_caller]
    pub fn psql_fails(&self, sql: &str) -> String {
        programs::psql_fails(&self.url, sql)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // Whoever ends the cluster removes what could not be removed here.
        programs::run_psql(&self.maintenance, &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}
