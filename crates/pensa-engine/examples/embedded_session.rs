//! The engine as the memory of a program in the same process: adds entries of a file one by one, each durably, reads all
//! of them again and again, and prints how often it could do either in a second. The bench compares that with others.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Instant;

use pensa_core::agent::AgentType;
use pensa_core::id::{AgentRef, EntriesRef};
use pensa_core::ops::agent::{Create, SessionLinks};
use pensa_core::ops::session::{Append, History};
use pensa_core::session::{Entry, NewEntry};
use pensa_engine::{Engine, StoreDir};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [entries, store, gets] => measure(&fs::read_to_string(entries)?, Path::new(store), gets.parse()?),
        _ => Err("embedded_session ENTRIES STORE GETS".into()),
    }
}

fn measure(entries: &str, store: &Path, gets: usize) -> Result<(), Box<dyn Error>> {
    let entries = entries.lines().map(NewEntry::from_line).collect::<Result<Vec<_>, _>>()?;
    let engine = Engine::open(StoreDir::at(store)?)?;
    let agent = engine.call(
        "bench",
        &Create {
            agent_type: AgentType::User,
            name: None,
            parent: None,
            descriptor: None,
            permissions: None,
            session: SessionLinks::default(),
        },
    )?;
    let start = Instant::now();
    for entry in &entries {
        let entries = vec![entry.clone()];
        engine.call("bench", &Append { id: AgentRef::from(&agent.id), entries, no_redact: false })?;
    }
    let added = start.elapsed();
    let session: EntriesRef = agent.id.as_str().parse()?;
    let (start, mut got): (_, Vec<Entry>) = (Instant::now(), Vec::new());
    for _ in 0..gets {
        got =
            engine.call("bench", &History { id: session.clone(), all: false, after: None, skip: None, limit: None })?;
    }
    let read = start.elapsed();
    if !got.iter().map(|entry| &entry.data).eq(entries.iter().map(|entry| &entry.data)) {
        return Err("other entries came back than were given".into());
    }
    let rate = |count: usize, time: std::time::Duration| count as f64 / time.as_secs_f64();
    println!("{}", json!({"add": rate(entries.len(), added), "get": rate(gets, read)}));
    Ok(())
}
