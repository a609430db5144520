//! Serves a store of many issues, and beside it a bare axum handler that returns the same bytes, for a load
//! generator to compare:
//!
//! ```text
//! cargo run --release -p pensa-server --example throughput -- 100000
//! wrk -t2 -c32 -d10s http://127.0.0.1:PORT/...
//! ```

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use pensa_core::ops::batch::Batch;
use pensa_core::ops::comment;
use pensa_engine::{Engine, StoreDir};
use pensa_server::{Options, Server};
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let issues: usize = std::env::args().nth(1).map_or(Ok(1_000), |text| text.parse())?;
    let dir = tempfile::tempdir()?;
    let (store, _) = StoreDir::create(&dir.path().join(StoreDir::NAME))?;
    let engine = Engine::open(store)?;
    let id = fill(&engine, issues)?;
    let server = Server::bind(engine, Options { listen: ([127, 0, 0, 1], 0).into(), allowed_hosts: Vec::new() })?;
    let address = server.local_addr();
    let serving = thread::spawn(move || server.serve());

    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET /issues/{id} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let body = answer.split("\r\n\r\n").nth(1).unwrap_or_default().to_owned();
    println!("pensa http://{address}/issues/{id}  ({} bytes)", body.len());
    let bare_runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    bare_runtime.spawn(bare(body));
    Ok(serving.join().map_err(|_| "the server panicked")??)
}

fn fill(engine: &Engine, issues: usize) -> Result<String, Box<dyn std::error::Error>> {
    let mut id = String::new();
    for start in (0..issues).step_by(10_000) {
        let operations: Vec<_> = (start..issues.min(start + 10_000))
            .map(|n| {
                json!({"op": "issue.create", "title": format!("issue number {n}"), "issue_type": "task",
                    "description": "What is to be done, in a few words of ordinary length."})
            })
            .collect();
        let batch: Batch = serde_json::from_value(json!({"operations": operations}))?;
        let made = engine.call("bench", &batch)?;
        id = made.last().and_then(|made| made["id"].as_str()).unwrap_or_default().to_owned();
    }
    let add: comment::Add = serde_json::from_value(json!({"id": id, "text": "seen, and reproduced"}))?;
    engine.call("bench", &add)?;
    Ok(id)
}

async fn bare(body: String) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("bare  http://{}/issues/x", listener.local_addr()?);
    let handler = move || std::future::ready(([(CONTENT_TYPE, "application/json")], body.clone()));
    axum::serve(listener, Router::new().route("/issues/{id}", get(handler))).await
}
