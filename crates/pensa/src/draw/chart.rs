//! Charts over days: stacked bars for the terminal, areas as SVG.

use pensa_core::Result;
use plotters::prelude::*;

use super::canvas::Canvas;
use super::svg::{self, failed};
use crate::render::Ink;

/// Rows of bars.
const HEIGHT: usize = 12;
/// Before the bars stand the numbers.
const LEFT: usize = 7;

/// Numbers for each day, that lie on each other, the lowest first.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) title: String,
    pub(crate) days: Vec<String>,
    pub(crate) layers: Vec<Layer>,
    /// What the numbers count.
    pub(crate) unit: &'static str,
}

#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) name: &'static str,
    pub(crate) ink: Ink,
    pub(crate) values: Vec<f64>,
}

impl Series {
    fn highest(&self) -> f64 {
        let sum = |day: usize| self.layers.iter().map(|layer| layer.values[day]).sum::<f64>();
        (0..self.days.len()).map(sum).fold(0.0, f64::max)
    }

    /// Fewer days than there are, if they do not fit: of each group the last one.
    fn columns(&self, most: usize) -> Vec<usize> {
        let days = self.days.len();
        let group = days.div_ceil(most.max(1)).max(1);
        (0..days.div_ceil(group)).map(|column| ((column + 1) * group).min(days) - 1).collect()
    }

    /// Layers differ by their character too, for eyes and terminals without colours.
    pub(crate) fn on_canvas(&self, width: usize, in_lines: bool) -> Canvas {
        let marks = if in_lines { ['█', '▒', '░'] } else { ['#', '=', '.'] };
        let mut canvas = Canvas::default();
        canvas.write(0, 0, &self.title, Ink::Lines);
        let columns = self.columns(width.saturating_sub(LEFT + 1));
        let wide = ((width.saturating_sub(LEFT + 1)) / columns.len().max(1)).clamp(1, 4);
        let highest = self.highest().max(1.0);
        for (at, day) in columns.iter().enumerate() {
            let mut sum = 0.0;
            let mut from = 0;
            for (layer, mark) in self.layers.iter().zip(marks) {
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
        let (first, last) = (self.days.first(), self.days.last());
        canvas.write(LEFT, HEIGHT + 2, first.map_or("", String::as_str), Ink::Lines);
        if let Some(last) = last.filter(|_| columns.len() * wide > 24) {
            canvas.write(LEFT + columns.len() * wide - last.len(), HEIGHT + 2, last, Ink::Lines);
        }
        let mut x = LEFT;
        for (layer, mark) in self.layers.iter().zip(marks) {
            let name = format!("{mark} {}", layer.name);
            canvas.write(x, HEIGHT + 3, &name, layer.ink);
            x += name.chars().count() + 3;
        }
        canvas
    }

    pub(crate) fn as_svg(&self) -> Result<String> {
        let days = self.days.len();
        svg::document((900, 420), |area| {
            let mut builder = ChartBuilder::on(area);
            builder.caption(&self.title, ("sans-serif", 20)).margin(16).x_label_area_size(36).y_label_area_size(56);
            let highest = self.highest().max(1.0) * 1.05;
            let right = days.saturating_sub(1).max(1);
            let mut chart = builder.build_cartesian_2d(0..right, 0.0..highest).map_err(failed)?;
            let day = |at: &usize| self.days.get(*at).cloned().unwrap_or_default();
            let mut mesh = chart.configure_mesh();
            mesh.disable_x_mesh().x_labels(8).x_label_formatter(&day).y_desc(self.unit);
            mesh.draw().map_err(failed)?;
            let mut sums = vec![0.0; days];
            let mut stack = Vec::new();
            for layer in &self.layers {
                sums.iter_mut().zip(&layer.values).for_each(|(sum, value)| *sum += value);
                stack.push((layer, sums.clone()));
            }
            // What lies on top is drawn first, and the rest over it.
            for (layer, sums) in stack.into_iter().rev() {
                let colour = svg::colour(layer.ink);
                let mut points: Vec<(usize, f64)> = sums.into_iter().enumerate().collect();
                if let [(_, only)] = points[..] {
                    points.push((1, only));
                }
                let series = AreaSeries::new(points, 0.0, colour).border_style(colour);
                let drawn = chart.draw_series(series).map_err(failed)?;
                drawn
                    .label(layer.name)
                    .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled()));
            }
            let mut labels = chart.configure_series_labels();
            labels.background_style(WHITE.mix(0.8)).border_style(svg::GREY).position(SeriesLabelPosition::UpperLeft);
            labels.draw().map_err(failed)
        })
    }
}

#[cfg(test)]
mod tests {
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
                series(days).on_canvas(width, in_lines).show(&mut screen, in_lines);
                let text = String::from_utf8(screen.as_bytes().to_vec()).expect("text");
                assert!(text.lines().all(|line| line.chars().count() <= width), "{days} {width}\n{text}");
                assert!(in_lines || text.is_ascii(), "{text}");
            }
        }
    }

    #[test]
    fn an_svg_has_its_title_and_the_names_of_its_layers() {
        for days in [1, 30] {
            let document = series(days).as_svg().expect("a document");
            assert!(document.starts_with("<svg") && document.trim_end().ends_with("</svg>"));
            assert!(["Flow", "closed", "open", "issues"].iter().all(|word| document.contains(word)), "{document}");
        }
    }
}
