//! Tests the daemon over real HTTP connections, each test with its own server.

mod daemon;
mod guard;
mod limits;
mod openapi;
mod operations;
