//! Sync of sessions: an agent continues in another store, and the entries of both are kept.

use pensa_core::Code;
use pensa_core::ops::sync::{
    ApplyRecords, ApplyReport, ApplyStatus, Changes, Peers, Pending, SESSION_ENTRIES, SyncProgress, SyncRecord,
};
use pensa_core::ops::{agent, session, store};
use pensa_core::session::Entry;
use serde_json::{Value, json};

use crate::conformance;
use crate::peers::{all, sync_until_equal};
use crate::world::World;

const ON_SESSIONS: &str = "there sessions";

/// The session's next entries, numbered within it.
fn entries(world: &World, session: &str, after: i64) -> Vec<SyncRecord> {
    let wanted = json!({"id": session, "skip": after, "limit": 2});
    let some = world.json::<session::History>("alice", wanted).expect("entries");
    let sent = |(entry, id): (Entry, i64)| SyncRecord {
        collection: SESSION_ENTRIES.into(),
        id: format!("{session} {id}"),
        line: json!(Entry { id, ..entry }).to_string(),
        base: None,
    };
    some.into_iter().zip(after + 1..).map(sent).collect()
}

fn apply_session(here: &World, entries: Vec<SyncRecord>, progress: SyncProgress) -> ApplyReport {
    let turn = here.ok(&Peers { peer: Some(ON_SESSIONS.into()), limit: None }).pop().expect("books").turn;
    here.ok(&ApplyRecords { entries, peer: Some(SyncProgress { store_id: ON_SESSIONS.into(), turn, ..progress }) })
}

/// Exchanges sessions between both stores, interrupted after this many pages of entries.
fn exchange_sessions(here: &World, there: &World, mut pages: usize) -> bool {
    let sync_state = here.ok(&Peers { peer: Some(ON_SESSIONS.into()), limit: None }).pop().expect("books");
    let page = there.ok(&Changes { after: sync_state.pulled, limit: None, sessions: true });
    let taken = apply_session(here, page.entries.clone(), SyncProgress::default());
    let mut any = taken.changed > 0;
    for (head, outcome) in page.entries.iter().zip(&taken.outcomes) {
        let Some(mut after) = outcome.fetch_after else { continue };
        loop {
            let some = entries(there, &head.id, after);
            if some.is_empty() {
                break;
            }
            if pages == 0 {
                return true;
            }
            (after, pages, any) = (after + some.len() as i64, pages - 1, true);
            apply_session(here, some, SyncProgress::default());
        }
    }
    apply_session(here, page.entries, SyncProgress { pulled: Some(page.cursor), ..SyncProgress::default() });
    let queue = here.ok(&Pending { peer: ON_SESSIONS.into(), after: None, limit: None });
    let taken = there.ok(&ApplyRecords { entries: queue.entries.clone(), peer: None });
    let (mut answers, mut gone) = (Vec::new(), queue.gone);
    for (sent, outcome) in queue.entries.iter().zip(taken.outcomes) {
        match outcome.fate {
            ApplyStatus::Applied => answers.push(SyncRecord {
                line: outcome.line.unwrap_or_else(|| sent.line.clone()),
                base: Some(sent.line.clone()),
                ..sent.clone()
            }),
            ApplyStatus::Gone => gone.push(sent.key()),
            other => panic!("{sent:?} {other:?}"),
        }
    }
    any |= !answers.is_empty();
    let booked =
        apply_session(here, answers.clone(), SyncProgress { pushed: queue.pushed, gone, ..SyncProgress::default() });
    for (head, outcome) in answers.iter().zip(booked.outcomes) {
        let Some(mut after) = outcome.send_after else { continue };
        while let some @ [.., last] = &entries(here, &head.id, after)[..] {
            if pages == 0 {
                return true;
            }
            (after, pages) = (after + some.len() as i64, pages - 1);
            there.ok(&ApplyRecords { entries: some.to_vec(), peer: None });
            apply_session(
                here,
                vec![SyncRecord { base: Some(last.line.clone()), ..last.clone() }],
                SyncProgress::default(),
            );
        }
    }
    any
}

/// Agents and their sessions are the same in both stores.
#[track_caller]
pub(crate) fn sync_sessions_until_equal(here: &World, there: &World) {
    sync_until_equal(here, there);
    for _ in 0..10 {
        if !exchange_sessions(here, there, usize::MAX) {
            assert_eq!(conversations(here), conversations(there));
            return;
        }
    }
    panic!("it never ends");
}

/// The messages of each session; sessions without messages are left out.
fn conversations(world: &World) -> Vec<(String, Vec<String>)> {
    let all = world.json::<session::List>("a", json!({"all": true})).expect("sessions");
    let mut listed: Vec<_> = all.iter().map(|one| one.session.id.to_string()).collect();
    listed.sort();
    let messages = |id: String| (id.clone(), messages(world, &id));
    listed.into_iter().map(messages).filter(|(_, messages)| !messages.is_empty()).collect()
}

fn messages(world: &World, of: &str) -> Vec<String> {
    let all = world.json::<session::History>("a", json!({"id": of})).expect("entries");
    all.iter().map(|entry| entry.data["text"].as_str().expect("a text").to_owned()).collect()
}

pub(crate) fn append_messages(world: &World, agent: &str, words: &[&str]) {
    world.advance(1);
    let entries: Vec<Value> =
        words.iter().map(|word| json!({"type": "user_message", "data": {"text": word}})).collect();
    world.json::<session::Append>("alice", json!({"id": agent, "entries": entries})).expect("appended");
}

fn session_of(world: &World, agent: &str) -> String {
    let agent = world.json::<agent::Show>("a", json!({"id": agent})).expect("an agent");
    agent.active_session_id.expect("a session").to_string()
}

conformance! {
    fn an_agent_continues_its_session_in_another_store(here: World) {
        let there = here.clone_of(0x1000);
        here.json::<agent::Create>("alice", json!({"type": "user", "name": "bot"})).expect("an agent");
        sync_until_equal(&here, &there);
        let blank = session_of(&there, "bot");
        append_messages(&here, "bot", &["one", "two", "three"]);
        sync_until_equal(&here, &there);
        assert_eq!(session_of(&there, "bot"), blank, "without being asked nothing of a session travels");
        assert!(!all(&here).join("").contains("sessions"), "{:?}", all(&here));
        sync_sessions_until_equal(&here, &there);
        let session = session_of(&here, "bot");
        assert_eq!(session_of(&there, "bot"), session);
        assert_eq!(there.refused::<session::Show>("a", json!({"id": blank})), Code::NotFound);
        append_messages(&there, "bot", &["four"]);
        sync_sessions_until_equal(&here, &there);
        assert_eq!(messages(&here, "bot"), ["one", "two", "three", "four"]);
        // The next session starts where the previous one ends.
        there.advance(1);
        let summary = json!({"id": "bot", "summary": "counted to four"});
        let next = there.json::<session::Compact>("alice", summary).expect("compacted").id.to_string();
        sync_sessions_until_equal(&here, &there);
        assert_eq!(session_of(&here, "bot"), next);
        let context = here.json::<session::Context>("a", json!({"id": "bot"})).expect("a context");
        assert!(json!(context).to_string().contains("counted to four"), "{context:?}");
        for world in [&here, &there] {
            let findings = world.ok(&store::Doctor { fix: false, deep: true }).findings;
            assert!(findings.iter().all(|finding| finding.severity != store::Severity::Error), "{findings:?}");
        }
    }

    fn a_session_continued_in_two_stores_is_forked(here: World) {
        let there = here.clone_of(0x1000);
        here.json::<agent::Create>("alice", json!({"type": "user", "name": "bot"})).expect("an agent");
        append_messages(&here, "bot", &["one", "two", "three"]);
        sync_sessions_until_equal(&here, &there);
        let session = session_of(&here, "bot");
        append_messages(&here, "bot", &["four", "five of here"]);
        append_messages(&there, "bot", &["four"]);
        append_messages(&there, "bot", &["five of there", "six of there"]);
        sync_sessions_until_equal(&here, &there);
        assert_eq!(session_of(&there, "bot"), session);
        assert_eq!(messages(&there, "bot"), ["one", "two", "three", "four", "five of there", "six of there"]);
        let fork = session_of(&here, "bot");
        assert_ne!(fork, session);
        assert_eq!(messages(&here, "bot"), ["one", "two", "three", "four", "five of here"]);
        append_messages(&here, "bot", &["six of here"]);
        append_messages(&there, "bot", &["seven of there"]);
        sync_sessions_until_equal(&here, &there);
        assert_eq!(messages(&there, &fork).last().expect("an entry"), "six of here");
        // A paged history contains every entry once, in whichever session it is.
        let (mut after, mut listed) = (0, Vec::new());
        loop {
            let wanted = json!({"id": "bot", "all": true, "after": after, "limit": 2});
            let some = here.json::<session::History>("a", wanted).expect("entries");
            let Some(last) = some.last() else { break };
            after = last.id;
            listed.extend(some.iter().map(|entry| (entry.session_id.to_string(), entry.data["text"].clone())));
        }
        assert_eq!(listed.len(), messages(&here, &fork).len() + messages(&here, &session).len(), "{listed:?}");
        let findings = here.ok(&store::Doctor { fix: false, deep: true }).findings;
        assert!(findings.iter().all(|finding| finding.severity != store::Severity::Error), "{findings:?}");
    }

    fn sessions_of_an_agent_that_arrive_together_are_all_kept(here: World) {
        let (there, third) = (here.clone_of(0x1000), here.clone_of(0x2000));
        here.json::<agent::Create>("alice", json!({"type": "user", "name": "bot"})).expect("an agent");
        sync_until_equal(&here, &there);
        append_messages(&here, "bot", &["said here"]);
        append_messages(&there, "bot", &["said there"]);
        sync_sessions_until_equal(&here, &there);
        assert_eq!(conversations(&there).len(), 2);
        sync_sessions_until_equal(&third, &there);
        assert_eq!(conversations(&third), conversations(&here));
        let all = third.json::<session::List>("a", json!({"all": true})).expect("sessions");
        assert_eq!(all.len(), 2, "nothing is left of the session that it began with");
    }

    fn an_interrupted_sync_of_entries_resumes(here: World) {
        let there = here.clone_of(0x1000);
        here.json::<agent::Create>("alice", json!({"type": "user", "name": "bot"})).expect("an agent");
        there.json::<agent::Create>("alice", json!({"type": "user", "name": "other"})).expect("an agent");
        let words: Vec<String> = (0..9).map(|number| format!("word {number}")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        append_messages(&here, "bot", &words);
        append_messages(&there, "other", &words);
        sync_until_equal(&here, &there);
        for pages in [1, 2, 1, 3, 1] {
            assert!(exchange_sessions(&here, &there, pages));
        }
        sync_sessions_until_equal(&here, &there);
        assert_eq!((messages(&there, "bot"), messages(&here, "other")), (messages(&here, "bot"), messages(&there, "other")));
        assert_eq!(conversations(&here).len(), 2, "nobody went on with anything");
    }

    fn a_deleted_session_is_deleted_everywhere_unless_it_was_continued(here: World) {
        let there = here.clone_of(0x1000);
        here.json::<agent::Create>("alice", json!({"type": "user", "name": "bot"})).expect("an agent");
        append_messages(&here, "bot", &["one"]);
        let old = session_of(&here, "bot");
        sync_sessions_until_equal(&here, &there);
        here.advance(1);
        here.json::<session::Reset>("alice", json!({"id": "bot"})).expect("reset");
        sync_sessions_until_equal(&here, &there);
        here.json::<session::Delete>("alice", json!({"id": old})).expect("deleted");
        assert!(!all(&here).join("").contains(&old), "its tombstone travels with sessions only");
        sync_sessions_until_equal(&here, &there);
        assert_eq!(there.refused::<session::Show>("a", json!({"id": old})), Code::NotFound);
        // The deletion does not cover entries appended elsewhere, so they stay.
        append_messages(&here, "bot", &["two"]);
        sync_sessions_until_equal(&here, &there);
        let kept = session_of(&there, "bot");
        append_messages(&there, "bot", &["three"]);
        here.advance(1);
        here.json::<session::Reset>("alice", json!({"id": "bot"})).expect("reset");
        here.json::<session::Delete>("alice", json!({"id": kept})).expect("deleted");
        sync_sessions_until_equal(&here, &there);
        assert_eq!(messages(&here, &kept), ["two", "three"]);
        // Deleting an agent deletes its sessions.
        here.json::<agent::Delete>("alice", json!({"id": "bot", "force": true})).expect("deleted");
        sync_sessions_until_equal(&here, &there);
        assert_eq!(conversations(&there), []);
    }

    fn a_restored_agent_has_its_sessions_again(here: World) {
        let there = here.clone_of(0x1000);
        for (deleting, keeping) in [(&here, &there), (&there, &here)] {
            deleting.json::<agent::Create>("alice", json!({"type": "user", "name": "bot"})).expect("an agent");
            append_messages(deleting, "bot", &["one", "two", "three"]);
            sync_sessions_until_equal(&here, &there);
            let gone = json!({"id": "bot", "force": true, "purge": true});
            deleting.json::<agent::Delete>("alice", gone).expect("deleted");
            keeping.advance(1);
            keeping.json::<agent::Update>("alice", json!({"id": "bot", "descriptor": {"a": 1}})).expect("updated");
            sync_sessions_until_equal(&here, &there);
            assert_eq!(messages(deleting, "bot"), ["one", "two", "three"]);
            deleting.json::<agent::Delete>("alice", json!({"id": "bot", "force": true})).expect("deleted");
            sync_sessions_until_equal(&here, &there);
        }
    }

    fn a_secret_kept_on_one_machine_is_not_synced(here: World) {
        let there = here.clone_of(0x1000);
        let secret = ["gh", "p_", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3gH5"].concat();
        here.json::<agent::Create>("alice", json!({"type": "user", "name": "bot"})).expect("an agent");
        let kept = json!([{"type": "note", "data": {"text": secret}}, {"type": "note", "data": {"text": "plain"}}]);
        here.json::<session::Append>("a", json!({"id": "bot", "entries": kept, "no_redact": true})).expect("appended");
        sync_until_equal(&here, &there);
        while exchange_sessions(&here, &there, usize::MAX) {}
        assert_eq!(messages(&here, "bot")[0], secret);
        assert_ne!(messages(&there, "bot")[0], secret);
        append_messages(&there, "bot", &["more"]);
        while exchange_sessions(&here, &there, usize::MAX) {}
        assert_eq!(messages(&here, "bot"), [&*secret, "plain", "more"], "it is the same entry nevertheless");
    }
}
