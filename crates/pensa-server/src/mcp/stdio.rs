//! Serves MCP on standard input and output, one message per line; nothing else is written to standard output.

use std::io::{self, BufRead, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use pensa_core::{Error, Result, json, text};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::{RequestContext as McpContext, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{RoleServer, ServiceExt};
use tokio::sync::mpsc;

use super::StoreCalls;
use super::frame::{self, RpcFrame};
use super::handler::{Handler, StoreFinder};

/// Maximum messages that wait to be handled.
const QUEUED_MESSAGES: usize = 16;

/// Serves until standard input ends. `calls` makes the caller from the client's name, if it sent one.
pub fn serve_stdio<C, F>(calls: F) -> Result<()>
where
    C: StoreCalls,
    F: Fn(Option<String>) -> C + Send + Sync + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(Error::internal)?;
    let (lines, input) = mpsc::channel(QUEUED_MESSAGES);
    let output = LineWriter::default();
    let error_output = output.clone();
    thread::Builder::new()
        .name("pensa-mcp-input".into())
        .spawn(move || read_all(&mut io::stdin().lock(), &lines, &error_output))
        .map_err(Error::internal)?;
    let handler = Handler { stores: ClientsByName(calls) };
    runtime.block_on(async {
        let pipes = StdioTransport { input, output, is_initialized: false };
        match handler.serve(pipes).await {
            Ok(serving) => serving.waiting().await.map(drop).map_err(Error::internal),
            // A client that disconnects before the handshake is not an error.
            Err(_) => Ok(()),
        }
    })
}

/// Identifies callers by the name of their client.
#[derive(Debug, Clone)]
struct ClientsByName<F>(F);

impl<C, F> StoreFinder for ClientsByName<F>
where
    C: StoreCalls,
    F: Fn(Option<String>) -> C + Send + Sync + 'static,
{
    type StoreCalls = C;

    fn find(&self, context: &McpContext<RoleServer>) -> Result<C> {
        let name = context.client_info().map(|client| client.name);
        let name = name.and_then(|name| text::line("actor", &name).ok().map(str::to_owned));
        Ok((self.0)(name))
    }
}

/// Reads messages until the input ends or the receiver is dropped.
fn read_all(input: &mut impl BufRead, lines: &mpsc::Sender<ClientJsonRpcMessage>, output: &LineWriter) {
    let mut line = Vec::new();
    loop {
        line.clear();
        let limit = frame::MAX_BYTES as u64 + 1;
        match input.by_ref().take(limit).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if line.last() != Some(&b'\n') {
            if line.len() <= frame::MAX_BYTES {
                // The input ended in the middle of a line.
                return;
            }
            let _ = output.write(&frame::too_large());
            if skip_line(input).is_err() {
                return;
            }
            continue;
        }
        match frame::read(&line) {
            RpcFrame::Message(message) => {
                if lines.blocking_send(*message).is_err() {
                    return;
                }
            }
            RpcFrame::Refused(answer) => {
                let _ = output.write(&answer);
            }
            RpcFrame::Nothing => {}
        }
    }
}

/// Discards the rest of a line.
fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let (end, len) = (buffer.iter().position(|byte| *byte == b'\n'), buffer.len());
        input.consume(end.map_or(len, |end| end + 1));
        if end.is_some() || len == 0 {
            return Ok(());
        }
    }
}

/// Writes whole lines to standard output.
#[derive(Debug, Clone, Default)]
struct LineWriter(Arc<Mutex<()>>);

impl LineWriter {
    fn write(&self, message: &ServerJsonRpcMessage) -> io::Result<()> {
        let mut line = json::to_line(message).map_err(io::Error::other)?;
        line.push('\n');
        let _one_at_a_time = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stdout = io::stdout().lock();
        stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush())
    }
}

/// Both directions of the connection.
#[derive(Debug)]
struct StdioTransport {
    input: mpsc::Receiver<ClientJsonRpcMessage>,
    output: LineWriter,
    /// Whether a request has arrived; notifications before it are dropped.
    is_initialized: bool,
}

impl Transport<RoleServer> for StdioTransport {
    type Error = io::Error;

    fn send(&mut self, item: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        // Blocking is fine: there is only one client, and it waits for this message.
        std::future::ready(self.output.write(&item))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = self.input.recv().await?;
            self.is_initialized |= matches!(message, ClientJsonRpcMessage::Request(_));
            if self.is_initialized {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}
