//! What waits for what, in layers.

use std::collections::{HashMap, HashSet};

use maud::{Markup, html};
use pensa_core::id::IssueId;
use pensa_core::triage::{IssueBrief, Network};

use super::layers::Layers;
use super::{Ink, fit};

/// Characters of a box, and pixels of one of them.
pub const BOX: usize = 26;
const PIXELS: (usize, usize) = (8, 16);
/// Characters of an issue that nothing waits for, and that waits for nothing.
const ALONE: usize = 80;

/// A network with the places of its issues, in characters.
#[derive(Debug)]
pub struct PlacedNetwork<'n> {
    network: &'n Network,
    /// Issues that wait or are waited for: the nodes of the layers
    pub linked: Vec<usize>,
    /// The others
    pub alone: Vec<usize>,
    /// What has to be done first, and what waits for it, as nodes
    edges: Vec<(usize, usize)>,
    pub layers: Layers,
}

impl<'n> PlacedNetwork<'n> {
    /// With boxes that are narrow if wide ones don't fit into `room`. Narrow boxes cut titles, but fewer lines are cut by
    /// the edge of a terminal.
    pub fn new(network: &'n Network, room: usize) -> Self {
        let place: HashMap<&IssueId, usize> =
            network.issues.iter().enumerate().map(|(at, issue)| (&issue.id, at)).collect();
        let waits = network.waits.iter();
        let waits = waits.filter_map(|wait| Some((*place.get(&wait.depends_on_id)?, *place.get(&wait.issue_id)?)));
        let waits: Vec<(usize, usize)> = waits.collect();
        let ends: HashSet<usize> = waits.iter().flat_map(|(from, to)| [*from, *to]).collect();
        let (linked, alone): (Vec<usize>, Vec<usize>) = (0..network.issues.len()).partition(|at| ends.contains(at));
        let node: HashMap<usize, usize> = linked.iter().enumerate().map(|(node, at)| (*at, node)).collect();
        let edges: Vec<(usize, usize)> = waits.iter().map(|(from, to)| (node[from], node[to])).collect();
        let wide = Layers::new(&vec![BOX; linked.len()], &edges, 2);
        let layers = if wide.width() > room {
            let narrow = linked.iter().map(|at| network.issues[*at].id.as_str().len() + 7).max().unwrap_or(BOX);
            Layers::new(&vec![narrow; linked.len()], &edges, 2)
        } else {
            wide
        };
        Self { network, linked, alone, edges, layers }
    }

    fn issue(&self, node: usize) -> &'n IssueBrief {
        &self.network.issues[self.linked[node]]
    }

    /// The edges between issues that follow each other on a chain.
    fn on_chain(&self, chain: &[IssueId]) -> HashSet<usize> {
        let steps: HashSet<(&IssueId, &IssueId)> = chain.windows(2).map(|pair| (&pair[0], &pair[1])).collect();
        let is_step =
            |(_, (from, to)): &(usize, &(usize, usize))| steps.contains(&(&self.issue(*from).id, &self.issue(*to).id));
        self.edges.iter().enumerate().filter(is_step).map(|(edge, _)| edge).collect()
    }
}

/// What stands in a box.
pub fn lines(issue: &IssueBrief) -> [String; 2] {
    [format!("{} {}", issue.id, issue.priority), issue.title.clone()]
}

/// A network as a drawing.
#[derive(Clone, Copy)]
pub struct GraphDrawing<'a> {
    pub network: &'a Network,
    /// Issues to mark, the first to be done first.
    pub critical: &'a [IssueId],
    /// Where boxes lead to. A page lists the issues without edges itself.
    pub href: Option<&'a dyn Fn(&IssueId) -> String>,
}

impl std::fmt::Debug for GraphDrawing<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GraphDrawing").field("network", self.network).field("critical", &self.critical).finish()
    }
}

impl GraphDrawing<'_> {
    /// The whole document.
    pub fn svg(&self) -> Markup {
        let placed = PlacedNetwork::new(self.network, usize::MAX);
        let drawing = placed.layers.drawing();
        let critical = placed.on_chain(self.critical);
        let marked: HashSet<&IssueId> = self.critical.iter().collect();
        let bottom = drawing.boxes.iter().map(|(_, _, (_, bottom))| bottom + 2).max().unwrap_or_default();
        let alone = if self.href.is_some() { &[][..] } else { &placed.alone };
        let least = if self.href.is_some() { 0 } else { ALONE };
        let (columns, rows) = (placed.layers.width().max(least) + 2, bottom + alone.len() + 2);
        let (width, height) = (columns * PIXELS.0, rows * PIXELS.1);
        let edge_of = |edge: usize| {
            let of_edge = drawing.lines.iter().filter(|(of, _)| *of == edge);
            let steps = of_edge.map(|(_, [from, to])| format!("M{} L{}", point(*from), point(*to)));
            steps.collect::<Vec<_>>().join(" ")
        };
        // What is marked lies over the rest.
        let mut order: Vec<usize> = (0..placed.edges.len()).collect();
        order.sort_by_key(|edge| critical.contains(edge));
        html! {
            svg xmlns="http://www.w3.org/2000/svg" width=(width) height=(height) viewBox=(format!("0 0 {width} {height}"))
                role=[self.href.map(|_| "group")] aria-label=[self.href.map(|_| "What waits for what")] {
                rect.ground width=(width) height=(height) fill="#FFFFFF" {}
                @for edge in order {
                    @let is_critical = critical.contains(&edge);
                    path.edge .critical[is_critical] d=(edge_of(edge)) fill="none" stroke=(edge_colour(is_critical))
                        stroke-width=(if is_critical { 3 } else { 1 }) {}
                }
                @for (node, from, to) in &drawing.boxes {
                    @let issue = placed.issue(*node);
                    (self.node(issue, *from, *to, marked.contains(&issue.id)))
                }
                @for (row, at) in alone.iter().enumerate() {
                    (text((0, bottom + row), &fit(&lines(&self.network.issues[*at]).join(" "), ALONE)))
                }
            }
        }
    }

    fn node(&self, issue: &IssueBrief, from: (usize, usize), to: (usize, usize), is_critical: bool) -> Markup {
        let (x, y) = pixel(from);
        let (right, bottom) = pixel(to);
        let (width, height) = (right - x, bottom - y);
        let room = to.0 - from.0 - 1;
        let note = if is_critical { ", on the critical path" } else { "" };
        let name = format!("{} {} {}, {}{note}", issue.id, issue.priority, issue.title, issue.status);
        let name = pensa_core::text::printable_line(&name);
        let shape = html! {
            title { (name) }
            rect.box width=(width) height=(height) x=(x) y=(y) fill="#FFFFFF" stroke=(edge_colour(is_critical))
                stroke-width=(if is_critical { 3 } else { 1 }) {}
            rect width="5" height=(height) x=(x) y=(y) fill=(Ink::from(issue.status).hex()) {}
            @for (row, line) in lines(issue).iter().enumerate() {
                (text((from.0 + 1, from.1 + row + 1), &fit(line, room)))
            }
        };
        html! {
            @match self.href {
                Some(href) => {
                    a.node .critical[is_critical] href=(href(&issue.id)) data-id=(issue.id) aria-label=(name) { (shape) }
                }
                None => { g.node .critical[is_critical] { (shape) } }
            }
        }
    }
}

/// Vermillion of Okabe and Ito's palette for what is marked.
fn edge_colour(is_critical: bool) -> String {
    if is_critical { "#D55E00".to_owned() } else { Ink::Lines.hex() }
}

fn pixel((x, y): (usize, usize)) -> (usize, usize) {
    ((x + 1) * PIXELS.0, (y + 1) * PIXELS.1)
}

fn point(at: (usize, usize)) -> String {
    let (x, y) = pixel(at);
    format!("{x},{y}")
}

/// Text on the line of a place.
fn text(at: (usize, usize), words: &str) -> Markup {
    let (x, y) = pixel(at);
    html! { text x=(x) y=(y + 4) font-family="monospace" font-size="12" fill="#000000" { (words) } }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    pub(crate) fn network(titles: &[&str], waits: &[(usize, usize)]) -> Network {
        let issue = |(at, title): (usize, &&str)| json!({"id": format!("pn-{at}"), "title": title, "status": "open", "priority": "p1"});
        let issues: Vec<_> = titles.iter().enumerate().map(issue).collect();
        let wait = |(from, to): &(usize, usize)| json!({"issue_id": format!("pn-{from}"), "depends_on_id": format!("pn-{to}")});
        let waits: Vec<_> = waits.iter().map(wait).collect();
        serde_json::from_value(json!({"issues": issues, "waits": waits, "left_out": 0})).expect("a network")
    }

    fn ids(numbers: &[usize]) -> Vec<IssueId> {
        numbers.iter().map(|at| format!("pn-{at}").parse().expect("an id")).collect()
    }

    #[test]
    fn nodes_link_to_issues_and_the_critical_path_is_marked() {
        let network = network(&["first", "second", "third", "aside", "alone"], &[(1, 0), (2, 1), (3, 0)]);
        let critical = ids(&[0, 1, 2]);
        let href = |id: &IssueId| format!("/ui/issues/{id}");
        let svg = GraphDrawing { network: &network, critical: &critical, href: Some(&href) }.svg().into_string();
        assert_eq!(svg.matches("class=\"edge critical\"").count(), 2, "{svg}");
        assert_eq!((svg.matches("class=\"edge").count(), svg.matches("class=\"node critical\"").count()), (3, 3));
        for at in 0..4 {
            assert!(svg.contains(&format!("href=\"/ui/issues/pn-{at}\" data-id=\"pn-{at}\"")), "{svg}");
        }
        assert!(!svg.contains("pn-4"), "the page lists what has no edges");
        assert!(!svg.contains("style="));
    }

    #[test]
    fn a_file_has_no_links_and_names_what_has_no_edges() {
        let network = network(&["first", "second", "alone"], &[(1, 0)]);
        let svg = GraphDrawing { network: &network, critical: &[], href: None }.svg().into_string();
        assert!(svg.starts_with("<svg xmlns=") && !svg.contains("href") && svg.contains("pn-2 p1 alone"), "{svg}");
    }

    #[test]
    fn hostile_titles_stay_text() {
        let network = network(&["</text><script>alert(1)</script>\u{202E}", "\"><a href=javascript:x>"], &[(1, 0)]);
        let svg = GraphDrawing { network: &network, critical: &[], href: None }.svg().into_string();
        assert!(!svg.contains("<script") && !svg.contains("<a ") && !svg.contains('\u{202E}'), "{svg}");
    }
}
