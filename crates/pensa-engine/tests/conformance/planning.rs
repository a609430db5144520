//! Planning: labels, parents, links, dates, estimates, acceptance criteria, custom fields, queries and views.

use pensa_core::Code;
use pensa_core::issue::{FieldValues, Issue, IssueRules, Status};
use pensa_core::ops::undo::{Redo, Undo};
use pensa_core::ops::{dep, issue, label, link, next, store, view};
use serde_json::{Value, json};

use crate::conformance;
use crate::world::{World, titles};

fn update(world: &World, issue: &Issue, fields: Value) -> pensa_core::Result<Issue> {
    let mut whole = json!({"id": issue.id});
    whole.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
    world.json::<issue::Update>("alice", whole).map(|updated| updated.issue)
}

fn found(world: &World, query: &str) -> String {
    let list = world.json::<issue::List>("alice", json!({"q": query, "sort": "title"}));
    titles(&list.unwrap_or_else(|error| panic!("{query}: {error:?}"))).concat()
}

fn is_healthy(world: &World) {
    let findings = world.ok(&store::Doctor { fix: false, deep: true }).findings;
    assert!(findings.iter().all(|finding| finding.check == "drift"), "{findings:?}");
}

fn rules() -> IssueRules {
    let severity = FieldValues::OneOf(vec!["low".into(), "middle".into(), "high".into()]);
    let fields = [("severity".to_owned(), severity), ("team".to_owned(), FieldValues::Free)].into();
    IssueRules { require_accepted: true, fields: Some(fields) }
}

conformance! {
    fn labels_are_a_set_that_is_counted_and_renamed(world: World) {
        let made = world.create(json!({"title": "a", "labels": ["ui", "auth", "ui"]}));
        assert_eq!(made.labels, ["auth", "ui"]);
        let other = world.create(json!({"title": "b", "labels": ["ui"]}));
        world.ok(&issue::Close { id: (&other.id).into(), reason: None, duplicate_of: None, force: false });
        let changed = update(&world, &made, json!({"add_labels": ["api"], "remove_labels": ["auth", "none"]})).expect("changed");
        assert_eq!(changed.labels, ["api", "ui"]);
        let counts = |world: &World| {
            let list = world.json::<label::List>("a", json!({})).expect("a list");
            list.into_iter().map(|one| (one.label, one.count, one.open)).collect::<Vec<_>>()
        };
        assert_eq!(counts(&world), [("api".into(), 1, 1), ("ui".into(), 2, 1)]);
        let renamed = world.json::<label::Rename>("a", json!({"old": "ui", "new": "api"})).expect("renamed");
        assert_eq!((renamed.changed, counts(&world)), (2, vec![("api".into(), 2, 1)]));
        world.json::<Undo>("a", json!({"any": true})).expect("undone");
        assert_eq!(counts(&world), [("api".into(), 1, 1), ("ui".into(), 2, 1)]);
        let unknown = world.json::<label::Rename>("a", json!({"old": "uj", "new": "x"})).expect_err("unknown");
        assert_eq!((unknown.code, unknown.hint.as_deref()), (Code::NotFound, Some("did you mean ui?")));
        for wrong in ["", "a,b", "x\ny"] {
            assert!(update(&world, &made, json!({"add_labels": [wrong]})).is_err(), "{wrong:?}");
        }
        is_healthy(&world);
    }

    fn a_parent_waits_for_its_children_and_shows_their_progress(world: World) {
        let epic = world.create(json!({"title": "epic"}));
        let first = world.create(json!({"title": "first", "parent": epic.id}));
        let second = world.create(json!({"title": "second", "parent": epic.id}));
        let leaf = world.create(json!({"title": "leaf", "parent": second.id}));
        assert_eq!(world.ready(), ["first", "leaf"]);
        let close = |issue: &Issue, force: bool| world.json::<issue::Close>("a", json!({"id": issue.id, "force": force}));
        assert_eq!(close(&epic, false).expect_err("open children").code, Code::InvalidStatusTransition);
        close(&first, false).expect("closed");
        let shown = world.ok(&issue::Show { id: (&epic.id).into() });
        assert_eq!(titles(&shown.children), ["first", "second"]);
        let progress = shown.progress.expect("progress");
        assert_eq!((progress.closed, progress.total), (1, 2), "of the leaves");
        close(&leaf, false).expect("closed");
        close(&second, false).expect("closed");
        assert_eq!(world.ready(), ["epic"]);
        assert_eq!(world.refused::<issue::Update>("a", json!({"id": leaf.id, "parent": "pn-none"})), Code::NotFound);
        world.ok(&issue::Reopen { id: (&leaf.id).into(), reason: None });
        assert_eq!(world.ready(), ["epic", "leaf"], "only what is not closed is waited for");
        is_healthy(&world);
    }

    fn a_cycle_of_parents_and_dependencies_is_refused(world: World) {
        let (epic, part, leaf) = (world.task("epic"), world.task("part"), world.task("leaf"));
        update(&world, &part, json!({"parent": epic.id})).expect("a part");
        update(&world, &leaf, json!({"parent": part.id})).expect("a part");
        for (issue, fields) in [(&epic, json!({"parent": leaf.id})), (&epic, json!({"parent": epic.id}))] {
            assert_eq!(update(&world, issue, fields).expect_err("a cycle").code, Code::CycleDetected);
        }
        let depend = |child: &Issue, parent: &Issue| {
            world.json::<dep::Add>("a", json!({"issue_id": child.id, "depends_on_id": parent.id})).map(drop)
        };
        assert_eq!(depend(&leaf, &epic).expect_err("a cycle").code, Code::CycleDetected, "a child that waits for its epic");
        let later = world.task("later");
        depend(&later, &epic).expect("fine");
        assert_eq!(update(&world, &later, json!({"parent": epic.id})).expect_err("a cycle").code, Code::CycleDetected);
        let tree = world.json::<dep::Tree>("a", json!({"id": epic.id, "direction": "up"})).expect("a tree");
        assert_eq!(tree.iter().map(|node| (node.title.as_str(), node.part)).collect::<Vec<_>>(),
            [("epic", false), ("part", true), ("leaf", true)]);
        update(&world, &part, json!({"parent": ""})).expect("cleared");
        depend(&later, &part).expect("fine");
        assert_eq!(world.ready(), ["epic", "leaf"]);
        is_healthy(&world);
    }

    fn children_of_a_deleted_parent_stand_alone(world: World) {
        let epic = world.task("epic");
        let part = world.create(json!({"title": "part", "parent": epic.id}));
        world.json::<link::Add>("a", json!({"id": part.id, "to": epic.id, "kind": "discovered-from"})).expect("linked");
        assert_eq!(world.refused::<issue::Delete>("a", json!({"id": epic.id})), Code::Conflict);
        world.json::<issue::Delete>("a", json!({"id": epic.id, "force": true})).expect("deleted");
        let alone = world.show(&part);
        assert_eq!((alone.parent, alone.links), (None, Vec::new()));
        world.json::<Undo>("a", json!({"any": true})).expect("undone");
        let again = world.show(&part);
        assert_eq!((again.parent, again.links.len()), (Some(epic.id), 1));
        assert_eq!(world.ready(), ["part"]);
        is_healthy(&world);
    }

    fn links_show_in_both_directions_and_a_duplicate_is_closed(world: World) {
        let (one, other) = (world.task("one"), world.task("other"));
        let closed = world.json::<issue::Close>("a", json!({"id": one.id, "duplicate_of": other.id})).expect("closed");
        assert_eq!((closed.status, closed.links.len()), (Status::Closed, 1));
        assert!(closed.close_reason.expect("a reason").contains(other.id.as_str()));
        let shown = world.ok(&issue::Show { id: (&other.id).into() });
        assert_eq!((shown.linked_by.len(), &shown.linked_by[0].id), (1, &one.id));
        let list = world.json::<link::List>("a", json!({"id": other.id})).expect("a list");
        assert!(list[0].incoming && list[0].title.as_deref() == Some("one"), "{list:?}");
        assert!(world.json::<link::Add>("a", json!({"id": one.id, "to": one.id})).is_err());
        world.json::<link::Remove>("a", json!({"id": other.id, "to": one.id})).expect("removed from either end");
        assert_eq!(world.refused::<link::Remove>("a", json!({"id": one.id, "to": other.id})), Code::NotFound);
        assert!(world.show(&one).links.is_empty());
    }

    fn what_is_deferred_is_ready_on_its_day(world: World) {
        // The clock stands at a Friday, 14:30.
        let later = world.create(json!({"title": "later", "defer": "+2d", "due": "sat"}));
        assert_eq!((json!(later.defer), json!(later.due)), (json!("2026-03-01"), json!("2026-02-28")));
        assert!(world.ready().is_empty());
        assert_eq!(found(&world, "is:deferred"), "later");
        world.advance(60 * 60 * 34);
        assert_eq!(world.ready(), ["later"]);
        assert_eq!(found(&world, "is:overdue"), "later");
        let overdue = world.json::<issue::List>("a", json!({"overdue": true})).expect("a list");
        assert_eq!(titles(&overdue), ["later"]);
        let cleared = update(&world, &later, json!({"defer": "", "due": "", "estimate": "90m"})).expect("cleared");
        assert_eq!((cleared.defer, cleared.due, json!(cleared.estimate)), (None, None, json!("90m")));
        assert_eq!(update(&world, &later, json!({"estimate": ""})).expect("cleared").estimate, None);
        let plain = world.create(json!({"title": "plain", "due": "", "defer": "", "parent": ""}));
        assert_eq!((plain.due, plain.defer, plain.parent), (None, None, None), "as a script passes what it does not have");
        for (field, wrong) in [("due", "someday"), ("defer", "2026-02-30"), ("estimate", "soon")] {
            let error = update(&world, &later, json!({ field: wrong })).expect_err(wrong);
            assert!(error.code == Code::InvalidInput && error.hint.is_some(), "{error:?}");
        }
    }

    fn acceptance_criteria_are_ticked_and_may_be_required(world: World) {
        let made = world.create(json!({"title": "a", "acceptance": ["it works", "it is documented"]}));
        let ticked = world.json::<issue::Accept>("a", json!({"id": made.id, "number": 2})).expect("ticked");
        assert_eq!((ticked.unmet(), ticked.acceptance[1].done), (1, true));
        assert_eq!(world.refused::<issue::Accept>("a", json!({"id": made.id, "number": 3})), Code::NotFound);
        world.json::<issue::Accept>("a", json!({"id": made.id, "number": 2, "undo": true})).expect("unticked");
        let fewer = update(&world, &made, json!({"remove_acceptance": ["1"], "acceptance": ["it is fast"]})).expect("changed");
        assert_eq!(fewer.acceptance_lines().collect::<Vec<_>>(), ["1. [ ] it is documented", "2. [ ] it is fast"]);
        let world = world.with_rules(rules());
        assert_eq!(world.refused::<issue::Close>("a", json!({"id": made.id})), Code::InvalidStatusTransition);
        assert_eq!(world.refused::<issue::Update>("a", json!({"id": made.id, "status": "closed"})), Code::InvalidStatusTransition);
        world.json::<issue::Close>("a", json!({"id": made.id, "force": true})).expect("closed");
    }

    fn custom_fields_are_declared_filtered_and_sorted(world: World) {
        let world = world.with_rules(rules());
        for (title, fields) in [("a", json!({"severity": "high"})), ("b", json!({"severity": "low", "team": "core"})), ("c", json!({"severity": "middle"})), ("d", json!({}))] {
            world.create(json!({"title": title, "fields": fields}));
        }
        let sorted = world.json::<issue::List>("a", json!({"sort": "field.severity"})).expect("a list");
        assert_eq!(titles(&sorted).concat(), "bcad", "in the declared order");
        for (query, expected) in [("severity:high", "a"), ("severity:low,high", "ab"), ("-severity:low", "acd"), ("field.team:none", "acd"), ("team:core severity:low", "b")] {
            assert_eq!(found(&world, query), expected, "{query}");
        }
        let first = world.json::<issue::List>("a", json!({"q": "severity:high"})).expect("a list").remove(0);
        for (fields, hint) in [(json!({"severty": "low"}), "did you mean severity?"), (json!({"severity": "hihg"}), "did you mean high?"), (json!({"other": "x"}), "fields.other")] {
            let error = update(&world, &first, json!({"fields": fields})).expect_err("refused");
            assert!(error.hint.as_deref().unwrap_or_default().contains(hint), "{error:?}");
        }
        assert!(update(&world, &first, json!({"fields": {"severity": ""}})).expect("cleared").fields.is_empty());
        assert_eq!(world.refused::<issue::List>("a", json!({"sort": "field.size"})), Code::InvalidInput);
    }

    fn queries_find_what_they_say(world: World) {
        let epic = world.create(json!({"title": "e", "labels": ["auth"], "priority": "p0"}));
        let part = world.create(json!({"title": "p", "parent": epic.id, "assignee": "ben", "due": "2026-03-02", "estimate": "2h"}));
        let leaf = world.create(json!({"title": "l", "parent": part.id, "issue_type": "bug", "labels": ["auth", "ui"], "refs": ["linear:PRJ-12"]}));
        world.json::<pensa_core::ops::comment::Add>("a", json!({"id": leaf.id, "text": "The Parser Broke"})).expect("added");
        world.advance(60 * 60 * 72);
        world.create(json!({"title": "x", "description": "exact phrase here", "spec": "s"}));
        for (query, expected) in [
            ("status:open", "elpx"),
            ("status:closed", ""),
            ("label:auth", "el"),
            ("label:auth label:ui", "l"),
            ("label:auth,none", "elpx"),
            ("-label:auth", "px"),
            ("label:aut", ""),
            ("assignee:ben", "p"),
            ("-assignee:ben", "elx"),
            ("assignee:none", "elx"),
            ("p<=1", "e"),
            ("p>0", "lpx"),
            ("type:bug", "l"),
            ("due<2026-03-03", "p"),
            ("due>+0d", ""),
            ("due:none", "elx"),
            ("estimate>=90m", "p"),
            ("estimate<90m", ""),
            ("spec:s", "x"),
            ("created>2d", "elp"),
            ("updated<2d", "x"),
            ("created:2026-02-27", "elp"),
            ("\"exact phrase\"", "x"),
            ("phrase exact", "x"),
            ("\"phrase exact\"", ""),
            ("parser broke", "l"),
            ("UI", "l"),
            ("-parser", "epx"),
            ("ref:linear:PRJ-12", "l"),
            ("ref:PRJ-12", "l"),
            ("ref:PRJ-1", ""),
            ("ref:none", "epx"),
            ("is:epic", "ep"),
            ("is:blocked", "ep"),
            ("is:ready", "x"),
            ("-is:ready", "elp"),
        ] {
            assert_eq!(found(&world, query), expected, "{query}");
        }
        assert_eq!(found(&world, &format!("parent:{}", epic.id)), "lp", "all that is below");
        assert_eq!(found(&world, &format!("id:{}", part.id)), "p");
        let ready = world.json::<issue::Ready>("a", json!({"parent": epic.id})).expect("a list");
        assert!(ready.is_empty(), "a bug is never ready");
        let count = |fields: Value| json!(world.json::<issue::Count>("a", fields).expect("counted"));
        assert_eq!(count(json!({"q": "label:auth"}))["count"], 2);
        assert_eq!(count(json!({"labels": ["auth"], "by_issue_type": true}))["total"], 2);
        for (query, column) in [("lable:x", "column 1"), ("p<=1 due:nope", "column 10"), ("status:opne", "column 8")] {
            let error = world.json::<issue::List>("a", json!({"q": query})).expect_err(query);
            assert!(error.message.contains(column) && error.hint.is_some(), "{error:?}");
        }
        let search = |q: &str| titles(&world.json::<issue::Search>("a", json!({"q": q})).expect(q)).concat();
        assert_eq!((search("parser"), search("phrase exact"), search("phrase: exact")), (String::new(), "x".into(), String::new()));
        assert_eq!((search("label:ui"), search("ref:PRJ-12")), ("l".into(), "l".into()));
    }

    fn views_are_saved_used_and_removed(world: World) {
        world.create(json!({"title": "a", "labels": ["auth"], "priority": "p0"}));
        world.create(json!({"title": "b", "labels": ["auth"]}));
        let save = |name: &str, query: &str| world.json::<view::Save>("a", json!({"name": name, "query": query}));
        assert_eq!(save("@mine", "label:auth").expect("saved").name, "mine");
        assert_eq!((found(&world, "@mine"), found(&world, "@mine p0 p<=0")), ("ab".into(), String::new()));
        assert_eq!(found(&world, "@mine p<=0"), "a");
        save("mine", "label:auth p>0").expect("changed");
        assert_eq!(found(&world, "@mine"), "b");
        world.json::<Undo>("a", json!({"any": true})).expect("undone");
        assert_eq!(found(&world, "@mine"), "ab");
        world.json::<Redo>("a", json!({"any": true})).expect("redone");
        assert_eq!(found(&world, "@mine"), "b");
        assert_eq!(save("mine", "lable:x").expect_err("a wrong query").code, Code::InvalidInput);
        assert_eq!(save("a b", "x").expect_err("a wrong name").code, Code::InvalidInput);
        let unknown = world.json::<issue::List>("a", json!({"q": "@mien"})).expect_err("unknown");
        assert_eq!((unknown.code, unknown.hint.as_deref()), (Code::NotFound, Some("did you mean @mine?")));
        world.json::<view::Remove>("a", json!({"name": "mine"})).expect("removed");
        assert!(world.json::<view::List>("a", json!({})).expect("a list").is_empty());
    }

    fn the_next_ready_issue_is_claimed_with_what_is_known(world: World) {
        let first = world.create(json!({"title": "first", "priority": "p1", "acceptance": ["done"]}));
        let second = world.create(json!({"title": "second", "labels": ["ui"]}));
        world.create(json!({"title": "waits", "deps": [first.id], "priority": "p0"}));
        world.json::<pensa_core::ops::learning::Remember>("a", json!({"text": "first needs care", "issue": first.id, "files": ["src/a.rs"]})).expect("kept");
        let next = |actor: &str, q: Option<&str>| world.json::<next::ClaimNext>(actor, json!({"q": q, "ttl": "30m"}));
        let ui = next("ben", Some("label:ui")).expect("claimed");
        assert_eq!((&ui.detail.issue.id, ui.detail.issue.assignee.as_deref()), (&second.id, Some("ben")));
        let claimed = next("ana", None).expect("claimed");
        assert_eq!((&claimed.detail.issue.id, claimed.detail.issue.status), (&first.id, Status::InProgress));
        assert_eq!((claimed.learnings.len(), claimed.files), (1, vec!["src/a.rs".to_owned()]));
        let none = next("ana", None).expect_err("nothing is ready");
        assert_eq!((none.code, none.hint.is_some()), (Code::NotFound, true));
    }
}
