//! Loads a TLS certificate with its key, and reloads it when the files change.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pensa_core::{Code, Error, Result};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Maximum size of a certificate or key file in bytes.
const MAX_FILE: u64 = 1 << 20;
const PROTOCOL: &[u8] = b"http/1.1";

#[derive(Debug, Clone, Copy)]
struct TlsTimes {
    /// Time limit for a handshake.
    handshake: Duration,
    /// Minimum time between two reads of the files.
    reload: Duration,
}

const DEFAULT_TIMES: TlsTimes = TlsTimes { handshake: Duration::from_secs(10), reload: Duration::from_secs(10) };

/// Accepts TLS connections.
#[derive(Debug)]
pub(crate) struct Tls {
    files: TlsFiles,
    times: TlsTimes,
    in_use: watch::Sender<Arc<ServerConfig>>,
    last: Mutex<LastRead>,
}

/// The result of the last read of the files.
#[derive(Debug)]
struct LastRead {
    at: Instant,
    pair: Result<CertAndKey>,
}

impl Tls {
    /// Loads the certificate chain, the server's own certificate first, and the matching key.
    pub(crate) fn load(cert: &Path, key: &Path) -> Result<Self> {
        Self::with_times(cert, key, DEFAULT_TIMES)
    }

    fn with_times(cert: &Path, key: &Path, times: TlsTimes) -> Result<Self> {
        let files = TlsFiles { cert: cert.to_owned(), key: key.to_owned() };
        let pair = files.read()?;
        let in_use = watch::Sender::new(files.config(&pair)?);
        Ok(Self { files, times, in_use, last: Mutex::new(LastRead { at: Instant::now(), pair: Ok(pair) }) })
    }

    /// Performs the handshake on a new connection.
    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        self.reload();
        let acceptor = TlsAcceptor::from(Arc::clone(&self.in_use.borrow()));
        let handshake = acceptor.accept(stream);
        timeout(self.times.handshake, handshake).await.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()))
    }

    /// Uses a changed certificate from now on. While the files are invalid, the old certificate stays in use: a renewal
    /// writes one file after the other, and a failed renewal must not take the server down.
    fn reload(&self) {
        // If another connection is reloading, this one uses the current certificate.
        let Ok(mut last) = self.last.try_lock() else { return };
        if last.at.elapsed() < self.times.reload {
            return;
        }
        last.at = Instant::now();
        let pair = self.files.read();
        if pair == last.pair {
            return;
        }
        match pair.as_ref().map_err(Error::clone).and_then(|pair| self.files.config(pair)) {
            Ok(config) => {
                self.in_use.send_replace(config);
                tracing::info!(file = %self.files.cert.display(), "certificate renewed");
            }
            Err(error) => tracing::error!(error = error.message, "certificate not renewed"),
        }
        last.pair = pair;
    }
}

/// Certificate chain and key.
type CertAndKey = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

#[derive(Debug)]
struct TlsFiles {
    cert: PathBuf,
    key: PathBuf,
}

impl TlsFiles {
    fn read(&self) -> Result<CertAndKey> {
        Ok((chain(&self.cert)?, private_key(&self.key)?))
    }

    fn config(&self, (chain, key): &CertAndKey) -> Result<Arc<ServerConfig>> {
        // Named explicitly: the default provider would depend on the features of other crates.
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(Error::internal)?
            .with_no_client_auth();
        let config = builder.with_single_cert(chain.clone(), key.clone_key());
        let mut config = config.map_err(|error| self.unusable(&error))?;
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        Ok(Arc::new(config))
    }

    fn unusable(&self, error: &rustls::Error) -> Error {
        let (cert, key) = (self.cert.display(), self.key.display());
        match error {
            rustls::Error::InconsistentKeys(_) => {
                Error::invalid(format!("the key in {key} does not belong to the certificate in {cert}"))
                    .hint("the server's own certificate must be the first in its file")
            }
            rustls::Error::InvalidCertificate(_) => {
                Error::invalid(format!("the certificate in {cert} cannot be used: {error}"))
            }
            _ => Error::invalid(format!("the key in {key} cannot be used: {error}"))
                .hint("keys of RSA with 2048 to 4096 bits, ECDSA on P-256 or P-384, and Ed25519 can be used"),
        }
    }
}

fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let text = read(path, "certificate")?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match chain {
        Ok(chain) if chain.is_empty() => Err(Error::invalid(format!("no certificate in {}", path.display()))
            .hint("the file must be PEM, with -----BEGIN CERTIFICATE-----")),
        Ok(chain) => Ok(chain),
        Err(error) => Err(broken("certificate", path, &error)),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>> {
    let text = read(path, "key")?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| match error {
        pem::Error::NoItemsFound => Error::invalid(format!("no private key in {}", path.display()))
            .hint("the file must be PEM, and its key not encrypted: openssl pkey -in FILE decrypts it"),
        _ => broken("private key", path, &error),
    })
}

/// Describes the error without quoting the file, which may contain a private key.
fn broken(what: &str, path: &Path, error: &pem::Error) -> Error {
    let flaw = match error {
        pem::Error::MissingSectionEnd { .. } => "its -----END line is missing",
        pem::Error::IllegalSectionStart { .. } => "its -----BEGIN line is malformed",
        _ => "it is not Base64",
    };
    Error::invalid(format!("the {what} in {} is broken: {flaw}", path.display()))
}

fn read(path: &Path, what: &str) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut text));
    let path = path.display();
    match read {
        Ok(_) if text.len() as u64 > MAX_FILE => {
            Err(Error::invalid(format!("the {what} file {path} is too large")).hint("at most 1 MiB"))
        }
        Ok(_) => Ok(text),
        Err(e) if e.kind() == ErrorKind::NotFound => Err(Error::not_found(&format!("{what} file"), path)),
        Err(e) if e.kind() == ErrorKind::PermissionDenied => {
            Err(Error::new(Code::Forbidden, format!("not permitted to read the {what} file {path}")))
        }
        Err(e) => Err(Error::invalid(format!("cannot read the {what} file {path}: {e}"))),
    }
}

/// Test certificates made by openssl, and clients that trust them.
#[cfg(test)]
pub(crate) mod certificates {
    use super::*;
    use std::fs;
    use std::process::Command;

    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, RootCertStore};
    use tempfile::TempDir;
    use tokio_rustls::{TlsConnector, client};

    const REQUEST: &str = "[req]\nprompt = no\ndistinguished_name = name\nx509_extensions = extensions\n\
        [name]\nCN = localhost\n[extensions]\nsubjectAltName = DNS:localhost\nbasicConstraints = critical,CA:FALSE\n";

    /// A directory with a self-signed certificate and its key.
    #[derive(Debug)]
    pub(crate) struct TestAuthority {
        directory: TempDir,
    }

    impl TestAuthority {
        pub(crate) fn new() -> Self {
            Self::of_kind(&["ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
        }

        /// With a key type as in `openssl req -newkey`.
        pub(super) fn of_kind(kind: &[&str]) -> Self {
            let directory = TempDir::new().expect("a directory");
            fs::write(directory.path().join("request"), REQUEST).expect("written");
            let made = Self { directory };
            let rest = ["-nodes", "-days", "2", "-config", "request", "-keyout", "key.pem", "-out", "cert.pem"];
            made.openssl(&[&["req", "-x509", "-newkey"], kind, &rest].concat());
            made
        }

        pub(super) fn openssl(&self, arguments: &[&str]) {
            let run = Command::new("openssl").args(arguments).current_dir(&self.directory).output().expect("openssl");
            assert!(run.status.success(), "openssl {arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
        }

        pub(super) fn cert(&self) -> PathBuf {
            self.directory.path().join("cert.pem")
        }

        pub(super) fn key(&self) -> PathBuf {
            self.directory.path().join("key.pem")
        }

        /// Reads the files for every connection.
        pub(crate) fn tls(&self, handshake: Duration) -> Tls {
            Tls::with_times(&self.cert(), &self.key(), TlsTimes { handshake, reload: Duration::ZERO }).expect("usable")
        }

        /// A client that trusts only this certificate.
        pub(crate) fn client(&self) -> TlsClient {
            let mut roots = RootCertStore::empty();
            let own = CertificateDer::from_pem_file(self.cert()).expect("a certificate");
            roots.add(own).expect("trusted");
            let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
                .with_safe_default_protocol_versions()
                .expect("versions")
                .with_root_certificates(roots)
                .with_no_client_auth();
            config.alpn_protocols = vec![b"h2".to_vec(), PROTOCOL.to_vec()];
            TlsClient(TlsConnector::from(Arc::new(config)))
        }
    }

    pub(crate) struct TlsClient(TlsConnector);

    impl TlsClient {
        pub(crate) async fn connect(&self, stream: TcpStream) -> io::Result<client::TlsStream<TcpStream>> {
            self.0.connect(ServerName::try_from("localhost").expect("a name"), stream).await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::certificates::{TestAuthority, TlsClient};
    use super::*;
    use crate::logs::{self, LogBuffer};
    use std::fs;
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;
    use tracing::level_filters::LevelFilter;

    const TEST_TIMEOUT: Duration = Duration::from_secs(30);

    /// Both ends of a connection.
    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let client = TcpStream::connect(listener.local_addr().expect("an address")).await.expect("connects");
        (client, listener.accept().await.expect("a connection").0)
    }

    /// The negotiated protocol, or the error of the client or the server.
    async fn handshake(tls: &Tls, client: &TlsClient) -> io::Result<Option<Vec<u8>>> {
        let (client_end, server_end) = pair().await;
        let (connected, accepted) = tokio::join!(client.connect(client_end), tls.accept(server_end));
        let protocol = connected?.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
        accepted.map(|_| protocol)
    }

    async fn trusts(client: &TlsClient, tls: &Tls) -> bool {
        handshake(tls, client).await.is_ok()
    }

    fn refusal(cert: &Path, key: &Path) -> Error {
        Tls::load(cert, key).expect_err("not usable")
    }

    #[tokio::test]
    async fn handshake_succeeds_only_if_the_client_trusts_the_certificate() {
        let (authority, other) = (TestAuthority::new(), TestAuthority::new());
        let tls = Tls::load(&authority.cert(), &authority.key()).expect("usable");
        assert_eq!(handshake(&tls, &authority.client()).await.expect("agreed").as_deref(), Some(PROTOCOL));
        assert!(!trusts(&other.client(), &tls).await);
        assert!(trusts(&authority.client(), &tls).await);
    }

    #[tokio::test]
    async fn common_key_formats_are_read() {
        let forms: [(&[&str], &[&str], &str); 4] = [
            (&["ec", "-pkeyopt", "ec_paramgen_curve:P-384"], &["pkey"], "BEGIN PRIVATE KEY"),
            (&["ec", "-pkeyopt", "ec_paramgen_curve:P-256"], &["ec"], "BEGIN EC PRIVATE KEY"),
            (&["rsa:2048"], &["rsa", "-traditional"], "BEGIN RSA PRIVATE KEY"),
            (&["ed25519"], &["pkey"], "BEGIN PRIVATE KEY"),
        ];
        for (kind, convert, title) in forms {
            let authority = TestAuthority::of_kind(kind);
            authority.openssl(&[convert, &["-in", "key.pem", "-out", "key.pem.new"]].concat());
            fs::rename(authority.key().with_extension("pem.new"), authority.key()).expect("renamed");
            let text = fs::read_to_string(authority.key()).expect("a key");
            assert!(text.contains(title), "{kind:?}: {:?}", text.lines().next());
            assert!(trusts(&authority.client(), &authority.tls(TEST_TIMEOUT)).await, "{title}");
        }
    }

    #[test]
    fn error_names_the_unusable_file() {
        let (authority, other) = (TestAuthority::new(), TestAuthority::new());
        let (cert, key) = (authority.cert(), authority.key());
        let nothing = authority.cert().with_file_name("nothing");
        assert_eq!(refusal(&nothing, &key), Error::not_found("certificate file", nothing.display()));
        assert_eq!(refusal(&cert, &nothing), Error::not_found("key file", nothing.display()));
        let message = |cert: &Path, key: &Path| refusal(cert, key).message;
        assert_eq!(message(&key, &key), format!("no certificate in {}", key.display()));
        assert_eq!(message(&cert, &cert), format!("no private key in {}", cert.display()));
        let foreign = other.cert();
        let misfit =
            format!("the key in {} does not belong to the certificate in {}", key.display(), foreign.display());
        assert_eq!(message(&foreign, &key), misfit);
        let directory = cert.parent().expect("a directory");
        assert!(message(directory, &key).starts_with("cannot read the certificate file"));
    }

    #[test]
    fn error_for_a_broken_file_does_not_quote_it() {
        let authority = TestAuthority::new();
        let (cert, key) = (authority.cert(), authority.key());
        let broken = cert.with_file_name("broken");
        let cases = [
            ("-----BEGIN #-----\nAAAA\n-----END #-----\n", ["the certificate in", "the key in"], "cannot be used: "),
            ("-----BEGIN #-----\nc2Vjcm%0\n-----END #-----\n", ["the certificate in", "the private key in"], "Base64"),
            ("-----BEGIN #-----\nc2Vjcm\n", ["the certificate in", "the private key in"], "-----END line"),
            ("-----BEGIN #-----c2Vjcm-----END #", ["the certificate in", "the private key in"], "-----BEGIN line"),
        ];
        for (text, [of_cert, of_key], flaw) in cases {
            fs::write(&broken, text.replace('#', "CERTIFICATE")).expect("written");
            let with_cert = refusal(&broken, &key).message;
            fs::write(&broken, text.replace('#', "PRIVATE KEY")).expect("written");
            let with_key = refusal(&cert, &broken).message;
            for (message, opening) in [(with_cert, of_cert), (with_key, of_key)] {
                assert!(message.starts_with(&format!("{opening} {}", broken.display())), "{message}");
                assert!(message.contains(flaw) && !message.contains("c2Vj") && !message.contains('['), "{message}");
            }
        }
        fs::write(&broken, vec![b'\n'; 2 << 20]).expect("written");
        assert!(refusal(&broken, &key).message.ends_with("is too large"));
    }

    #[tokio::test]
    async fn silent_client_times_out() {
        let authority = TestAuthority::new();
        let tls = authority.tls(Duration::from_millis(20));
        let (_silent, server_end) = pair().await;
        let accepted = timeout(TEST_TIMEOUT, tls.accept(server_end)).await.expect("in time");
        assert_eq!(accepted.expect_err("silent").kind(), ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn plain_http_fails_the_handshake() {
        let authority = TestAuthority::new();
        let (mut client_end, server_end) = pair().await;
        client_end.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.expect("written");
        let accepted = timeout(TEST_TIMEOUT, authority.tls(TEST_TIMEOUT).accept(server_end)).await.expect("in time");
        assert_eq!(accepted.expect_err("plain").kind(), ErrorKind::InvalidData);
    }

    #[tokio::test]
    async fn a_renewed_certificate_is_used_by_the_next_connection() {
        let (authority, next) = (TestAuthority::new(), TestAuthority::new());
        let (before, tls) = (authority.client(), authority.tls(TEST_TIMEOUT));
        assert!(trusts(&before, &tls).await);
        fs::copy(next.cert(), authority.cert()).expect("copied");
        assert!(trusts(&before, &tls).await, "until the key is there too");
        fs::copy(next.key(), authority.key()).expect("copied");
        assert!(trusts(&next.client(), &tls).await);
        assert!(!trusts(&before, &tls).await);
    }

    #[tokio::test]
    async fn a_broken_renewal_keeps_the_certificate_in_use() {
        let (authority, next) = (TestAuthority::new(), TestAuthority::new());
        let (client, tls) = (authority.client(), authority.tls(TEST_TIMEOUT));
        fs::write(authority.cert(), "not a certificate").expect("written");
        assert!(trusts(&client, &tls).await);
        fs::remove_file(authority.cert()).expect("removed");
        assert!(trusts(&client, &tls).await);
        fs::copy(next.cert(), authority.cert()).expect("copied");
        fs::copy(next.key(), authority.key()).expect("copied");
        assert!(trusts(&next.client(), &tls).await, "mended");
    }

    #[tokio::test]
    async fn failed_and_recovered_renewals_are_each_logged_once() {
        let (authority, next) = (TestAuthority::new(), TestAuthority::new());
        let page = LogBuffer::default();
        let _logged = tracing::subscriber::set_default(logs::subscriber(LevelFilter::INFO, page.clone()));
        let (client, tls) = (authority.client(), authority.tls(TEST_TIMEOUT));
        fs::copy(next.cert(), authority.cert()).expect("copied");
        for _ in 0..3 {
            assert!(trusts(&client, &tls).await);
        }
        fs::copy(next.key(), authority.key()).expect("copied");
        assert!(trusts(&next.client(), &tls).await);
        let messages: Vec<_> = page.lines().into_iter().map(|mut line| line["message"].take()).collect();
        assert_eq!(messages, ["certificate not renewed", "certificate renewed"]);
    }

    #[tokio::test]
    async fn files_are_not_read_for_every_connection() {
        let (authority, next) = (TestAuthority::new(), TestAuthority::new());
        let (client, times) = (authority.client(), TlsTimes { handshake: TEST_TIMEOUT, reload: Duration::MAX });
        let tls = Tls::with_times(&authority.cert(), &authority.key(), times).expect("usable");
        fs::copy(next.cert(), authority.cert()).expect("copied");
        fs::copy(next.key(), authority.key()).expect("copied");
        assert!(trusts(&client, &tls).await);
    }
}
