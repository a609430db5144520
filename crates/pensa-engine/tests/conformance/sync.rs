//! Sync through files: changes of both clones are merged, and nothing is lost.

use std::fs;
use std::path::{Path, PathBuf};

use pensa_core::issue::{Issue, Status};
use pensa_core::ops::conflict::{self, Side};
use pensa_core::ops::store::Transfer;
use pensa_core::ops::undo::{Redo, Undo};
use pensa_core::ops::{batch, comment, dep, issue, job, loops, store};
use pensa_core::{Code, sync::COLLECTIONS};
use serde_json::{Value, json};

use crate::conformance;
use crate::world::{World, titles};

fn path(world: &World, name: &str) -> PathBuf {
    world.store().root().join(name)
}

fn read(world: &World, name: &str) -> String {
    fs::read_to_string(path(world, name)).unwrap_or_default()
}

fn all_files(world: &World) -> Vec<String> {
    COLLECTIONS.iter().map(|collection| read(world, &collection.file_name())).collect()
}

/// Copies the files, as checking out another clone's commit does.
fn copy_files(from: &World, to: &World) {
    for collection in COLLECTIONS {
        let name = collection.file_name();
        match fs::read(path(from, &name)) {
            Ok(bytes) => fs::write(path(to, &name), bytes).expect("written"),
            Err(_) => drop(fs::remove_file(path(to, &name))),
        }
    }
}

fn export(world: &World) -> Transfer {
    world.ok(&store::Export::default())
}

fn import(world: &World) -> Transfer {
    world.ok(&store::Import::default())
}

/// Exports from one clone and imports into the other.
fn send(from: &World, to: &World) -> Transfer {
    export(from);
    copy_files(from, to);
    import(to)
}

fn update(world: &World, issue: &Issue, change: Value) {
    world.advance(1);
    let mut fields = json!({ "id": issue.id });
    for (field, value) in change.as_object().expect("an object") {
        fields[field] = value.clone();
    }
    world.json::<issue::Update>("alice", fields).expect("updated");
}

fn conflicts(world: &World) -> Vec<(String, Value, Value)> {
    let reported = world.ok(&conflict::List::default());
    reported.into_iter().map(|conflict| (conflict.field, conflict.kept, conflict.other)).collect()
}

fn dep_add(child: &Issue, parent: &Issue) -> Value {
    json!({"op": "dep.add", "issue_id": child.id, "depends_on_id": parent.id})
}

fn dep_remove(child: &Issue, parent: &Issue) -> Value {
    json!({"op": "dep.remove", "issue_id": child.id, "depends_on_id": parent.id})
}

fn names_in(dir: &Path) -> impl Iterator<Item = String> {
    let names = fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").file_name());
    names.map(|name| name.into_string().expect("UTF-8"))
}

/// The files of the newest merge base; their names contain their age.
fn merge_base_files(world: &World) -> Vec<String> {
    let copies = path(world, "local/merge-bases");
    let newest = copies.join(names_in(&copies).max().expect("a copy"));
    COLLECTIONS.iter().map(|it| fs::read_to_string(newest.join(it.file_name())).unwrap_or_default()).collect()
}

/// Exchanges files until both clones have the same.
fn sync_until_equal(one: &World, other: &World) {
    send(one, other);
    send(other, one);
    export(other);
    assert_eq!(all_files(one), all_files(other));
}

conformance! {
    fn changes_of_different_fields_by_two_clones_are_both_kept(one: World) {
        let task = one.task("a task");
        let other = one.clone_of(0x1000);
        send(&one, &other);
        update(&one, &task, json!({"title": "by one"}));
        update(&other, &task, json!({"priority": "p0"}));
        sync_until_equal(&one, &other);
        for world in [&one, &other] {
            assert_eq!((&*world.show(&task).title, world.show(&task).priority.as_str()), ("by one", "p0"));
            assert_eq!(conflicts(world), []);
        }
    }

    fn a_field_changed_by_both_keeps_the_newer_value_and_reports_the_other(one: World) {
        let task = one.task("a task");
        let other = one.clone_of(0x1000);
        send(&one, &other);
        update(&one, &task, json!({"title": "older"}));
        update(&other, &task, json!({"title": "newer"}));
        assert_eq!(send(&one, &other).conflicts, 1);
        assert_eq!(other.show(&task).title, "newer");
        let reported = other.ok(&conflict::List::default());
        assert_eq!((&*reported[0].collection, &*reported[0].record_id), ("issues", task.id.as_str()));
        assert_eq!(conflicts(&other), [("title".into(), json!("newer"), json!("older"))]);
        assert_eq!(import(&other).conflicts, 0, "told once");
        other.advance(1);
        other.ok(&conflict::Resolve { id: reported[0].id.to_string(), take: Side::Other });
        assert_eq!(other.show(&task).title, "older");
        assert_eq!(conflicts(&other), []);
        sync_until_equal(&one, &other);
        assert_eq!(one.show(&task).title, "older");
    }

    fn a_conflict_is_logged_and_its_resolution_can_be_undone(one: World) {
        let task = one.task("a task");
        let other = one.clone_of(0x1000);
        send(&one, &other);
        update(&one, &task, json!({"title": "older"}));
        update(&other, &task, json!({"title": "newer"}));
        send(&one, &other);
        let id = other.ok(&conflict::List::default())[0].id.to_string();
        let last = || other.ok(&issue::History { id: (&task.id).into(), limit: Some(1) }).remove(0);
        assert_eq!((last().event_type.as_str(), &last().detail["conflict"]["new"]), ("conflict_found", &json!(id)));
        for take in [Side::Kept, Side::Other] {
            other.advance(1);
            other.ok(&conflict::Resolve { id: id.clone(), take });
            assert_eq!((conflicts(&other), last().event_type.as_str()), (vec![], "conflict_resolved"));
            other.advance(1);
            other.ok(&Undo::default());
            assert_eq!((other.show(&task).title.as_str(), conflicts(&other).len()), ("newer", 1));
        }
        other.advance(1);
        other.ok(&Redo::default());
        assert_eq!((other.show(&task).title.as_str(), conflicts(&other)), ("older", vec![]), "and the undo too");
        sync_until_equal(&one, &other);
    }

    fn a_status_conflict_is_resolved_with_its_dependent_fields(one: World) {
        let task = one.task("a task");
        let other = one.clone_of(0x1000);
        send(&one, &other);
        one.json::<issue::Close>("alice", json!({"id": task.id, "reason": "done"})).expect("closed");
        one.advance(1);
        other.json::<issue::Update>("bob", json!({"id": task.id, "claim": true})).expect("claimed");
        send(&one, &other);
        assert_eq!(other.status(&task), Status::InProgress);
        let id = other.ok(&conflict::List::default())[0].id.to_string();
        assert_eq!(other.refused::<conflict::Resolve>("bob", json!({"id": "cf-none", "take": "kept"})), Code::NotFound);
        other.ok(&conflict::Resolve { id: id[..6].to_owned(), take: Side::Other });
        let closed = other.show(&task);
        assert_eq!((closed.status, closed.close_reason.as_deref()), (Status::Closed, Some("done")));
        assert!(closed.closed_at.is_some());
    }

    fn an_older_version_never_replaces_a_newer_one(one: World) {
        let task = one.task("a task");
        export(&one);
        let before = all_files(&one);
        one.advance(1);
        one.json::<issue::Close>("alice", json!({ "id": task.id })).expect("closed");
        export(&one);
        let after = all_files(&one);
        for _ in 0..2 {
            fs::write(path(&one, "issues.jsonl"), &before[0]).expect("written");
            import(&one);
            assert_eq!(one.status(&task), Status::Closed, "an old branch reopens nothing");
            fs::write(path(&one, "issues.jsonl"), &after[0]).expect("written");
            import(&one);
            assert_eq!(one.status(&task), Status::Closed);
        }
        assert_eq!(conflicts(&one), []);
    }

    fn unexported_changes_survive_any_import(one: World) {
        let (task, other_task) = (one.task("a task"), one.task("another"));
        export(&one);
        one.advance(1);
        let local = one.task("never exported");
        update(&one, &task, json!({"title": "not exported either"}));
        for name in ["issues.jsonl", "deps.jsonl", "comments.jsonl"] {
            fs::write(path(&one, name), "").expect("written");
        }
        import(&one);
        let there = titles(&one.ok(&issue::List::default()));
        assert_eq!(there, ["not exported either", "another", "never exported"]);
        export(&one);
        for issue in [&task, &local, &other_task] {
            assert!(read(&one, "issues.jsonl").contains(issue.id.as_str()));
        }
    }

    fn an_export_imports_changed_files_before_it_writes(one: World) {
        let task = one.task("a task");
        let other = one.clone_of(0x1000);
        send(&one, &other);
        update(&one, &task, json!({"title": "by one"}));
        let fresh = one.task("from one");
        export(&one);
        update(&other, &task, json!({"priority": "p0"}));
        copy_files(&one, &other);
        let reported = export(&other);
        assert_eq!((reported.issues, reported.conflicts), (2, 0));
        assert_eq!(other.show(&fresh).title, "from one");
        assert_eq!((&*other.show(&task).title, other.show(&task).priority.as_str()), ("by one", "p0"));
        assert!(read(&other, "issues.jsonl").contains("by one"));
    }

    fn large_files_are_exported_and_imported_completely(one: World) {
        let text = |letter: &str| format!("{letter}é").repeat(300_000);
        let large = one.create(json!({"title": "large", "issue_type": "task", "description": text("a")}));
        one.create(json!({"title": "large too", "issue_type": "task", "description": text("b")}));
        for letter in ["c", "d"] {
            one.json::<comment::Add>("alice", json!({"id": large.id, "text": text(letter)})).expect("said");
        }
        let check = store::Export { check: true, ..Default::default() };
        for title in ["large", "changed", "changed again"] {
            update(&one, &large, json!({ "title": title }));
            export(&one);
            assert_eq!(one.ok(&check).drifted, [""; 0]);
            assert!(all_files(&one)[..3].iter().filter(|text| text.len() > 1 << 20).count() == 2);
            assert!(read(&one, "issues.jsonl").contains(title));
            assert_eq!(merge_base_files(&one), all_files(&one));
        }
        let left: Vec<String> = names_in(&path(&one, "local")).filter(|name| name.ends_with(".tmp")).collect();
        assert_eq!(left, [""; 0]);
        let other = one.clone_of(0x1000);
        assert_eq!(send(&one, &other).issues, 2);
        assert_eq!((other.show(&large).description, merge_base_files(&other)), (Some(text("a")), all_files(&one)));
        sync_until_equal(&one, &other);
    }

    fn a_check_reports_drift_and_writes_nothing(one: World) {
        one.task("a task");
        let check = store::Export { check: true, ..Default::default() };
        assert_eq!(one.ok(&check).drifted, ["issues.jsonl", "deps.jsonl", "comments.jsonl"]);
        assert!(!path(&one, "issues.jsonl").exists());
        export(&one);
        assert_eq!(json!(one.ok(&check)), json!({"status": "ok", "issues": 1, "deps": 0, "comments": 0}));
        let before = all_files(&one);
        one.task("another");
        let reported = one.ok(&check);
        assert_eq!((&*reported.status, reported.drifted), ("drifted", vec!["issues.jsonl".to_owned()]));
        assert_eq!(all_files(&one), before);
    }

    fn a_deletion_syncs_with_everything_that_belongs_to_the_issue(one: World) {
        let (gone, stays) = (one.task("gone"), one.task("stays"));
        one.link(&stays, &gone);
        one.json::<comment::Add>("alice", json!({"id": gone.id, "text": "a word"})).expect("said");
        let other = one.clone_of(0x1000);
        send(&one, &other);
        one.advance(1);
        one.json::<issue::Delete>("alice", json!({"id": gone.id, "force": true})).expect("deleted");
        send(&one, &other);
        assert_eq!(titles(&other.ok(&issue::List::default())), ["stays"]);
        assert_eq!(other.ready(), ["stays"], "nothing is left to wait for");
        assert_eq!(conflicts(&other), [], "nobody had changed it");
        let line: Value = serde_json::from_str(&read(&one, "tombstones.jsonl")).expect("one line");
        assert_eq!((&line["collection"], &line["id"], &line["actor"]), (&json!("issues"), &json!(gone.id), &json!("alice")));
        assert!(line["deleted_at"].is_string());
        sync_until_equal(&one, &other);
        assert_eq!(other.ok(&store::Doctor { fix: false, deep: false }).findings.len(), 0);
        let third = other.imported_from_files();
        assert_eq!(titles(&third.call("a", &issue::List::default()).expect("a list")), ["stays"]);
    }

    fn an_edit_unknown_to_a_deletion_is_kept_as_a_conflict(one: World) {
        let task = one.task("a task");
        let other = one.clone_of(0x1000);
        send(&one, &other);
        update(&other, &task, json!({"title": "edited"}));
        one.advance(1);
        one.json::<issue::Delete>("alice", json!({ "id": task.id })).expect("deleted");
        assert_eq!(send(&one, &other).conflicts, 1);
        assert_eq!(titles(&other.ok(&issue::List::default())), [""; 0]);
        let reported = other.ok(&conflict::List::default());
        assert_eq!((&*reported[0].field, &reported[0].other["title"]), ("deleted", &json!("edited")));
        other.advance(1);
        other.ok(&conflict::Resolve { id: reported[0].id.to_string(), take: Side::Other });
        assert_eq!(other.show(&task).title, "edited");
        sync_until_equal(&one, &other);
        assert_eq!(one.show(&task).title, "edited", "what came back is newer than its deletion");
    }

    fn a_deletion_is_later_than_what_it_deletes_despite_wrong_clocks(one: World) {
        let (task, parent) = (one.task("a task"), one.task("a parent"));
        one.link(&task, &parent);
        let other = one.clone_of(0x1000);
        send(&one, &other);
        // A clone whose clock is ahead.
        other.advance(600);
        update(&other, &task, json!({"title": "from the future"}));
        sync_until_equal(&one, &other);
        let [remove, add] = [dep_remove(&task, &parent), dep_add(&task, &parent)];
        let thrice = json!({"operations": [remove, add, remove]});
        one.json::<batch::Batch>("alice", thrice).expect("removed in the end");
        one.json::<issue::Delete>("alice", json!({"id": task.id, "force": true})).expect("deleted");
        sync_until_equal(&one, &other);
        for world in [&one, &other] {
            assert_eq!((world.ready(), conflicts(world)), (vec!["a parent".to_owned()], vec![]));
        }
        one.ok(&Undo::default());
        sync_until_equal(&one, &other);
        assert_eq!(other.show(&task).title, "from the future", "and so does bringing it back");
    }

    fn unknown_fields_of_a_tombstone_are_kept(one: World) {
        let task = one.task("a task");
        one.json::<issue::Delete>("alice", json!({ "id": task.id })).expect("deleted");
        export(&one);
        let line = read(&one, "tombstones.jsonl").replace("{\"collection\"", "{\"why\":\"twice\",\"collection\"");
        fs::write(path(&one, "tombstones.jsonl"), line).expect("written");
        import(&one);
        one.advance(1);
        one.task("another");
        export(&one);
        assert!(read(&one, "tombstones.jsonl").contains("\"why\":\"twice\""), "{}", read(&one, "tombstones.jsonl"));
        let fresh = one.clone_of(0x2000);
        send(&one, &fresh);
        export(&fresh);
        assert_eq!(all_files(&fresh), all_files(&one));
    }

    fn a_pending_reference_stays_in_its_file(one: World) {
        let task = one.task("a task");
        one.json::<comment::Add>("alice", json!({"id": task.id, "text": "known"})).expect("said");
        export(&one);
        let waiting = json!({"id": "cm-1", "issue_id": "pn-late", "actor": "bob", "text": "early",
            "created_at": "2026-01-01T00:00:00.000Z"});
        let file = path(&one, "comments.jsonl");
        fs::write(&file, format!("{waiting}\n{}", read(&one, "comments.jsonl"))).expect("written");
        for _ in 0..2 {
            assert_eq!(import(&one).notes.len(), 1);
            update(&one, &task, json!({"priority": "p0"}));
            export(&one);
            assert!(read(&one, "comments.jsonl").contains("early"));
            assert_eq!(one.ok(&store::Export { check: true, ..store::Export::default() }).drifted, Vec::<String>::new());
            let known = read(&one, "comments.jsonl");
            fs::write(&file, format!("{known}\n")).expect("touched");
        }
        let late = json!({"id": "pn-late", "title": "late", "issue_type": "task", "status": "open", "priority": "p2",
            "created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T00:00:00.000Z"});
        fs::write(path(&one, "issues.jsonl"), format!("{}{late}\n", read(&one, "issues.jsonl"))).expect("written");
        import(&one);
        let shown = one.json::<issue::Show>("alice", json!({"id": "pn-late"})).expect("it arrived");
        assert_eq!(shown.comments.len(), 1);
        export(&one);
        assert_eq!(read(&one, "comments.jsonl").lines().count(), 2);
    }

    fn a_lease_is_renewed_with_its_length_after_a_synced_change(one: World) {
        let task = one.task("a task");
        let other = one.clone_of(0x1000);
        one.json::<issue::Update>("alice", json!({"id": task.id, "claim": true, "ttl": "1h"})).expect("claimed");
        send(&one, &other);
        update(&other, &task, json!({"title": "by another"}));
        one.advance(60);
        send(&other, &one);
        assert_eq!(one.show(&task).title, "by another");
        let renewed = one.json::<issue::Heartbeat>("alice", json!({ "id": task.id })).expect("hers");
        assert_eq!(renewed.lease_expires_at.and_then(|end| end.since(renewed.updated_at)), "1h".parse().ok());
    }

    fn an_edit_after_a_deletion_wins(one: World) {
        let task = one.task("a task");
        let other = one.clone_of(0x1000);
        send(&one, &other);
        one.json::<issue::Delete>("alice", json!({ "id": task.id })).expect("deleted");
        update(&other, &task, json!({"title": "edited later"}));
        send(&one, &other);
        assert_eq!(other.show(&task).title, "edited later");
        sync_until_equal(&one, &other);
        assert_eq!(one.show(&task).title, "edited later");
        assert_eq!(conflicts(&one), []);
    }

    fn a_removed_and_added_dependency_exists_everywhere(one: World) {
        let (child, parent) = (one.task("child"), one.task("parent"));
        one.link(&child, &parent);
        let other = one.clone_of(0x1000);
        send(&one, &other);
        let remove = dep::Remove { issue_id: (&child.id).into(), depends_on_id: (&parent.id).into() };
        one.advance(1);
        one.ok(&remove);
        send(&one, &other);
        assert_eq!(other.ready(), ["child", "parent"]);
        other.advance(1);
        other.link(&child, &parent);
        sync_until_equal(&one, &other);
        assert_eq!(one.ready(), ["parent"]);
        one.advance(1);
        one.ok(&remove);
        sync_until_equal(&one, &other);
        assert_eq!(other.ready(), ["child", "parent"]);
    }

    fn unknown_fields_are_kept_and_exported_again(one: World) {
        let task = one.task("a task");
        one.json::<comment::Add>("alice", json!({"id": task.id, "text": "a word"})).expect("said");
        let parent = one.task("parent");
        one.link(&task, &parent);
        export(&one);
        for name in ["issues.jsonl", "deps.jsonl", "comments.jsonl"] {
            let with = read(&one, name).replace("}\n", ",\"marks\":[\"x\",1],\"zoo\":{\"a\":null}}\n");
            fs::write(path(&one, name), with.replace("2026-", "2027-")).expect("written");
        }
        let other = one.clone_of(0x1000);
        copy_files(&one, &other);
        import(&other);
        update(&other, &other.show(&task), json!({"priority": "p1"}));
        export(&other);
        for name in ["issues.jsonl", "deps.jsonl", "comments.jsonl"] {
            let kept = read(&other, name).lines().all(|line| line.contains("\"marks\":[\"x\",1],\"zoo\":{\"a\":null}"));
            assert!(kept, "{name}: {}", read(&other, name));
        }
    }

    fn crlf_files_and_duplicate_lines_are_read_and_reported(one: World) {
        let task = one.task("a task");
        export(&one);
        let line = read(&one, "issues.jsonl");
        let newer = line.replace("a task", "newer").replace(&one.show(&task).updated_at.to_string(), "2027-01-01T00:00:00Z");
        let newer = newer.replacen("2027-01-01T00:00:00Z", &task.created_at.to_string(), 1);
        let mixed = format!("\u{feff}{line}{newer}").replace('\n', "\r\n");
        fs::write(path(&one, "issues.jsonl"), mixed).expect("written");
        let other = one.clone_of(0x1000);
        copy_files(&one, &other);
        let reported = import(&other);
        assert_eq!(titles(&other.ok(&issue::List::default())), ["newer"]);
        let notes = reported.notes.join("\n");
        for word in ["byte order mark", "another system", "twice"] {
            assert!(notes.contains(word), "{word}: {notes}");
        }
    }

    fn a_line_of_a_newer_version_is_refused_as_such(one: World) {
        one.task("a task");
        export(&one);
        fs::write(path(&one, "comments.jsonl"), "{\"schema_version\":2,\"id\":\"pn-c\",\"body\":\"new\"}\n").expect("written");
        let error = one.call(&store::Import::default()).expect_err("newer");
        assert_eq!(error.code, Code::NewerSchema);
        assert!(error.message.contains("comments.jsonl line 1"), "{error}");
    }

    fn after_an_authoritative_import_the_store_equals_the_files(one: World) {
        let kept = one.task("kept");
        export(&one);
        one.task("local");
        update(&one, &kept, json!({"title": "changed"}));
        one.ok(&store::Import { authoritative: true, ..Default::default() });
        assert_eq!(titles(&one.ok(&issue::List::default())), ["kept"]);
        assert_eq!(one.ok(&store::Doctor { fix: false, deep: false }).findings.len(), 0);
    }

    fn two_issues_with_the_same_new_id_are_both_kept(one: World) {
        let other = one.clone_of(0);
        let ours = one.task("ours");
        one.advance(1);
        let theirs = other.task("theirs");
        assert_eq!(ours.id, theirs.id);
        let parent = other.task("parent");
        other.link(&theirs, &parent);
        other.json::<comment::Add>("bob", json!({"id": theirs.id, "text": "on theirs"})).expect("said");
        let of_loop =
            json!({"loop_type": "code", "prompt_path": "p.md", "validation_command": "true", "issue": theirs.id});
        let of_theirs = other.json::<loops::Create>("bob", of_loop).expect("a loop");
        let of_job = json!({"lane": "net", "command": ["true"], "slots": 2, "timeout": "60s", "host": "box",
            "supervisor": {"pid": 7, "born": "boot 1"}, "issue": theirs.id});
        let for_theirs = other.json::<job::Start>("bob", of_job).expect("a job");
        send(&other, &one);
        let both = one.ok(&issue::List::default());
        assert_eq!(both.len(), 3, "{both:?}");
        let moved = both.iter().find(|issue| issue.title == "theirs").expect("it is there");
        assert_eq!(one.show(&ours).title, "ours", "the older one keeps its id");
        assert_ne!(moved.id, ours.id);
        let detail = one.ok(&issue::Show { id: (&moved.id).into() });
        assert_eq!((titles(&detail.deps), detail.comments.len()), (vec!["parent".to_owned()], 1));
        sync_until_equal(&one, &other);
        let detail = other.ok(&issue::Show { id: (&moved.id).into() });
        assert_eq!((detail.issue.title.as_str(), detail.deps.len(), detail.comments.len()), ("theirs", 1, 1));
        assert_eq!(other.show(&ours).title, "ours");
        let of_theirs = other.json::<loops::Show>("bob", json!({"id": of_theirs.id})).expect("a loop");
        let for_theirs = other.json::<job::Show>("bob", json!({"id": for_theirs.id})).expect("a job");
        assert_eq!([of_theirs.issue_id.as_ref(), for_theirs.issue_id.as_ref()], [Some(&moved.id); 2]);
        let of_moved = other.json::<loops::List>("bob", json!({"issue": moved.id})).expect("a list");
        assert_eq!(of_moved.iter().map(|of| &of.id).collect::<Vec<_>>(), [&of_theirs.id], "it is found by its index");
    }

    fn a_file_cut_at_any_byte_is_refused_or_merged_and_never_loses_anything(one: World) {
        let (a, b) = (one.task("first"), one.task("second, with an é"));
        one.link(&a, &b);
        one.json::<comment::Add>("alice", json!({"id": a.id, "text": "a word"})).expect("said");
        export(&one);
        let whole = all_files(&one);
        for (collection, text) in COLLECTIONS.iter().zip(&whole).filter(|(_, text)| !text.is_empty()) {
            let path = path(&one, &collection.file_name());
            for cut in 0..text.len() {
                fs::write(&path, &text.as_bytes()[..cut]).expect("written");
                let at_line_end = cut == 0 || text.as_bytes()[cut - 1] == b'\n' || text.as_bytes()[cut] == b'\n';
                match one.call(&store::Import::default()) {
                    Ok(_) => assert!(at_line_end, "{} cut at {cut}", collection.name),
                    Err(error) => assert!(!at_line_end && error.code == Code::InvalidInput, "{cut}: {error}"),
                }
            }
            fs::write(&path, text).expect("written");
        }
        export(&one);
        assert_eq!(all_files(&one), whole);
    }
}
