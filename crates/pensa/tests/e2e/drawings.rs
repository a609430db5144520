//! Boards and graphs: labels are columns, queries select what is drawn, and SVG files are well-formed.

use std::fs;

use pensa_testkit::Sandbox;

use crate::steps::{create, elements, ids, text};

crate::in_both_modes! {
    labels_are_columns_of_a_board,
    a_query_selects_what_is_drawn,
}

/// The columns of a board, each with the titles of its issues.
fn columns(pn: &Sandbox, args: &[&str]) -> Vec<(String, Vec<String>)> {
    let board = pn.pn([&["board"], args].concat()).env("PN_BOARD_COLUMNS", "todo,review").ok_json();
    let titles =
        |column: &serde_json::Value| elements(&column["issues"]).iter().map(|one| text(&one["title"])).collect();
    elements(&board).iter().map(|column| (text(&column["title"]), titles(column))).collect()
}

fn filled(columns: &[(String, Vec<String>)]) -> Vec<(&str, Vec<&str>)> {
    let filled = columns.iter().filter(|(_, titles)| !titles.is_empty());
    filled.map(|(title, titles)| (title.as_str(), titles.iter().map(String::as_str).collect())).collect()
}

fn labels_are_columns_of_a_board(pn: &Sandbox) {
    create(pn, &["plain", "-t", "task"]);
    create(pn, &["planned", "-t", "task", "--label", "todo", "--label", "ui"]);
    let done = create(pn, &["done", "-t", "task", "--label", "review"]);
    pn.pn(["close", &done]).ok();
    let by_status = columns(pn, &[]);
    let names: Vec<&str> = by_status.iter().map(|(title, _)| title.as_str()).collect();
    assert_eq!(names, ["open", "todo", "review", "in_progress", "closed"]);
    assert_eq!(filled(&by_status), [("open", vec!["plain"]), ("todo", vec!["planned"]), ("closed", vec!["done"])]);
    let by_label = columns(pn, &["--by", "label"]);
    let expected =
        [("todo", vec!["planned"]), ("review", vec!["done"]), ("no label", vec!["plain"]), ("ui", vec!["planned"])];
    assert_eq!(filled(&by_label), expected);
    assert_eq!(filled(&columns(pn, &["label:ui"])), [("todo", vec!["planned"])]);
}

fn a_query_selects_what_is_drawn(pn: &Sandbox) {
    let first = create(pn, &["first", "-t", "task", "--label", "ui"]);
    let second = create(pn, &["second", "-t", "task", "--label", "ui", "--dep", &first]);
    create(pn, &["third", "-t", "task", "--dep", &second]);
    pn.pn(["view", "save", "screens", "label:ui"]).ok();
    for query in ["label:ui", "@screens", "-label:none"] {
        let drawn = pn.pn(["graph", query]).ok_json();
        assert_eq!((elements(&drawn["issues"]).len(), elements(&drawn["waits"]).len()), (2, 1), "{query}");
        assert_eq!(pn.pn(["graph", query, "-q"]).ok().lines().collect::<Vec<_>>(), [first.as_str(), &second]);
    }
    let error = pn.pn(["graph", "lable:ui"]).fails("invalid_input");
    assert_eq!(error["hint"], "did you mean label?");
    pn.pn(["board", "lable:ui"]).fails("invalid_input");
    assert_eq!(ids(pn, &["list", "label:ui"]).len(), 2);
}

#[test]
fn every_drawing_is_well_formed_xml_whatever_the_titles_say() {
    let pn = crate::sandbox();
    let first = create(&pn, &["<b>&\"'\u{202e}]]>", "-t", "task", "--label", "<&>"]);
    create(&pn, &["second", "-t", "task", "--dep", &first]);
    for args in [&["board"][..], &["graph"], &["chart", "burndown"], &["chart", "flow"], &["chart", "cycle-time"]] {
        pn.pn([args, &["--svg", "drawn.svg"]].concat()).ok();
        let drawn = fs::read_to_string(pn.project().join("drawn.svg")).expect("a drawing");
        assert!(drawn.starts_with("<svg"), "{args:?}: {drawn}");
        let parse = "import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])";
        pn.tool(pn.command("python3").args(["-c", parse]).arg(pn.project().join("drawn.svg")));
    }
}
