//! The protocol on standard input and output: one message a line, and nothing else on standard output.

use std::io::{self, BufRead, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use pensa_core::{Error, Result, json, text};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::{RequestContext, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{RoleServer, ServiceExt};
use tokio::sync::mpsc;

use super::Calls;
use super::frame::{self, Frame};
use super::handler::{Handler, Host};

/// Messages that are read before the first of them is taken up.
const AHEAD: usize = 16;

/// Serves until standard input ends. `calls` makes a caller of the name that the client has given, if it has one.
pub fn serve_stdio<C, F>(calls: F) -> Result<()>
where
    C: Calls,
    F: Fn(Option<String>) -> C + Send + Sync + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(Error::internal)?;
    let (lines, input) = mpsc::channel(AHEAD);
    let output = Output::default();
    let told = output.clone();
    thread::Builder::new()
        .name("pensa-mcp-input".into())
        .spawn(move || read_all(&mut io::stdin().lock(), &lines, &told))
        .map_err(Error::internal)?;
    let handler = Handler { host: Named(calls) };
    runtime.block_on(async {
        let pipes = Pipes { input, output, begun: false };
        match handler.serve(pipes).await {
            Ok(serving) => serving.waiting().await.map(drop).map_err(Error::internal),
            // A client that leaves before it has said anything is no error.
            Err(_) => Ok(()),
        }
    })
}

/// Knows callers by the name of their client.
#[derive(Debug, Clone)]
struct Named<F>(F);

impl<C, F> Host for Named<F>
where
    C: Calls,
    F: Fn(Option<String>) -> C + Send + Sync + 'static,
{
    type Calls = C;

    fn calls(&self, context: &RequestContext<RoleServer>) -> Result<C> {
        let name = context.client_info().map(|client| client.name);
        let name = name.and_then(|name| text::line("actor", &name).ok().map(str::to_owned));
        Ok((self.0)(name))
    }
}

/// Reads messages until there are no more, or nobody wants them.
fn read_all(input: &mut impl BufRead, lines: &mpsc::Sender<ClientJsonRpcMessage>, output: &Output) {
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
                // It broke off.
                return;
            }
            let _ = output.write(&frame::too_large());
            if skip_line(input).is_err() {
                return;
            }
            continue;
        }
        match frame::read(&line) {
            Frame::Message(message) => {
                if lines.blocking_send(*message).is_err() {
                    return;
                }
            }
            Frame::Refused(answer) => {
                let _ = output.write(&answer);
            }
            Frame::Nothing => {}
        }
    }
}

/// Passes over the rest of a line without keeping it.
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

/// Standard output, a whole line at a time.
#[derive(Debug, Clone, Default)]
struct Output(Arc<Mutex<()>>);

impl Output {
    fn write(&self, message: &ServerJsonRpcMessage) -> io::Result<()> {
        let mut line = json::to_line(message).map_err(io::Error::other)?;
        line.push('\n');
        let _one_at_a_time = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stdout = io::stdout().lock();
        stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush())
    }
}

/// The two ends of a conversation.
#[derive(Debug)]
struct Pipes {
    input: mpsc::Receiver<ClientJsonRpcMessage>,
    output: Output,
    /// Whether a request has come: what comes before is about nothing.
    begun: bool,
}

impl Transport<RoleServer> for Pipes {
    type Error = io::Error;

    fn send(&mut self, item: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        // One client reads, and it waits for this: nothing is held up that could go on.
        std::future::ready(self.output.write(&item))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = self.input.recv().await?;
            self.begun |= matches!(message, ClientJsonRpcMessage::Request(_));
            if self.begun {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}
