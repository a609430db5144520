//! Tests the rate limit per token.

use crate::fixture::{ProjectToken, ServeProcess, Team};

#[test]
fn token_is_limited_after_a_burst_and_others_are_not() {
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
    let metrics = server.anonymous().get("/metrics").body;
    let limited = metrics.lines().find_map(|line| line.strip_prefix("pensa_http_rate_limited_total "));
    let limited: usize = limited.and_then(|count| count.parse().ok()).expect("a count");
    assert_eq!(limited, answers.iter().filter(|reply| reply.status == 429).count());
}

#[test]
fn default_burst_is_two_hundred() {
    let team = Team::on_sqlite();
    team.project("web");
    let token = team.token("web", "agent");
    let server = team.serve_with(&["--log", "error"]);
    let mut http = server.client(&token);
    assert!((0..200).all(|_| http.get("/where").status == 200));
    assert!((0..5000).any(|_| http.get("/where").status == 429), "and then there is a limit");
}

#[test]
fn rate_of_zero_means_no_limit() {
    let team = Team::on_sqlite();
    team.project("web");
    let token = team.token("web", "agent");
    let server = team.serve_with(&["--log", "error", "--rate", "0"]);
    let mut http = server.client(&token);
    assert!((0..2000).all(|_| http.get("/where").status == 200));
}

/// A body that was not read closes the connection, and clients that reuse connections must be told.
#[test]
fn refusal_that_closes_the_connection_has_the_header() {
    let team = Team::on_sqlite();
    team.project("web");
    let token = team.token("web", "agent");
    let server = team.serve_with(&["--log", "error", "--rate", "1", "--burst", "1"]);
    let mut http = server.client(&token);
    let large = serde_json::json!({"title": "x".repeat(4 << 20), "issue_type": "task"});
    for body in [&large, &serde_json::json!({"title": "small", "issue_type": "task"})] {
        // On a slow machine the limit may have recovered before the next request.
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
    // Without a body the connection stays open.
    let refused = (0..5).map(|_| http.get("/where")).find(|reply| reply.status == 429).expect("a limit");
    assert_eq!(refused.header("connection"), None, "{refused:?}");
}

/// Sends a POST. Returns the response head and whether the server closed the connection.
fn raw(server: &ServeProcess, token: &ProjectToken, body: &str) -> (String, bool) {
    use std::io::{Read, Write};
    let host = server.process.url.strip_prefix("http://").expect("an address").trim_end_matches('/');
    let mut stream = std::net::TcpStream::connect(host).expect("a server");
    stream.set_read_timeout(Some(std::time::Duration::from_secs(5))).expect("a timeout");
    let head = format!(
        "POST /p/web/issues HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        token.secret,
        body.len()
    );
    // The server may close the connection before it has read everything.
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
