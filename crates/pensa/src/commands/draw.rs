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
use pensa_web::svg::Ink;
use pensa_web::svg::chart::{ChartKind, Series};
use pensa_web::svg::graph::{GraphDrawing, PlacedNetwork, lines};
use serde::Serialize;

use super::context::{self, WrittenFiles};
use crate::cli::GlobalOptions;
use crate::connect;
use crate::draw::board::{self, Column};
use crate::draw::canvas::Canvas;
use crate::draw::{chart, graph};
use crate::output::Output;
use crate::progress::with_progress;
use crate::render::{Render, Screen, draws_lines, fit, terminal, width};

/// Closed issues on a board: the last ones.
const CLOSED: u32 = 20;
/// Issues that a graph has at least, however narrow the terminal.
const FEWEST: usize = 8;

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
    kind: ChartKind,
    #[command(flatten)]
    op: op::Chart,
    /// Write the drawing to this file instead; - for standard output
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
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
            return write(output, file, &svg(&network));
        }
        // A terminal gets what fits, unless the caller sets a limit.
        if terminal().is_some() && self.op.limit.is_none() {
            while network.issues.len() > FEWEST && PlacedNetwork::new(&network, width()).layers.width() > width() {
                let most = FEWEST.max(network.issues.len() * 3 / 4);
                keep(&mut network, most);
            }
        }
        output.answer(&network)
    }
}

fn svg(network: &Network) -> String {
    GraphDrawing { network, critical: &[], href: None }.svg().into_string() + "\n"
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

impl Render for Network {
    fn render(&self, screen: &mut Screen) {
        let placed = PlacedNetwork::new(self, width());
        let drawing = placed.layers.drawing();
        let mut canvas = Canvas::default();
        graph::on_canvas(&drawing, &mut canvas, |node| Ink::from(self.issues[placed.linked[node]].status));
        for (node, (left, top), (right, _)) in &drawing.boxes {
            let issue = &self.issues[placed.linked[*node]];
            for (row, line) in lines(issue).iter().enumerate() {
                canvas.write(left + 1, top + 1 + row, &fit(line, right - left - 1), Ink::from(issue.status));
            }
        }
        canvas.show(screen, draws_lines());
        for at in &placed.alone {
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

impl ChartArgs {
    fn run(&self, options: &GlobalOptions, output: Output) -> Result<()> {
        let days = with_progress(output, || connect::client(options)?.call(&self.op))?;
        let series = Series::of(self.kind, &days);
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
        chart::on_canvas(&self.series, width(), draws_lines()).show(screen, draws_lines());
    }

    fn ids(&self) -> Vec<String> {
        self.days.closed.iter().map(|cycle| cycle.id.to_string()).collect()
    }
}
