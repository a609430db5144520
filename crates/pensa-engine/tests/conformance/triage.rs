//! What matters among open issues, and why.

use pensa_core::Code;
use pensa_core::issue::Issue;
use pensa_core::ops::issue::{Close, Delete, Ready, Reopen, Update};
use pensa_core::ops::triage::{Chart, Diff, Graph, Impact, Insights, Plan, Why};
use pensa_core::triage::{self, IssueBrief, State, diff};
use serde_json::json;

use crate::conformance;
use crate::world::{World, titles};

fn names<'a>(issues: impl IntoIterator<Item = &'a IssueBrief>) -> Vec<&'a str> {
    issues.into_iter().map(|issue| issue.title.as_str()).collect()
}

fn close(world: &World, issue: &Issue) {
    world.json::<Close>("alice", json!({"id": issue.id, "force": true})).expect("closed");
}

fn why(world: &World, issue: &Issue) -> triage::Why {
    world.ok(&Why { id: (&issue.id).into() })
}

fn changed(issues: &[diff::ChangedIssue]) -> Vec<&str> {
    issues.iter().map(|issue| issue.title.as_deref().unwrap_or("?")).collect()
}

/// ground ← walls ← paint, door ← home; and a lamp by itself.
fn house(world: &World) -> [Issue; 6] {
    let issues = ["ground", "walls", "paint", "door", "home", "lamp"].map(|title| {
        world.advance(1);
        world.task(title)
    });
    for (child, parent) in [(1, 0), (2, 1), (3, 1), (4, 2), (4, 3)] {
        world.link(&issues[child], &issues[parent]);
    }
    issues
}

conformance! {
    fn insights_name_what_holds_up_the_rest(world: World) {
        let [ground, walls, paint, ..] = house(&world);
        let insights = world.ok(&Insights::default());
        assert_eq!((insights.issues, insights.waits, insights.stuck, insights.approximate), (6, 5, 0, false));
        assert_eq!(names(insights.bottlenecks.iter().map(|ranked| &ranked.issue)), ["walls", "paint", "door"]);
        let top = &insights.bottlenecks[0];
        assert_eq!((top.waits_for, top.blocks, top.behind, top.frees), (1, 2, 3, 3));
        assert!((top.score - 3.0 / 20.0).abs() < 1e-12, "{top:?}");
        assert_eq!(insights.keystones[0].issue.title, "ground");
        assert_eq!(names(insights.critical_path.issues.iter().map(|step| &step.issue)), ["ground", "walls", "paint", "home"]);
        assert_eq!((insights.critical_path.length, insights.critical_path.slack.len()), (4, 1), "the lamp is on no chain");
        assert_eq!(names(insights.articulation_points.iter().map(|ranked| &ranked.issue)), ["walls"]);
        assert_eq!(names(insights.blocked_cascades.iter().map(|cascade| &cascade.issue)), ["ground"]);
        let cascade = &insights.blocked_cascades[0];
        assert_eq!((cascade.blocks, cascade.behind, cascade.frees, cascade.depth), (1, 4, 4, 3));
        assert!(insights.stale_claims.is_empty() && insights.priority_conflicts.is_empty());
        world.json::<Update>("alice", json!({"id": walls.id, "priority": "p0"})).expect("urgent");
        world.json::<Update>("ana", json!({"id": ground.id, "claim": true})).expect("claimed");
        world.advance(4 * 86_400);
        let insights = world.ok(&Insights::default());
        assert_eq!((insights.stale_claims[0].issue.id.clone(), insights.stale_claims[0].idle_hours), (ground.id.clone(), 96));
        assert_eq!(insights.stale_claims[0].assignee.as_deref(), Some("ana"));
        let conflict = &insights.priority_conflicts[0];
        assert_eq!((conflict.issue.title.as_str(), conflict.because_of.title.as_str()), ("ground", "walls"));
        close(&world, &ground);
        close(&world, &paint);
        let insights = world.ok(&Insights { limit: Some(1), stale: None });
        assert_eq!((insights.issues, insights.waits, insights.critical_path.length), (4, 2, 3), "closed issues are left out");
        assert_eq!((insights.bottlenecks.len(), insights.keystones.len()), (1, 1));
    }

    fn every_issue_is_in_one_track_after_what_it_waits_for(world: World) {
        let issues = house(&world);
        let bug = world.create(json!({"title": "a bug", "issue_type": "bug"}));
        for agents in [None, Some(1), Some(2), Some(9)] {
            let plan = world.ok(&Plan { agents, limit: None });
            let mut all: Vec<_> = plan.tracks.iter().flat_map(|track| &track.issues).map(|step| &step.issue.id).collect();
            all.sort();
            let mut wanted: Vec<_> = issues.iter().chain([&bug]).map(|issue| &issue.id).collect();
            wanted.sort();
            assert_eq!(all, wanted, "{agents:?}");
            assert_eq!(plan.longest_chain.length, 4);
            assert!(plan.forecast.is_none(), "nothing was closed");
        }
        let plan = world.ok(&Plan::default());
        let tracks: Vec<_> = plan.tracks.iter().map(|track| names(track.issues.iter().map(|step| &step.issue))).collect();
        assert_eq!(tracks, [vec!["ground", "walls", "paint", "door", "home"], vec!["lamp"], vec!["a bug"]]);
        assert_eq!(names(plan.start.iter().map(|start| &start.issue)), ["ground", "lamp"], "a bug is not work");
        assert_eq!((plan.start[0].frees, plan.start[0].depth, plan.start[0].track), (4, 3, 1));
        let two = world.ok(&Plan { agents: Some(2), limit: None });
        assert_eq!((two.tracks.len(), two.start.len(), two.agents), (2, 2, Some(2)));
        assert_eq!(world.refused::<Plan>("alice", json!({"agents": 0})), Code::InvalidInput);
    }

    fn the_forecast_follows_what_was_closed(world: World) {
        for day in 0..10 {
            for number in 0..2 {
                close(&world, &world.task(&format!("done {day} {number}")));
            }
            world.advance(86_400);
        }
        let left: Vec<Issue> = (0..6).map(|number| world.task(&format!("left {number}"))).collect();
        let forecast = world.ok(&Plan::default()).forecast.expect("a forecast");
        assert_eq!((forecast.left, forecast.closed, forecast.days), (6, 20, 11), "today counts, and nothing was closed");
        assert!(forecast.earliest < forecast.date && forecast.date < forecast.latest);
        let days = (forecast.date.as_millis() - left[0].created_at.as_millis()) as f64 / 86_400_000.0;
        assert!((days - 6.0 / (20.0 / 11.0)).abs() < 0.01, "{days}");
    }

    fn an_issue_says_why_it_is_where_it_is(world: World) {
        let [ground, walls, _, _, home, lamp] = house(&world);
        let first = why(&world, &ground);
        let place = first.rank.expect("a place");
        assert_eq!((first.state, place.by_priority, place.by_impact, place.ready), (State::Ready, Some(1), Some(1), 2));
        assert_eq!((place.blocks, place.behind, place.frees, place.depth, place.slack), (1, 4, 4, 3, Some(0)));
        assert_eq!((place.page_rank_place, place.ahead), (1, None));
        let blocked = why(&world, &home);
        assert_eq!(blocked.state, State::Blocked);
        assert_eq!(names(blocked.waits_for.iter().map(|held| &held.issue)), ["paint", "door"]);
        assert_eq!(names(blocked.begin_with.iter().map(|held| &held.issue)), ["ground"]);
        assert_eq!(blocked.rank.expect("a place").by_priority, None);
        let last = why(&world, &lamp).rank.expect("a place");
        assert_eq!((last.by_priority, last.by_impact, last.slack), (Some(2), Some(2), Some(3)));
        assert_eq!(last.ahead.map(|ahead| ahead.title), Some("ground".to_owned()));
        assert_eq!(why(&world, &walls).rank.expect("a place").betweenness_place, 1);
        let bug = world.create(json!({"title": "a bug", "issue_type": "bug"}));
        assert_eq!(why(&world, &bug).state, State::Report);
        world.json::<Update>("ana", json!({"id": lamp.id, "claim": true})).expect("claimed");
        assert_eq!((why(&world, &lamp).state, why(&world, &lamp).assignee.as_deref()), (State::InProgress, Some("ana")));
        close(&world, &lamp);
        assert_eq!((why(&world, &lamp).state, why(&world, &lamp).rank), (State::Closed, None));
        assert_eq!(world.refused::<Why>("a", json!({"id": "pn-none"})), Code::NotFound);
    }

    fn impact_follows_what_is_freed(world: World) {
        let [ground, walls, paint, _, home, lamp] = house(&world);
        let impact = world.ok(&Impact { id: (&walls.id).into() });
        let waves: Vec<_> = impact.waves.iter().map(|wave| names(&wave.issues)).collect();
        assert_eq!((impact.frees, impact.behind, waves), (3, 3, vec![vec!["paint", "door"], vec!["home"]]));
        world.link(&home, &lamp);
        let impact = world.ok(&Impact { id: (&walls.id).into() });
        assert_eq!((impact.frees, impact.behind), (2, 3));
        assert_eq!(impact.still_blocked[0].issue.title, "home");
        assert_eq!(names(&impact.still_blocked[0].waits_for), ["lamp"]);
        let none = world.ok(&Impact { id: (&paint.id).into() });
        assert_eq!((none.frees, none.still_blocked.len()), (0, 1));
        close(&world, &ground);
        let closed = world.ok(&Impact { id: (&ground.id).into() });
        assert_eq!((closed.frees, closed.waves.len()), (0, 0));
    }

    fn ready_is_sorted_by_impact_and_then_as_before(world: World) {
        let [lone, lamp] = ["lone", "old lamp"].map(|title| world.task(title));
        house(&world);
        let later = world.create(json!({"title": "urgent", "priority": "p0"}));
        let by_impact = |limit| titles(&world.json::<Ready>("a", json!({"sort": "impact", "limit": limit})).expect("a list"));
        assert_eq!(by_impact(None::<u32>), ["ground", "urgent", "lone", "old lamp", "lamp"]);
        assert_eq!(by_impact(Some(2)), ["ground", "urgent"]);
        assert_eq!(world.ready(), ["urgent", "lone", "old lamp", "ground", "lamp"]);
        let waiting = world.task("waiting");
        world.link(&waiting, &lamp);
        assert_eq!(by_impact(Some(2)), ["ground", "old lamp"]);
        close(&world, &lone);
        close(&world, &later);
        assert_eq!(by_impact(None), ["ground", "old lamp", "lamp", "waiting"][..3]);
    }

    fn a_diff_has_what_is_different_in_the_end(world: World) {
        let [kept, gone, back] = ["kept", "gone", "back"].map(|title| world.task(title));
        close(&world, &back);
        let same = world.task("same");
        world.advance(3_600);
        let new = world.task("new");
        let both = world.task("begun and done");
        close(&world, &both);
        let never = world.task("never");
        for id in [&gone.id, &never.id] {
            world.json::<Delete>("bob", json!({"id": id, "force": true})).expect("deleted");
        }
        world.json::<Reopen>("bob", json!({"id": back.id})).expect("reopened");
        for (id, priority, title) in [(&kept.id, "p0", "kept well"), (&same.id, "p0", "same"), (&same.id, "p2", "same")] {
            world.json::<Update>("bob", json!({"id": id, "priority": priority, "title": title})).expect("changed");
        }
        world.link(&kept, &new);
        let diff = world.json::<Diff>("a", json!({"since": "30m"})).expect("a diff");
        assert_eq!(changed(&diff.created), ["new", "begun and done"]);
        assert_eq!(changed(&diff.closed), ["begun and done"]);
        assert_eq!(changed(&diff.reopened), ["back"]);
        assert_eq!((changed(&diff.deleted), diff.deleted[0].actor.as_str()), (vec!["gone"], "bob"));
        assert_eq!(changed(&diff.changed), ["kept well"], "what was changed back is not changed");
        let fields = json!({"title": {"old": "kept", "new": "kept well"}, "priority": {"old": "p2", "new": "p0"}});
        assert_eq!(json!(diff.changed[0].fields), fields);
        assert_eq!(diff.changed[0].waits_for, std::slice::from_ref(&new.id));
        world.advance(3_600);
        close(&world, &new);
        let before = world.json::<Diff>("a", json!({"since": "90m", "until": "30m"})).expect("a diff");
        assert_eq!((before.created, before.closed), (diff.created.clone(), diff.closed.clone()));
        let after = world.json::<Diff>("a", json!({"since": "30m"})).expect("a diff");
        assert_eq!((changed(&after.closed), after.created.len()), (vec!["new"], 0));
        assert_eq!(world.refused::<Diff>("a", json!({"since": "1h", "until": "2h"})), Code::InvalidInput);
    }

    fn a_graph_has_open_issues_and_their_waits(world: World) {
        let [ground, ..] = house(&world);
        let whole = world.ok(&Graph::default());
        assert_eq!((whole.issues.len(), whole.waits.len(), whole.left_out), (6, 5, 0));
        let found = world.json::<Graph>("a", json!({"q": "WALL"})).expect("a graph");
        assert_eq!((names(&found.issues), found.waits.len()), (vec!["walls"], 0));
        world.json::<Update>("alice", json!({"id": ground.id, "add_labels": ["soil"]})).expect("labelled");
        let labelled = world.json::<Graph>("a", json!({"q": "label:soil,none -door type:task"})).expect("a graph");
        assert_eq!(labelled.issues.len(), 5, "a query, as in a listing");
        assert_eq!(world.refused::<Graph>("a", json!({"q": "lable:soil"})), Code::InvalidInput);
        let first = world.json::<Graph>("a", json!({"limit": 2})).expect("a graph");
        assert_eq!((names(&first.issues), first.waits.len(), first.left_out), (vec!["ground", "walls"], 1, 4));
        close(&world, &ground);
        assert_eq!(world.ok(&Graph::default()).waits.len(), 4);
    }

    fn a_chart_follows_the_log_day_by_day(world: World) {
        let [one, two] = ["one", "two"].map(|title| world.task(title));
        world.json::<Update>("ana", json!({"id": one.id, "claim": true})).expect("claimed");
        world.advance(86_400);
        world.json::<Close>("ana", json!({"id": one.id})).expect("closed");
        world.task("three");
        world.advance(86_400);
        close(&world, &two);
        world.json::<Reopen>("bob", json!({"id": two.id})).expect("reopened");
        let chart = world.json::<Chart>("a", json!({"since": "3d"})).expect("a chart");
        let counts: Vec<_> = chart.days.iter().map(|day| [day.open, day.in_progress, day.closed]).collect();
        assert_eq!(counts, [[0, 0, 0], [1, 1, 0], [2, 0, 1], [2, 0, 1]]);
        let moves: Vec<_> = chart.days.iter().map(|day| (day.created, day.done)).collect();
        assert_eq!(moves, [(0, 0), (2, 0), (1, 1), (0, 1)]);
        assert_eq!(chart.days[1].day, "2026-02-27");
        assert_eq!((chart.closed.len(), chart.closed[0].took_ms, chart.median_ms), (1, 86_400_000, Some(86_400_000)));
        assert_eq!(world.refused::<Chart>("a", json!({"since": "1h", "until": "2h"})), Code::InvalidInput);
    }
}
