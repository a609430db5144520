//! What agent software waits for: a hook at the start of a session, a long transcript, the issues of another tracker.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::BenchPlan;
use super::lab::{BenchProject, Lab, output};
use super::report::{ReportRow, grouped};
use super::samples::{Contender, Samples, alternate};
use super::transfer::peak_memory;
use crate::Result;

const SIZE: usize = 10_000;
const TRANSCRIPT_BYTES: u64 = 100_000_000;
const SESSION: &str = "5c1e0d0e-1111-4222-8333-abcdefabcdef";

pub(super) fn rows(lab: &Lab, plan: &BenchPlan) -> Result<Vec<ReportRow>> {
    let mut rows = vec![hook(lab, plan)?];
    rows.extend(transcript(lab, plan)?);
    rows.extend(beads(lab, plan)?);
    Ok(rows)
}

fn median_of(mut run: impl FnMut(usize) -> Result<Duration>, rounds: usize) -> Result<f64> {
    let times = (0..rounds).map(&mut run).collect::<Result<Vec<_>>>()?;
    Ok(Samples::new(times).median() / 1000.0)
}

/// Each session is a new one, so that it is told everything.
fn hook(lab: &Lab, plan: &BenchPlan) -> Result<ReportRow> {
    let store = lab.filled_store(SIZE)?;
    let start = |run: usize| {
        let path = lab.dir().join("event.json");
        fs::write(&path, json!({"session_id": format!("s-{run}"), "source": "startup"}).to_string())?;
        let mut hook = lab.pn(&store, &["hook", "SessionStart", "--agent", "claude"]);
        hook.env_remove("PN_ACTOR").stdin(File::open(path)?);
        Ok(hook)
    };
    if !output(&mut start(usize::MAX)?)?.contains("additionalContext") {
        return Err("the hook tells nothing".into());
    }
    let [times] = alternate(plan.runs, [Contender::new(start)])?;
    lab.discard(&store)?;
    Ok(ReportRow::limited(
        format!("a hook at {}", grouped(SIZE)),
        format!("{:.1} ms", times.median()),
        times.median(),
        Some((50.0, " ms")),
        "`pn hook SessionStart --agent claude` as a process of its own, for a new session every time, which is told the text \
         of `pn prime`: the median",
    ))
}

fn transcript(lab: &Lab, plan: &BenchPlan) -> Result<[ReportRow; 2]> {
    let path = lab.dir().join(format!("{SESSION}.jsonl"));
    let bytes = write_transcript(&path)?;
    let text = path.to_string_lossy().into_owned();
    let import = |name: String| -> Result<(Duration, u64)> {
        let project = lab.empty_store(&name)?;
        let start = Instant::now();
        let peak = peak_memory(&mut lab.pn(&project, &["import-from", "claude-code", &text]))?;
        let took = start.elapsed();
        lab.discard(&project)?;
        Ok((took, peak))
    };
    let mut peak = 0;
    let mut timed = |round| {
        let (took, used) = import(format!("transcript-{round}"))?;
        peak = peak.max(used);
        Ok(took)
    };
    let seconds = median_of(&mut timed, plan.rounds)?;
    fs::remove_file(&path)?;
    let name = format!("a transcript of {:.0} MB", bytes as f64 / 1e6);
    let about = "`pn import-from claude-code` of one conversation with replies, calls of tools and their results into an empty \
                 store: the median, and the most memory that it had resident";
    let megabytes = peak as f64 / 1e6;
    Ok([
        ReportRow::limited(name.clone(), format!("{seconds:.2} s"), seconds, Some((10.0, " s")), about),
        ReportRow::limited(
            format!("memory for {name}"),
            format!("{megabytes:.1} MB"),
            megabytes,
            Some((100.0, " MB")),
            about,
        ),
    ])
}

/// Writes a conversation as Claude Code does. Returns its size.
fn write_transcript(path: &Path) -> Result<u64> {
    let mut file = BufWriter::new(File::create(path)?);
    let (mut written, mut at) = (0, 0_u64);
    let words =
        "the resolver looks at the parent first, and then at whatever is cached under the same name; ".repeat(12);
    while written < TRANSCRIPT_BYTES {
        let envelope = |kind: &str, uuid: u64, message: serde_json::Value| {
            json!({"type": kind, "uuid": format!("u{uuid}"), "parentUuid": format!("u{}", uuid.saturating_sub(1)),
                "isSidechain": false, "cwd": "/work", "sessionId": SESSION, "version": "2.1.0", "gitBranch": "main",
                "timestamp": format!("2026-02-{:02}T{:02}:{:02}:{:02}.000Z", 1 + uuid / 86_400 % 28, uuid / 3_600 % 24,
                    uuid / 60 % 60, uuid % 60),
                "requestId": format!("req_{uuid}"), "message": message})
        };
        let usage = json!({"input_tokens": 10, "output_tokens": 50, "cache_read_input_tokens": 9_000,
            "cache_creation_input_tokens": 100});
        let said = json!([{"type": "text", "text": format!("{at} {words}")},
            {"type": "tool_use", "id": format!("toolu_{at}"), "name": "Bash", "input": {"command": "cargo test"}}]);
        let reply = json!({"id": format!("msg_{at}"), "role": "assistant", "model": "claude-sonnet-4-5", "content": said,
            "usage": usage});
        let result = json!([{"type": "tool_result", "tool_use_id": format!("toolu_{at}"), "content": words}]);
        for line in
            [envelope("assistant", at, reply), envelope("user", at + 1, json!({"role": "user", "content": result}))]
        {
            let line = format!("{line}\n");
            written += line.len() as u64;
            file.write_all(line.as_bytes())?;
        }
        at += 2;
    }
    file.flush()?;
    Ok(written)
}

fn beads(lab: &Lab, plan: &BenchPlan) -> Result<[ReportRow; 2]> {
    let path = lab.dir().join("issues.jsonl");
    let mut file = BufWriter::new(File::create(&path)?);
    for at in 0..SIZE {
        let mut line = json!({"id": format!("bd-{at:05}"), "title": format!("mend part {at}"), "description": "why and how ".repeat(20),
            "status": "open", "priority": at % 5, "issue_type": "task", "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-02T00:00:00Z", "labels": ["core", format!("area-{}", at % 20)], "notes": "kept as it is"});
        if at > 0 {
            let on = format!("bd-{:05}", at / 2);
            line["dependencies"] = json!([{"issue_id": line["id"], "depends_on_id": on, "type": "blocks"}]);
        }
        writeln!(file, "{line}")?;
    }
    file.flush()?;
    let text = path.to_string_lossy().into_owned();
    let timed = |project: &BenchProject, args: &[&str]| -> Result<Duration> {
        let start = Instant::now();
        output(&mut lab.pn(project, args))?;
        Ok(start.elapsed())
    };
    let mut export = Vec::new();
    let import = median_of(
        |round| {
            let project = lab.empty_store(&format!("beads-{round}"))?;
            let took = timed(&project, &["import-from", "beads", &text])?;
            export.push(timed(&project, &["export", "--format", "beads", "-o", "beads.jsonl"])?);
            lab.discard(&project)?;
            Ok(took)
        },
        plan.rounds,
    )?;
    let export = Samples::new(export).median() / 1000.0;
    let row = |what: &str, seconds: f64, about: &str| {
        let name = format!("`pn {what}` of {} issues", grouped(SIZE));
        ReportRow::limited(name, format!("{seconds:.2} s"), seconds, Some((3.0, " s")), about)
    };
    Ok([
        row(
            "import-from beads",
            import,
            "Issues with descriptions, labels and dependencies of a file of bd into an empty store",
        ),
        row("export --format beads", export, "The same issues, written as bd reads them"),
    ])
}
