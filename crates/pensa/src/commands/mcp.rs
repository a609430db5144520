//! `pn mcp`: the tools for models, on standard input and output.
//!
//! The store is opened when it is first asked for, so a project that is made later is found, and one that is missing is
//! told as the answer to a call. What the tools are is left to the server.

use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use pensa_client::Client;
use pensa_client::config;
use pensa_core::{Error, Result};
use pensa_engine::Execute;
use pensa_server::mcp::{Calls, serve_stdio};
use tokio::sync::oneshot;

use crate::cli::Options;
use crate::connect;

/// Something to be done where the store is.
type Job = Box<dyn FnOnce(&mut Clients) + Send>;

pub(super) fn run(options: &Options) -> Result<()> {
    let (jobs, queue) = mpsc::channel();
    let options = options.clone();
    let work = move || Clients { options, project: None, agents: None }.work(&queue);
    let worker = thread::Builder::new().name("pensa-mcp".into()).spawn(work);
    worker.map_err(Error::internal)?;
    serve_stdio(move |name| Caller { jobs: jobs.clone(), name })
}

/// The store as the client of a given name has it.
#[derive(Debug)]
struct Caller {
    jobs: Sender<Job>,
    name: Option<String>,
}

impl Caller {
    async fn ask<T: Send + 'static>(
        &self,
        place: Place,
        ask: impl FnOnce(&Client) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let name = self.name.clone();
        let job = move |clients: &mut Clients| {
            let answer = clients.client(place, name).and_then(ask);
            // A client that has left needs no answer.
            let _ = reply.send(answer);
        };
        let gone = || Error::internal("the operation failed unexpectedly").hint("standard error says where");
        self.jobs.send(Box::new(job)).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

impl Calls for Caller {
    async fn call<O>(&self, op: O) -> Result<O::Output>
    where
        O: Execute,
        O::Output: Send,
    {
        self.ask(Place::of(O::NAME), move |client| client.call(&op)).await
    }

    async fn actor(&self) -> Result<String> {
        self.ask(Place::Project, |client| Ok(client.actor())).await
    }
}

/// Where an operation finds its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Project,
    /// Without a project, the user's own store.
    Agents,
}

impl Place {
    fn of(operation: &str) -> Self {
        if operation.starts_with("session.") { Place::Agents } else { Place::Project }
    }
}

/// The handles on stores, on a thread of their own because they wait for disks and networks.
struct Clients {
    options: Options,
    project: Option<Client>,
    agents: Option<Client>,
}

impl Clients {
    fn work(mut self, queue: &Receiver<Job>) {
        while let Ok(job) = queue.recv() {
            // One bad call must not take the others with it; its caller learns that no answer comes.
            if panic::catch_unwind(AssertUnwindSafe(|| job(&mut self))).is_err() {
                (self.project, self.agents) = (None, None);
            }
        }
    }

    fn client(&mut self, place: Place, name: Option<String>) -> Result<&Client> {
        let open = match place {
            Place::Project => &mut self.project,
            Place::Agents => &mut self.agents,
        };
        match open.take().filter(|client| !client.is_orphaned()) {
            Some(client) => Ok(open.insert(client)),
            None => {
                let options = as_named(&self.options, name)?;
                Ok(open.insert(match place {
                    Place::Project => connect::client(&options)?,
                    Place::Agents => connect::client_for_agents(&options)?,
                }))
            }
        }
    }
}

/// Options under which changes are made by the user's own setting, or else in the name of the client.
fn as_named(options: &Options, name: Option<String>) -> Result<Options> {
    // Read anew: files of settings may have come or gone since.
    let mut options = Options { config: Default::default(), ..options.clone() };
    if name.is_some() && connect::config(&options)?.text(&config::ACTOR)?.is_none() {
        options = Options { actor: name, config: Default::default(), ..options };
    }
    Ok(options)
}
