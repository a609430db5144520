//! The server as its clients see it: a real one, on a port of its own, for every test.

mod daemon;
mod guard;
mod limits;
mod openapi;
mod operations;
