//! Finding issues: by id, by prefix, by filter, by text; and counting them.

use pensa_core::Code;
use pensa_core::issue::Sort;
use pensa_core::ops::{issue, store};
use serde_json::json;

use crate::conformance;
use crate::world::{World, titles};

conformance! {
    fn an_issue_is_found_by_any_unique_id_prefix(world: World) {
        let made: Vec<_> = (0..32).map(|n| world.task(&format!("t{n}"))).collect();
        let wanted = &made[0];
        let id = wanted.id.as_str();
        for given in [id, &id[..id.len()], id.strip_prefix("pn-").expect("a prefix")] {
            assert_eq!(world.json::<issue::Show>("a", json!({"id": given})).expect(given).issue.id, wanted.id);
        }
        assert_eq!(world.refused::<issue::Show>("a", json!({"id": "pn-"})), Code::AmbiguousId);
        assert_eq!(world.refused::<issue::Show>("a", json!({"id": "p"})), Code::AmbiguousId);
        assert_eq!(world.refused::<issue::Show>("a", json!({"id": "pn-zzz"})), Code::NotFound);
        assert_eq!(world.refused::<issue::Show>("a", json!({"id": ""})), Code::InvalidInput);
        assert_eq!(world.refused::<issue::Show>("a", json!({"id": "@login"})), Code::NotFound);
    }

    fn search_is_literal_and_ignores_case_for_all_of_unicode(world: World) {
        world.create(json!({"title": "Ärger mit der STRASSE", "description": "100% sure_thing"}));
        world.create(json!({"title": "plain", "description": "nothing"}));
        let found = |q: &str| titles(&world.ok(&issue::Search { q: q.into(), ..Default::default() })).len();
        for hit in ["ÄRGER", "ärger", "straße", "100%", "e_t", "DER str"] {
            assert_eq!(found(hit), 1, "{hit}");
        }
        for miss in ["1%e", "s_re", "ärger\n", "STRASSE100"] {
            assert_eq!(found(miss), 0, "{miss:?}");
        }
        assert_eq!(world.refused::<issue::Search>("a", json!({"q": "\u{1f}"})), Code::InvalidInput);
        assert_eq!(world.refused::<issue::Search>("a", json!({"q": ""})), Code::InvalidInput);
    }

    fn search_and_blocked_have_the_filters_of_list(world: World) {
        let parent = world.task("needle of the parent");
        for (title, fields) in [("needle a", json!({"priority": "p0", "assignee": "bob"})), ("needle b", json!({"issue_type": "bug"})), ("hay", json!({}))] {
            let mut whole = json!({"title": title, "deps": [parent.id]});
            whole.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
            world.create(whole);
        }
        for (filter, searched, blocked) in [
            (json!({}), 3, 3),
            (json!({"priority": "p0"}), 1, 1),
            (json!({"assignee": "bob"}), 1, 1),
            (json!({"assignee": ""}), 2, 2),
            (json!({"issue_type": "bug", "status": "open"}), 1, 1),
            (json!({"status": "closed"}), 0, 0),
        ] {
            let mut search = filter.clone();
            search["q"] = json!("needle");
            assert_eq!(world.json::<issue::Search>("a", search).expect("a list").len(), searched, "{filter}");
            assert_eq!(world.json::<issue::Blocked>("a", filter.clone()).expect("a list").len(), blocked, "{filter}");
        }
    }

    fn lists_are_filtered_and_sorted(world: World) {
        let b = world.create(json!({"title": "b", "priority": "p1", "assignee": "bob"}));
        world.advance(1);
        world.create(json!({"title": "a", "priority": "p0", "issue_type": "bug"}));
        world.advance(1);
        world.create(json!({"title": "c", "spec": "auth"}));
        world.advance(1);
        world.json::<issue::Close>("alice", json!({"id": b.id})).expect("closed");
        let list = |fields| titles(&world.json::<issue::List>("a", fields).expect("a list")).concat();
        assert_eq!(list(json!({})), "abc");
        assert_eq!(list(json!({"sort": Sort::CreatedAt})), "bac");
        assert_eq!(list(json!({"sort": "updated_at"})), "bca");
        assert_eq!(list(json!({"sort": "status"})), "acb");
        assert_eq!(list(json!({"sort": "title", "limit": 2})), "ab");
        assert_eq!(list(json!({"status": "open"})), "ac");
        assert_eq!(list(json!({"assignee": "bob"})), "b");
        assert_eq!(list(json!({"assignee": ""})), "ac");
        assert_eq!(list(json!({"issue_type": "bug", "priority": "p0"})), "a");
        assert_eq!(list(json!({"spec": "auth"})), "c");
        assert_eq!(list(json!({"limit": 0})), "");
    }

    fn counts_are_grouped_by_the_requested_field(world: World) {
        for (priority, assignee) in [("p1", "bob"), ("p1", ""), ("p0", "")] {
            world.create(json!({"priority": priority, "assignee": assignee}));
        }
        let closed = world.create(json!({"priority": "p3"}));
        world.json::<issue::Close>("alice", json!({"id": closed.id})).expect("closed");
        let count = |fields| json!(world.json::<issue::Count>("a", fields).expect("a count"));
        assert_eq!(count(json!({})), json!({"count": 3}));
        assert_eq!(
            count(json!({"by_status": true, "by_priority": true})),
            json!({"total": 4, "groups": [
                {"status": "open", "priority": "p0", "count": 1},
                {"status": "open", "priority": "p1", "count": 2},
                {"status": "closed", "priority": "p3", "count": 1},
            ]})
        );
        assert_eq!(
            count(json!({"by_assignee": true})),
            json!({"total": 4, "groups": [{"assignee": "", "count": 3}, {"assignee": "bob", "count": 1}]})
        );
    }

    fn status_has_every_type_even_when_empty(world: World) {
        world.create(json!({"issue_type": "bug"}));
        let none = json!({"open": 0, "in_progress": 0, "closed": 0});
        let one = json!({"open": 1, "in_progress": 0, "closed": 0});
        assert_eq!(
            json!(world.ok(&store::Status {})),
            json!({"open": 1, "in_progress": 0, "closed": 0,
                "by_type": {"bug": one, "task": none, "test": none, "chore": none}})
        );
    }
}
