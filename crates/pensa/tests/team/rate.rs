//! How often one token may ask before it has to wait, and that others do not wait with it.

use crate::setting::{Server, Team, Token};

#[test]
fn after_a_burst_a_token_has_to_wait_and_no_other() {
    let team = Team::on_postgres();
    team.project("web");
    let (eager, other) = (team.token("web", "agent"), team.token("web", "agent"));
    let server = team.serve_with(&["--log", "error", "--rate", "1"]);
    let mut http = server.client(&eager);
    let answers: Vec<_> = (0..230).map(|_| http.get("/where")).collect();
    let first = answers.iter().position(|reply| reply.status == 429).expect("a limit");
    assert!((200..230).contains(&first), "a burst of 200: {first}");
    assert!(answers[..first].iter().all(|reply| reply.status == 200));
    let refused = &answers[first];
    let error = refused.refused(429, "busy");
    assert!(error["hint"].is_string(), "{error}");
    let wait: u64 = refused.header("retry-after").and_then(|wait| wait.parse().ok()).expect("how long to wait");
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(server.client(&other).get("/where").status, 200);
    let metrics = server.stranger().get("/metrics").body;
    let limited = metrics.lines().find_map(|line| line.strip_prefix("pensa_http_rate_limited_total "));
    let limited: usize = limited.and_then(|count| count.parse().ok()).expect("a count");
    assert_eq!(limited, answers.iter().filter(|reply| reply.status == 429).count());
}

#[test]
fn without_other_word_the_burst_is_two_hundred() {
    let team = Team::on_sqlite();
    team.project("web");
    let token = team.token("web", "agent");
    let server = team.serve_with(&["--log", "error"]);
    let mut http = server.client(&token);
    assert!((0..200).all(|_| http.get("/where").status == 200));
    assert!((0..5000).any(|_| http.get("/where").status == 429), "and then there is a limit");
}

#[test]
fn a_rate_of_zero_is_no_limit() {
    let team = Team::on_sqlite();
    team.project("web");
    let token = team.token("web", "agent");
    let server = team.serve_with(&["--log", "error", "--rate", "0"]);
    let mut http = server.client(&token);
    assert!((0..2000).all(|_| http.get("/where").status == 200));
}

/// A body that nobody reads closes the connection, and whoever keeps connections has to know.
#[test]
fn a_refusal_that_closes_the_connection_says_so() {
    let team = Team::on_sqlite();
    team.project("web");
    let token = team.token("web", "agent");
    let server = team.serve_with(&["--log", "error", "--rate", "1", "--burst", "1"]);
    let mut http = server.client(&token);
    let large = serde_json::json!({"title": "x".repeat(4 << 20), "issue_type": "task"});
    for body in [&large, &serde_json::json!({"title": "small", "issue_type": "task"})] {
        // On a busy machine the second may be over before the next request is there, which is then let in.
        let refused = |(head, _): &(String, bool)| head.starts_with("HTTP/1.1 429 ");
        let tries = (0..20).map(|_| {
            http.get("/where");
            raw(&server, &token, &body.to_string())
        });
        let (head, is_closed) = { tries }.find(refused).expect("a refusal");
        let says_so = head.to_ascii_lowercase().contains("\r\nconnection: close\r\n");
        assert_eq!(says_so, is_closed, "{head}");
        assert!(is_closed || body.to_string().len() < 1000, "a large body is not read");
    }
    // Without a body there is nothing to close for.
    let refused = (0..5).map(|_| http.get("/where")).find(|reply| reply.status == 429).expect("a limit");
    assert_eq!(refused.header("connection"), None, "{refused:?}");
}

/// The head of the answer to a POST, and whether the server closes the connection after it.
fn raw(server: &Server, token: &Token, body: &str) -> (String, bool) {
    use std::io::{Read, Write};
    let host = server.process.url.strip_prefix("http://").expect("an address").trim_end_matches('/');
    let mut stream = std::net::TcpStream::connect(host).expect("a server");
    stream.set_read_timeout(Some(std::time::Duration::from_secs(5))).expect("a timeout");
    let head = format!(
        "POST /p/web/issues HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        token.secret,
        body.len()
    );
    // The server may close before it has taken in all of it.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
    let (mut told, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return (String::from_utf8_lossy(&told).into_owned(), true),
            Ok(read) => told.extend_from_slice(&piece[..read]),
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {
                return (String::from_utf8_lossy(&told).into_owned(), false);
            }
            Err(_) => return (String::from_utf8_lossy(&told).into_owned(), true),
        }
    }
}
