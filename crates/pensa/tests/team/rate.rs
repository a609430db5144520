//! How often one token may ask before it has to wait, and that others do not wait with it.

use crate::setting::Team;

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
