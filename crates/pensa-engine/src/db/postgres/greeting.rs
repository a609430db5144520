//! How a connection comes to be: the first host that answers and is of the wanted kind, TLS, and who we are.
//!
//! What is said afterwards is left to the dialogue.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::{md5_hash, sasl};
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message};
use postgres_protocol::message::frontend;
use rustix::net::sockopt;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use tokio_postgres::Config;
use tokio_postgres::config::{ChannelBinding, Host, LoadBalanceHosts, SslMode, SslNegotiation, TargetSessionAttrs};
use uuid::Uuid;

use super::binding;
use super::failure::{self, Failure};
use super::wire::{Way, Wire, is_late};

const PORT: u16 = 5432;
/// The name of PostgreSQL's protocol where TLS comes before anything else.
const ALPN: &[u8] = b"postgresql";

/// Connects to the first host that lets us in. A host has only so long if there are others.
pub(super) fn connect(config: &Config, tls: &Arc<ClientConfig>, deadline: Instant) -> Result<Wire, Failure> {
    let mut hosts = hosts(config)?;
    if config.get_load_balance_hosts() == LoadBalanceHosts::Random {
        hosts.sort_by_cached_key(|_| Uuid::new_v4());
    }
    let (several, mut last) = (hosts.len() > 1, None);
    for host in hosts {
        let end = match config.get_connect_timeout() {
            Some(limit) if several => deadline.min(Instant::now() + *limit),
            _ => deadline,
        };
        let attempt = Attempt { config, tls, name: host.name, deadline: end };
        match attempt.reach(&host.at, host.port) {
            Ok(wire) => return Ok(wire),
            Err(failure) => last = Some(failure),
        }
        if Instant::now() >= deadline {
            break;
        }
    }
    Err(last.unwrap_or_else(|| unfit("the address names no host")))
}

/// Where one of the hosts is, and the name that its certificate must have.
struct Place<'a> {
    at: Host,
    name: Option<&'a str>,
    port: u16,
}

fn hosts(config: &Config) -> Result<Vec<Place<'_>>, Failure> {
    let (names, addresses, ports) = (config.get_hosts(), config.get_hostaddrs(), config.get_ports());
    let count = names.len().max(addresses.len());
    if !names.is_empty() && !addresses.is_empty() && names.len() != addresses.len() {
        return Err(unfit("the address has another number of hosts than of hostaddrs"));
    }
    if ports.len() > 1 && ports.len() != count {
        return Err(unfit("the address has another number of ports than of hosts"));
    }
    let place = |at: usize| {
        let name = names.get(at);
        let to = addresses.get(at).map(|ip| Host::Tcp(ip.to_string())).or_else(|| name.cloned())?;
        let name = name.and_then(|host| if let Host::Tcp(name) = host { Some(name.as_str()) } else { None });
        let port = ports.get(at).or_else(|| ports.first()).copied().unwrap_or(PORT);
        Some(Place { at: to, name, port })
    };
    Ok((0..count).filter_map(place).collect())
}

/// An attempt to be let in by one host.
struct Attempt<'a> {
    config: &'a Config,
    tls: &'a Arc<ClientConfig>,
    name: Option<&'a str>,
    deadline: Instant,
}

impl Attempt<'_> {
    fn reach(&self, host: &Host, port: u16) -> Result<Wire, Failure> {
        match host {
            Host::Tcp(name) => {
                let mut addresses = self.resolve(name, port)?;
                if self.config.get_load_balance_hosts() == LoadBalanceHosts::Random {
                    addresses.sort_by_cached_key(|_| Uuid::new_v4());
                }
                let mut last = None;
                for address in addresses {
                    match self.over_tcp(address) {
                        Ok(wire) => return Ok(wire),
                        Err(failure) => last = Some(failure),
                    }
                }
                Err(last.unwrap_or_else(|| unfit("the host has no address")))
            }
            #[cfg(unix)]
            Host::Unix(dir) => {
                let path = dir.join(format!(".s.PGSQL.{port}"));
                let way = Way::Unix(UnixStream::connect(path)?);
                self.introduce(Wire::new(way), None)
            }
        }
    }

    /// Names are looked up on another thread, because that takes as long as it takes.
    fn resolve(&self, name: &str, port: u16) -> Result<Vec<SocketAddr>, Failure> {
        if let Ok(ip) = name.parse() {
            return Ok(vec![SocketAddr::new(ip, port)]);
        }
        let (send, found) = mpsc::channel();
        let wanted = (name.to_owned(), port);
        thread::Builder::new().name("pensa-resolve".into()).spawn(move || {
            let _ = send.send(wanted.to_socket_addrs().map(Vec::from_iter));
        })?;
        Ok(found.recv_timeout(self.left()).map_err(|_| failure::silent())??)
    }

    fn over_tcp(&self, address: SocketAddr) -> Result<Wire, Failure> {
        let limit = self.config.get_connect_timeout().copied().unwrap_or(Duration::MAX);
        let left = self.left().min(limit);
        if left.is_zero() {
            return Err(failure::silent());
        }
        let socket = TcpStream::connect_timeout(&address, left)?;
        socket.set_nodelay(true)?;
        self.keep_alive(&socket)?;
        if self.config.get_ssl_mode() == SslMode::Disable {
            return self.introduce(Wire::new(Way::Tcp(socket)), None);
        }
        let (wire, binding) = self.encrypt(socket)?;
        self.introduce(wire, binding)
    }

    fn keep_alive(&self, socket: &TcpStream) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if let Some(limit) = self.config.get_tcp_user_timeout() {
            let millis = u32::try_from(limit.as_millis()).unwrap_or(u32::MAX);
            sockopt::set_tcp_user_timeout(socket, millis)?;
        }
        if self.config.get_keepalives() {
            sockopt::set_socket_keepalive(socket, true)?;
            #[cfg(target_os = "linux")]
            {
                sockopt::set_tcp_keepidle(socket, self.config.get_keepalives_idle())?;
                if let Some(interval) = self.config.get_keepalives_interval() {
                    sockopt::set_tcp_keepintvl(socket, interval)?;
                }
                if let Some(retries) = self.config.get_keepalives_retries() {
                    sockopt::set_tcp_keepcnt(socket, retries)?;
                }
            }
        }
        Ok(())
    }

    /// The same socket under TLS, and what ties who we are to it; as it is if the server has none and need not.
    fn encrypt(&self, socket: TcpStream) -> Result<(Wire, Option<Vec<u8>>), Failure> {
        let mut wire = Wire::new(Way::Tcp(socket));
        let direct = self.config.get_ssl_negotiation() == SslNegotiation::Direct;
        if !direct {
            frontend::ssl_request(&mut wire.out);
            self.in_time(wire.send(self.left()))?;
            if self.in_time(wire.receive_byte(self.left()))? != b'S' {
                return match self.config.get_ssl_mode() {
                    SslMode::Require => Err(unfit("server does not support TLS")),
                    _ => Ok((wire, None)),
                };
            }
        }
        let Way::Tcp(mut socket) = wire.into_way() else { return Err(unfit("TLS is for TCP only")) };
        let name = ServerName::try_from(self.name.unwrap_or_default().to_owned())
            .map_err(|_| unfit("the host has no name that a certificate could be for"))?;
        let mut config = Arc::clone(self.tls);
        if direct {
            Arc::make_mut(&mut config).alpn_protocols = vec![ALPN.to_vec()];
        }
        let mut session = ClientConnection::new(config, name).map_err(io::Error::other)?;
        while session.is_handshaking() {
            socket.set_read_timeout(Some(self.left().max(Duration::from_millis(1))))?;
            self.in_time(session.complete_io(&mut socket))?;
        }
        let certificate = session.peer_certificates().and_then(<[_]>::first);
        let binding = certificate.and_then(|certificate| binding::of_certificate(certificate));
        Ok((Wire::new(Way::Tls(Box::new(StreamOwned::new(session, socket)))), binding))
    }

    fn introduce(&self, wire: Wire, binding: Option<Vec<u8>>) -> Result<Wire, Failure> {
        let mut guest = Guest { attempt: self, wire, binding };
        guest.say_who()?;
        guest.wait_until_ready()?;
        guest.check_kind()?;
        Ok(guest.wire)
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// A server that says nothing until the end is silent.
    fn in_time<T>(&self, outcome: io::Result<T>) -> Result<T, Failure> {
        outcome.map_err(|e| if is_late(&e) { failure::silent() } else { e.into() })
    }
}

/// Somebody who is not yet let in.
struct Guest<'a> {
    attempt: &'a Attempt<'a>,
    wire: Wire,
    binding: Option<Vec<u8>>,
}

impl Guest<'_> {
    fn send(&mut self) -> Result<(), Failure> {
        let left = self.attempt.left();
        self.attempt.in_time(self.wire.send(left))
    }

    fn receive(&mut self) -> Result<Message, Failure> {
        let left = self.attempt.left();
        match self.attempt.in_time(self.wire.receive(left))? {
            Message::ErrorResponse(said) => Err(Failure::from(&said)),
            message => Ok(message),
        }
    }

    fn say_who(&mut self) -> Result<(), Failure> {
        let config = self.attempt.config;
        let user = match config.get_user() {
            Some(user) => user.to_owned(),
            None => whoami::username().map_err(|_| unfit("the address names no user"))?,
        };
        let all = [
            ("client_encoding", Some("UTF8")),
            ("user", Some(user.as_str())),
            ("database", config.get_dbname()),
            ("options", config.get_options()),
            ("application_name", config.get_application_name()),
        ];
        let told = all.into_iter().filter_map(|(name, value)| Some((name, value?)));
        frontend::startup_message(told, &mut self.wire.out)?;
        self.send()?;
        match self.receive()? {
            Message::AuthenticationOk => return self.may_do_without_binding(),
            Message::AuthenticationCleartextPassword => {
                self.may_do_without_binding()?;
                let password = self.password()?.to_vec();
                self.send_password(&password)?;
            }
            Message::AuthenticationMd5Password(body) => {
                self.may_do_without_binding()?;
                let hash = md5_hash(user.as_bytes(), self.password()?, body.salt());
                self.send_password(hash.as_bytes())?;
            }
            Message::AuthenticationSasl(body) => self.prove(&body)?,
            _ => return Err(unfit("the server wants to know who we are in a way that is not known here")),
        }
        match self.receive()? {
            Message::AuthenticationOk => Ok(()),
            _ => Err(unexpected()),
        }
    }

    fn password(&self) -> Result<&[u8], Failure> {
        self.attempt.config.get_password().ok_or_else(|| unfit("the server wants a password, and the address has none"))
    }

    fn send_password(&mut self, password: &[u8]) -> Result<(), Failure> {
        frontend::password_message(password, &mut self.wire.out)?;
        self.send()
    }

    fn may_do_without_binding(&self) -> Result<(), Failure> {
        match self.attempt.config.get_channel_binding() {
            ChannelBinding::Require => Err(unfit("the server does not tie the password to the connection")),
            _ => Ok(()),
        }
    }

    /// Proves that we know the password, without telling it, and that nobody is in between where both sides can.
    fn prove(&mut self, offered: &AuthenticationSaslBody) -> Result<(), Failure> {
        let offered: Vec<String> = offered.mechanisms().map(|name| Ok(name.to_owned())).collect()?;
        let offers = |name: &str| offered.iter().any(|offered| offered == name);
        let wanted = self.attempt.config.get_channel_binding() != ChannelBinding::Disable;
        let (binding, mechanism) = match self.binding.take().filter(|_| wanted) {
            Some(hash) if offers(sasl::SCRAM_SHA_256_PLUS) => {
                (sasl::ChannelBinding::tls_server_end_point(hash), sasl::SCRAM_SHA_256_PLUS)
            }
            _ if !offers(sasl::SCRAM_SHA_256) => {
                return Err(unfit("the server wants a proof of the password that is not known here"));
            }
            Some(_) => (sasl::ChannelBinding::unrequested(), sasl::SCRAM_SHA_256),
            None => (sasl::ChannelBinding::unsupported(), sasl::SCRAM_SHA_256),
        };
        if mechanism != sasl::SCRAM_SHA_256_PLUS {
            self.may_do_without_binding()?;
        }
        let mut proof = sasl::ScramSha256::new(self.password()?, binding);
        frontend::sasl_initial_response(mechanism, proof.message(), &mut self.wire.out)?;
        self.send()?;
        let Message::AuthenticationSaslContinue(body) = self.receive()? else { return Err(unexpected()) };
        proof.update(body.data())?;
        frontend::sasl_response(proof.message(), &mut self.wire.out)?;
        self.send()?;
        let Message::AuthenticationSaslFinal(body) = self.receive()? else { return Err(unexpected()) };
        Ok(proof.finish(body.data())?)
    }

    fn wait_until_ready(&mut self) -> Result<(), Failure> {
        while !matches!(self.receive()?, Message::ReadyForQuery(_)) {}
        Ok(())
    }

    /// Whether this is a primary, if one is wanted, or a standby.
    fn check_kind(&mut self) -> Result<(), Failure> {
        let wanted = match self.attempt.config.get_target_session_attrs() {
            TargetSessionAttrs::ReadWrite => "off",
            TargetSessionAttrs::ReadOnly => "on",
            _ => return Ok(()),
        };
        frontend::query("SHOW transaction_read_only", &mut self.wire.out)?;
        self.send()?;
        let mut is_wanted = false;
        loop {
            match self.receive()? {
                Message::DataRow(row) => is_wanted = row.buffer().ends_with(wanted.as_bytes()),
                Message::ReadyForQuery(_) if is_wanted => return Ok(()),
                Message::ReadyForQuery(_) if wanted == "off" => return Err(unfit("database does not allow writes")),
                Message::ReadyForQuery(_) => return Err(unfit("database is not read only")),
                _ => {}
            }
        }
    }
}

fn unfit(why: &str) -> Failure {
    io::Error::other(why).into()
}

fn unexpected() -> Failure {
    unfit("the server said something unexpected")
}
