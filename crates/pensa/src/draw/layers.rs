//! A layered drawing of a graph (after Sugiyama): what has to be done first is on top.
//!
//! Nodes are numbers, and edges run from a node to one below it.

use std::collections::HashMap;

use crate::draw::canvas::Canvas;
use crate::render::Ink;

/// Times that layers are put in order, downwards and upwards in turn.
const SWEEPS: usize = 8;
/// Blanks between two neighbours.
const GAP: usize = 2;

/// Where something begins, and how long it is.
type Extent = (usize, usize);

/// What stands in a layer: a node, or a line on its way to a lower layer.
#[derive(Debug, Clone)]
struct Slot {
    node: Option<usize>,
    /// Places in the next layer that a line leads to.
    down: Vec<usize>,
    width: usize,
    x: usize,
}

#[derive(Debug)]
pub(crate) struct Layers {
    layers: Vec<Vec<Slot>>,
    /// Lines of text in a box.
    text_rows: usize,
}

/// A node with where it is drawn, and lines from one point to the next.
#[derive(Debug)]
pub(crate) struct Drawing {
    pub(crate) boxes: Vec<(usize, Extent, Extent)>,
    pub(crate) lines: Vec<[(usize, usize); 2]>,
}

impl Layers {
    /// `edges` without cycles; every box is as wide as its node says.
    pub(crate) fn new(widths: &[usize], edges: &[(usize, usize)], text_rows: usize) -> Self {
        let depth = depths(widths.len(), edges);
        let mut layers: Vec<Vec<Slot>> = vec![Vec::new(); depth.iter().max().map_or(0, |deepest| deepest + 1)];
        let mut place = vec![0; widths.len()];
        for (node, width) in widths.iter().enumerate() {
            place[node] = layers[depth[node]].len();
            layers[depth[node]].push(Slot { node: Some(node), down: Vec::new(), width: *width, x: 0 });
        }
        for &(from, to) in edges.iter().filter(|(from, to)| depth[*from] < depth[*to]) {
            let mut at = place[from];
            for layer in depth[from]..depth[to] {
                let next = if layer + 1 == depth[to] { place[to] } else { layers[layer + 1].len() };
                if layer + 1 < depth[to] {
                    layers[layer + 1].push(Slot { node: None, down: Vec::new(), width: 1, x: 0 });
                }
                layers[layer][at].down.push(next);
                at = next;
            }
        }
        let mut layers = Self { layers, text_rows };
        layers.order();
        layers.spread();
        layers
    }

    /// Puts every layer in the order of the middles of its neighbours, so that few lines cross.
    fn order(&mut self) {
        for sweep in 0..SWEEPS {
            let last = self.layers.len().saturating_sub(1);
            for step in 0..last {
                let (upper, moved) = if sweep % 2 == 0 { (step, step + 1) } else { (last - step - 1, last - step - 1) };
                let mut sums = vec![(0, 0); self.layers[moved].len()];
                for (at, slot) in self.layers[upper].iter().enumerate() {
                    for &below in &slot.down {
                        let (own, other) = if moved == upper { (at, below) } else { (below, at) };
                        sums[own] = (sums[own].0 + other, sums[own].1 + 1);
                    }
                }
                // Neighbours at the same place keep their order; without any, a slot stays where it is.
                let middle =
                    |at: usize| if sums[at].1 == 0 { at as f64 } else { sums[at].0 as f64 / sums[at].1 as f64 };
                let mut order: Vec<usize> = (0..sums.len()).collect();
                order.sort_by(|a, b| middle(*a).total_cmp(&middle(*b)));
                self.rearrange(moved, &order);
            }
        }
    }

    fn rearrange(&mut self, layer: usize, order: &[usize]) {
        let mut new_place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(new, old)| new_place[*old] = new);
        let old = std::mem::take(&mut self.layers[layer]);
        self.layers[layer] = order.iter().map(|at| old[*at].clone()).collect();
        if let Some(above) = layer.checked_sub(1) {
            let ends = self.layers[above].iter_mut().flat_map(|slot| &mut slot.down);
            ends.for_each(|end| *end = new_place[*end]);
        }
    }

    /// Gives every slot a place as near below what leads to it as its neighbours allow.
    fn spread(&mut self) {
        for layer in 0..self.layers.len() {
            let mut wanted = vec![(0, 0); self.layers[layer].len()];
            if let Some(above) = layer.checked_sub(1) {
                for slot in &self.layers[above] {
                    slot.down.iter().for_each(|at| wanted[*at] = (wanted[*at].0 + middle(slot), wanted[*at].1 + 1));
                }
            }
            let mut next = 0;
            for (slot, (sum, count)) in self.layers[layer].iter_mut().zip(wanted) {
                let middle = sum.checked_div(count).unwrap_or(0);
                slot.x = next.max(middle.saturating_sub(slot.width / 2));
                next = slot.x + slot.width + GAP;
            }
        }
    }

    pub(crate) fn width(&self) -> usize {
        self.layers.iter().flatten().map(|slot| slot.x + slot.width).max().unwrap_or_default()
    }

    /// Where everything is, in characters.
    pub(crate) fn drawing(&self) -> Drawing {
        let mut drawing = Drawing { boxes: Vec::new(), lines: Vec::new() };
        let mut top = 0;
        for (at, layer) in self.layers.iter().enumerate() {
            let bottom = top + self.text_rows + 1;
            for slot in layer {
                match slot.node {
                    Some(node) => {
                        drawing.boxes.push((node, (slot.x, top), (slot.x + slot.width - 1, bottom)));
                    }
                    None => drawing.lines.push([(middle(slot), top), (middle(slot), bottom)]),
                }
            }
            let Some(below) = self.layers.get(at + 1) else { break };
            let tracks = tracks(layer, below);
            let height = tracks.iter().flatten().max().map_or(1, |last| last + 2);
            for (slot, track) in layer.iter().zip(&tracks) {
                let from = middle(slot);
                let row = bottom + 1 + track.unwrap_or_default();
                for &end in &slot.down {
                    let to = middle(&below[end]);
                    drawing.lines.extend([
                        [(from, bottom), (from, row)],
                        [(from, row), (to, row)],
                        [(to, row), (to, bottom + height)],
                    ]);
                }
            }
            top = bottom + height;
        }
        drawing
    }
}

impl Drawing {
    /// Draws lines, then boxes over their ends; `ink` says how a box looks.
    pub(crate) fn on_canvas(&self, canvas: &mut Canvas, ink: impl Fn(usize) -> Ink) {
        for [(x1, y1), (x2, y2)] in &self.lines {
            if y1 == y2 {
                canvas.horizontal(*x1, *x2, *y1);
            } else {
                canvas.vertical(*x1, *y1, *y2);
            }
        }
        for (node, from, to) in &self.boxes {
            canvas.rectangle(*from, *to, ink(*node));
        }
    }
}

fn middle(slot: &Slot) -> usize {
    slot.x + slot.width / 2
}

/// The row on which the lines of each slot turn, so that those of different slots do not run into each other.
fn tracks(layer: &[Slot], below: &[Slot]) -> Vec<Option<usize>> {
    let span = |slot: &Slot| {
        let ends = || slot.down.iter().map(|end| middle(&below[*end])).chain([middle(slot)]);
        (ends().min().unwrap_or_default(), ends().max().unwrap_or_default())
    };
    // Which slots have a line that comes down at a place.
    let mut down_at: HashMap<usize, Vec<usize>> = HashMap::new();
    for (at, slot) in layer.iter().enumerate() {
        slot.down.iter().for_each(|end| down_at.entry(middle(&below[*end])).or_default().push(at));
    }
    let mut taken: Vec<Vec<(usize, usize)>> = Vec::new();
    let mut tracks: Vec<Option<usize>> = vec![None; layer.len()];
    for (at, slot) in layer.iter().enumerate().filter(|(_, slot)| !slot.down.is_empty()) {
        let (from, to) = span(slot);
        let overlaps = |(left, right): &(usize, usize)| from <= *right && *left <= to;
        // Where another's line comes down on the way of this one's, this one must turn above it.
        let others = down_at.get(&middle(slot)).into_iter().flatten();
        let lowest = others.filter_map(|other| tracks[*other]).min().unwrap_or(taken.len());
        let free = (0..lowest).find(|row| !taken[*row].iter().any(overlaps));
        let row = free.unwrap_or_else(|| {
            taken.insert(lowest, Vec::new());
            tracks.iter_mut().flatten().filter(|track| **track >= lowest).for_each(|track| *track += 1);
            lowest
        });
        taken[row].push((from, to));
        tracks[at] = Some(row);
    }
    tracks
}

/// The longest way to each node from one that nothing leads to.
fn depths(nodes: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut depths = vec![0; nodes];
    // Without cycles, no way is longer than there are nodes.
    for _ in 0..nodes {
        let mut is_done = true;
        for &(from, to) in edges {
            if depths[to] <= depths[from] && depths[from] + 1 < nodes {
                depths[to] = depths[from] + 1;
                is_done = false;
            }
        }
        if is_done {
            break;
        }
    }
    depths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::Screen;

    fn drawn(widths: &[usize], edges: &[(usize, usize)]) -> String {
        let mut canvas = Canvas::default();
        let drawing = Layers::new(widths, edges, 1).drawing();
        drawing.on_canvas(&mut canvas, |_| Ink::Lines);
        for (node, (x, y), _) in &drawing.boxes {
            canvas.write(x + 2, y + 1, &node.to_string(), Ink::Lines);
        }
        let mut screen = Screen::new(false);
        canvas.show(&mut screen, true);
        String::from_utf8(screen.as_bytes().to_vec()).expect("text")
    }

    #[test]
    fn what_is_first_is_on_top() {
        let drawing = drawn(&[5; 4], &[(0, 1), (0, 2), (1, 3), (2, 3), (0, 3)]);
        let row = |node: char| drawing.lines().position(|line| line.contains(node)).expect("drawn");
        assert!(row('0') < row('1') && row('1') == row('2') && row('2') < row('3'), "\n{drawing}");
    }

    #[test]
    fn no_two_boxes_overlap_and_every_line_is_straight() {
        let edges: Vec<(usize, usize)> = (1..40).flat_map(|to| [(to / 2, to), (to / 3, to)]).collect();
        let layers = Layers::new(&[9; 40], &edges, 2);
        let drawing = layers.drawing();
        for (at, (_, (left, top), (right, bottom))) in drawing.boxes.iter().enumerate() {
            assert!(
                drawing.boxes[at + 1..]
                    .iter()
                    .all(|(_, from, to)| { *right < from.0 || to.0 < *left || *bottom < from.1 || to.1 < *top })
            );
        }
        assert!(drawing.lines.iter().all(|[from, to]| from.0 == to.0 || from.1 == to.1));
        assert!(layers.width() > 0);
    }
}
