//! Charts over days as stacked bars of characters.

use pensa_web::svg::Ink;
use pensa_web::svg::chart::Series;

use super::canvas::Canvas;

/// Rows of bars.
const HEIGHT: usize = 12;
/// Before the bars stand the numbers.
const LEFT: usize = 7;

/// Fewer days than there are, if they do not fit: of each group the last one.
fn columns(series: &Series, most: usize) -> Vec<usize> {
    let days = series.days.len();
    let group = days.div_ceil(most.max(1)).max(1);
    (0..days.div_ceil(group)).map(|column| ((column + 1) * group).min(days) - 1).collect()
}

/// Layers differ by their character too, for eyes and terminals without colours.
pub(crate) fn on_canvas(series: &Series, width: usize, in_lines: bool) -> Canvas {
    let marks = if in_lines { ['█', '▒', '░'] } else { ['#', '=', '.'] };
    let mut canvas = Canvas::default();
    canvas.write(0, 0, &series.title, Ink::Lines);
    let columns = columns(series, width.saturating_sub(LEFT + 1));
    let wide = ((width.saturating_sub(LEFT + 1)) / columns.len().max(1)).clamp(1, 4);
    let highest = series.highest().max(1.0);
    for (at, day) in columns.iter().enumerate() {
        let mut sum = 0.0;
        let mut from = 0;
        for (layer, mark) in series.layers.iter().zip(marks) {
            sum += layer.values[*day];
            // What is there at all has one row at least.
            let exact = (sum / highest * HEIGHT as f64).round() as usize;
            let to = if layer.values[*day] > 0.0 { exact.max(from + 1).min(HEIGHT) } else { exact.max(from) };
            for row in from..to {
                let mark = mark.to_string().repeat(if wide > 1 { wide - 1 } else { 1 });
                canvas.write(LEFT + 1 + at * wide, HEIGHT - row, &mark, layer.ink);
            }
            from = to;
        }
    }
    canvas.vertical(LEFT, 1, HEIGHT + 1);
    canvas.horizontal(LEFT, LEFT + columns.len() * wide, HEIGHT + 1);
    for (value, row) in [(highest, 1), (highest / 2.0, HEIGHT / 2 + 1)] {
        let text = if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.1}") };
        canvas.write(LEFT.saturating_sub(text.len() + 1), row, &text, Ink::Lines);
    }
    let (first, last) = (series.days.first(), series.days.last());
    canvas.write(LEFT, HEIGHT + 2, first.map_or("", String::as_str), Ink::Lines);
    if let Some(last) = last.filter(|_| columns.len() * wide > 24) {
        canvas.write(LEFT + columns.len() * wide - last.len(), HEIGHT + 2, last, Ink::Lines);
    }
    let mut x = LEFT;
    for (layer, mark) in series.layers.iter().zip(marks) {
        let name = format!("{mark} {}", layer.name);
        canvas.write(x, HEIGHT + 3, &name, layer.ink);
        x += name.chars().count() + 3;
    }
    canvas
}

#[cfg(test)]
mod tests {
    use pensa_web::svg::chart::Layer;

    use super::*;
    use crate::render::Screen;

    fn series(days: usize) -> Series {
        let values = |step: usize| (0..days).map(|day| (day * step % 7) as f64).collect();
        let layers = vec![
            Layer { name: "closed", ink: Ink::Done, values: values(2) },
            Layer { name: "open", ink: Ink::Open, values: values(3) },
        ];
        let days = (0..days).map(|day| format!("day {day}")).collect();
        Series { title: "Flow".into(), days, layers, unit: "issues" }
    }

    #[test]
    fn bars_fit_the_width_with_and_without_lines() {
        for (days, width) in [(1, 80), (30, 80), (400, 80), (30, 40)] {
            for in_lines in [true, false] {
                let mut screen = Screen::new(false);
                on_canvas(&series(days), width, in_lines).show(&mut screen, in_lines);
                let text = String::from_utf8(screen.as_bytes().to_vec()).expect("text");
                assert!(text.lines().all(|line| line.chars().count() <= width), "{days} {width}\n{text}");
                assert!(in_lines || text.is_ascii(), "{text}");
            }
        }
    }
}
