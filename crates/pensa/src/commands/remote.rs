//! `pn remote`: manages named servers; `pensa_client::Remotes` stores them.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use pensa_client::{RemoteEntry, RemoteName, Remotes, Token, check_authorities};
use pensa_core::{Error, Result};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use serde::Serialize;

use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum RemoteCommand {
    Add(RemoteAddArgs),
    /// List the servers that have names
    List,
    /// Remove a server and its token
    Remove {
        /// The name of the server
        #[arg(value_name = "NAME")]
        name: RemoteName,
    },
}

/// Give a server a name, for PN_DAEMON and --remote-server
///
/// Asks for the token of the server without echo. Name and token are stored in a file of your own, outside any
/// repository.
#[derive(Debug, Args)]
pub(crate) struct RemoteAddArgs {
    /// The name: letters, digits, - and _
    #[arg(value_name = "NAME")]
    pub(crate) name: RemoteName,
    /// Its address, such as https://pensa.example.com/p/web
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Read the token from standard input instead of asking for it
    #[arg(long)]
    pub(crate) token_stdin: bool,
    /// The server needs no token
    #[arg(long, conflicts_with = "token_stdin")]
    pub(crate) no_token: bool,
    /// A PEM file with the certificate authorities to trust for this server, instead of the usual ones
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_cert: Option<PathBuf>,
}

/// Longer than any token.
const MAX_INPUT: u64 = 64 * 1024;

/// The byte a terminal sends for Ctrl-C.
const CTRL_C: u8 = 3;

/// What is printed of a remote: whether it has a token, never the token.
#[derive(Debug, Serialize)]
struct RemoteInfo {
    name: String,
    url: String,
    has_token: bool,
}

#[derive(Debug, Serialize)]
struct RemovedRemote {
    /// Always `removed`
    status: &'static str,
    name: String,
}

pub(super) fn run(output: Output, command: &RemoteCommand) -> Result<()> {
    let remotes = connect::remotes()?;
    match command {
        RemoteCommand::Add(args) => add(&remotes, output, args),
        RemoteCommand::List => {
            let all = remotes.list()?;
            output.answer(&all.iter().map(|(name, entry)| remote_info(name, entry)).collect::<Vec<_>>())
        }
        RemoteCommand::Remove { name } => {
            remotes.remove(name)?;
            output.answer(&RemovedRemote { status: "removed", name: name.to_string() })
        }
    }
}

fn add(remotes: &Remotes, output: Output, args: &RemoteAddArgs) -> Result<()> {
    let ca_cert = args.ca_cert.as_ref().map(|file| connect::cwd().map(|cwd| cwd.join(file))).transpose()?;
    if let Some(file) = &ca_cert {
        check_authorities(file)?;
    }
    let mut entry = RemoteEntry { url: args.url.clone(), token: None, ca_cert };
    // Checked before the user types the token.
    remotes.check(&args.name, &entry)?;
    entry.token = match (args.no_token, args.token_stdin) {
        (true, _) => None,
        (false, true) => Some(from_stdin()?),
        (false, false) => Some(from_terminal(&args.name)?),
    };
    remotes.add(&args.name, &entry)?;
    output.answer(&remote_info(&args.name, &remotes.get(&args.name)?))
}

fn remote_info(name: &RemoteName, entry: &RemoteEntry) -> RemoteInfo {
    RemoteInfo { name: name.to_string(), url: entry.url.clone(), has_token: entry.token.is_some() }
}

fn from_stdin() -> Result<Token> {
    let mut text = String::new();
    io::stdin().lock().take(MAX_INPUT).read_to_string(&mut text).map_err(unreadable)?;
    text.parse()
}

/// Asks for the token on the terminal, without echo.
fn from_terminal(name: &RemoteName) -> Result<Token> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return Err(Error::invalid("there is no terminal to ask for the token")
            .hint("pipe it to pn remote add --token-stdin, or say --no-token if the server wants none"));
    }
    let no_echo = NoEcho::new(&stdin)?;
    let _ = write!(io::stderr(), "token for {name}: ");
    let line = read_line(&mut stdin.lock());
    drop(no_echo);
    // The line break was not echoed either.
    let _ = writeln!(io::stderr());
    let line = line?;
    if line.contains(&CTRL_C) {
        return Err(Error::invalid("interrupted").hint("nothing was kept"));
    }
    String::from_utf8(line).map_err(|_| Error::invalid("the token is not UTF-8"))?.parse()
}

/// Reads a line; ends also at Ctrl-C, which is included.
fn read_line(from: &mut impl BufRead) -> Result<Vec<u8>> {
    let mut line = Vec::new();
    for byte in from.take(MAX_INPUT).bytes() {
        match byte.map_err(unreadable)? {
            b'\n' => break,
            CTRL_C => {
                line.push(CTRL_C);
                break;
            }
            byte => line.push(byte),
        }
    }
    Ok(line)
}

fn unreadable(e: io::Error) -> Error {
    Error::internal(format!("cannot read the token: {e}"))
}

/// Turns off the echo of a terminal until dropped.
struct NoEcho<'a, T: AsFd> {
    terminal: &'a T,
    before: Termios,
}

impl<'a, T: AsFd> NoEcho<'a, T> {
    fn new(terminal: &'a T) -> Result<Self> {
        let failed = |e: rustix::io::Errno| Error::internal(format!("cannot silence the terminal: {e}"));
        let before = tcgetattr(terminal).map_err(failed)?;
        let mut no_echo = before.clone();
        // Ctrl-C must not kill the process, which would leave the terminal without echo: here it ends the line.
        no_echo.local_modes -= LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ISIG;
        no_echo.special_codes[SpecialCodeIndex::VEOL] = CTRL_C;
        tcsetattr(terminal, OptionalActions::Flush, &no_echo).map_err(failed)?;
        Ok(Self { terminal, before })
    }
}

impl<T: AsFd> Drop for NoEcho<'_, T> {
    fn drop(&mut self) {
        let _ = tcsetattr(self.terminal, OptionalActions::Now, &self.before);
    }
}

impl Render for RemoteInfo {
    fn render(&self, screen: &mut Screen) {
        screen.id(&self.name).plain(" ").text(&self.url);
        if !self.has_token {
            screen.plain(" ").faint("without a token");
        }
        screen.end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.name.clone()]
    }
}

impl Render for Vec<RemoteInfo> {
    fn render(&self, screen: &mut Screen) {
        for remote_info in self {
            remote_info.render(screen);
        }
        if self.is_empty() {
            screen.faint("no remotes").end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|remote_info| remote_info.name.clone()).collect()
    }
}

impl Render for RemovedRemote {
    fn render(&self, screen: &mut Screen) {
        screen.plain("removed ").id(&self.name).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.name.clone()]
    }
}
