//! `pn board`, `pn graph` and `pn chart`: something to look at, on the terminal or as SVG.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use pensa_client::config::BOARD_COLUMNS;
use pensa_core::Result;
use pensa_core::id::IssueId;
use pensa_core::issue::{Issue, Sort, Status};
use pensa_core::ops::issue::List;
use pensa_core::ops::triage as op;
use pensa_core::triage::Network;
use pensa_core::triage::chart::Chart as Days;
use serde::Serialize;

use super::context::{self, WrittenFiles};
use crate::cli::GlobalOptions;
use crate::connect;
use crate::draw::board::{self, Column};
use crate::draw::canvas::Canvas;
use crate::draw::chart::{Layer, Series};
use crate::draw::layers::{Drawing, Layers};
use crate::draw::svg;
use crate::output::Output;
use crate::progress::with_progress;
use crate::render::{Ink, Render, Screen, draws_lines, fit, terminal, width};

/// Closed issues on a board: the last ones.
const CLOSED: u32 = 20;
/// Issues that a graph has at least, however narrow the terminal.
const FEWEST: usize = 8;
/// Characters of a box in a graph, and pixels of one of them.
const BOX: usize = 26;
const PIXELS: (usize, usize) = (8, 16);

/// Commands that draw.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Draw {
    Board(BoardArgs),
    Graph(GraphArgs),
    Chart(ChartArgs),
}

impl Draw {
    pub(super) fn run(&self, options: &GlobalOptions, output: Output) -> Result<()> {
        match self {
            Self::Board(args) => args.run(options, output),
            Self::Graph(args) => args.run(options, output),
            Self::Chart(args) => args.run(options, output),
        }
    }
}

/// Show issues as cards in columns
///
/// Labels have columns by --by label, or next to the statuses if the setting board.columns lists them:
/// pn config set board.columns todo,doing,review
#[derive(Debug, Args)]
pub(crate) struct BoardArgs {
    /// Only issues that match this query: 'label:auth -assignee:ben p<=1 due<+7d text', or a view: @NAME
    #[arg(value_name = "QUERY")]
    q: Option<String>,
    /// What the columns are
    #[arg(long, value_enum, default_value_t = By::Status, value_name = "FIELD")]
    by: By,
    /// Write the drawing to this file instead; - for standard output
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    Status,
    Label,
    Assignee,
}

/// Draw what waits for what, in layers: what has to be done first on top
#[derive(Debug, Args)]
pub(crate) struct GraphArgs {
    #[command(flatten)]
    op: op::Graph,
    /// Write the drawing to this file instead; - for standard output
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Draw how much was open, done or in progress day by day, or how long issues took
#[derive(Debug, Args)]
pub(crate) struct ChartArgs {
    /// What to draw
    #[arg(value_enum)]
    kind: Kind,
    #[command(flatten)]
    op: op::Chart,
    /// Write the drawing to this file instead; - for standard output
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Issues that are not closed
    Burndown,
    /// Open, in progress and closed issues on each other
    Flow,
    /// Issues closed each day
    Throughput,
    /// How long issues took from their first claim, by the day of their closing
    CycleTime,
}

/// Writes a drawing where it is wanted.
fn write(output: Output, file: &Path, document: &str) -> Result<()> {
    if file.as_os_str() == "-" {
        return output.raw(document.as_bytes());
    }
    context::write_atomically(file, document, 0o666)?;
    output.answer(&WrittenFiles { files: vec![file.to_owned()] })
}

/// Columns with what is in them.
#[derive(Debug, Serialize)]
#[serde(transparent)]
struct Columns(Vec<Column>);

impl BoardArgs {
    fn run(&self, options: &GlobalOptions, output: Output) -> Result<()> {
        let labels = connect::config(options)?.text(&BOARD_COLUMNS)?.unwrap_or_default();
        let labels = labels.split(['\n', ',']).map(|label| label.trim().to_owned());
        let labels: Vec<String> = labels.filter(|label| !label.is_empty()).collect();
        let columns = with_progress(output, || {
            let client = connect::client(options)?;
            let of = |status, sort, limit| {
                client.call(&List { q: self.q.clone(), status: Some(status), sort, limit, ..List::default() })
            };
            let mut issues = of(Status::InProgress, None, None)?;
            issues.extend(of(Status::Open, None, None)?);
            issues.extend(of(Status::Closed, Some(Sort::UpdatedAt.into()), Some(CLOSED))?);
            Ok(Columns(self.columns(issues, labels)))
        })?;
        match &self.svg {
            Some(file) => write(output, file, &board::as_svg(&columns.0)?),
            None => output.answer(&columns),
        }
    }

    fn columns(&self, issues: Vec<Issue>, labels: Vec<String>) -> Vec<Column> {
        let named = |titles: Vec<String>| titles.into_iter().map(|title| Column { title, issues: Vec::new() });
        let statuses = Status::ALL.map(|status| status.to_string()).to_vec();
        let mut columns: Vec<Column> = match self.by {
            By::Status if labels.is_empty() => named(statuses).collect(),
            By::Status => {
                let extra = labels.clone().into_iter().filter(|label| !statuses.contains(label));
                let [open, rest @ ..] = &statuses[..] else { return Vec::new() };
                named([vec![open.clone()], extra.collect(), rest.to_vec()].concat()).collect()
            }
            By::Label => named(labels.clone()).collect(),
            By::Assignee => Vec::new(),
        };
        let mut found: BTreeMap<String, Vec<Issue>> = BTreeMap::new();
        for issue in issues {
            for title in self.places(&issue, &labels) {
                match columns.iter_mut().find(|column| column.title == title) {
                    Some(column) => column.issues.push(issue.clone()),
                    None => found.entry(title).or_default().push(issue.clone()),
                }
            }
        }
        columns.extend(found.into_iter().map(|(title, issues)| Column { title, issues }));
        columns
    }

    /// The columns that an issue is in. One with labels that have columns of their own is there, unless it is closed.
    fn places(&self, issue: &Issue, columns: &[String]) -> Vec<String> {
        let or = |titles: Vec<String>, other: &str| if titles.is_empty() { vec![other.to_owned()] } else { titles };
        match self.by {
            By::Assignee => vec![issue.assignee.clone().unwrap_or_else(|| "unassigned".to_owned())],
            By::Label => or(issue.labels.clone(), "no label"),
            By::Status if issue.status == Status::Closed => vec![issue.status.to_string()],
            By::Status => {
                let own = columns.iter().find(|column| issue.labels.contains(column));
                vec![own.map_or_else(|| issue.status.to_string(), String::clone)]
            }
        }
    }
}

impl Render for Columns {
    fn render(&self, screen: &mut Screen) {
        board::on_canvas(&self.0, width()).show(screen, draws_lines());
    }

    fn ids(&self) -> Vec<String> {
        self.0.iter().flat_map(|column| &column.issues).map(|issue| issue.id.to_string()).collect()
    }
}

impl GraphArgs {
    fn run(&self, options: &GlobalOptions, output: Output) -> Result<()> {
        let mut network = with_progress(output, || connect::client(options)?.call(&self.op))?;
        if let Some(file) = &self.svg {
            return write(output, file, &graph_svg(&network)?);
        }
        // A terminal gets what fits, unless the caller sets a limit.
        if terminal().is_some() && self.op.limit.is_none() {
            while network.issues.len() > FEWEST && laid_out(&network).2.width() > width() {
                let most = FEWEST.max(network.issues.len() * 3 / 4);
                keep(&mut network, most);
            }
        }
        output.answer(&network)
    }
}

/// Leaves the issues with the most waits.
fn keep(network: &mut Network, most: usize) {
    let mut waits: HashMap<IssueId, usize> = HashMap::new();
    for id in network.waits.iter().flat_map(|wait| [&wait.issue_id, &wait.depends_on_id]) {
        *waits.entry(id.clone()).or_default() += 1;
    }
    let mut order: Vec<usize> = (0..network.issues.len()).collect();
    order.sort_by_key(|at| Reverse(waits.get(&network.issues[*at].id).copied()));
    let kept: HashSet<IssueId> = order.iter().take(most).map(|at| network.issues[*at].id.clone()).collect();
    let before = network.issues.len();
    network.issues.retain(|issue| kept.contains(&issue.id));
    network.waits.retain(|wait| kept.contains(&wait.issue_id) && kept.contains(&wait.depends_on_id));
    network.left_out += u32::try_from(before - network.issues.len()).unwrap_or_default();
}

/// The issues of a network that wait or are waited for, and the rest; where the first are drawn.
fn laid_out(network: &Network) -> (Vec<usize>, Vec<usize>, Layers) {
    let place: HashMap<&IssueId, usize> =
        network.issues.iter().enumerate().map(|(at, issue)| (&issue.id, at)).collect();
    let edges =
        network.waits.iter().filter_map(|wait| Some((*place.get(&wait.depends_on_id)?, *place.get(&wait.issue_id)?)));
    let edges: Vec<(usize, usize)> = edges.collect();
    let is_linked = |at: &usize| edges.iter().any(|(from, to)| from == at || to == at);
    let (linked, alone): (Vec<usize>, Vec<usize>) = (0..network.issues.len()).partition(is_linked);
    let node: HashMap<usize, usize> = linked.iter().enumerate().map(|(node, at)| (*at, node)).collect();
    let edges: Vec<(usize, usize)> = edges.iter().map(|(from, to)| (node[from], node[to])).collect();
    let narrow = linked.iter().map(|at| network.issues[*at].id.as_str().len() + 7).max().unwrap_or(BOX);
    let wide = Layers::new(&vec![BOX; linked.len()], &edges, 2);
    // Narrower boxes cut titles, but fewer lines are cut by the edge of the terminal.
    let layers = if wide.width() > width() { Layers::new(&vec![narrow; linked.len()], &edges, 2) } else { wide };
    (linked, alone, layers)
}

/// What stands in a box.
fn lines(network: &Network, at: usize, room: usize) -> [String; 2] {
    let issue = &network.issues[at];
    [format!("{} {}", issue.id, issue.priority), issue.title.clone()].map(|line| fit(&line, room))
}

impl Render for Network {
    fn render(&self, screen: &mut Screen) {
        let (linked, alone, layers) = laid_out(self);
        let drawing: Drawing = layers.drawing();
        let mut canvas = Canvas::default();
        drawing.on_canvas(&mut canvas, |node| Ink::from(self.issues[linked[node]].status));
        for (node, (left, top), (right, _)) in &drawing.boxes {
            let at = linked[*node];
            for (row, line) in lines(self, at, right - left - 1).iter().enumerate() {
                canvas.write(left + 1, top + 1 + row, line, Ink::from(self.issues[at].status));
            }
        }
        canvas.show(screen, draws_lines());
        for at in &alone {
            let issue = &self.issues[*at];
            screen.id(&issue.id).plain(" ").priority(issue.priority).plain(" ");
            screen.text(&crate::render::fit_line(&issue.title, issue.id.as_str().len() + 4)).end();
        }
        if self.left_out > 0 {
            screen.faint(&format!("and {} more; -n draws more of them", self.left_out)).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.issues.iter().map(|issue| issue.id.to_string()).collect()
    }
}

fn graph_svg(network: &Network) -> Result<String> {
    let (linked, alone, layers) = laid_out(network);
    let drawing = layers.drawing();
    let bottom = drawing.boxes.iter().map(|(_, _, (_, bottom))| bottom + 2).max().unwrap_or_default();
    let (columns, rows) = (layers.width().max(80) + 2, bottom + alone.len() + 2);
    let pixel = |(x, y): (usize, usize)| svg::point((x + 1) * PIXELS.0, (y + 1) * PIXELS.1);
    svg::document(svg::size(columns * PIXELS.0, rows * PIXELS.1), |area| {
        drawing.lines.iter().try_for_each(|[from, to]| svg::line(area, pixel(*from), pixel(*to)))?;
        for (node, from, to) in &drawing.boxes {
            let at = linked[*node];
            svg::card(area, pixel(*from), pixel(*to), Ink::from(network.issues[at].status))?;
            let texts = lines(network, at, to.0 - from.0 - 1);
            for (row, text) in texts.iter().enumerate() {
                svg::words(area, pixel((from.0 + 1, from.1 + row + 1)), text, 12)?;
            }
        }
        for (row, at) in alone.iter().enumerate() {
            let text = lines(network, *at, 80).join(" ");
            svg::words(area, pixel((0, bottom + row)), &text, 12)?;
        }
        Ok(())
    })
}

impl ChartArgs {
    fn run(&self, options: &GlobalOptions, output: Output) -> Result<()> {
        let days = with_progress(output, || connect::client(options)?.call(&self.op))?;
        let series = self.kind.series(&days);
        match &self.svg {
            Some(file) => write(output, file, &series.as_svg()?),
            None => output.answer(&Drawn { days, series }),
        }
    }
}

/// A chart, which is its numbers for a program.
#[derive(Debug, Serialize)]
struct Drawn {
    #[serde(flatten)]
    days: Days,
    #[serde(skip)]
    series: Series,
}

impl Render for Drawn {
    fn render(&self, screen: &mut Screen) {
        self.series.on_canvas(width(), draws_lines()).show(screen, draws_lines());
    }

    fn ids(&self) -> Vec<String> {
        self.days.closed.iter().map(|cycle| cycle.id.to_string()).collect()
    }
}

impl Kind {
    fn series(self, chart: &Days) -> Series {
        let of = |value: fn(&pensa_core::triage::chart::Day) -> u32| {
            chart.days.iter().map(|day| f64::from(value(day))).collect()
        };
        let layer = |name, ink, values| Layer { name, ink, values };
        let open = layer("open", Ink::Open, of(|day| day.open));
        let doing = layer("in progress", Ink::Doing, of(|day| day.in_progress));
        let (title, unit, layers) = match self {
            Self::Burndown => {
                let left = chart.days.last().map_or(0, |day| day.open + day.in_progress);
                (format!("Burndown: {left} left"), "issues", vec![doing, open])
            }
            Self::Flow => {
                let closed = layer("closed", Ink::Done, of(|day| day.closed));
                ("Flow".to_owned(), "issues", vec![closed, doing, open])
            }
            Self::Throughput => {
                let done = chart.days.iter().map(|day| day.done).sum::<u32>();
                let title = format!("Throughput: {done} closed in {} days", chart.days.len());
                (title, "issues", vec![layer("closed", Ink::Done, of(|day| day.done))])
            }
            Self::CycleTime => {
                let shown = |ms: Option<i64>| ms.map_or("-".to_owned(), |ms| format!("{:.1} h", hours(ms)));
                let title = format!(
                    "Cycle time: half within {}, 85 of 100 within {}",
                    shown(chart.median_ms),
                    shown(chart.p85_ms)
                );
                (title, "hours", vec![layer("median of the day", Ink::Done, medians(chart))])
            }
        };
        Series { title, days: chart.days.iter().map(|day| day.day.clone()).collect(), layers, unit }
    }
}

fn hours(ms: i64) -> f64 {
    ms as f64 / 3_600_000.0
}

/// How long the issues closed on each day took, in the middle.
fn medians(chart: &Days) -> Vec<f64> {
    let of_day = |day: &str| {
        let of = chart.closed.iter().filter(|cycle| cycle.closed_at.to_string().starts_with(day));
        let mut took: Vec<i64> = of.map(|cycle| cycle.took_ms).collect();
        took.sort_unstable();
        took.get(took.len().saturating_sub(1) / 2).map_or(0.0, |ms| hours(*ms))
    };
    chart.days.iter().map(|day| of_day(&day.day)).collect()
}
