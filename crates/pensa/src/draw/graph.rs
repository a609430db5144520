//! A layered graph of characters.

use pensa_web::svg::Ink;
use pensa_web::svg::layers::Drawing;

use super::canvas::Canvas;

/// Draws lines, then boxes over their ends; `ink` says how a box looks.
pub(crate) fn on_canvas(drawing: &Drawing, canvas: &mut Canvas, ink: impl Fn(usize) -> Ink) {
    for (_, [(x1, y1), (x2, y2)]) in &drawing.lines {
        if y1 == y2 {
            canvas.horizontal(*x1, *x2, *y1);
        } else {
            canvas.vertical(*x1, *y1, *y2);
        }
    }
    for (node, from, to) in &drawing.boxes {
        canvas.rectangle(*from, *to, ink(*node));
    }
}

#[cfg(test)]
mod tests {
    use pensa_web::svg::layers::Layers;

    use super::*;
    use crate::render::Screen;

    fn drawn(widths: &[usize], edges: &[(usize, usize)]) -> String {
        let mut canvas = Canvas::default();
        let drawing = Layers::new(widths, edges, 1).drawing();
        on_canvas(&drawing, &mut canvas, |_| Ink::Lines);
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
}
