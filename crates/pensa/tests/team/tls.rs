//! Tests a TLS server: clients trust it if they name its certificate authority, and not otherwise.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;

use pensa_testkit::PATIENCE;

use crate::fixture::{ProjectToken, ServeProcess, Team, text, titles};

struct TlsServer {
    team: Team,
    token: ProjectToken,
    server: ServeProcess,
}

impl TlsServer {
    fn start() -> Self {
        let team = Team::on_sqlite();
        team.project("web");
        let token = team.token("web", "agent");
        certificates(&team);
        let (cert, key) = (file(&team, "server.pem"), file(&team, "server.key"));
        let paths = [&cert, &key].map(|path| path.to_str().expect("a plain name"));
        let server = team.serve_with(&["--tls-cert", paths[0], "--tls-key", paths[1]]);
        Self { team, token, server }
    }
}

fn file(team: &Team, name: &str) -> PathBuf {
    team.machine.path("home").join(name)
}

/// Creates an authority, a certificate of it for this machine, and an unrelated authority.
fn certificates(team: &Team) {
    let openssl = |args: &str| {
        let mut command = team.machine.command("openssl");
        team.machine.tool(command.args(args.split(' ')).current_dir(team.machine.path("home")));
    };
    for authority in ["ca", "other"] {
        let files = format!("-keyout {authority}.key -out {authority}.pem");
        openssl(&format!(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN={authority} {files}"
        ));
    }
    openssl(
        "req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost \
         -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout server.key -out server.csr",
    );
    openssl(
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -copy_extensions copy \
         -out server.pem",
    );
}

#[test]
fn certificate_is_trusted_if_its_authority_is_named() {
    let TlsServer { team, token, server } = TlsServer::start();
    assert!(server.process.url.starts_with("https://127.0.0.1:"), "{}", server.process.url);
    let ca = file(&team, "ca.pem");
    let by_variable = |args: &[&str]| team.through(&server, &token, args).env("SSL_CERT_FILE", &ca);
    by_variable(&["create", "encrypted", "-t", "task"]).ok();
    assert_eq!(titles(&by_variable(&["list"]).ok_json()), ["encrypted"]);
    let here = |args: &[&str]| team.machine.pn(args).dir(team.machine.path("elsewhere"));
    let url = server.project_url("web");
    let add = ["remote", "add", "web", &url, "--token-stdin", "--ca-cert", ca.to_str().expect("a plain name")];
    here(&add).stdin(token.secret.as_str()).ok();
    assert_eq!(titles(&here(&["list"]).env("PN_DAEMON", "web").ok_json()), ["encrypted"]);
}

#[test]
fn certificate_of_an_unknown_authority_is_refused_with_a_hint() {
    let TlsServer { team, token, server } = TlsServer::start();
    let other = file(&team, "other.pem");
    for run in
        [team.through(&server, &token, ["list"]), team.through(&server, &token, ["list"]).env("SSL_CERT_FILE", &other)]
    {
        let error = run.fails("unreachable");
        assert!(text(&error["error"]).contains("cannot trust"), "{error}");
        assert!(text(&error["hint"]).contains("SSL_CERT_FILE"), "{error}");
        assert!(!error.to_string().contains(&token.secret));
    }
    assert!(!server.log().contains("\"status\":200"), "nothing was asked: {}", server.log());
}

#[test]
fn plain_http_is_not_answered_by_a_tls_server() {
    let TlsServer { team, token, server } = TlsServer::start();
    let mut stream = TcpStream::connect(("127.0.0.1", server.process.port())).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let request = format!("GET /p/web/issues HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\r\n", token.secret);
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(!String::from_utf8_lossy(&answer).contains("200 OK"));
    let plain = server.project_url("web").replace("https:", "http:");
    team.through(&server, &token, ["list"]).env("PN_DAEMON", plain).fails("unreachable");
    let ca = file(&team, "ca.pem");
    team.through(&server, &token, ["list"]).env("SSL_CERT_FILE", ca).ok();
}
