//! Two stores that exchange records: what is taken in, what the books say, and what is refused.

use pensa_core::issue::Issue;
use pensa_core::ops::gc::Gc;
use pensa_core::ops::sync::{Changes, Fate, Named, Peer, Peers, Pending, Progress, Sent, Take, Taken};
use pensa_core::ops::undo::Undo;
use pensa_core::ops::{agent, comment, conflict, issue, kv, learning, refs, session, skill, store, work};
use pensa_core::{Access, Code};
use pensa_engine::{Caller, entry};
use serde_json::{Value, json};

use crate::conformance;
use crate::world::World;

const THERE: &str = "there";

fn books(world: &World) -> Peer {
    world.ok(&Peers { peer: Some(THERE.into()), limit: None }).pop().expect("books")
}

fn book(here: &World, entries: Vec<Sent>, progress: Progress) -> Taken {
    let turn = books(here).turn;
    here.ok(&Take { entries, peer: Some(Progress { store_id: THERE.into(), turn, ..progress }) })
}

/// One direction: what the other has.
fn pull(here: &World, there: &World) -> i64 {
    let mut changed = 0;
    loop {
        let page = there.ok(&Changes { after: books(here).pulled, limit: Some(3) });
        let progress = Progress { pulled: Some(page.cursor), afresh: page.restarted, ..Progress::default() };
        changed += book(here, page.entries, progress).changed;
        if !page.more {
            return changed;
        }
    }
}

/// The other direction: what the other lacks.
fn push(here: &World, there: &World) -> usize {
    let (mut after, mut sent) = (None, 0);
    loop {
        let queue = here.ok(&Pending { peer: THERE.into(), after, limit: Some(3) });
        let taken = there.ok(&Take { entries: queue.entries.clone(), peer: None });
        let answers = queue.entries.iter().zip(&taken.outcomes).filter(|(_, outcome)| outcome.fate == Fate::Taken);
        let answers = answers.map(|(sent, outcome)| Sent {
            line: outcome.line.clone().unwrap_or_else(|| sent.line.clone()),
            base: Some(sent.line.clone()),
            ..sent.clone()
        });
        let held = queue.entries.iter().zip(&taken.outcomes).filter(|(_, outcome)| outcome.fate == Fate::Waits);
        let held: Vec<Named> = held.map(|(sent, _)| sent.named()).collect();
        sent += queue.entries.len();
        let progress = Progress { pushed: queue.pushed, gone: queue.gone, held, ..Progress::default() };
        book(here, answers.collect(), progress);
        after = queue.next;
        if after.is_none() {
            return sent;
        }
    }
}

fn all(world: &World) -> Vec<String> {
    let (mut lines, mut after) = (Vec::new(), None);
    loop {
        let page = world.ok(&Changes { after, limit: None });
        lines.extend(page.entries.into_iter().map(|sent| format!("{} {}", sent.collection, sent.line)));
        if !page.more {
            lines.sort();
            return lines;
        }
        after = Some(page.cursor);
    }
}

/// Exchanges until neither has anything new.
#[track_caller]
fn meet(here: &World, there: &World) {
    for _ in 0..10 {
        if pull(here, there) == 0 && push(here, there) == 0 {
            assert_eq!(all(here), all(there));
            return;
        }
    }
    panic!("it never ends");
}

fn update(world: &World, issue: &Issue, field: &str, value: &str) {
    world.pass(1);
    world.json::<issue::Update>("alice", json!({"id": issue.id, field: value})).expect("updated");
}

fn say(world: &World, issue: &Issue) -> String {
    world.ok(&comment::Add { id: (&issue.id).into(), text: "a word".into() }).id.to_string()
}

fn refer(world: &World, issue: &Issue, target: &str) -> String {
    world.json::<refs::Add>("alice", json!({"id": issue.id, "target": target})).expect("added").of.id.to_string()
}

fn delete(world: &World, issue: &Issue) {
    world.pass(1);
    world.ok(&issue::Delete { id: (&issue.id).into(), force: true });
}

fn titles(world: &World) -> Vec<String> {
    world.ok(&issue::List::default()).into_iter().map(|issue| issue.title).collect()
}

fn sent(line: Value) -> Sent {
    Sent { collection: "issues".into(), id: "pn-x".into(), line: line.to_string(), base: None }
}

fn line(title: &str) -> Value {
    json!({"id": "pn-x", "title": title, "issue_type": "task", "status": "open", "priority": "p2",
        "created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T00:00:00.000Z"})
}

conformance! {
    fn each_has_all_of_the_other_in_the_end_and_then_nothing_waits(here: World) {
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
        meet(&here, &there);
        assert_eq!(titles(&here).len(), 4);
        assert_eq!((books(&here).events, books(&here).held), (Vec::new(), 0));
        update(&here, &one, "title", "uno");
        let waiting = books(&here).events;
        assert_eq!(waiting.iter().map(|event| &*event.event_type).collect::<Vec<_>>(), ["issue.updated"]);
        meet(&here, &there);
        assert_eq!(there.show(&one).title, "uno");
    }

    fn of_two_changes_of_one_field_the_newer_stays_and_the_other_is_told(here: World) {
        let there = here.clone_of(0x1000);
        let task = here.task("a task");
        meet(&here, &there);
        update(&here, &task, "title", "older");
        update(&there, &task, "title", "newer");
        update(&here, &task, "priority", "p0");
        meet(&here, &there);
        // The record that changed last is the newer one.
        assert_eq!(there.show(&task).title, "older");
        let told: Vec<_> = [&here, &there].iter().flat_map(|world| world.ok(&conflict::List::default())).collect();
        assert_eq!(told.iter().map(|conflict| &conflict.other).collect::<Vec<_>>(), [&json!("newer")]);
    }

    fn deletions_travel_and_what_a_later_edit_brings_back_comes_with_all_that_belonged_to_it(here: World) {
        let there = here.clone_of(0x1000);
        let (task, other) = (here.task("a task"), here.task("another"));
        let comment = say(&here, &task);
        here.link(&other, &task);
        meet(&here, &there);
        delete(&there, &task);
        meet(&here, &there);
        assert_eq!(titles(&here), ["another"]);
        delete(&here, &other);
        update(&there, &other, "title", "edited later");
        say(&there, &other);
        meet(&here, &there);
        assert_eq!(titles(&here), ["edited later"]);
        let task = here.task("a third");
        let kept = say(&here, &task);
        meet(&here, &there);
        delete(&here, &task);
        update(&there, &task, "title", "kept");
        meet(&here, &there);
        let shown = here.ok(&issue::Show { id: (&task.id).into() });
        assert_eq!(shown.comments.iter().map(|comment| comment.id.to_string()).collect::<Vec<_>>(), [kept]);
        assert!(!all(&here).iter().any(|line| line.starts_with(&format!("comments {{\"id\":\"{comment}\""))));
    }

    fn names_of_skills_and_references_that_are_removed_and_brought_back_travel(here: World) {
        let there = here.clone_of(0x1000);
        let task = here.task("a task");
        let known = refer(&here, &task, "linear:PRJ-1");
        here.json::<skill::Set>("alice", json!({"name": "a b.md", "skills": ["x"]})).expect("set");
        meet(&here, &there);
        there.pass(1);
        there.json::<skill::Remove>("alice", json!({"name": "a b.md"})).expect("removed");
        there.json::<refs::Remove>("alice", json!({"id": known})).expect("removed");
        meet(&here, &there);
        let lines = |world: &World, of: &str| all(world).iter().filter(|line| line.starts_with(of)).count();
        assert_eq!((lines(&here, "skills"), lines(&here, "refs")), (0, 0));
        for _ in 0..2 {
            there.pass(1);
            there.json::<Undo>("alice", json!({})).expect("undone");
        }
        meet(&here, &there);
        assert_eq!((lines(&here, "skills"), lines(&here, "refs")), (1, 1));
        // What a deleted issue took along comes back with it, also where it was known before.
        delete(&here, &task);
        meet(&here, &there);
        assert_eq!(lines(&there, "refs"), 0);
        here.pass(1);
        here.ok(&Undo::default());
        meet(&here, &there);
        assert_eq!((lines(&here, "refs"), lines(&there, "refs")), (1, 1));
    }

    fn work_agents_and_values_go_on_where_somebody_else_left_off(here: World) {
        let there = here.clone_of(0x1000);
        let secret = json!({"type": "user", "name": "builder", "permissions": {"network": true}, "descriptor": {"a": 1}});
        let boss = here.json::<agent::Create>("alice", secret).expect("an agent");
        here.json::<agent::Create>("alice", json!({"type": "subagent", "name": "help", "parent": boss.id})).expect("an agent");
        let begun = here.json::<work::Start>("alice", json!({"what": "both", "steps": ["one", "two"]})).expect("begun");
        here.json::<work::FinishStep>("alice", json!({})).expect("ticked");
        for scope in ["user", "project", "repo:x"] {
            here.json::<kv::Set>("alice", json!({"scope": scope, "key": "a key ä", "value": scope})).expect("set");
        }
        meet(&here, &there);
        let lines = all(&there).join("\n");
        for own in ["network", boss.active_session_id.as_ref().expect("a session").as_str(), "repo:x", "tokens"] {
            assert!(!lines.contains(own), "{own} does not travel: {lines}");
        }
        let arrived = there.json::<agent::Show>("a", json!({"id": "builder"})).expect("an agent");
        assert_eq!((arrived.id.clone(), arrived.descriptor.get("a")), (boss.id.clone(), Some(&json!(1))));
        assert!(arrived.permissions.is_empty() && arrived.active_session_id.is_some(), "{arrived:?}");
        let entry = json!({"id": "builder", "entries": [{"type": "note", "data": {"text": "here I am"}}]});
        there.json::<session::Append>("builder", entry).expect("it goes on in a session of its own");
        // What was begun on one is ended on the other.
        there.pass(1);
        there.json::<work::FinishStep>("alice", json!({"issue": begun.issue_id})).expect("ticked");
        there.json::<agent::Update>("alice", json!({"id": "builder", "name": "mason"})).expect("renamed");
        there.json::<agent::Update>("alice", json!({"id": "mason", "permissions": {"disk": true}})).expect("its own");
        let set = json!({"scope": "user", "key": "a key ä", "value": "newer"});
        there.json::<kv::Set>("alice", set).expect("set");
        there.json::<kv::Delete>("alice", json!({"scope": "project", "key": "a key ä"})).expect("deleted");
        meet(&here, &there);
        let steps = here.json::<work::Steps>("alice", json!({"actor": "alice"})).expect("steps");
        assert!(json!(steps).as_array().expect("a list").iter().all(|step| step["status"] == "done"), "{steps:?}");
        let back = here.json::<agent::Show>("a", json!({"id": "mason"})).expect("an agent");
        assert_eq!((back.permissions.get("network"), back.active_session_id), (Some(&json!(true)), boss.active_session_id));
        let values = here.json::<kv::List>("a", json!({})).expect("values");
        let values: Vec<(&str, &str)> = values.iter().map(|pair| (&*pair.scope, &*pair.value)).collect();
        assert_eq!(values, [("repo:x", "repo:x"), ("user", "newer")]);
        // Deletions and their undo travel, and so does what is made again.
        there.pass(1);
        there.json::<Undo>("alice", json!({})).expect("undone");
        here.json::<agent::Delete>("alice", json!({"id": "mason", "force": true})).expect("deleted");
        meet(&here, &there);
        assert_eq!(here.json::<kv::Get>("a", json!({"scope": "project", "key": "a key ä"})).expect("there").value, "project");
        let left = there.json::<agent::List>("a", json!({})).expect("a list");
        assert_eq!(left.iter().map(|agent| (agent.name.as_deref(), &agent.parent_id)).collect::<Vec<_>>(), [(Some("help"), &None)]);
        let other = json!({"scope": "repo:x", "key": "k", "value": "v", "updated_at": "2026-01-01T00:00:00.000Z"});
        let foreign = Sent { collection: "kv".into(), id: "repo:x k".into(), line: other.to_string(), base: None };
        assert_eq!(there.call(&Take { entries: vec![foreign], peer: None }).expect_err("one of a machine").code, Code::InvalidInput);
        for world in [&here, &there] {
            let findings = world.ok(&store::Doctor { fix: false, deep: true }).findings;
            assert!(findings.iter().all(|finding| finding.severity != store::Severity::Error), "{findings:?}");
        }
    }

    fn an_agent_brings_values_and_may_delete_them_but_no_agent(here: World) {
        let there = here.clone_of(0x1000);
        let made = here.json::<agent::Create>("alice", json!({"type": "user"})).expect("an agent");
        here.json::<kv::Set>("alice", json!({"scope": "user", "key": "k", "value": "v"})).expect("set");
        meet(&here, &there);
        here.pass(1);
        here.json::<kv::Delete>("alice", json!({"scope": "user", "key": "k"})).expect("deleted");
        here.json::<agent::Delete>("alice", json!({"id": made.id, "force": true})).expect("deleted");
        let entries: Vec<Sent> = here.ok(&Changes::default()).entries.into_iter().filter(|sent| sent.collection == "tombstones").collect();
        assert_eq!(entries.len(), 2);
        let op = serde_json::to_value(Take { entries, peer: None }).expect("JSON");
        let bot = Caller { token: Some("tok-1".into()), may: Access::Write, ..Caller::local("bot") };
        let take = entry("sync.take").expect("an operation");
        let told = there.engine.run(Access::Write, &bot, |cx, tx| (take.run)(cx, tx, &op)).expect("taken");
        let taken: Taken = serde_json::from_str(&told).expect("JSON");
        let fates: Vec<Fate> = taken.outcomes.iter().map(|outcome| outcome.fate).collect();
        assert_eq!(fates, [Fate::Refused, Fate::Taken]);
    }

    fn two_issues_with_one_id_both_stay(here: World) {
        let task = here.task("the older");
        here.pass(1);
        let there = here.clone_of(0);
        let twin = there.task("the younger");
        assert_eq!(task.id, twin.id);
        say(&there, &twin);
        refer(&there, &twin, "linear:PRJ-1");
        meet(&here, &there);
        let known = all(&here).into_iter().find(|line| line.starts_with("refs")).expect("a reference");
        assert!(!known.contains(task.id.as_str()), "it followed its issue: {known}");
        let mut both = titles(&here);
        both.sort();
        assert_eq!(both, ["the older", "the younger"]);
        assert_eq!(here.show(&task).title, "the older");
    }

    fn what_arrives_again_changes_nothing_and_of_two_clients_one_goes_on(here: World) {
        let there = here.clone_of(0x1000);
        here.task("a task");
        let entries = here.ok(&Changes::default()).entries;
        let first = there.ok(&Take { entries: entries.clone(), peer: None });
        let again = there.ok(&Take { entries: entries.clone(), peer: None });
        assert_eq!((first.changed, again.changed), (1, 0));
        let progress = Progress { store_id: THERE.into(), turn: 0, ..Progress::default() };
        there.ok(&Take { entries: Vec::new(), peer: Some(progress.clone()) });
        let late = there.call(&Take { entries, peer: Some(progress) }).expect_err("another was faster");
        assert_eq!(late.code, Code::Busy);
    }

    fn a_place_in_another_log_is_noticed(here: World) {
        let there = here.clone_of(0x1000);
        here.task("a task");
        there.task("of the other");
        for other in [there.ok(&Changes::default()).cursor, "99.0000000000000000".into(), "x".into(), "\u{1}".into()] {
            there.task("of the other");
            let page = here.ok(&Changes { after: Some(other), limit: None });
            assert!(page.restarted && page.entries.len() == 1, "{page:?}");
        }
        let page = here.ok(&Changes::default());
        let next = here.ok(&Changes { after: Some(page.cursor), limit: None });
        assert!(!next.restarted && next.entries.is_empty());
    }

    fn what_is_no_record_refuses_all_of_it_and_is_named(here: World) {
        let good = sent(line("fine"));
        let wrong_id = Sent { id: "pn-y".into(), ..good.clone() };
        let mut newer = line("x");
        newer["schema_version"] = json!(99);
        for (bad, code) in [
            (Sent { line: "{".into(), ..good.clone() }, Code::InvalidInput),
            (Sent { line: "[[[[".repeat(1000), ..good.clone() }, Code::InvalidInput),
            (sent(line("")), Code::InvalidInput),
            (sent(json!({"id": "pn-x"})), Code::InvalidInput),
            (Sent { base: Some("nothing".into()), ..good.clone() }, Code::InvalidInput),
            (sent(newer), Code::NewerSchema),
            (wrong_id, Code::InvalidInput),
        ] {
            let fields = serde_json::to_value(Take { entries: vec![good.clone(), bad], peer: None }).expect("JSON");
            let error = here.json::<Take>("alice", fields).expect_err("refused");
            assert_eq!(error.code, code, "{error}");
            assert!(error.message.contains("issues pn-"), "{error}");
        }
        assert_eq!(titles(&here), [""; 0]);
        let strange = Sent { collection: "dreams".into(), ..good.clone() };
        let lonely = json!({"issue_id": "pn-x", "depends_on_id": "pn-none"}).to_string();
        let lonely = Sent { collection: "deps".into(), id: "pn-x pn-none".into(), line: lonely, base: None };
        let taken = here.ok(&Take { entries: vec![strange, lonely, good], peer: None });
        let fates: Vec<Fate> = taken.outcomes.iter().map(|outcome| outcome.fate).collect();
        assert_eq!(fates, [Fate::Unknown, Fate::Waits, Fate::Taken]);
    }

    fn a_purged_deletion_still_reaches_a_store_that_has_the_issue(here: World) {
        let there = here.clone_of(0x1000);
        let (task, kept) = (here.create(json!({"title": "a heron", "description": "an otter"})), here.task("kept"));
        say(&here, &task);
        meet(&here, &there);
        update(&here, &task, "description", "an ibex");
        push(&here, &there);
        here.json::<issue::Delete>("alice", json!({"id": task.id, "force": true})).expect("deleted");
        here.pass(8 * 86_400);
        assert_eq!(here.ok(&Gc::default()).removed.deleted_issues, 1);
        let (store, all) = (here.store(), here.dump());
        let words: Vec<&str> = ["heron", "otter", "ibex"].into_iter().filter(|word| all.contains(word)).collect();
        // One database of PostgreSQL has both stores.
        assert!(words.is_empty() || !store.database().exists(), "{words:?}");
        meet(&here, &there);
        assert_eq!(there.refused::<issue::Show>("alice", json!({"id": task.id})), Code::NotFound);
        assert_eq!((there.show(&kept).title.as_str(), here.show(&kept).title.as_str()), ("kept", "kept"));
        assert_eq!(there.ok(&Gc::default()).removed.deleted_issues, 0, "there it was deleted just now");
        here.pass(8 * 86_400);
        assert_eq!(there.ok(&Gc::default()).removed.deleted_issues, 1);
        update(&there, &kept, "title", "changed");
        meet(&here, &there);
        assert_eq!(here.show(&kept).title, "changed");
    }

    fn an_open_conflict_keeps_a_deleted_issue(here: World) {
        let there = here.clone_of(0x1000);
        let task = here.create(json!({"title": "a heron"}));
        meet(&here, &there);
        update(&there, &task, "title", "an otter");
        here.pass(5);
        here.json::<issue::Delete>("alice", json!({"id": task.id})).expect("deleted");
        pull(&here, &there);
        here.pass(8 * 86_400);
        assert_eq!(here.ok(&Gc::default()).removed.deleted_issues, 0);
        let open = here.ok(&conflict::List::default()).pop().expect("an edit that the deletion did not know");
        here.json::<conflict::Resolve>("alice", json!({"id": open.id, "take": "kept"})).expect("settled");
        assert_eq!(here.ok(&Gc::default()).removed.deleted_issues, 1);
        assert_eq!(here.ok(&conflict::List::default()), []);
    }

    fn an_agent_brings_changes_but_neither_deletions_nor_other_words(here: World) {
        let there = here.clone_of(0x1000);
        let (task, gone) = (here.task("a task"), here.task("to be deleted"));
        say(&here, &task);
        meet(&here, &there);
        update(&there, &task, "title", "changed");
        delete(&there, &gone);
        let mut entries = there.ok(&Changes::default()).entries;
        for sent in entries.iter_mut().filter(|sent| sent.collection == "comments") {
            sent.line = sent.line.replace("a word", "other words");
        }
        let op = serde_json::to_value(Take { entries: entries.clone(), peer: None }).expect("JSON");
        let agent = Caller { token: Some("tok-1".into()), may: Access::Write, ..Caller::local("ana") };
        let take = entry("sync.take").expect("an operation");
        let told = here.engine.run(Access::Write, &agent, |cx, tx| (take.run)(cx, tx, &op)).expect("taken");
        let taken: Taken = serde_json::from_str(&told).expect("JSON");
        for (sent, outcome) in entries.iter().zip(&taken.outcomes) {
            let is_refused = ["tombstones", "comments"].contains(&&*sent.collection);
            assert_eq!(outcome.fate == Fate::Refused, is_refused, "{sent:?} {outcome:?}");
        }
        assert_eq!(here.show(&task).title, "changed");
        assert_eq!(here.show(&gone).title, "to be deleted");
    }
}

#[test]
fn the_books_outlive_their_database() {
    let here = World::sqlite();
    let there = here.clone_of(0x1000);
    let (one, two) = (here.task("one"), there.task("two"));
    meet(&here, &there);
    update(&there, &two, "title", "dos");
    delete(&here, &one);
    pull(&here, &there);
    let before = books(&here);
    for file in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
        let _ = std::fs::remove_file(here.store().root().join(file));
    }
    let rebuilt = here.engine.another().expect("rebuilt");
    let after = rebuilt.call("a", &Peers { peer: Some(THERE.into()), limit: None }).expect("books").pop();
    assert_eq!(after, Some(before));
    let queue = rebuilt.call("a", &Pending { peer: THERE.into(), after: None, limit: None }).expect("a queue");
    assert_eq!(queue.entries.len(), 1, "the tombstone: {queue:?}");
}
