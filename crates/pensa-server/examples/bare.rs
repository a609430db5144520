//! A minimal HTTP server that returns the bytes of a file: the baseline for `cargo xtask bench`.

use std::error::Error;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: bare FILE")?;
    let body: &'static [u8] = std::fs::read(path)?.leak();
    let app =
        Router::new().route("/issues/{id}", get(move || async move { ([(CONTENT_TYPE, "application/json")], body) }));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("{{\"url\":\"http://{}\"}}", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}
