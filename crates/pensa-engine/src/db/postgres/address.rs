//! The address of a database: a connection string, with TLS unless the connection is local.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pensa_core::{Error, Result};
use percent_encoding::percent_decode_str;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::time::timeout;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Connection, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::failure::{self, Failure};

/// Timeout for connecting to one host, including the handshake. Short, so that the second of two hosts is tried in
/// time.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long the system keeps sending to a host that does not acknowledge.
const SILENCE: Duration = Duration::from_secs(10);

type TlsStream = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;

/// The address of a database. Its password is never displayed.
#[derive(Clone)]
pub(super) struct Address {
    config: Arc<Config>,
    tls: Arc<ClientConfig>,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

/// Displays hosts, ports and the database name, no secrets.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        for (at, host) in self.config.get_hosts().iter().enumerate() {
            let port = self.config.get_ports().get(at).or(self.config.get_ports().first()).copied().unwrap_or(5432);
            let comma = if at > 0 { "," } else { "" };
            match host {
                Host::Tcp(name) if name.contains(':') => write!(f, "{comma}[{name}]:{port}")?,
                Host::Tcp(name) => write!(f, "{comma}{name}:{port}")?,
                #[cfg(unix)]
                Host::Unix(path) => write!(f, "{comma}{}:{port}", path.display())?,
            }
        }
        write!(f, "/{}", self.config.get_dbname().or(self.config.get_user()).unwrap_or_default())
    }
}

impl Address {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let Options { rest, authorities, verify } = Options::take(text);
        // The parser's own message could contain the password.
        let bad = || {
            Error::invalid("not the address of a PostgreSQL database")
                .hint("such as postgres://user:password@host:5432/database")
        };
        let mut config: Config = rest.parse().map_err(|_| bad())?;
        if config.get_hosts().is_empty() {
            return Err(bad());
        }
        let chosen = rest.contains("sslmode=");
        if verify || (!chosen && !config.get_hosts().iter().all(is_local)) {
            config.ssl_mode(SslMode::Require);
        } else if !chosen {
            config.ssl_mode(SslMode::Disable);
        }
        if config.get_application_name().is_none() {
            config.application_name("pensa");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        config.tcp_user_timeout(SILENCE).keepalives_idle(Duration::from_secs(30));
        Ok(Self { config: Arc::new(config), tls: Arc::new(client_config(authorities.as_deref())?) })
    }

    /// Connects to the first host that answers in time. The driver's own host list has a timeout for TCP only, so a
    /// host that accepts and then hangs would block the next.
    pub(super) async fn connect(&self) -> Result<(Client, Connection<Socket, TlsStream>), Failure> {
        let wait = self.config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT);
        let mut failed = None;
        for at in 0..self.config.get_hosts().len() {
            let tls = MakeRustlsConnect::new(ClientConfig::clone(&self.tls));
            failed = match timeout(wait, self.config_for_host(at).connect(tls)).await {
                Ok(Ok(connected)) => return Ok(connected),
                Ok(Err(e)) => Some(failure::connecting(&e)),
                Err(_) => Some(failure::silent()),
            };
        }
        Err(failed.unwrap_or_else(failure::silent))
    }

    /// The configuration for one of the hosts.
    fn config_for_host(&self, at: usize) -> Config {
        let all = &self.config;
        let mut one = Config::new();
        match all.get_hosts().get(at) {
            Some(Host::Tcp(name)) => one.host(name),
            #[cfg(unix)]
            Some(Host::Unix(path)) => one.host_path(path),
            None => &mut one,
        };
        all.get_hostaddrs().get(at).map(|address| one.hostaddr(*address));
        all.get_ports().get(at).or(all.get_ports().first()).map(|port| one.port(*port));
        all.get_user().map(|user| one.user(user));
        all.get_password().map(|password| one.password(password));
        all.get_dbname().map(|name| one.dbname(name));
        all.get_options().map(|options| one.options(options));
        all.get_application_name().map(|name| one.application_name(name));
        all.get_tcp_user_timeout().map(|time| one.tcp_user_timeout(*time));
        one.ssl_mode(all.get_ssl_mode())
            .ssl_negotiation(all.get_ssl_negotiation())
            .channel_binding(all.get_channel_binding())
            .target_session_attrs(all.get_target_session_attrs())
            .keepalives(all.get_keepalives())
            .keepalives_idle(all.get_keepalives_idle());
        one
    }
}

/// The options of a connection string that the library does not support.
struct Options {
    rest: String,
    authorities: Option<PathBuf>,
    verify: bool,
}

impl Options {
    /// Removes `sslrootcert` and the stricter forms of `sslmode` from the text, in either of its two forms.
    fn take(text: &str) -> Self {
        let mut found = Self { rest: String::new(), authorities: None, verify: false };
        let is_url = text.starts_with("postgres://") || text.starts_with("postgresql://");
        let (head, options, between) = match text.split_once('?') {
            Some((head, options)) if is_url => (format!("{head}?"), options, '&'),
            _ if is_url => (text.to_owned(), "", '&'),
            _ => (String::new(), text, ' '),
        };
        let mut kept = Vec::new();
        for option in options.split(between).filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("sslrootcert", "system")) => {}
                Some(("sslrootcert", path)) if is_url => {
                    found.authorities = Some(percent_decode_str(path).decode_utf8_lossy().into_owned().into())
                }
                Some(("sslrootcert", path)) => found.authorities = Some(path.into()),
                Some(("sslmode", "verify-full" | "verify-ca")) => found.verify = true,
                // Ignored: remote connections are always encrypted, not only if the server supports it.
                Some(("sslmode", "prefer" | "allow")) => {}
                _ => kept.push(option),
            }
        }
        found.rest = format!("{head}{}", kept.join(&between.to_string())).trim_end_matches('?').to_owned();
        found
    }
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// TLS with the certificate authorities of a file, or with the public ones.
fn client_config(authorities: Option<&Path>) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    match authorities {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(path) => {
            let bad = |why: &dyn fmt::Display| {
                Error::invalid(format!("cannot read certificate authorities from {}: {why}", path.display()))
            };
            let certificates = CertificateDer::pem_file_iter(path).map_err(|e| bad(&e))?;
            for certificate in certificates {
                roots.add(certificate.map_err(|e| bad(&e))?).map_err(|e| bad(&e))?;
            }
            if roots.is_empty() {
                return Err(bad(&"there are none in it"));
            }
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(Error::internal)?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(text: &str) -> SslMode {
        Address::parse(text).expect(text).config.get_ssl_mode()
    }

    #[test]
    fn remote_connection_is_encrypted_unless_disabled() {
        for local in ["postgres://u@localhost/d", "postgres://u@127.0.0.1:1,[::1]:2/d", "host=/run/postgresql user=u"] {
            assert_eq!(mode(local), SslMode::Disable, "{local}");
        }
        for far in ["postgres://u@db.example/d", "postgres://u@localhost,db.example/d", "host=db.example user=u"] {
            assert_eq!(mode(far), SslMode::Require, "{far}");
        }
        assert_eq!(mode("postgres://u@db.example/d?sslmode=disable"), SslMode::Disable);
        assert_eq!(mode("postgres://u@db.example/d?sslmode=prefer"), SslMode::Require);
        assert_eq!(mode("postgres://u@localhost/d?sslmode=verify-full&connect_timeout=3"), SslMode::Require);
        assert_eq!(mode("host=localhost user=u sslmode=verify-ca sslrootcert=system"), SslMode::Require);
    }

    #[test]
    fn displayed_address_has_no_secret() {
        let address =
            Address::parse("postgres://me:hunter2@a.example:6000,b.example/team?target_session_attrs=read-write");
        let address = address.expect("an address");
        assert_eq!(address.to_string(), "postgres://a.example:6000,b.example:5432/team");
        assert!(!format!("{address:?}").contains("hunter2"));
    }

    #[test]
    fn invalid_address_is_refused_without_quoting_it() {
        for bad in ["", "mysql://u:hunter2@h/d", "postgres://u:hunter2@h:port/d", "postgres:///d", "hunter2"] {
            let error = Address::parse(bad).expect_err(bad);
            assert!(!error.message.contains("hunter2"), "{error}");
        }
        let missing = Address::parse("postgres://u@h/d?sslrootcert=%2Fno%20where.pem").expect_err("no such file");
        assert!(missing.message.contains("/no where.pem"), "{missing}");
    }
}
