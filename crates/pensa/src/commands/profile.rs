//! `pn profile`: describes the domains of a repository for agents, in files that travel with git. `pensa_host::domains` looks
//! at the repository, `pensa_host::setup` writes the files.

use std::collections::BTreeSet;

use clap::{Args, Subcommand};
use pensa_client::Client;
use pensa_core::learning::Learning;
use pensa_core::ops::{learning, skill};
use pensa_core::skill::Mappings;
use pensa_core::{Code, Error, Result, STORE_DIR, text};
use pensa_engine::StoreDir;
use pensa_host::domains::{self, DOMAINS_DIR, DomainSurvey, checked_name, files_in};
use pensa_host::setup::{Setup, SetupReport, SetupScope, has_section};
use serde::Serialize;

use super::setup::finish;
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

/// The most learnings that are looked through, the newest.
const MAX_LEARNINGS: u32 = 2_000;

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum ProfileCommand {
    Generate(ProfileGenerateArgs),
    List(ProfileListArgs),
}

/// Describe the domains of this repository in .pensa/agents, for agents that work on one
///
/// Looks at the files that git tracks, their history, the learnings and the skills, and writes a
/// file for each domain: frontend, backend, testing, database, devops, docs. Each has a section
/// between marks, which is written anew now and after every pn sync. What you write above or below
/// it stays. Commit the files: they travel with git.
///
///   pn profile generate              describe what is found, and renew all files
///   pn profile generate billing      also a domain of your own: directories and learnings of that name
///   pn prime --domain backend        what an agent on the backend reads at its start
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ProfileGenerateArgs {
    /// Only these domains
    #[arg(value_name = "DOMAIN")]
    domains: Vec<String>,
    /// Replace sections that were edited too
    #[arg(long)]
    force: bool,
    /// Say what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// List the domains that are described
#[derive(Debug, Args)]
pub(crate) struct ProfileListArgs {}

pub(super) fn run(options: &GlobalOptions, output: Output, command: ProfileCommand) -> Result<()> {
    match command {
        ProfileCommand::Generate(args) => generate(options, output, &args),
        ProfileCommand::List(ProfileListArgs {}) => output.answer(&DescribedDomains::of(&store(options)?)),
    }
}

fn generate(options: &GlobalOptions, output: Output, args: &ProfileGenerateArgs) -> Result<()> {
    let store = store(options)?;
    let named = args.domains.iter().map(|name| checked_name(name).map(str::to_owned));
    let mut names: Vec<String> = named.collect::<Result<_>>()?;
    let mut writer = DomainWriter::new(&connect::client(options)?, &store, &names)?;
    (writer.setup.force, writer.setup.dry_run) = (args.force, args.dry_run);
    if names.is_empty() {
        names = writer.found_domains(&store);
    }
    if names.is_empty() {
        return Err(Error::new(Code::NotFound, "git tracks no files here that belong to a domain")
            .hint("git add the code first, or name a domain: pn profile generate backend"));
    }
    finish(output, writer.write(&names)?)
}

/// Renews the sections that are there, after a sync. Nothing else is written, and a failure is only a warning.
pub(super) fn renew(options: &GlobalOptions, output: Output, client: &Client) {
    let Some(store) = connect::project_store(options) else { return };
    let is_ours =
        |name: &String| domains::read_file(store.root(), name).ok().flatten().is_some_and(|text| has_section(&text));
    let names: Vec<String> = files_in(store.root()).into_iter().filter(is_ours).collect();
    if names.is_empty() {
        return;
    }
    match DomainWriter::new(client, &store, &names).and_then(|writer| writer.write(&names)) {
        Ok(report) => {
            for (path, error) in report.files.iter().filter_map(|file| Some((&file.path, file.error.as_ref()?))) {
                output.warning(&format!("{path} is old: {}", error.message));
            }
        }
        Err(e) => output.warning(&format!("the domains in {STORE_DIR}/{DOMAINS_DIR} are old: {}", e.message)),
    }
}

/// The file of a domain, for `pn prime`.
pub(super) fn domain_file(options: &GlobalOptions, name: &str) -> Result<String> {
    let store = store(options)?;
    domains::read_file(store.root(), name)?.ok_or_else(|| {
        let names = files_in(store.root());
        let error = Error::not_found("domain", name);
        match text::nearest(name, names.iter().map(String::as_str)) {
            Some(nearest) => error.hint(format!("did you mean {nearest}?")),
            None if names.is_empty() => error.hint("pn profile generate describes the domains of this repository"),
            None => error.hint(format!("one of {}; pn profile generate {name} describes it", names.join(", "))),
        }
    })
}

/// The store of this project: its files are beside the code, also if a server has the data.
fn store(options: &GlobalOptions) -> Result<StoreDir> {
    let store = connect::project_store(options).filter(|store| store.root().is_dir());
    store.ok_or_else(|| Error::new(Code::NoStore, "there is no project here").hint("pn init makes one"))
}

/// Writes the files of domains.
struct DomainWriter {
    survey: DomainSurvey,
    skills: Mappings,
    learnings: Vec<Learning>,
    setup: Setup,
}

impl DomainWriter {
    /// `named` are domains that are looked for beside the usual ones.
    fn new(client: &Client, store: &StoreDir, named: &[String]) -> Result<Self> {
        let newest = learning::List { limit: Some(MAX_LEARNINGS), ..learning::List::default() };
        Ok(Self {
            survey: DomainSurvey::of(store.project_dir(), &[named, &files_in(store.root())].concat())?,
            skills: client.call(&skill::List {})?.mappings,
            learnings: client.call(&newest)?.into_iter().map(|detail| detail.learning).collect(),
            setup: Setup::new(store.project_dir(), SetupScope::Project)?,
        })
    }

    /// The domains with files or skills, and those that are described already.
    fn found_domains(&self, store: &StoreDir) -> Vec<String> {
        let mapped = self.skills.keys().filter_map(|file| checked_name(file).ok());
        let mapped = mapped.filter(|name| domains::is_known(name));
        let all = self.survey.names().chain(mapped).map(str::to_owned).chain(files_in(store.root()));
        all.collect::<BTreeSet<String>>().into_iter().collect()
    }

    fn write(&self, names: &[String]) -> Result<SetupReport> {
        let sections = names.iter().map(|name| {
            let is_its = |file: &str| checked_name(file).is_ok_and(|file| file == name);
            let mapped = self.skills.iter().filter(|(file, _)| is_its(file));
            let skills: Vec<String> = mapped.flat_map(|(_, skills)| skills.iter().cloned()).collect();
            (path(name), self.survey.describe(name, &skills, &self.learnings))
        });
        self.setup.add_sections(sections.collect())
    }
}

/// The file of a domain, as the user knows it.
fn path(name: &str) -> String {
    format!("{STORE_DIR}/{DOMAINS_DIR}/{name}.md")
}

/// The domains that have a file.
#[derive(Debug, Serialize)]
struct DescribedDomains {
    domains: Vec<DescribedDomain>,
}

#[derive(Debug, Serialize)]
struct DescribedDomain {
    name: String,
    path: String,
}

impl DescribedDomains {
    fn of(store: &StoreDir) -> Self {
        let domain = |name: String| DescribedDomain { path: path(&name), name };
        Self { domains: files_in(store.root()).into_iter().map(domain).collect() }
    }
}

impl Render for DescribedDomains {
    fn render(&self, screen: &mut Screen) {
        for domain in &self.domains {
            screen.plain(&format!("{:<12} ", domain.name)).faint(&domain.path).end();
        }
        if self.domains.is_empty() {
            screen.plain("no domain is described; next: pn profile generate").end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.domains.iter().map(|domain| domain.name.clone()).collect()
    }
}
