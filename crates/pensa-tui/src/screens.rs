//! Tests of whole screens: what is drawn for every view, in windows of every size, and what keys make of it.

use std::time::{Duration, Instant};

use pensa_core::text::is_unsafe_to_print;
use pensa_core::{Code, Error, Timestamp};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::app::{App, AppOptions, Effect, Msg};
use crate::keys::{KeyTable, ViewKind};
use crate::store::{
    AgentsAnswer, Answer, BoardIssues, ChangeOutcome, IssuePage, MemoryScope, StoreChange, StoreQuery, TreeAnswer,
};
use crate::theme::Theme;
use crate::views::ViewContext;
use crate::watch::WatchView;
use crate::window;

/// Colours, the clipboard, C1 controls, reordering, hidden characters.
const EVIL: &str =
    "e\u{1b}[31mvil\u{1b}]52;c;ZQ==\u{7}\u{9b}2J\u{202e}live\u{2066}\u{200b}\u{feff}\u{2028}\u{7f}\r\n\0end";

/// A person in front of a window; the store is played by the test.
struct Desk {
    app: App,
    at: Instant,
    size: (u16, u16),
    texts: Texts,
}

/// What the data says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Texts {
    Usual,
    Empty,
    Hostile,
    Wide,
}

fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().expect("a time")
}

impl Desk {
    fn new(size: (u16, u16), texts: Texts) -> Self {
        let options = AppOptions {
            project: "project".to_owned(),
            theme: Theme::Dark,
            keys: KeyTable::default(),
            is_ascii: false,
            board_labels: Vec::new(),
            is_remote: false,
            shows_guide: false,
            run_commands: [("fix".to_owned(), "my-agent --fast".to_owned())].into(),
        };
        let at = Instant::now();
        let mut desk = Self { app: App::new(options, size, at, now()), at, size, texts };
        desk.send(Msg::Connected(Ok(())));
        desk
    }

    /// Sends a message and answers every question that comes of it. Returns the other effects.
    fn send(&mut self, msg: Msg) -> Vec<Effect> {
        let mut others = Vec::new();
        let mut open = self.app.update(msg, self.at, now());
        while let Some(effect) = open.pop() {
            match effect {
                Effect::Ask(query) => {
                    let answer = answer(&query, self.texts);
                    open.extend(self.app.update(Msg::Answer(query, Ok(answer)), self.at, now()));
                }
                effect => others.push(effect),
            }
        }
        others
    }

    fn press(&mut self, code: KeyCode) -> Vec<Effect> {
        self.send(Msg::Input(Event::Key(KeyEvent::new(code, KeyModifiers::NONE))))
    }

    fn keys(&mut self, text: &str) -> Vec<Effect> {
        text.chars().flat_map(|c| self.press(KeyCode::Char(c))).collect()
    }

    fn show(&mut self, view: ViewKind) {
        let digit = u8::try_from(view.index()).expect("small") + b'1';
        self.press(KeyCode::Char(char::from(digit)));
    }

    fn screen(&self) -> String {
        let mut terminal = Terminal::new(TestBackend::new(self.size.0, self.size.1)).expect("a terminal");
        terminal.draw(|frame| window::draw(&self.app, frame, self.at, now())).expect("drawn");
        screen_text(&terminal)
    }
}

/// What a terminal shows, none of which it obeys.
fn screen_text(terminal: &Terminal<TestBackend>) -> String {
    for cell in terminal.backend().buffer().content() {
        assert!(!cell.symbol().chars().any(is_unsafe_to_print), "{:?}", cell.symbol());
    }
    let text = terminal.backend().to_string();
    text.lines().map(|line| line.trim_matches('"').trim_end()).collect::<Vec<_>>().join("\n")
}

fn of<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("a fixture that parses")
}

fn issues(texts: Texts, status: &str) -> Value {
    let titles: &[&str] = match texts {
        Texts::Usual => {
            &["Fix the login", "Write the guide", "A title that is so long that no column has room for all of it"]
        }
        Texts::Empty => &[],
        Texts::Hostile => &[EVIL, EVIL],
        Texts::Wide => {
            &["日本語の課題を直す", "שלום עולם", "مرحبا بالعالم", "👩‍👩‍👧 a family", "e\u{301}a\u{308} combined"]
        }
    };
    let who = if texts == Texts::Hostile { EVIL } else { "ana" };
    let prefix = &status[..1];
    let one = |(at, title): (usize, &&str)| {
        let mut issue = json!({"id": format!("pn-{prefix}{at}"), "title": title, "issue_type": "task", "status": status,
            "priority": format!("p{}", at % 4), "created_at": "2026-02-27T12:00:00Z", "updated_at": "2026-03-01T09:00:00Z",
            "labels": if at == 0 { vec!["auth"] } else { vec![] }});
        if status == "in_progress" {
            issue["assignee"] = json!(who);
            issue["lease_expires_at"] = json!("2026-03-01T12:10:00Z");
        }
        if status == "closed" {
            issue["closed_at"] = json!("2026-03-01T09:00:00Z");
        }
        if texts == Texts::Hostile {
            issue["labels"] = json!([EVIL]);
            issue["description"] = json!(EVIL);
        }
        issue
    };
    titles.iter().enumerate().map(one).collect()
}

fn brief(texts: Texts, at: usize) -> Value {
    let issue = issues(texts, "open").get(at).cloned().unwrap_or_default();
    json!({"id": issue["id"], "title": issue["title"], "status": "open", "priority": issue["priority"]})
}

/// What a store would say.
fn answer(query: &StoreQuery, texts: Texts) -> Answer {
    let (is_empty, text) = (texts == Texts::Empty, if texts == Texts::Hostile { EVIL } else { "what was said" });
    let totals = if is_empty { [0; 3] } else { [3, 3, 40] };
    let list = |values: Value| if is_empty { json!([]) } else { values };
    let ranked = |at: usize| {
        let mut ranked = brief(texts, at);
        for (field, value) in [
            ("score", json!(0.25)),
            ("waits_for", json!(1)),
            ("blocks", json!(2)),
            ("behind", json!(3)),
            ("frees", json!(1)),
        ] {
            ranked[field] = value;
        }
        ranked
    };
    let step = |at: usize| {
        let mut step = brief(texts, at);
        (step["slack"], step["length"]) = (json!(0), json!(1));
        step
    };
    let chain = json!({"unit": "issues", "length": if is_empty { 0 } else { 2 }, "issues": list(json!([step(0), step(1)])), "slack": []});
    let at = "2026-03-01T11:59:00Z";
    let event = json!({"id": 7, "subject_kind": "issue", "subject_id": "pn-o0", "issue_id": "pn-o0", "event_type": "claimed",
        "actor": text, "detail": {"assignee": {"old": null, "new": text}}, "created_at": at});
    let session = json!({"id": "se-1", "agent_id": "ag-1", "opened_by": "start", "created_at": "2026-03-01T10:00:00Z", "entries": 2,
        "duration_ms": 60_000, "tokens": {"m": {"input": 10, "output": 5, "cache_read": 0, "cache_write": 0, "total": 15}}, "cost_usd": 1.5});
    match query {
        StoreQuery::Board { .. } => {
            let by = |status: &str| (status.parse().expect("a status"), of(issues(texts, status)));
            Answer::Board(Box::new(BoardIssues { by_status: [by("open"), by("in_progress"), by("closed")], totals }))
        }
        StoreQuery::List { .. } => {
            let mut all: Vec<_> = of(issues(texts, "in_progress"));
            all.extend(of::<Vec<_>>(issues(texts, "open")));
            Answer::List(all, totals)
        }
        StoreQuery::Detail(id) => {
            let mut issue = issues(if is_empty { Texts::Usual } else { texts }, "open")[0].clone();
            issue["id"] = json!(id.as_str());
            issue["description"] = json!(format!("{text}\nand more of it"));
            issue["acceptance"] = json!([{"text": text, "done": true}, {"text": "a second one", "done": false}]);
            issue["deps"] = issues(texts, "closed");
            issue["comments"] =
                json!([{"id": "pn-c", "issue_id": id.as_str(), "actor": text, "text": text, "created_at": at}]);
            let history = json!([{"id": 7, "issue_id": id.as_str(), "event_type": "created", "actor": text, "detail": {}, "created_at": at}]);
            Answer::Detail(Box::new(IssuePage { detail: of(issue), history: of(history), why: None }))
        }
        StoreQuery::Tree(root) => {
            let node = |at: usize, depth: u32| {
                let mut node = brief(texts, at);
                (node["depth"], node["issue_type"]) = (json!(depth), json!("task"));
                node
            };
            let waits = json!([{"issue_id": "pn-o1", "depends_on_id": "pn-o0"}]);
            let network =
                json!({"issues": list(json!([brief(texts, 0), brief(texts, 1)])), "waits": list(waits), "left_out": 0});
            let nodes = || if root.is_some() { of(json!([node(0, 0), node(1, 1)])) } else { Vec::new() };
            Answer::Tree(Box::new(TreeAnswer { network: of(network), up: nodes(), down: nodes(), longest: of(chain) }))
        }
        StoreQuery::Agents => {
            let agent = json!({"id": "ag-1", "type": "user", "name": text.replace(['\n', '\0'], " "), "lifecycle": "active", "created_at": at, "updated_at": at});
            let run = json!({"id": "run-1", "status": "running", "repo_id": "repo-1", "harness_id": "har-1", "harness": "claude-code@2.1",
                "runtime_id": "rt-1", "runtime": "local", "issue_id": "pn-i0", "actor": text, "prompt": text, "instances": 1,
                "browser_automation": true, "started_at": "2026-03-01T11:00:00Z", "updated_at": at});
            let job = json!({"id": "job-1", "status": "running", "tool_name": text, "lane": "heavy", "command": text, "actor": text,
                "output_bytes": 0, "truncated": false, "was_timeout": false, "was_cancelled": false, "timeout_ms": 1, "number": 1,
                "queued_at": at, "started_at": at, "updated_at": at});
            let a_loop = json!({"id": "lp-1", "loop_type": "code", "prompt_path": "p", "validation_command": "v", "max_iterations": 5,
                "worktree": "w", "iteration": 2, "status": "running", "progress": text, "created_at": at, "updated_at": at});
            let signal = json!({"id": "sg-1", "signal_type": "stop", "reason": text, "actor": text, "recipient_count": 2,
                "acknowledged_count": 1, "created_at": at});
            Answer::Agents(Box::new(AgentsAnswer {
                claims: of(issues(texts, "in_progress")),
                agents: of(list(json!([agent]))),
                runs: of(list(json!([run]))),
                jobs: of(list(json!([job]))),
                loops: of(list(json!([a_loop]))),
                signals: of(list(json!([signal]))),
                sessions: of(list(json!([session]))),
                last_events: of(list(json!([event]))),
            }))
        }
        StoreQuery::Insights => {
            let stale = {
                let mut stale = brief(texts, 1);
                (stale["assignee"], stale["updated_at"], stale["idle_hours"], stale["behind"]) =
                    (json!(text), json!(at), json!(90), json!(1));
                stale
            };
            let insights = json!({"issues": 3, "waits": 1, "stuck": 0, "approximate": false, "bottlenecks": list(json!([ranked(0)])),
                "keystones": list(json!([ranked(0), ranked(1)])), "critical_path": chain, "articulation_points": [],
                "articulation_count": 0, "stale_claims": list(json!([stale])), "blocked_cascades": [], "priority_conflicts": [],
                "priority_conflict_count": 0});
            let forecast = json!({"date": "2026-03-11T00:00:00Z", "earliest": "2026-03-08T00:00:00Z", "latest": "2026-03-20T00:00:00Z",
                "left": 3, "closed": 40, "days": 90, "per_day": 0.44, "deviation": 0.7});
            let mut plan = json!({"issues": 3, "stuck": 0, "start": [], "tracks": [], "longest_chain": chain});
            if !is_empty {
                plan["forecast"] = forecast;
            }
            Answer::Insights(Box::new(of(insights)), Box::new(of(plan)))
        }
        StoreQuery::Memory { scope, .. } => {
            let learning = json!({"id": "ln-1", "kind": "gotcha", "text": format!("{text}\nin two lines"), "tags": [text], "actor": text,
                "created_at": at, "updated_at": at});
            let mut other = learning.clone();
            other["id"] = json!("ln-2");
            let mut reviewed = learning.clone();
            reviewed["reasons"] = json!(["files_gone", "unused"]);
            reviewed["gone_files"] = json!([text]);
            let pair = json!({"kind": "value", "newer": learning, "older": other});
            match scope {
                MemoryScope::All => Answer::Memory(of(list(json!([learning])))),
                MemoryScope::Review => Answer::Review(of(list(json!([reviewed])))),
                MemoryScope::Conflicts => Answer::Contradictions(of(list(json!([pair])))),
            }
        }
        StoreQuery::Sessions { .. } => Answer::Sessions(of(list(json!([session])))),
        StoreQuery::Entries { .. } => Answer::Entries(of(json!([
            {"id": 1, "session_id": "se-1", "type": "user_message", "at": at, "v": 1, "data": {"text": text}},
            {"id": 2, "session_id": "se-1", "type": "assistant_message", "at": at, "v": 1, "data": {"content": [{"text": "an answer"}]}},
        ]))),
        StoreQuery::Log { .. } => Answer::Log(of(list(json!([event])))),
        StoreQuery::Chart { .. } => {
            let day = |at: u32| json!({"day": format!("2026-02-{:02}", at + 1), "open": at, "in_progress": 1, "closed": at, "created": 2, "done": at % 3});
            let days: Vec<Value> = (0..28).filter(|_| !is_empty).map(day).collect();
            let chart = json!({"since": "2026-02-01T00:00:00Z", "until": at, "days": days, "closed": [], "median_ms": 7_200_000});
            Answer::Chart(Box::new(of(chart)), Vec::new())
        }
        StoreQuery::Output(_) => Answer::Output(format!("{text}\n{text}")),
        StoreQuery::Find { .. } => Answer::Find(of(issues(texts, "open"))),
        StoreQuery::Similar { .. } => Answer::Similar(of(list(json!([{"id": "pn-o0", "title": text}])))),
        StoreQuery::Ping => Answer::Pong,
    }
}

fn every_view(size: (u16, u16), texts: Texts) -> String {
    let mut desk = Desk::new(size, texts);
    let mut all = String::new();
    for (view, name) in ViewKind::ALL {
        desk.show(view);
        all += &format!("== {name}\n{}\n", desk.screen());
    }
    all
}

#[test]
fn every_view_at_80_by_24() {
    insta::assert_snapshot!(every_view((80, 24), Texts::Usual));
}

#[test]
fn every_view_without_anything() {
    insta::assert_snapshot!(every_view((80, 24), Texts::Empty));
}

#[test]
fn every_view_in_a_small_window() {
    insta::assert_snapshot!(every_view((40, 10), Texts::Usual));
}

#[test]
fn wide_and_right_to_left_texts() {
    insta::assert_snapshot!(every_view((80, 24), Texts::Wide));
}

#[test]
fn memory_lists_what_to_review_and_what_contradicts_and_keeps_what_is_selected() {
    let mut desk = Desk::new((80, 24), Texts::Usual);
    desk.show(ViewKind::Memory);
    desk.keys("f");
    let review = desk.screen();
    assert!(review.contains("files gone, unused") && review.contains("to review"), "{review}");
    desk.keys("f");
    let pairs = desk.screen();
    assert!(pairs.contains("ln-1") && pairs.contains("ln-2") && pairs.contains("older"), "{pairs}");
    desk.keys("f");
    assert!(!desk.screen().contains("ln-2"));
}

#[test]
fn a_large_window_has_the_page_of_an_issue_beside_the_view() {
    let mut desk = Desk::new((200, 50), Texts::Usual);
    desk.press(KeyCode::Enter);
    insta::assert_snapshot!(desk.screen());
    desk.keys("j");
    assert!(desk.screen().contains("│ pn-o1"), "the page follows the cursor");
}

/// `screen` looks at every character that is drawn.
#[test]
fn no_text_from_data_controls_the_terminal() {
    for size in [(200, 50), (80, 24), (40, 10)] {
        let mut desk = Desk::new(size, Texts::Hostile);
        for (view, _) in ViewKind::ALL {
            desk.show(view);
            assert!(!desk.screen().contains('\u{1b}'));
            desk.press(KeyCode::Enter);
            desk.keys("x");
            desk.screen();
            desk.press(KeyCode::Esc);
            desk.press(KeyCode::Esc);
        }
        for keys in ["1e", "n", ":", "D"] {
            desk.keys(keys);
            desk.screen();
            desk.press(KeyCode::Esc);
        }
        let error = Error::invalid(EVIL).hint(EVIL);
        desk.send(Msg::Said(Err(error.clone())));
        desk.screen();
        desk.send(Msg::Lost(error));
        desk.screen();
    }
}

#[test]
fn windows_of_any_size_are_drawn() {
    for width in [1, 5, 9, 10, 15, 20, 39, 75, 109, 110, 300] {
        for height in [1, 2, 3, 4, 5, 8, 100] {
            let mut desk = Desk::new((width, height), Texts::Wide);
            for (view, _) in ViewKind::ALL {
                desk.show(view);
                desk.screen();
            }
            desk.keys("1");
            for keys in ["?", "n", ":", "C", "/", "e"] {
                desk.keys(keys);
                desk.screen();
                desk.press(KeyCode::Esc);
            }
            desk.press(KeyCode::Enter);
            desk.screen();
        }
    }
}

#[test]
fn enter_shows_what_a_job_writes() {
    let mut desk = Desk::new((80, 24), Texts::Usual);
    desk.keys("4/job-1");
    desk.press(KeyCode::Enter);
    desk.press(KeyCode::Enter);
    assert_eq!(desk.screen().matches("what was said").count(), 2, "{}", desk.screen());
    desk.press(KeyCode::Esc);
    assert!(desk.screen().contains("Jobs 1") || desk.screen().contains("job-1"), "{}", desk.screen());
}

#[test]
fn what_is_over_a_view() {
    let mut desk = Desk::new((80, 24), Texts::Usual);
    let mut all = String::new();
    for (name, keys) in
        [("help", "?"), ("new", "nLogin broken"), ("edit", "e"), ("palette", ":cl"), ("close", "d"), ("depend", "D")]
    {
        desk.keys(keys);
        all += &format!("== {name}\n{}\n", desk.screen());
        desk.press(KeyCode::Esc);
    }
    insta::assert_snapshot!(all);
}

/// The changes that are asked for.
fn changes(effects: Vec<Effect>) -> Vec<StoreChange> {
    let changes = effects.into_iter().filter_map(|effect| match effect {
        Effect::Change(_, changes) => Some(changes),
        _ => None,
    });
    changes.flatten().collect()
}

#[test]
fn moving_a_card_claims_closes_releases_and_reopens() {
    let mut desk = Desk::new((80, 24), Texts::Usual);
    let claimed = changes(desk.keys(">"));
    assert!(matches!(&claimed[..], [StoreChange::Update(update)] if update.claim), "{claimed:?}");
    let closed = changes(desk.keys("l>"));
    assert!(matches!(&closed[..], [StoreChange::Close { id, .. }] if id.as_str() == "pn-i0"), "{closed:?}");
    let released = changes(desk.keys("<"));
    assert!(matches!(&released[..], [StoreChange::Release(id)] if id.as_str() == "pn-i0"), "{released:?}");
    let reopened = changes(desk.keys("l<"));
    assert!(matches!(&reopened[..], [StoreChange::Reopen { id, .. }] if id.as_str() == "pn-c0"), "{reopened:?}");
    assert!(changes(desk.keys(">")).is_empty());
    assert!(desk.screen().contains("there is nothing beyond"), "{}", desk.screen());
}

#[test]
fn marked_issues_are_changed_together_and_a_refusal_keeps_what_was_typed() {
    let mut desk = Desk::new((80, 24), Texts::Usual);
    desk.keys("2  dall done");
    let sent = desk.press(KeyCode::Enter);
    let ticket =
        sent.iter().find_map(|effect| if let Effect::Change(ticket, _) = effect { Some(*ticket) } else { None });
    let closed = changes(sent);
    assert!(
        matches!(&closed[..], [StoreChange::Close { reason: Some(reason), .. }, StoreChange::Close { .. }] if reason == "all done"),
        "{closed:?}"
    );
    let error = Error::new(Code::LeaseLost, "somebody else holds it").hint("ask them");
    let refused = vec![("pn-i0".to_owned(), error)];
    desk.send(Msg::Changed(ticket.expect("sent"), ChangeOutcome { refused, ..ChangeOutcome::default() }));
    let screen = desk.screen();
    assert!(
        screen.contains("all done") && screen.contains("somebody else holds it") && screen.contains("ask them"),
        "{screen}"
    );
    let done =
        ChangeOutcome { done: vec!["closed pn-i0".to_owned(), "closed pn-i1".to_owned()], ..ChangeOutcome::default() };
    let again = desk.press(KeyCode::Enter);
    let ticket =
        again.iter().find_map(|effect| if let Effect::Change(ticket, _) = effect { Some(*ticket) } else { None });
    desk.send(Msg::Changed(ticket.expect("sent again"), done));
    assert!(!desk.screen().contains("all done"), "{}", desk.screen());
    assert!(desk.screen().contains("2 issues: closed pn-i1"), "{}", desk.screen());
}

#[test]
fn a_command_with_a_name_runs_on_the_issue() {
    let mut desk = Desk::new((80, 24), Texts::Usual);
    desk.keys("!");
    let effects = desk.press(KeyCode::Enter);
    assert!(
        matches!(&effects[..], [Effect::Run(issues, command)] if issues[0].as_str() == "pn-o0" && command == "my-agent --fast"),
        "{effects:?}"
    );
}

#[test]
fn a_filter_is_typed_kept_and_cleared() {
    let mut desk = Desk::new((80, 24), Texts::Usual);
    desk.keys("2/login");
    assert!(desk.screen().lines().nth(1).is_some_and(|line| line.starts_with("/login")), "{}", desk.screen());
    desk.press(KeyCode::Enter);
    assert!(desk.screen().contains("/login (esc clears)"), "{}", desk.screen());
    desk.press(KeyCode::Esc);
    assert!(!desk.screen().contains("/login"), "{}", desk.screen());
}

#[test]
fn a_lost_store_is_shown_and_asked_for_again() {
    let mut desk = Desk::new((80, 24), Texts::Usual);
    desk.send(Msg::Lost(Error::new(Code::Unreachable, "cannot reach http://localhost:7533")));
    let screen = desk.screen();
    assert!(screen.contains("lost") && screen.contains("cannot reach") && screen.contains("Fix the login"), "{screen}");
    desk.at += Duration::from_secs(2);
    desk.send(Msg::Tick);
    assert!(desk.screen().contains("live"), "{}", desk.screen());
}

#[test]
fn q_goes_back_and_at_the_top_quits() {
    let mut desk = Desk::new((80, 24), Texts::Usual);
    desk.press(KeyCode::Enter);
    assert!(desk.keys("q").is_empty(), "the page is closed");
    assert!(matches!(&desk.keys("q")[..], [Effect::Quit]));
    assert!(desk.press(KeyCode::Esc).is_empty(), "only q leaves");
}

#[test]
fn what_is_watched_has_no_cursor_and_no_keys() {
    let mut shown = String::new();
    for texts in [Texts::Usual, Texts::Empty, Texts::Hostile, Texts::Wide] {
        let mut queue = WatchView::new(Theme::Dark, false);
        queue.issues = of(issues(texts, "open"));
        let mut page = WatchView::new(Theme::Plain, true);
        if let Answer::Detail(issue) = answer(&StoreQuery::Detail("pn-o0".parse().expect("an id")), texts) {
            page.set_issue(issue.detail);
        }
        for size in [(80, 12), (40, 4)] {
            let cx = ViewContext { now: now(), at: Instant::now(), size };
            queue.set_rows(&cx);
            for view in [&queue, &page] {
                let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).expect("a terminal");
                terminal.draw(|frame| view.draw(frame, cx.at, cx.now)).expect("drawn");
                shown.push_str(&screen_text(&terminal));
                shown.push_str("\n\n");
            }
        }
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn every_theme_marks_the_selected_row() {
    for (_, theme) in Theme::ALL {
        let mut desk = Desk::new((80, 24), Texts::Usual);
        desk.app.options.theme = theme;
        desk.keys("2");
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("a terminal");
        terminal.draw(|frame| window::draw(&desk.app, frame, desk.at, now())).expect("drawn");
        let cell = terminal.backend().buffer().cell((0, 2)).cloned().expect("a cell");
        assert_eq!(cell.symbol(), ">");
        assert!(cell.modifier.contains(ratatui::style::Modifier::REVERSED), "{theme:?}");
    }
}

/// Every question and change, on a real store.
#[test]
fn a_store_answers_every_question() {
    let dir = tempfile::tempdir().expect("a directory");
    let (store, _) = pensa_engine::StoreDir::create(&dir.path().join(".pensa")).expect("a store");
    let engine = pensa_engine::Engine::open(store).expect("opened");
    let client = pensa_client::Client::embedded(engine, Box::new(|| "ana".to_owned()));
    let create = pensa_core::ops::issue::Create::of("Fix the login", pensa_core::issue::IssueType::Task);
    let made = crate::store::change(
        &client,
        &[StoreChange::Create(Box::new(create.clone())), StoreChange::Create(Box::new(create))],
    );
    let id = made.created.expect("created");
    let made = crate::store::change(
        &client,
        &[
            StoreChange::claim(&id),
            StoreChange::Release(id.clone()),
            StoreChange::Close { id: id.clone(), reason: None },
            StoreChange::Undo(None),
            StoreChange::Redo,
            StoreChange::Reopen { id: id.clone(), reason: None },
            StoreChange::Comment { id: id.clone(), text: "said".to_owned() },
            StoreChange::AddDep(id.clone(), id.clone()),
        ],
    );
    assert_eq!(made.done.len(), 7, "{made:?}");
    assert_eq!(made.refused.iter().map(|(_, error)| error.code).collect::<Vec<_>>(), [Code::CycleDetected]);
    let text = "login".to_owned();
    let scopes = [
        crate::store::IssueScope::Active,
        crate::store::IssueScope::Ready,
        crate::store::IssueScope::Blocked,
        crate::store::IssueScope::All,
    ];
    let lists = scopes.map(|scope| StoreQuery::List {
        text: text.clone(),
        scope,
        sort: pensa_core::issue::Sort::Priority,
        limit: 5,
    });
    let queries = [
        StoreQuery::Board { text: String::new(), limit: 5 },
        StoreQuery::Detail(id.clone()),
        StoreQuery::Tree(None),
        StoreQuery::Tree(Some(id)),
        StoreQuery::Agents,
        StoreQuery::Insights,
        StoreQuery::Memory { text: text.clone(), scope: MemoryScope::All, limit: 5 },
        StoreQuery::Memory { text: String::new(), scope: MemoryScope::All, limit: 5 },
        StoreQuery::Memory { text: String::new(), scope: MemoryScope::Review, limit: 5 },
        StoreQuery::Memory { text: String::new(), scope: MemoryScope::Conflicts, limit: 5 },
        StoreQuery::Sessions { limit: 5 },
        StoreQuery::Log { limit: 5 },
        StoreQuery::Chart { days: 30 },
        StoreQuery::Find { text: text.clone() },
        StoreQuery::Similar { title: "Fix the login now".to_owned() },
        StoreQuery::Ping,
    ];
    for query in queries.iter().chain(&lists) {
        let answer = crate::store::ask(&client, query);
        let is_right = match &answer {
            Ok(Answer::Find(issues) | Answer::List(issues, _)) => {
                issues.len() == 2 || matches!(query, StoreQuery::List { scope: crate::store::IssueScope::Blocked, .. })
            }
            Ok(Answer::Similar(similar)) => similar.len() == 2,
            Ok(Answer::Log(events)) => events.len() == 5,
            answer => answer.is_ok(),
        };
        assert!(is_right, "{query:?}: {answer:?}");
    }
}
