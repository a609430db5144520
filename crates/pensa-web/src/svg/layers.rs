//! A layered drawing of a graph (after Sugiyama): what has to be done first is on top.
//!
//! Nodes are numbers, and edges run from a node to one below it.

use std::collections::HashMap;

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
    /// Lines to places in the next layer.
    down: Vec<Hop>,
    width: usize,
    x: usize,
}

/// The part of an edge between a layer and the next.
#[derive(Debug, Clone, Copy)]
struct Hop {
    /// A place in the next layer.
    to: usize,
    edge: usize,
}

#[derive(Debug)]
pub struct Layers {
    layers: Vec<Vec<Slot>>,
    /// Lines of text in a box.
    text_rows: usize,
}

/// A node with where it is drawn, and lines from one point to the next.
#[derive(Debug)]
pub struct Drawing {
    pub boxes: Vec<(usize, Extent, Extent)>,
    /// Each with the number of its edge.
    pub lines: Vec<(usize, [(usize, usize); 2])>,
}

impl Layers {
    /// `edges` without cycles; every box is as wide as its node says.
    pub fn new(widths: &[usize], edges: &[(usize, usize)], text_rows: usize) -> Self {
        let depth = depths(widths.len(), edges);
        let mut layers: Vec<Vec<Slot>> = vec![Vec::new(); depth.iter().max().map_or(0, |deepest| deepest + 1)];
        let mut place = vec![0; widths.len()];
        for (node, width) in widths.iter().enumerate() {
            place[node] = layers[depth[node]].len();
            layers[depth[node]].push(Slot { node: Some(node), down: Vec::new(), width: *width, x: 0 });
        }
        for (edge, &(from, to)) in edges.iter().enumerate().filter(|(_, (from, to))| depth[*from] < depth[*to]) {
            let mut at = place[from];
            for layer in depth[from]..depth[to] {
                let next = if layer + 1 == depth[to] { place[to] } else { layers[layer + 1].len() };
                if layer + 1 < depth[to] {
                    layers[layer + 1].push(Slot { node: None, down: Vec::new(), width: 1, x: 0 });
                }
                layers[layer][at].down.push(Hop { to: next, edge });
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
                    for hop in &slot.down {
                        let (own, other) = if moved == upper { (at, hop.to) } else { (hop.to, at) };
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
            ends.for_each(|hop| hop.to = new_place[hop.to]);
        }
    }

    /// Gives every slot a place as near below what leads to it as its neighbours allow.
    fn spread(&mut self) {
        for layer in 0..self.layers.len() {
            let mut wanted = vec![(0, 0); self.layers[layer].len()];
            if let Some(above) = layer.checked_sub(1) {
                for slot in &self.layers[above] {
                    for hop in &slot.down {
                        let (sum, count) = wanted[hop.to];
                        wanted[hop.to] = (sum + middle(slot), count + 1);
                    }
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

    pub fn width(&self) -> usize {
        self.layers.iter().flatten().map(|slot| slot.x + slot.width).max().unwrap_or_default()
    }

    /// Where everything is, in characters.
    pub fn drawing(&self) -> Drawing {
        let mut drawing = Drawing { boxes: Vec::new(), lines: Vec::new() };
        let mut top = 0;
        for (at, layer) in self.layers.iter().enumerate() {
            let bottom = top + self.text_rows + 1;
            for slot in layer {
                match slot.node {
                    Some(node) => {
                        drawing.boxes.push((node, (slot.x, top), (slot.x + slot.width - 1, bottom)));
                    }
                    None => {
                        let edge = slot.down.first().map_or(0, |hop| hop.edge);
                        drawing.lines.push((edge, [(middle(slot), top), (middle(slot), bottom)]));
                    }
                }
            }
            let Some(below) = self.layers.get(at + 1) else { break };
            let tracks = tracks(layer, below);
            let height = tracks.iter().flatten().max().map_or(1, |last| last + 2);
            for (slot, track) in layer.iter().zip(&tracks) {
                let from = middle(slot);
                let row = bottom + 1 + track.unwrap_or_default();
                for hop in &slot.down {
                    let to = middle(&below[hop.to]);
                    let turns = [(from, bottom), (from, row), (to, row), (to, bottom + height)];
                    drawing.lines.extend(turns.windows(2).map(|ends| (hop.edge, [ends[0], ends[1]])));
                }
            }
            top = bottom + height;
        }
        drawing
    }
}

fn middle(slot: &Slot) -> usize {
    slot.x + slot.width / 2
}

/// The row on which the lines of each slot turn, so that those of different slots do not run into each other.
fn tracks(layer: &[Slot], below: &[Slot]) -> Vec<Option<usize>> {
    let span = |slot: &Slot| {
        let ends = || slot.down.iter().map(|hop| middle(&below[hop.to])).chain([middle(slot)]);
        (ends().min().unwrap_or_default(), ends().max().unwrap_or_default())
    };
    // Which slots have a line that comes down at a place.
    let mut down_at: HashMap<usize, Vec<usize>> = HashMap::new();
    for (at, slot) in layer.iter().enumerate() {
        slot.down.iter().for_each(|hop| down_at.entry(middle(&below[hop.to])).or_default().push(at));
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
        assert!(drawing.lines.iter().all(|(_, [from, to])| from.0 == to.0 || from.1 == to.1));
        assert!(layers.width() > 0);
    }

    #[test]
    fn the_lines_of_an_edge_lead_from_its_first_node_to_its_last() {
        let edges = [(0, 1), (1, 2), (0, 2), (2, 3), (0, 3)];
        let drawing = Layers::new(&[5; 4], &edges, 1).drawing();
        for (edge, (first, last)) in edges.iter().enumerate() {
            let lines: Vec<_> = drawing.lines.iter().filter(|(of, _)| *of == edge).map(|(_, ends)| ends).collect();
            let of = |node| drawing.boxes.iter().find(|(at, ..)| at == node).expect("drawn");
            let rows = || lines.iter().flat_map(|[from, to]| [from.1, to.1]);
            assert_eq!((rows().min(), rows().max()), (Some(of(first).2.1), Some(of(last).1.1)), "{edge}: {lines:?}");
            assert!(lines.windows(2).all(|pair| pair[0][1] == pair[1][0]), "unbroken: {lines:?}");
        }
    }
}
