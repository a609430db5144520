//! Leases: claims that expire.

use pensa_core::Code;
use pensa_core::issue::Status;
use pensa_core::ops::issue;
use serde_json::json;

use crate::conformance;
use crate::world::World;

conformance! {
    fn an_expired_lease_frees_the_issue_for_every_reader(world: World) {
        let task = world.task("a");
        world.json::<issue::Update>("alice", json!({"id": task.id, "claim": true, "ttl": "30s"})).expect("claimed");
        world.advance(29);
        assert_eq!(world.status(&task), Status::InProgress);
        assert!(world.ready().is_empty());
        world.advance(1);
        assert_eq!(world.ready(), ["a"]);
        let freed = world.show(&task);
        assert_eq!((freed.status, freed.assignee, freed.lease_expires_at), (Status::Open, None, None));
        assert_eq!(world.events(&task), ["created", "claimed", "lease_expired"]);
    }

    fn a_claim_without_ttl_never_expires(world: World) {
        let task = world.task("a");
        world.json::<issue::Update>("alice", json!({"id": task.id, "claim": true})).expect("claimed");
        world.advance(10 * 365 * 86_400);
        assert_eq!(world.refused::<issue::Update>("bob", json!({"id": task.id, "claim": true})), Code::AlreadyClaimed);
    }

    fn heartbeats_renew_a_lease_and_claims_do_not(world: World) {
        let task = world.task("a");
        world.json::<issue::Update>("alice", json!({"id": task.id, "claim": true, "ttl": "30s"})).expect("claimed");
        for _ in 0..3 {
            world.advance(20);
            world.json::<issue::Heartbeat>("alice", json!({"id": task.id})).expect("renewed");
            assert_eq!(world.refused::<issue::Update>("alice", json!({"id": task.id, "claim": true})), Code::AlreadyClaimed);
        }
        let renewed = ["created", "claimed", "lease_renewed", "lease_renewed", "lease_renewed"];
        assert_eq!(world.events(&task), renewed);
        world.json::<issue::Heartbeat>("alice", json!({"id": task.id, "ttl": "1h"})).expect("longer");
        world.advance(3599);
        assert_eq!(world.status(&task), Status::InProgress);
        world.advance(1);
        assert_eq!(world.status(&task), Status::Open);
    }

    fn the_former_holder_gets_lease_lost(world: World) {
        let task = world.task("a");
        world.json::<issue::Update>("alice", json!({"id": task.id, "claim": true, "ttl": "30s"})).expect("claimed");
        world.advance(31);
        assert_eq!(world.refused::<issue::Heartbeat>("alice", json!({"id": task.id})), Code::LeaseLost);
        world.json::<issue::Update>("bob", json!({"id": task.id, "claim": true})).expect("taken over");
        let id = json!({"id": task.id});
        assert_eq!(world.refused::<issue::Heartbeat>("alice", id.clone()), Code::LeaseLost);
        assert_eq!(world.refused::<issue::Close>("alice", id.clone()), Code::LeaseLost);
        assert_eq!(world.refused::<issue::Release>("alice", id.clone()), Code::LeaseLost);
        assert_eq!(world.show(&task).assignee.as_deref(), Some("bob"));
        world.json::<issue::Close>("carol", id).expect("who never held it may close it");
    }

    fn only_the_holder_renews_a_lease(world: World) {
        let task = world.task("a");
        assert_eq!(world.refused::<issue::Heartbeat>("alice", json!({"id": task.id})), Code::LeaseLost);
        world.json::<issue::Update>("bob", json!({"id": task.id, "claim": true, "ttl": "1m"})).expect("claimed");
        assert_eq!(world.refused::<issue::Heartbeat>("alice", json!({"id": task.id})), Code::LeaseLost);
    }

    fn a_lease_ends_when_the_issue_is_given_to_another(world: World) {
        let task = world.task("a");
        world.json::<issue::Update>("alice", json!({"id": task.id, "claim": true, "ttl": "30s"})).expect("claimed");
        world.json::<issue::Update>("alice", json!({"id": task.id, "assignee": "bob"})).expect("handed over");
        world.advance(60);
        assert_eq!(world.show(&task).assignee.as_deref(), Some("bob"));
    }

    fn a_ttl_requires_a_claim(world: World) {
        let task = world.task("a");
        assert_eq!(world.refused::<issue::Update>("alice", json!({"id": task.id, "ttl": "30s"})), Code::InvalidInput);
    }
}
