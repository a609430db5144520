//! Measures of graphs equal those of networkx.

use std::process::Command;

use pensa_core::triage::{Chains, WaitGraph, articulations, betweenness, page_rank};
use pensa_testkit::networkx;
use serde_json::Value;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/measures.py");
/// Sums of the same numbers in another order differ by less.
const NEARLY: f64 = 1e-12;

fn numbers(of: &Value) -> Vec<f64> {
    of.as_array().expect("a list").iter().map(|number| number.as_f64().expect("a number")).collect()
}

#[track_caller]
fn is_near(ours: &[f64], theirs: &Value, what: &str, of: &Value) {
    let theirs = numbers(theirs);
    assert_eq!(ours.len(), theirs.len(), "{what} of {of}");
    let differs = ours.iter().zip(&theirs).any(|(ours, theirs)| (ours - theirs).abs() > NEARLY);
    assert!(!differs, "{what}: {ours:?} and not {theirs:?}, of {of}");
}

#[test]
fn measures_equal_those_of_networkx() {
    let mut python = Command::new("python3");
    python.arg(SCRIPT).env("PYTHONPATH", networkx::networkx()).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = python.output().expect("python3");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).expect("text");
    let (mut graphs, mut acyclic) = (0, 0);
    for line in lines.lines() {
        let theirs: Value = serde_json::from_str(line).expect("JSON");
        let edges: Vec<(u32, u32)> = serde_json::from_value(theirs["edges"].clone()).expect("edges");
        let nodes = usize::try_from(theirs["nodes"].as_u64().expect("a number")).expect("few");
        let graph = WaitGraph::new(nodes, edges);
        is_near(&page_rank(&graph), &theirs["page_rank"], "page rank", &theirs);
        is_near(&betweenness(&graph, |_| {}).scores, &theirs["betweenness"], "betweenness", &theirs);
        assert_eq!(serde_json::json!(articulations(&graph)), theirs["articulations"], "{theirs}");
        graphs += 1;
        let Some(longest) = theirs["longest"].as_i64() else {
            assert!(graph.stuck() > 0, "{theirs}");
            continue;
        };
        acyclic += 1;
        let chains = Chains::counted(&graph);
        assert_eq!((chains.length, graph.stuck()), (longest, 0), "{theirs}");
        let path = chains.longest(&graph);
        assert_eq!(i64::try_from(path.len()), Ok(longest), "{theirs}");
        assert!(path.windows(2).all(|pair| graph.waits_for(pair[1]).contains(&pair[0])), "{path:?} of {theirs}");
        let slack: Vec<Option<i64>> = graph.nodes().map(|node| chains.slack(node)).collect();
        assert_eq!(serde_json::json!(slack), theirs["slack"], "{theirs}");
        assert_eq!(serde_json::json!(graph.count_behind()), theirs["behind"], "{theirs}");
    }
    assert_eq!(graphs, 200);
    assert!(acyclic >= 150, "{acyclic}");
}
