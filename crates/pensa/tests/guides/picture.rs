//! The picture in the README: an animated terminal with what the program really shows.
//!
//! `UPDATE_GUIDES=1 cargo nextest run -p pensa --test guides picture` draws it again.

use std::env;
use std::fmt::Write as _;
use std::fs;

use crate::repository;
use crate::shell::Shell;

/// What is typed. `@1` is the id that the first `pn new` printed, and so on.
const TYPED: [&str; 8] = [
    "pn new build the login form -t task -p p1",
    "pn new write tests of the login form -t test",
    "pn dep add @2 @1",
    "pn claim @1 --ttl 30m",
    "pn blocked",
    "pn done @1 --reason 'validated on both sides'",
    "pn ready",
    "pn remember the form needs a CSRF token",
];

/// Ids of the picture, so that it is the same every time.
const IDS: [&str; 3] = ["pn-86f0e4ec", "pn-2d9c17b3", "ln-c05a91d8"];

const COLUMNS: usize = 78;
const LINE: f32 = 20.0;
const CHARACTER: f32 = 8.4;
const MARGIN: f32 = 18.0;
/// Height of the window's bar.
const BAR: f32 = 32.0;
/// Seconds between a command, its output and the next command.
const STEP: f32 = 0.7;

#[derive(Default, Clone, Copy)]
struct Style {
    bold: bool,
    faint: bool,
    colour: Option<&'static str>,
}

impl Style {
    /// Follows what a terminal does with the codes of one escape sequence.
    fn apply(&mut self, codes: &str) {
        for code in codes.split(';') {
            match code {
                "" | "0" => *self = Self::default(),
                "1" => self.bold = true,
                "2" => self.faint = true,
                "31" => self.colour = Some("#ff7b72"),
                "32" => self.colour = Some("#7ee787"),
                "33" => self.colour = Some("#e3b341"),
                "36" => self.colour = Some("#76e3ea"),
                other => panic!("the picture has no colour {other}"),
            }
        }
    }

    fn attributes(self) -> String {
        let fill = self.colour.or(self.faint.then_some("#8b949e"));
        let fill = fill.map(|fill| format!(" fill=\"{fill}\"")).unwrap_or_default();
        fill + if self.bold { " font-weight=\"bold\"" } else { "" }
    }
}

/// A line of a terminal as text of a picture. Each part has its own position, so that columns align in every font.
fn spans(line: &str) -> String {
    let (mut style, mut spans, mut column) = (Style::default(), String::new(), 0);
    for (at, part) in line.split("\u{1b}[").enumerate() {
        let text = match part.split_once('m').filter(|_| at > 0) {
            Some((codes, text)) => {
                style.apply(codes);
                text
            }
            None => part,
        };
        let x = MARGIN + CHARACTER * column as f32;
        column += text.chars().count();
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        if !text.trim().is_empty() {
            let _ = write!(spans, "<tspan x=\"{x:.1}\"{}>{text}</tspan>", style.attributes());
        }
    }
    assert!(column <= COLUMNS, "a line is longer than the terminal: {line}");
    spans
}

/// What the terminal has at the end: lines, each with the step that it came with.
fn lines() -> Vec<(usize, String)> {
    let mut shell = Shell::new();
    shell.run("pn init");
    let mut ids: Vec<String> = Vec::new();
    let mut lines = Vec::new();
    for (step, typed) in TYPED.into_iter().enumerate() {
        let with = |ids: &mut dyn Iterator<Item = &str>| {
            ids.enumerate().fold(typed.to_owned(), |typed, (at, id)| typed.replace(&format!("@{}", at + 1), id))
        };
        let real = with(&mut ids.iter().map(String::as_str));
        let quoted = format!("stty cols {COLUMNS} rows 40; {real}").replace('\'', "'\\''");
        let mut shown = shell.run(&format!("TERM=xterm LC_ALL=C.UTF-8 script -qec '{quoted}' /dev/null"));
        let prefix = if typed.starts_with("pn remember") { "ln-" } else { "pn-" };
        let makes = typed.starts_with("pn new") || prefix == "ln-";
        if let Some(at) = shown.find(prefix).filter(|_| makes) {
            ids.push(shown[at..at + IDS[0].len()].to_owned());
        }
        for (id, fixed) in ids.iter().zip(IDS) {
            shown = shown.replace(id, fixed);
        }
        let fixed = with(&mut IDS.into_iter());
        lines.push((2 * step, format!("\u{1b}[32m$\u{1b}[0m \u{1b}[1m{fixed}\u{1b}[0m")));
        lines.extend(shown.lines().map(|line| (2 * step + 1, line.trim_end().to_owned())));
    }
    lines
}

fn draw() -> String {
    let lines = lines();
    let width = COLUMNS as f32 * CHARACTER + 2.0 * MARGIN;
    let height = BAR + lines.len() as f32 * LINE + MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\" \
         aria-label=\"pn in a terminal: issues are created, claimed, blocked, closed and listed\">\n\
         <style>text {{ font: 14px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #e6edf3 }}\n\
         @media (prefers-reduced-motion: no-preference) {{ text {{ animation: in 0.01s both }} }}\n\
         @keyframes in {{ from {{ opacity: 0 }} }}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#0d1117\"/>\n"
    );
    for (at, colour) in ["#ff5f57", "#febc2e", "#28c840"].into_iter().enumerate() {
        let x = MARGIN + 6.0 + 20.0 * at as f32;
        let _ = writeln!(svg, "<circle cx=\"{x:.0}\" cy=\"{:.0}\" r=\"6\" fill=\"{colour}\"/>", BAR / 2.0 + 2.0);
    }
    for (at, (step, line)) in lines.iter().enumerate() {
        let y = BAR + (at as f32 + 0.8) * LINE;
        let delay = STEP * *step as f32;
        let _ = writeln!(
            svg,
            "<text y=\"{y:.0}\" xml:space=\"preserve\" style=\"animation-delay:{delay:.1}s\">{}</text>",
            spans(line)
        );
    }
    svg + "</svg>\n"
}

#[test]
fn the_picture_is_what_the_program_shows() {
    let path = repository().join("docs/terminal.svg");
    let drawn = draw();
    if env::var_os("UPDATE_GUIDES").is_some() {
        fs::write(&path, &drawn).expect("written");
    }
    assert_eq!(fs::read_to_string(&path).expect("the picture"), drawn);
}
