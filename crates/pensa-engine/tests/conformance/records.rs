//! Records: put, get, revisions, transactions, queries and indexes.

use std::cell::Cell;
use std::cmp::Ordering;

use pensa_core::Code;
use pensa_core::ops::record::{
    Applied, Apply, CollectionInfo, Collections, Count, Delete, Get, Index, Put, Query, QueryPage,
};
use pensa_core::record::{Filter, Order, Record, Test};
use pensa_engine::{Caller, log_after};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::conformance;
use crate::world::World;

fn put(world: &World, collection: &str, id: &str, data: Value) -> Record {
    world.json::<Put>("alice", json!({"collection": collection, "id": id, "data": data})).expect("put")
}

fn query(world: &World, fields: Value) -> QueryPage {
    world.json::<Query>("alice", fields).expect("a page")
}

fn ids(page: &QueryPage) -> Vec<&str> {
    page.records.iter().map(|record| record.id.as_str()).collect()
}

/// Events that are not about issues.
fn log(world: &World) -> Vec<(String, String, Value)> {
    let lines = world.engine.run(pensa_core::Access::Read, &Caller::local("a"), |_, tx| log_after(tx, 0, 1000));
    let logged = |line: pensa_core::event::LogEntry| (line.event_type, line.subject_id, json!(line.detail));
    lines.expect("a log").into_iter().map(logged).collect()
}

conformance! {
    fn a_record_is_put_read_changed_by_revision_and_deleted(world: World) {
        let first = put(&world, "items", "lp-1", json!({"status": "pending", "n": 1.5, "x": "\u{0}\u{9b}"}));
        assert_eq!(world.ok(&Get { collection: "items".into(), id: "lp-1".into() }), first);
        world.advance(1);
        let same = put(&world, "items", "lp-1", json!({"status": "pending", "n": 1.5, "x": "\u{0}\u{9b}"}));
        assert_eq!(same, first, "nothing has changed");
        let fields = |if_rev: i64| json!({"collection": "items", "id": "lp-1", "data": {"status": "running"}, "if_rev": if_rev});
        let second = world.json::<Put>("alice", fields(first.rev)).expect("the revision is right");
        assert!(second.rev > first.rev && second.updated_at > first.updated_at);
        assert_eq!(world.refused::<Put>("alice", fields(first.rev)), Code::Conflict);
        assert_eq!(world.refused::<Put>("alice", fields(0)), Code::Conflict, "it is there");
        let elsewhere = json!({"collection": "slips", "id": "lp-1", "data": {}, "if_rev": 0});
        world.json::<Put>("alice", elsewhere).expect("another collection is another matter");
        assert_eq!(world.refused::<Delete>("a", json!({"collection": "items", "id": "lp-1", "if_rev": 1})), Code::Conflict);
        world.json::<Delete>("a", json!({"collection": "items", "id": "lp-1", "if_rev": second.rev})).expect("deleted");
        assert_eq!(world.refused::<Get>("a", json!({"collection": "items", "id": "lp-1"})), Code::NotFound);
        assert_eq!(world.refused::<Put>("a", fields(second.rev)), Code::Conflict, "it is gone");
        let again = put(&world, "items", "lp-1", json!({"status": "pending"}));
        assert!(again.rev > second.rev, "no revision comes back");
        let absent = json!({"collection": "items", "id": "no", "data": {}, "if_present": true});
        assert_eq!(world.refused::<Put>("a", absent), Code::NotFound);
    }

    fn a_record_gets_an_id_unless_its_document_has_one(world: World) {
        let make = |fields: Value| world.json::<Put>("a", fields).expect("put").id;
        let (one, two) = (make(json!({"collection": "c", "data": {}})), make(json!({"collection": "c", "data": {}})));
        assert!(one.starts_with("rec-") && one != two);
        assert_eq!(make(json!({"collection": "c", "data": {"id": "own"}})), "own");
        for bad in [
            json!({"collection": "c", "id": "a", "data": {"id": "b"}}),
            json!({"collection": "C", "data": {}}),
            json!({"collection": "../c", "data": {}}),
            json!({"collection": "c", "id": "a\nb", "data": {}}),
            json!({"collection": "c", "data": {"id": 5}}),
            json!({"collection": "c", "data": {"_pensa": 1}}),
        ] {
            assert_eq!(world.refused::<Put>("a", bad), Code::InvalidInput);
        }
        let large = json!({"collection": "c", "data": {"text": "x".repeat(1 << 20)}});
        assert_eq!(world.refused::<Put>("a", large), Code::TooLarge);
    }

    fn changes_across_collections_are_atomic(world: World) {
        let known = put(&world, "items", "known", json!({"n": 1}));
        let change = |rev: i64| json!({"changes": [
            {"put": {"collection": "items", "id": "a", "data": {"n": 1}}},
            {"put": {"collection": "items", "id": "a", "data": {"n": 2}}},
            {"put": {"collection": "slips", "id": "s", "data": {}, "if_rev": 0}},
            {"delete": {"collection": "items", "id": "never"}},
            {"delete": {"collection": "items", "id": "known", "if_rev": rev}},
        ]});
        let refused = world.json::<Apply>("a", change(known.rev + 1)).expect_err("another revision");
        assert_eq!((refused.code, refused.message.starts_with("change 5: ")), (Code::Conflict, true), "{refused}");
        assert_eq!(world.ok(&Collections {}).iter().map(|of| of.records).collect::<Vec<_>>(), [1]);
        let done: Vec<Applied> = world.json::<Apply>("a", change(known.rev)).expect("applied");
        let revs: Vec<bool> = done.iter().map(|applied| applied.rev.is_some()).collect();
        assert_eq!(revs, [true, true, true, false, false]);
        assert!(done[1].rev > done[0].rev);
        assert_eq!(ids(&query(&world, json!({"collection": "items"}))), ["a"]);
        let refused = world.json::<Apply>("a", json!({"changes": [
            {"put": {"collection": "items", "id": "b", "data": {}}},
            {"put": {"collection": "items", "id": "a", "data": {"n": 3}, "if_rev": 0}},
        ]}));
        assert!(refused.expect_err("it is there").message.starts_with("change 2: "));
        assert_eq!(ids(&query(&world, json!({"collection": "items"}))), ["a"]);
    }

    fn an_existing_record_among_many_new_ones_is_named_and_none_is_stored(world: World) {
        world.json::<Index>("a", json!({"collection": "items", "fields": ["n"]})).expect("an index");
        let there = put(&world, "items", "there", json!({"n": 7}));
        let change = |id: String| json!({"put": {"collection": "items", "id": id, "data": {"n": 1}, "if_rev": 0}});
        let changes = |clash: Option<(usize, &str)>| {
            let id = |n: usize| clash.filter(|(at, _)| *at == n).map_or_else(|| format!("i{n}"), |(_, id)| id.to_owned());
            json!({"changes": (1..=250).map(|n| change(id(n))).collect::<Vec<_>>()})
        };
        // Duplicates of an existing record, of one in the same chunk, and of one in the previous chunk.
        for (at, id) in [(230, "there"), (99, "i98"), (201, "i3")] {
            let refused = world.json::<Apply>("a", changes(Some((at, id)))).expect_err("it is there");
            let logged = format!("change {at}: record {id} in items is there already, with revision ");
            assert!(refused.code == Code::Conflict && refused.message.starts_with(&logged), "{refused}");
            assert_eq!(ids(&query(&world, json!({"collection": "items"}))), ["there"]);
        }
        assert_eq!(world.json::<Apply>("a", changes(None)).expect("applied").len(), 250);
        let ones = json!({"collection": "items", "where": ["n=1"]});
        assert_eq!(query(&world, ones).records.len(), 250);
        assert_eq!(world.ok(&Get { collection: "items".into(), id: "there".into() }), there);
        let checked = world.json::<Index>("a", json!({"collection": "items", "check": true})).expect("checked");
        assert!(!checked.rebuilt);
    }

    fn pages_are_consistent_in_any_order_with_and_without_an_index(world: World) {
        let data = |n: usize| json!({"n": n % 7, "s": format!("{:03}", 299 - n), "odd": n % 2 == 1});
        let changes: Vec<Value> =
            (0..300).map(|n| json!({"put": {"collection": "c", "id": format!("r{n:03}"), "data": data(n)}})).collect();
        world.json::<Apply>("a", json!({"changes": changes})).expect("made");
        let all = |fields: Value| {
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let mut fields = fields.clone();
                fields["collection"] = json!("c");
                if let Some(after) = after {
                    fields["after"] = json!(after);
                }
                let page = query(&world, fields);
                found.extend(page.records.into_iter().map(|record| record.id));
                after = page.next;
                if after.is_none() {
                    return found;
                }
            }
        };
        let questions = [
            json!({"limit": 7}),
            json!({"limit": 7, "order": "id desc"}),
            json!({"limit": 11, "order": "n"}),
            json!({"limit": 150, "order": "n desc", "where": ["odd=true"]}),
            json!({"limit": 9, "order": "s", "where": ["n=3"]}),
            json!({"limit": 9, "order": "n", "where": ["n in [3,5]"]}),
            json!({"limit": 4, "order": "missing desc", "where": ["n>4"]}),
        ];
        let plain: Vec<Vec<String>> = questions.iter().map(|fields| all(fields.clone())).collect();
        assert_eq!(plain.iter().map(Vec::len).collect::<Vec<_>>(), [300, 300, 300, 150, 43, 86, 85]);
        assert_eq!(plain[1], plain[0].iter().rev().cloned().collect::<Vec<_>>());
        world.json::<Index>("a", json!({"collection": "c", "fields": ["n", "s", "odd"]})).expect("indexed");
        let indexed: Vec<Vec<String>> = questions.iter().map(|fields| all(fields.clone())).collect();
        assert_eq!(plain, indexed);
        let cursor = query(&world, json!({"collection": "c", "limit": 1, "order": "n"})).next.expect("more");
        let other = json!({"collection": "c", "order": "s", "after": cursor});
        assert_eq!(world.refused::<Query>("a", other), Code::InvalidInput);
        let none = query(&world, json!({"collection": "c", "limit": 0}));
        assert!(none.records.is_empty() && query(&world, json!({"collection": "nothing"})).records.is_empty());
    }

    fn an_index_is_built_maintained_and_rebuilt(world: World) {
        put(&world, "c", "a", json!({"s": "x"}));
        let made = world.json::<Index>("a", json!({"collection": "c", "fields": ["s", "t", "s"]})).expect("indexed");
        assert_eq!((made.collection.indexes, made.collection.records), (vec!["s".to_owned(), "t".to_owned()], 1));
        let found = |test: &str| ids(&query(&world, json!({"collection": "c", "where": [test]}))).join(" ");
        assert_eq!(found("s=x"), "a");
        put(&world, "c", "a", json!({"s": "y"}));
        put(&world, "c", "b", json!({"s": "y"}));
        assert_eq!((found("s=x"), found("s=y"), found("t is null")), (String::new(), "a b".into(), "a b".into()));
        world.json::<Delete>("a", json!({"collection": "c", "id": "a"})).expect("deleted");
        assert_eq!(found("s=y"), "b");
        let check = |fields: Value| world.json::<Index>("a", fields).expect("checked").rebuilt;
        assert!(!check(json!({"collection": "c", "check": true})));
        assert!(check(json!({"collection": "c", "rebuild": true})));
        assert_eq!(found("s=y"), "b");
        let fields: Vec<String> = (0..20).map(|n| format!("f{n}")).collect();
        assert_eq!(world.refused::<Index>("a", json!({"collection": "c", "fields": fields})), Code::TooLarge);
        assert_eq!(world.ok(&Collections {}).len(), 1);
    }

    fn deletion_by_filters_deletes_exactly_the_matches(world: World) {
        for n in 0..400 {
            put(&world, "slips", &format!("s{n:03}"), json!({"acknowledged_at": if n % 2 == 0 { json!(n) } else { Value::Null }}));
        }
        world.json::<Index>("a", json!({"collection": "slips", "fields": ["acknowledged_at"]})).expect("indexed");
        let tests = json!(["acknowledged_at is not null", "acknowledged_at<300"]);
        let gone = world.json::<Delete>("a", json!({"collection": "slips", "where": tests})).expect("deleted");
        assert_eq!(gone.ids.len(), 150);
        let count = |tests: Value| {
            world.json::<Count>("a", json!({"collection": "slips", "where": tests})).expect("counted").count
        };
        assert_eq!((count(json!([])), count(json!(["acknowledged_at is null"]))), (250, 200));
        assert_eq!(count(json!(["acknowledged_at>=0", "acknowledged_at!=300"])), 49);
        assert_eq!(world.refused::<Delete>("a", json!({"collection": "slips"})), Code::InvalidInput);
        let both = json!({"collection": "slips", "id": "s001", "where": ["id=s001"]});
        assert_eq!(world.refused::<Delete>("a", both), Code::InvalidInput);
    }

    fn record_events_have_the_changes_and_only_sizes_of_large_values(world: World) {
        put(&world, "items", "lp-1", json!({"status": "pending", "log": "x".repeat(5000)}));
        put(&world, "items", "lp-1", json!({"status": "running", "log": "x".repeat(5000)}));
        world.json::<Delete>("a", json!({"collection": "items", "id": "lp-1"})).expect("deleted");
        let logged = log(&world);
        assert_eq!(logged.iter().map(|(kind, _, _)| kind.as_str()).collect::<Vec<_>>(), ["record.put", "record.put", "record.deleted"]);
        assert!(logged.iter().all(|(_, subject, _)| subject == "items/lp-1"));
        assert_eq!(logged[0].2["data"]["log"], json!({"old": null, "new": {"bytes": 5002}}));
        assert_eq!(logged[1].2["data"], json!({"status": {"old": "pending", "new": "running"}}));
        assert_eq!(logged[2].2["rev"]["new"], Value::Null);
        let many: Vec<Value> = (0..500).map(|n| json!({"put": {"collection": "c", "id": n.to_string(), "data": {}}})).collect();
        world.json::<Apply>("a", json!({"changes": many})).expect("made");
        let logged = log(&world);
        assert_eq!((logged.len(), &logged[3].1, &logged[3].2["records"]), (4, &"c".to_owned(), &json!(500)));
    }

    fn filters_agree_with_a_simple_model_for_any_indexes(world: World) {
        let number = Cell::new(0);
        let config = ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() };
        let outcome = TestRunner::new(config).run(&cases(), |case| {
            number.set(number.get() + 1);
            case.check(&world, &format!("c{}", number.get()))
        });
        outcome.expect("the same as the model");
    }
}

/// Random documents, queries and indexed fields.
#[derive(Debug, Clone)]
struct Case {
    documents: Vec<[Option<Value>; 3]>,
    questions: Vec<Question>,
    indexes: Vec<usize>,
}

#[derive(Debug, Clone)]
struct Question {
    filters: Vec<Filter>,
    order: Option<Order>,
    limit: Option<u32>,
}

const FIELDS: [&str; 3] = ["a", "b", "c"];

fn scalars() -> Vec<Value> {
    let long = "x".repeat(200);
    vec![
        Value::Null,
        json!(false),
        json!(true),
        json!(-1),
        json!(0),
        json!(0.5),
        json!(1),
        json!(1.0),
        json!(7),
        json!(9_007_199_254_740_993_i64),
        json!(9_007_199_254_740_992_i64),
        json!(u64::MAX),
        json!(1e300),
        json!(""),
        json!("a"),
        json!("A"),
        json!("ab"),
        json!("b"),
        json!("é"),
        json!("\u{0}"),
        json!("\u{1}"),
        json!("\u{10ffff}"),
        json!("1"),
        json!(long),
        json!(format!("{long}y")),
    ]
}

fn cases() -> impl Strategy<Value = Case> {
    let mut values = scalars();
    values.extend([json!(["a", 1, null]), json!({"x": 1}), json!([])]);
    let value = proptest::option::weighted(0.85, proptest::sample::select(values));
    let field = || proptest::sample::select(FIELDS.to_vec());
    let scalar = || proptest::sample::select(scalars());
    let filter = (field(), 0..10_usize, scalar(), proptest::collection::vec(scalar(), 0..4)).prop_map(
        |(field, test, value, values)| match test {
            0 => Filter::eq(field, value),
            1 => Filter::ne(field, value),
            // No value is smaller or larger than null.
            2..=5 if value.is_null() => Filter::is_null(field),
            2 => Filter::lt(field, value),
            3 => Filter::lte(field, value),
            4 => Filter::gt(field, value),
            5 => Filter::gte(field, value),
            6 => Filter::contains(field, value),
            7 => Filter::is_null(field),
            8 => Filter::is_not_null(field),
            _ => Filter::one_of(field, values),
        },
    );
    let order = proptest::option::of((proptest::sample::select(vec!["a", "b", "c", "id"]), any::<bool>()));
    let question = (proptest::collection::vec(filter, 0..3), order, proptest::option::of(1..20_u32)).prop_map(
        |(filters, order, limit)| {
            let order = order.map(|(field, descending)| Order { field: field.to_owned(), descending });
            Question { filters, order, limit }
        },
    );
    let documents = proptest::collection::vec([value.clone(), value.clone(), value], 1..40);
    let indexes = proptest::sample::subsequence(vec![0, 1, 2], 0..=3);
    (documents, proptest::collection::vec(question, 12), indexes).prop_map(|(documents, questions, indexes)| Case {
        documents,
        questions,
        indexes,
    })
}

impl Case {
    fn check(&self, world: &World, collection: &str) -> Result<(), TestCaseError> {
        let document = |values: &[Option<Value>; 3]| {
            let fields = FIELDS.iter().zip(values).filter_map(|(name, value)| Some((name.to_string(), value.clone()?)));
            Value::Object(fields.collect())
        };
        let change =
            |(n, values)| json!({"put": {"collection": collection, "id": format!("{n:02}"), "data": document(values)}});
        let changes: Vec<Value> = self.documents.iter().enumerate().map(change).collect();
        // Half of the records exist before their indexes.
        let (early, late) = changes.split_at(changes.len() / 2);
        world.json::<Apply>("a", json!({ "changes": early })).expect("made");
        let fields: Vec<&str> = self.indexes.iter().map(|at| FIELDS[*at]).collect();
        world.json::<Index>("a", json!({"collection": collection, "fields": fields})).expect("indexed");
        world.json::<Apply>("a", json!({ "changes": late })).expect("made");
        for question in &self.questions {
            let expected = question.model(&self.documents);
            let mut op = Query {
                collection: collection.to_owned(),
                filters: question.filters.clone(),
                order: question.order.clone(),
                limit: question.limit,
                after: None,
            };
            let mut found = Vec::new();
            loop {
                let page = world.ok(&op);
                found.extend(page.records.into_iter().map(|record| record.id));
                op.after = page.next;
                if op.after.is_none() {
                    break;
                }
            }
            prop_assert_eq!(&found, &expected, "{:?} with {:?}", question, fields);
            let count = world.ok(&Count { collection: collection.to_owned(), filters: question.filters.clone() });
            prop_assert_eq!(usize::try_from(count.count).expect("small"), expected.len());
        }
        Ok(())
    }
}

impl Question {
    /// The ids of all matching records in order, computed from the values without the engine's keys.
    fn model(&self, documents: &[[Option<Value>; 3]]) -> Vec<String> {
        let of = |at: usize, field: &str| match FIELDS.iter().position(|name| *name == field) {
            Some(column) => documents[at][column].clone().unwrap_or(Value::Null),
            None => json!(format!("{at:02}")),
        };
        let mut found: Vec<usize> = (0..documents.len())
            .filter(|at| self.filters.iter().all(|f| passes(&of(*at, &f.field), &f.test)))
            .collect();
        if let Some(order) = &self.order {
            found.sort_by(|a, b| sorted(&of(*a, &order.field), &of(*b, &order.field)).then(a.cmp(b)));
            if order.descending {
                found.reverse();
            }
        }
        found.into_iter().map(|at| format!("{at:02}")).collect()
    }
}

fn kind(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        _ => 4,
    }
}

/// Test numbers are small, or integers, or larger than all integers.
fn numbers(a: &Value, b: &Value) -> Ordering {
    let whole = |value: &Value| value.as_i64().map(i128::from).or(value.as_u64().map(i128::from));
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => a.as_f64().partial_cmp(&b.as_f64()).expect("numbers"),
    }
}

fn same_kind(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Null, Value::Null) => Some(Ordering::Equal),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::Number(_), Value::Number(_)) => Some(numbers(a, b)),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

fn sorted(a: &Value, b: &Value) -> Ordering {
    // Only the start of a long text counts.
    let cut = |value: &Value| value.as_str().map(|text| json!(text.chars().take(119).collect::<String>()));
    let (a, b) = (cut(a).unwrap_or(a.clone()), cut(b).unwrap_or(b.clone()));
    kind(&a).cmp(&kind(&b)).then(same_kind(&a, &b).unwrap_or(Ordering::Equal))
}

fn passes(is: &Value, test: &Test) -> bool {
    let same = |with: &Value| same_kind(is, with) == Some(Ordering::Equal);
    match test {
        Test::Eq(value) => same(value),
        Test::Ne(value) => !is.is_null() && !same(value),
        Test::Lt(value) => same_kind(is, value).is_some_and(Ordering::is_lt),
        Test::Lte(value) => same_kind(is, value).is_some_and(Ordering::is_le),
        Test::Gt(value) => same_kind(is, value).is_some_and(Ordering::is_gt),
        Test::Gte(value) => same_kind(is, value).is_some_and(Ordering::is_ge),
        Test::IsNull => is.is_null(),
        Test::IsNotNull => !is.is_null(),
        Test::OneOf(values) => values.iter().any(same),
        Test::Contains(part) => match (is, part) {
            (Value::String(text), Value::String(part)) => text.to_lowercase().contains(&part.to_lowercase()),
            (Value::Array(items), part) => items.iter().any(|item| same_kind(item, part) == Some(Ordering::Equal)),
            _ => false,
        },
    }
}

#[test]
fn both_databases_list_the_same_collections() {
    let logged = [World::sqlite(), World::postgres()].map(|world| -> Vec<CollectionInfo> {
        put(&world, "b", "1", json!({}));
        put(&world, "a", "1", json!({}));
        world.json::<Index>("a", json!({"collection": "z", "fields": ["x"]})).expect("indexed");
        world.ok(&Collections {})
    });
    assert_eq!(logged[0], logged[1]);
    assert_eq!(logged[0].iter().map(|of| of.collection.as_str()).collect::<Vec<_>>(), ["a", "b", "z"]);
}
