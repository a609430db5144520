//! `pn mcp`: serves the tools for models on standard input and output. `pensa_server::mcp` has the tools.
//!
//! The store is opened by the first call, so that a project created later is found, and a missing one is reported as the
//! answer to a call.

use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use pensa_client::{Client, config};
use pensa_core::prime::MAX_FILES;
use pensa_core::{Error, Result};
use pensa_engine::Execute;
use pensa_server::mcp::{StoreCalls, serve_stdio};
use tokio::sync::oneshot;

use crate::cli::GlobalOptions;
use crate::connect;

/// Work for the thread that owns the stores.
type ClientTask = Box<dyn FnOnce(&mut OpenClients) + Send>;

pub(super) fn run(options: &GlobalOptions) -> Result<()> {
    let (tasks, queue) = mpsc::channel();
    let options = options.clone();
    let work = move || OpenClients { options, project: None, agents: None }.work(&queue);
    let worker = thread::Builder::new().name("pensa-mcp".into()).spawn(work);
    worker.map_err(Error::internal)?;
    serve_stdio(move |name| StoreCaller { tasks: tasks.clone(), name })
}

/// Calls the store under the name of one MCP client.
#[derive(Debug)]
struct StoreCaller {
    tasks: Sender<ClientTask>,
    name: Option<String>,
}

impl StoreCaller {
    async fn query<T: Send + 'static>(
        &self,
        store: StoreChoice,
        query: impl FnOnce(&Client) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let name = self.name.clone();
        let task = move |clients: &mut OpenClients| {
            let answer = clients.client(store, name).and_then(query);
            // Sending fails if the client has disconnected.
            let _ = reply.send(answer);
        };
        let gone = || Error::internal("the operation failed unexpectedly").hint("standard error says where");
        self.tasks.send(Box::new(task)).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

impl StoreCalls for StoreCaller {
    async fn call<O>(&self, op: O) -> Result<O::Output>
    where
        O: Execute,
        O::Output: Send,
    {
        self.query(StoreChoice::of(O::NAME), move |client| client.call(&op)).await
    }

    async fn actor(&self) -> Result<String> {
        self.query(StoreChoice::Project, |client| Ok(client.actor())).await
    }

    async fn files_at_hand(&self) -> Vec<String> {
        let changed = |_: &Client| Ok(pensa_git::changed_files(&connect::cwd()?, MAX_FILES));
        self.query(StoreChoice::Project, changed).await.unwrap_or_default()
    }
}

/// Which store an operation uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoreChoice {
    Project,
    /// The store of agents and sessions: without a project, the user's store.
    Agents,
}

impl StoreChoice {
    fn of(operation: &str) -> Self {
        if operation.starts_with("session.") { StoreChoice::Agents } else { StoreChoice::Project }
    }
}

/// Handles on the stores, owned by a thread of their own because calls block on disk and network.
struct OpenClients {
    options: GlobalOptions,
    project: Option<Client>,
    agents: Option<Client>,
}

impl OpenClients {
    fn work(mut self, queue: &Receiver<ClientTask>) {
        while let Ok(task) = queue.recv() {
            // A panic in one call must not end the others; its caller gets an error because the reply is dropped.
            if panic::catch_unwind(AssertUnwindSafe(|| task(&mut self))).is_err() {
                (self.project, self.agents) = (None, None);
            }
        }
    }

    fn client(&mut self, store: StoreChoice, name: Option<String>) -> Result<&Client> {
        let open = match store {
            StoreChoice::Project => &mut self.project,
            StoreChoice::Agents => &mut self.agents,
        };
        match open.take().filter(|client| !client.is_orphaned()) {
            Some(client) => Ok(open.insert(client)),
            None => {
                let options = options_for_client(&self.options, name)?;
                Ok(open.insert(match store {
                    StoreChoice::Project => connect::client(&options)?,
                    StoreChoice::Agents => connect::client_for_agents(&options)?,
                }))
            }
        }
    }
}

/// The options for a client: its name is the actor unless the user has set one.
fn options_for_client(options: &GlobalOptions, name: Option<String>) -> Result<GlobalOptions> {
    // Settings are loaded again, because the files may have changed.
    let mut options = GlobalOptions { config: Default::default(), ..options.clone() };
    if name.is_some() && connect::config(&options)?.text(&config::ACTOR)?.is_none() {
        options = GlobalOptions { actor: name, config: Default::default(), ..options };
    }
    Ok(options)
}
