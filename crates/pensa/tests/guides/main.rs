//! Runs every transcript of the README and the guides, and compares what they show with what happens.
//!
//! A guide is a markdown file in `docs`. Each ```` ```console ```` block is a transcript: lines after `$ ` are commands
//! (`> ` continues one), the others are their output. All of a guide run in order in one shell's directory and
//! environment, in an empty git repository of its own. A block whose info string has `file=NAME` is written to that file.
//! Ids, times and durations may differ; `…` stands for any text, a line of it for any lines.
//!
//! `UPDATE_GUIDES=1 cargo nextest run -p pensa --test guides` writes what happened into the guides.

mod compare;
mod picture;
mod shell;

use std::path::{Path, PathBuf};
use std::{env, fs};

use compare::Ids;
use shell::Shell;

/// A part of a guide.
enum Part<'a> {
    /// Lines that stay as they are.
    Text(&'a str),
    /// A file that the reader makes.
    File {
        name: &'a str,
        lines: Vec<&'a str>,
    },
    Command {
        lines: Vec<&'a str>,
        output: Vec<&'a str>,
    },
}

fn parts(guide: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut lines = guide.lines().peekable();
    while let Some(line) = lines.next() {
        parts.push(Part::Text(line));
        let Some(info) = line.strip_prefix("```") else { continue };
        let (is_console, file) = (info == "console", info.split_once("file=").map(|(_, name)| name));
        let mut block = Vec::new();
        let end = loop {
            let line = lines.next().unwrap_or_else(|| panic!("a block is not closed: {info}"));
            if line == "```" {
                break line;
            }
            assert!(is_console || !line.starts_with("$ "), "a transcript outside a console block: {line}");
            block.push(line);
        };
        let mut block = block.into_iter().peekable();
        while let Some(line) = block.next() {
            if !is_console || !line.starts_with("$ ") {
                parts.push(Part::Text(line));
                continue;
            }
            let mut command = vec![line];
            command.extend(std::iter::from_fn(|| block.next_if(|line| line.starts_with("> "))));
            let output = std::iter::from_fn(|| block.next_if(|line| !line.starts_with("$ "))).collect();
            parts.push(Part::Command { lines: command, output });
        }
        if let Some(name) = file {
            let at =
                parts.iter().rposition(|part| matches!(part, Part::Text(text) if *text == line)).expect("the block");
            let lines = parts.drain(at + 1..).map(|part| if let Part::Text(line) = part { line } else { "" }).collect();
            parts.push(Part::File { name, lines });
        }
        parts.push(Part::Text(end));
    }
    parts
}

/// Runs a guide; what it should say.
fn run(guide: &str) -> (String, Vec<String>) {
    let mut shell = Shell::new();
    let mut ids = Ids::default();
    let (mut written, mut wrong) = (String::new(), Vec::new());
    let mut line = |text: &str| {
        written.push_str(text);
        written.push('\n');
    };
    for part in parts(guide) {
        match part {
            Part::Text(text) => line(text),
            Part::File { name, lines } => {
                shell.write(name, &(ids.real(&lines.join("\n")) + "\n"));
                lines.into_iter().for_each(&mut line);
            }
            Part::Command { lines, output } => {
                let command = lines.iter().map(|line| &line[2..]).collect::<Vec<_>>().join("\n");
                let printed = shell.run(&ids.real(&command));
                let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
                lines.into_iter().for_each(&mut line);
                match ids.compare(&output, &printed) {
                    Ok(()) => output.into_iter().for_each(&mut line),
                    Err(difference) => {
                        wrong.push(format!("$ {command}\n{difference}\nIt printed:\n{}", printed.join("\n")));
                        printed.iter().for_each(|printed| line(&ids.shown(printed)));
                    }
                }
            }
        }
    }
    (written, wrong)
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn check(name: &str) {
    let path = repository().join(name);
    let guide = fs::read_to_string(&path).expect("a guide");
    let (written, wrong) = run(&guide);
    if env::var_os("UPDATE_GUIDES").is_some() && written != guide {
        fs::write(&path, written).expect("written");
        return;
    }
    assert!(wrong.is_empty(), "{name} shows what does not happen:\n\n{}", wrong.join("\n\n"));
}

/// Every guide has a test, none is longer than a reader's patience, and their links lead somewhere.
#[test]
fn guides_are_listed_and_short_and_their_links_lead_somewhere() {
    let docs = repository().join("docs");
    let mut names: Vec<String> = fs::read_dir(&docs)
        .expect("a directory")
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|ending| ending == "md"))
        .map(|entry| format!("docs/{}", entry.file_name().to_string_lossy()))
        .collect();
    names.push("README.md".to_owned());
    names.sort();
    let mut tested = TESTED.map(str::to_owned).to_vec();
    tested.sort();
    assert_eq!(names, tested);
    for name in names.iter().map(String::as_str).chain(["ARCHITECTURE.md", "CONTRIBUTING.md"]) {
        let text = fs::read_to_string(repository().join(name)).expect("a guide");
        assert!(name == "docs/benchmarks.md" || text.lines().count() <= 300, "{name} has more than 300 lines");
        let dir = repository().join(name).parent().expect("a directory").to_owned();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            let is_local = !link.is_empty() && !link.contains("://");
            assert!(!is_local || dir.join(link).exists(), "{name} links to {link}, which is not there");
        }
    }
}

#[test]
fn help_topics_lists_every_guide() {
    let topics = Shell::new().run("pn help topics");
    let guides = TESTED.iter().filter_map(|name| name.strip_prefix("docs/")?.strip_suffix(".md"));
    for guide in guides.filter(|guide| *guide != "benchmarks") {
        assert!(topics.contains(&format!("  {guide} ")), "{guide} is missing: {topics}");
    }
}

/// `llms.txt`: what a model reads first. It names the guides, each with its first sentence, and every command.
#[test]
fn llms_txt_is_in_step_with_guides_and_commands() {
    let first_paragraph = |text: &str| {
        let lines = text.lines().skip(1).skip_while(|line| line.is_empty());
        lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let read = |name: &str| fs::read_to_string(repository().join(name)).expect("a guide");
    let mut text = format!("# Pensa\n\n> {}\n\n## Guides\n\n", first_paragraph(&read("README.md")));
    for name in TESTED.iter().skip(1) {
        let guide = read(name);
        let title = guide.lines().next().unwrap_or_default().trim_start_matches("# ");
        let about = first_paragraph(&guide);
        let first_sentence = about.split_once(". ").map_or(about.trim_end_matches('.'), |(first, _)| first);
        text += &format!("- [{title}]({name}): {first_sentence}.\n");
    }
    text += "\n## Commands\n\nEach takes `--json`. `pn help --json` has all flags and error codes; `pn help COMMAND` explains one.\n\n";
    let catalog: serde_json::Value = serde_json::from_str(&Shell::new().run("pn help --json")).expect("JSON");
    for command in catalog["commands"].as_array().expect("commands") {
        let part = |field: &str| command[field].as_str().unwrap_or_default().replace('\n', " ");
        text += &format!("- `pn {}`: {}\n", part("name"), part("about"));
    }
    let path = repository().join("llms.txt");
    if env::var_os("UPDATE_GUIDES").is_some() {
        fs::write(&path, &text).expect("written");
    }
    assert_eq!(fs::read_to_string(&path).expect("llms.txt"), text);
}

macro_rules! guides {
    ($($test:ident: $name:literal,)*) => {
        const TESTED: [&str; [$($name),*].len()] = [$($name),*];
        $(
            #[test]
            fn $test() {
                check($name);
            }
        )*
    };
}

guides! {
    readme: "README.md",
    get_started: "docs/get-started.md",
    get_started_agents: "docs/get-started-agents.md",
    plan_and_track: "docs/plan-and-track.md",
    organise: "docs/organise.md",
    edit_issues: "docs/edit-issues.md",
    choose_what_next: "docs/choose-what-next.md",
    terminal_ui: "docs/terminal-ui.md",
    web: "docs/web.md",
    many_agents: "docs/many-agents.md",
    memory: "docs/memory.md",
    keep_memory_clean: "docs/keep-memory-clean.md",
    conversations: "docs/conversations.md",
    share_through_git: "docs/share-through-git.md",
    share_through_a_server: "docs/share-through-a-server.md",
    recover: "docs/recover.md",
    operate_the_server: "docs/operate-the-server.md",
    operate_postgresql: "docs/operate-postgresql.md",
    import_from_other_tools: "docs/import-from-other-tools.md",
    programs: "docs/programs.md",
    reference_configuration: "docs/reference-configuration.md",
    reference_files: "docs/reference-files.md",
    reference_errors: "docs/reference-errors.md",
    reference_events: "docs/reference-events.md",
    reference_json: "docs/reference-json.md",
    glossary: "docs/glossary.md",
    benchmarks: "docs/benchmarks.md",
}
