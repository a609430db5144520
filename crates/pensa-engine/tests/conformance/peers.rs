//! Sync between two stores: what is applied, what the sync state says, and what is refused.

use pensa_core::issue::Issue;
use pensa_core::ops::gc::Gc;
use pensa_core::ops::sync::{
    ApplyRecords, ApplyReport, ApplyStatus, Changes, Peer, Peers, Pending, RecordKey, SyncProgress, SyncRecord,
};
use pensa_core::ops::undo::Undo;
use pensa_core::ops::{agent, comment, conflict, issue, kv, learning, refs, session, skill, store, work};
use pensa_core::{Access, Code};
use pensa_engine::{Caller, entry};
use serde_json::{Value, json};

use crate::conformance;
use crate::peer_sessions::{append_messages, sync_sessions_until_equal};
use crate::world::World;

const THERE: &str = "there";

fn sync_state(world: &World) -> Peer {
    world.ok(&Peers { peer: Some(THERE.into()), limit: None }).pop().expect("books")
}

fn apply(here: &World, entries: Vec<SyncRecord>, progress: SyncProgress) -> ApplyReport {
    let turn = sync_state(here).turn;
    here.ok(&ApplyRecords { entries, peer: Some(SyncProgress { store_id: THERE.into(), turn, ..progress }) })
}

/// Applies the other store's changes here.
fn pull(here: &World, there: &World) -> i64 {
    let mut changed = 0;
    loop {
        let page = there.ok(&Changes { after: sync_state(here).pulled, limit: Some(3), sessions: false });
        let progress = SyncProgress { pulled: Some(page.cursor), afresh: page.restarted, ..SyncProgress::default() };
        changed += apply(here, page.entries, progress).changed;
        if !page.more {
            return changed;
        }
    }
}

/// Sends this store's changes to the other.
fn push(here: &World, there: &World) -> usize {
    let (mut after, mut sent) = (None, 0);
    loop {
        let queue = here.ok(&Pending { peer: THERE.into(), after, limit: Some(3) });
        let taken = there.ok(&ApplyRecords { entries: queue.entries.clone(), peer: None });
        let answers =
            queue.entries.iter().zip(&taken.outcomes).filter(|(_, outcome)| outcome.fate == ApplyStatus::Applied);
        let answers = answers.map(|(sent, outcome)| SyncRecord {
            line: outcome.line.clone().unwrap_or_else(|| sent.line.clone()),
            base: Some(sent.line.clone()),
            ..sent.clone()
        });
        let held = queue.entries.iter().zip(&taken.outcomes).filter(|(_, outcome)| outcome.fate == ApplyStatus::Waits);
        let held: Vec<RecordKey> = held.map(|(sent, _)| sent.key()).collect();
        sent += queue.entries.len();
        let progress = SyncProgress { pushed: queue.pushed, gone: queue.gone, held, ..SyncProgress::default() };
        apply(here, answers.collect(), progress);
        after = queue.next;
        if after.is_none() {
            return sent;
        }
    }
}

pub(crate) fn all(world: &World) -> Vec<String> {
    let (mut lines, mut after) = (Vec::new(), None);
    loop {
        let page = world.ok(&Changes { after, limit: None, sessions: false });
        lines.extend(page.entries.into_iter().map(|sent| format!("{} {}", sent.collection, sent.line)));
        if !page.more {
            lines.sort();
            return lines;
        }
        after = Some(page.cursor);
    }
}

/// Syncs until neither store has anything new.
#[track_caller]
pub(crate) fn sync_until_equal(here: &World, there: &World) {
    for _ in 0..10 {
        if pull(here, there) == 0 && push(here, there) == 0 {
            assert_eq!(all(here), all(there));
            return;
        }
    }
    panic!("it never ends");
}

fn update(world: &World, issue: &Issue, field: &str, value: &str) {
    world.advance(1);
    world.json::<issue::Update>("alice", json!({"id": issue.id, field: value})).expect("updated");
}

fn say(world: &World, issue: &Issue) -> String {
    world.ok(&comment::Add { id: (&issue.id).into(), text: "a word".into() }).id.to_string()
}

fn refer(world: &World, issue: &Issue, target: &str) -> String {
    world.json::<refs::Add>("alice", json!({"id": issue.id, "target": target})).expect("added").of.id.to_string()
}

fn delete(world: &World, issue: &Issue) {
    world.advance(1);
    world.ok(&issue::Delete { id: (&issue.id).into(), force: true });
}

fn titles(world: &World) -> Vec<String> {
    world.ok(&issue::List::default()).into_iter().map(|issue| issue.title).collect()
}

fn sent(line: Value) -> SyncRecord {
    SyncRecord { collection: "issues".into(), id: "pn-x".into(), line: line.to_string(), base: None }
}

fn line(title: &str) -> Value {
    json!({"id": "pn-x", "title": title, "issue_type": "task", "status": "open", "priority": "p2",
        "created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T00:00:00.000Z"})
}

conformance! {
    fn two_stores_converge_and_then_have_nothing_to_sync(here: World) {
        let there = here.clone_of(0x1000);
        let (one, two) = (here.task("one"), here.task("two"));
        here.link(&two, &one);
        let fix = there.create(json!({"title": "a bug", "issue_type": "bug"}));
        there.create(json!({"title": "its fix", "fixes": fix.id}));
        here.json::<learning::Remember>("alice", json!({"text": "found out"})).expect("kept");
        here.json::<skill::Set>("alice", json!({"name": "a b.md", "skills": ["x"]})).expect("set");
        there.json::<skill::Set>("alice", json!({"name": "c.md", "skills": ["y"]})).expect("set");
        refer(&here, &one, "linear:PRJ-1");
        say(&here, &one);
        sync_until_equal(&here, &there);
        assert_eq!(titles(&here).len(), 4);
        assert_eq!((sync_state(&here).events, sync_state(&here).held), (Vec::new(), 0));
        update(&here, &one, "title", "uno");
        let waiting = sync_state(&here).events;
        assert_eq!(waiting.iter().map(|event| &*event.event_type).collect::<Vec<_>>(), ["issue.updated"]);
        sync_until_equal(&here, &there);
        assert_eq!(there.show(&one).title, "uno");
    }

    fn the_newer_change_of_a_field_wins_and_the_other_is_a_conflict(here: World) {
        let there = here.clone_of(0x1000);
        let task = here.task("a task");
        sync_until_equal(&here, &there);
        update(&here, &task, "title", "older");
        update(&there, &task, "title", "newer");
        update(&here, &task, "priority", "p0");
        sync_until_equal(&here, &there);
        // The record that changed last is the newer one.
        assert_eq!(there.show(&task).title, "older");
        let answer: Vec<_> = [&here, &there].iter().flat_map(|world| world.ok(&conflict::List::default())).collect();
        assert_eq!(answer.iter().map(|conflict| &conflict.other).collect::<Vec<_>>(), [&json!("newer")]);
    }

    fn deletions_sync_and_a_later_edit_restores_the_issue_with_its_attachments(here: World) {
        let there = here.clone_of(0x1000);
        let (task, other) = (here.task("a task"), here.task("another"));
        let comment = say(&here, &task);
        here.link(&other, &task);
        sync_until_equal(&here, &there);
        delete(&there, &task);
        sync_until_equal(&here, &there);
        assert_eq!(titles(&here), ["another"]);
        delete(&here, &other);
        update(&there, &other, "title", "edited later");
        say(&there, &other);
        sync_until_equal(&here, &there);
        assert_eq!(titles(&here), ["edited later"]);
        let task = here.task("a third");
        let kept = say(&here, &task);
        sync_until_equal(&here, &there);
        delete(&here, &task);
        update(&there, &task, "title", "kept");
        sync_until_equal(&here, &there);
        let shown = here.ok(&issue::Show { id: (&task.id).into() });
        assert_eq!(shown.comments.iter().map(|comment| comment.id.to_string()).collect::<Vec<_>>(), [kept]);
        assert!(!all(&here).iter().any(|line| line.starts_with(&format!("comments {{\"id\":\"{comment}\""))));
    }

    fn removed_and_restored_skills_and_references_sync(here: World) {
        let there = here.clone_of(0x1000);
        let task = here.task("a task");
        let known = refer(&here, &task, "linear:PRJ-1");
        here.json::<skill::Set>("alice", json!({"name": "a b.md", "skills": ["x"]})).expect("set");
        sync_until_equal(&here, &there);
        there.advance(1);
        there.json::<skill::Remove>("alice", json!({"name": "a b.md"})).expect("removed");
        there.json::<refs::Remove>("alice", json!({"id": known})).expect("removed");
        sync_until_equal(&here, &there);
        let lines = |world: &World, of: &str| all(world).iter().filter(|line| line.starts_with(of)).count();
        assert_eq!((lines(&here, "skills"), lines(&here, "refs")), (0, 0));
        for _ in 0..2 {
            there.advance(1);
            there.json::<Undo>("alice", json!({})).expect("undone");
        }
        sync_until_equal(&here, &there);
        assert_eq!((lines(&here, "skills"), lines(&here, "refs")), (1, 1));
        // A restored issue gets its references back, also in the store that knew them before.
        delete(&here, &task);
        sync_until_equal(&here, &there);
        assert_eq!(lines(&there, "refs"), 0);
        here.advance(1);
        here.ok(&Undo::default());
        sync_until_equal(&here, &there);
        assert_eq!((lines(&here, "refs"), lines(&there, "refs")), (1, 1));
    }

    fn an_issue_that_comes_back_from_another_store_has_its_history_again(here: World) {
        let there = here.clone_of(0x1000);
        let task = here.task("a task");
        sync_until_equal(&here, &there);
        delete(&here, &task);
        there.advance(5);
        there.json::<issue::Update>("bob", json!({"id": task.id, "priority": "p0"})).expect("changed");
        sync_until_equal(&here, &there);
        assert_eq!(here.show(&task).priority.to_string(), "p0");
        let history = here.events(&task);
        assert!(history.iter().filter(|event| *event == "created").count() >= 2, "{history:?}");
        let findings = here.ok(&store::Doctor { fix: false, deep: true }).findings;
        assert!(findings.iter().all(|finding| finding.check != "damage"), "{findings:?}");
    }

    fn work_agents_and_values_continue_in_another_store(here: World) {
        let there = here.clone_of(0x1000);
        let secret = json!({"type": "user", "name": "builder", "permissions": {"network": true}, "descriptor": {"a": 1}});
        let boss = here.json::<agent::Create>("alice", secret).expect("an agent");
        here.json::<agent::Create>("alice", json!({"type": "subagent", "name": "help", "parent": boss.id})).expect("an agent");
        let begun = here.json::<work::Start>("alice", json!({"what": "both", "steps": ["one", "two"]})).expect("begun");
        here.json::<work::FinishStep>("alice", json!({})).expect("ticked");
        for scope in ["user", "project", "repo:x"] {
            here.json::<kv::Set>("alice", json!({"scope": scope, "key": "a key ä", "value": scope})).expect("set");
        }
        sync_until_equal(&here, &there);
        let lines = all(&there).join("\n");
        for own in ["network", boss.active_session_id.as_ref().expect("a session").as_str(), "repo:x", "tokens"] {
            assert!(!lines.contains(own), "{own} does not travel: {lines}");
        }
        let arrived = there.json::<agent::Show>("a", json!({"id": "builder"})).expect("an agent");
        assert_eq!((arrived.id.clone(), arrived.descriptor.get("a")), (boss.id.clone(), Some(&json!(1))));
        assert!(arrived.permissions.is_empty() && arrived.active_session_id.is_some(), "{arrived:?}");
        let entry = json!({"id": "builder", "entries": [{"type": "note", "data": {"text": "here I am"}}]});
        there.json::<session::Append>("builder", entry).expect("it goes on in a session of its own");
        // Work started in one store is finished in the other.
        there.advance(1);
        there.json::<work::FinishStep>("alice", json!({"issue": begun.issue_id})).expect("ticked");
        there.json::<agent::Update>("alice", json!({"id": "builder", "name": "mason"})).expect("renamed");
        there.json::<agent::Update>("alice", json!({"id": "mason", "permissions": {"disk": true}})).expect("its own");
        let set = json!({"scope": "user", "key": "a key ä", "value": "newer"});
        there.json::<kv::Set>("alice", set).expect("set");
        there.json::<kv::Delete>("alice", json!({"scope": "project", "key": "a key ä"})).expect("deleted");
        sync_until_equal(&here, &there);
        let steps = here.json::<work::Steps>("alice", json!({"actor": "alice"})).expect("steps");
        assert!(json!(steps).as_array().expect("a list").iter().all(|step| step["status"] == "done"), "{steps:?}");
        let back = here.json::<agent::Show>("a", json!({"id": "mason"})).expect("an agent");
        assert_eq!((back.permissions.get("network"), back.active_session_id), (Some(&json!(true)), boss.active_session_id));
        let values = here.json::<kv::List>("a", json!({})).expect("values");
        let values: Vec<(&str, &str)> = values.iter().map(|pair| (&*pair.scope, &*pair.value)).collect();
        assert_eq!(values, [("repo:x", "repo:x"), ("user", "newer")]);
        // Deletions, their undo, and repeated creation are synced too.
        there.advance(1);
        there.json::<Undo>("alice", json!({})).expect("undone");
        here.json::<agent::Delete>("alice", json!({"id": "mason", "force": true})).expect("deleted");
        sync_until_equal(&here, &there);
        assert_eq!(here.json::<kv::Get>("a", json!({"scope": "project", "key": "a key ä"})).expect("there").value, "project");
        let left = there.json::<agent::List>("a", json!({})).expect("a list");
        assert_eq!(left.iter().map(|agent| (agent.name.as_deref(), &agent.parent_id)).collect::<Vec<_>>(), [(Some("help"), &None)]);
        let other = json!({"scope": "repo:x", "key": "k", "value": "v", "updated_at": "2026-01-01T00:00:00.000Z"});
        let foreign = SyncRecord { collection: "kv".into(), id: "repo:x k".into(), line: other.to_string(), base: None };
        assert_eq!(there.call(&ApplyRecords { entries: vec![foreign], peer: None }).expect_err("one of a machine").code, Code::InvalidInput);
        for world in [&here, &there] {
            let findings = world.ok(&store::Doctor { fix: false, deep: true }).findings;
            assert!(findings.iter().all(|finding| finding.severity != store::Severity::Error), "{findings:?}");
        }
    }

    fn unknown_fields_of_a_newer_store_are_kept_and_synced(here: World) {
        let there = here.clone_of(0x1000);
        here.json::<agent::Create>("alice", json!({"type": "user", "name": "builder"})).expect("an agent");
        here.json::<work::Start>("alice", json!({"what": "both", "steps": ["one"]})).expect("begun");
        here.json::<kv::Set>("alice", json!({"scope": "user", "key": "k", "value": "v"})).expect("set");
        let page = here.ok(&Changes::default());
        let newer = |sent: SyncRecord| SyncRecord { line: sent.line.replacen('{', "{\"zoo\":{\"a\":[1]},", 1), ..sent };
        there.ok(&ApplyRecords { entries: page.entries.into_iter().map(newer).collect(), peer: None });
        let names = ["agents ", "kv ", "work "];
        let is_kept = |world: &World, name: &str| {
            let kept = all(world).into_iter().filter(|line| line.starts_with(name));
            kept.map(|line| line.contains("\"zoo\":{\"a\":[1]}")).collect::<Vec<_>>()
        };
        assert_eq!(names.map(|name| is_kept(&there, name)), [[true], [true], [true]]);
        there.advance(1);
        there.json::<agent::Update>("alice", json!({"id": "builder", "name": "mason"})).expect("renamed");
        there.json::<work::FinishStep>("alice", json!({})).expect("ticked");
        there.json::<kv::Set>("alice", json!({"scope": "user", "key": "k", "value": "w"})).expect("set");
        sync_until_equal(&here, &there);
        assert_eq!(names.map(|name| is_kept(&here, name)), [[true], [true], [true]]);
        // So are unknown fields of sessions.
        append_messages(&here, "mason", &["a word"]);
        let heads = |world: &World| world.ok(&Changes { sessions: true, ..Changes::default() }).entries;
        there.ok(&ApplyRecords { entries: heads(&here).into_iter().map(newer).collect(), peer: None });
        there.advance(1);
        there.json::<session::Reset>("alice", json!({"id": "mason"})).expect("reset");
        sync_sessions_until_equal(&here, &there);
        assert!(heads(&here).iter().any(|sent| sent.line.contains("\"zoo\":{\"a\":[1]}")), "{:?}", heads(&here));
    }

    fn an_agent_role_syncs_and_deletes_values_but_deletes_no_agent(here: World) {
        let there = here.clone_of(0x1000);
        let made = here.json::<agent::Create>("alice", json!({"type": "user"})).expect("an agent");
        here.json::<kv::Set>("alice", json!({"scope": "user", "key": "k", "value": "v"})).expect("set");
        sync_until_equal(&here, &there);
        here.advance(1);
        here.json::<kv::Delete>("alice", json!({"scope": "user", "key": "k"})).expect("deleted");
        here.json::<agent::Delete>("alice", json!({"id": made.id, "force": true})).expect("deleted");
        let entries: Vec<SyncRecord> = here.ok(&Changes::default()).entries.into_iter().filter(|sent| sent.collection == "tombstones").collect();
        assert_eq!(entries.len(), 2);
        let op = serde_json::to_value(ApplyRecords { entries, peer: None }).expect("JSON");
        let bot = Caller { token: Some("tok-1".into()), may: Access::Write, ..Caller::local("bot") };
        let take = entry("sync.take").expect("an operation");
        let answer = there.engine.run(Access::Write, &bot, |cx, tx| (take.run)(cx, tx, &op)).expect("taken");
        let taken: ApplyReport = serde_json::from_str(&answer).expect("JSON");
        let fates: Vec<ApplyStatus> = taken.outcomes.iter().map(|outcome| outcome.fate).collect();
        assert_eq!(fates, [ApplyStatus::Refused, ApplyStatus::Applied]);
    }

    fn two_issues_with_one_id_are_both_kept(here: World) {
        let task = here.task("the older");
        here.advance(1);
        let there = here.clone_of(0);
        let twin = there.task("the younger");
        assert_eq!(task.id, twin.id);
        say(&there, &twin);
        refer(&there, &twin, "linear:PRJ-1");
        sync_until_equal(&here, &there);
        let known = all(&here).into_iter().find(|line| line.starts_with("refs")).expect("a reference");
        assert!(!known.contains(task.id.as_str()), "it followed its issue: {known}");
        let mut both = titles(&here);
        both.sort();
        assert_eq!(both, ["the older", "the younger"]);
        assert_eq!(here.show(&task).title, "the older");
    }

    fn repeated_records_change_nothing_and_one_of_two_clients_continues(here: World) {
        let there = here.clone_of(0x1000);
        here.task("a task");
        let entries = here.ok(&Changes::default()).entries;
        let first = there.ok(&ApplyRecords { entries: entries.clone(), peer: None });
        let again = there.ok(&ApplyRecords { entries: entries.clone(), peer: None });
        assert_eq!((first.changed, again.changed), (1, 0));
        let progress = SyncProgress { store_id: THERE.into(), turn: 0, ..SyncProgress::default() };
        there.ok(&ApplyRecords { entries: Vec::new(), peer: Some(progress.clone()) });
        let late = there.call(&ApplyRecords { entries, peer: Some(progress) }).expect_err("another was faster");
        assert_eq!(late.code, Code::Busy);
    }

    fn a_cursor_of_another_log_is_detected(here: World) {
        let there = here.clone_of(0x1000);
        here.task("a task");
        there.task("of the other");
        for other in [there.ok(&Changes::default()).cursor, "99.0000000000000000".into(), "x".into(), "\u{1}".into()] {
            there.task("of the other");
            let page = here.ok(&Changes { after: Some(other), limit: None, sessions: false });
            assert!(page.restarted && page.entries.len() == 1, "{page:?}");
        }
        let page = here.ok(&Changes::default());
        let next = here.ok(&Changes { after: Some(page.cursor), limit: None, sessions: false });
        assert!(!next.restarted && next.entries.is_empty());
    }

    fn an_invalid_record_refuses_the_request_and_is_named(here: World) {
        let good = sent(line("fine"));
        let wrong_id = SyncRecord { id: "pn-y".into(), ..good.clone() };
        let mut newer = line("x");
        newer["schema_version"] = json!(99);
        for (bad, code) in [
            (SyncRecord { line: "{".into(), ..good.clone() }, Code::InvalidInput),
            (SyncRecord { line: "[[[[".repeat(1000), ..good.clone() }, Code::InvalidInput),
            (sent(line("")), Code::InvalidInput),
            (sent(json!({"id": "pn-x"})), Code::InvalidInput),
            (SyncRecord { base: Some("nothing".into()), ..good.clone() }, Code::InvalidInput),
            (sent(newer), Code::NewerSchema),
            (wrong_id, Code::InvalidInput),
        ] {
            let fields = serde_json::to_value(ApplyRecords { entries: vec![good.clone(), bad], peer: None }).expect("JSON");
            let error = here.json::<ApplyRecords>("alice", fields).expect_err("refused");
            assert_eq!(error.code, code, "{error}");
            assert!(error.message.contains("issues pn-"), "{error}");
        }
        assert_eq!(titles(&here), [""; 0]);
        let strange = SyncRecord { collection: "dreams".into(), ..good.clone() };
        let lonely = json!({"issue_id": "pn-x", "depends_on_id": "pn-none"}).to_string();
        let lonely = SyncRecord { collection: "deps".into(), id: "pn-x pn-none".into(), line: lonely, base: None };
        let taken = here.ok(&ApplyRecords { entries: vec![strange, lonely, good], peer: None });
        let fates: Vec<ApplyStatus> = taken.outcomes.iter().map(|outcome| outcome.fate).collect();
        assert_eq!(fates, [ApplyStatus::Unknown, ApplyStatus::Waits, ApplyStatus::Applied]);
    }

    fn a_purged_deletion_still_reaches_a_store_that_has_the_issue(here: World) {
        let there = here.clone_of(0x1000);
        let (task, kept) = (here.create(json!({"title": "a heron", "description": "an otter"})), here.task("kept"));
        say(&here, &task);
        sync_until_equal(&here, &there);
        update(&here, &task, "description", "an ibex");
        push(&here, &there);
        here.json::<issue::Delete>("alice", json!({"id": task.id, "force": true})).expect("deleted");
        here.advance(8 * 86_400);
        assert_eq!(here.ok(&Gc::default()).removed.deleted_issues, 1);
        let (store, all) = (here.store(), here.dump());
        let words: Vec<&str> = ["heron", "otter", "ibex"].into_iter().filter(|word| all.contains(word)).collect();
        // A PostgreSQL database contains both stores.
        assert!(words.is_empty() || !store.database().exists(), "{words:?}");
        sync_until_equal(&here, &there);
        assert_eq!(there.refused::<issue::Show>("alice", json!({"id": task.id})), Code::NotFound);
        assert_eq!((there.show(&kept).title.as_str(), here.show(&kept).title.as_str()), ("kept", "kept"));
        assert_eq!(there.ok(&Gc::default()).removed.deleted_issues, 0, "there it was deleted just now");
        here.advance(8 * 86_400);
        assert_eq!(there.ok(&Gc::default()).removed.deleted_issues, 1);
        update(&there, &kept, "title", "changed");
        sync_until_equal(&here, &there);
        assert_eq!(here.show(&kept).title, "changed");
    }

    fn an_open_conflict_keeps_a_deleted_issue(here: World) {
        let there = here.clone_of(0x1000);
        let task = here.create(json!({"title": "a heron"}));
        sync_until_equal(&here, &there);
        update(&there, &task, "title", "an otter");
        here.advance(5);
        here.json::<issue::Delete>("alice", json!({"id": task.id})).expect("deleted");
        pull(&here, &there);
        here.advance(8 * 86_400);
        assert_eq!(here.ok(&Gc::default()).removed.deleted_issues, 0);
        let open = here.ok(&conflict::List::default()).pop().expect("an edit that the deletion did not know");
        here.json::<conflict::Resolve>("alice", json!({"id": open.id, "take": "kept"})).expect("settled");
        assert_eq!(here.ok(&Gc::default()).removed.deleted_issues, 1);
        assert_eq!(here.ok(&conflict::List::default()), []);
    }

    fn an_agent_role_syncs_changes_but_no_deletions_and_no_foreign_comments(here: World) {
        let there = here.clone_of(0x1000);
        let (task, gone) = (here.task("a task"), here.task("to be deleted"));
        say(&here, &task);
        sync_until_equal(&here, &there);
        update(&there, &task, "title", "changed");
        delete(&there, &gone);
        let mut entries = there.ok(&Changes::default()).entries;
        for sent in entries.iter_mut().filter(|sent| sent.collection == "comments") {
            sent.line = sent.line.replace("a word", "other words");
        }
        let op = serde_json::to_value(ApplyRecords { entries: entries.clone(), peer: None }).expect("JSON");
        let agent = Caller { token: Some("tok-1".into()), may: Access::Write, ..Caller::local("ana") };
        let take = entry("sync.take").expect("an operation");
        let answer = here.engine.run(Access::Write, &agent, |cx, tx| (take.run)(cx, tx, &op)).expect("taken");
        let taken: ApplyReport = serde_json::from_str(&answer).expect("JSON");
        for (sent, outcome) in entries.iter().zip(&taken.outcomes) {
            let is_refused = ["tombstones", "comments"].contains(&&*sent.collection);
            assert_eq!(outcome.fate == ApplyStatus::Refused, is_refused, "{sent:?} {outcome:?}");
        }
        assert_eq!(here.show(&task).title, "changed");
        assert_eq!(here.show(&gone).title, "to be deleted");
    }
}

#[test]
fn the_sync_state_is_rebuilt_from_the_journal() {
    let here = World::sqlite();
    let there = here.clone_of(0x1000);
    let (one, two) = (here.task("one"), there.task("two"));
    sync_until_equal(&here, &there);
    update(&there, &two, "title", "dos");
    delete(&here, &one);
    pull(&here, &there);
    let before = sync_state(&here);
    for file in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
        let _ = std::fs::remove_file(here.store().root().join(file));
    }
    let rebuilt = here.engine.new_handle().expect("rebuilt");
    let after = rebuilt.call("a", &Peers { peer: Some(THERE.into()), limit: None }).expect("books").pop();
    assert_eq!(after, Some(before));
    let queue = rebuilt.call("a", &Pending { peer: THERE.into(), after: None, limit: None }).expect("a queue");
    assert_eq!(queue.entries.len(), 1, "the tombstone: {queue:?}");
}
