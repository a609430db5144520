//! `pn remote`: names for servers. The file that keeps them is the client's business.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::os::fd::AsFd;

use pensa_client::{RemoteEntry, RemoteName, Remotes, Token, check_authorities};
use pensa_core::{Error, Result};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use serde::Serialize;

use crate::cli::{Remote, RemoteAdd};
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

/// More than any token has.
const MAX_INPUT: u64 = 64 * 1024;
/// What a terminal sends for Ctrl-C.
const CTRL_C: u8 = 3;

/// What may be told about a remote: whether it has a token, never which.
#[derive(Debug, Serialize)]
struct Known {
    name: String,
    url: String,
    has_token: bool,
}

#[derive(Debug, Serialize)]
struct Removed {
    /// Always `removed`
    status: &'static str,
    name: String,
}

pub(super) fn run(output: Output, command: &Remote) -> Result<()> {
    let remotes = connect::remotes()?;
    match command {
        Remote::Add(args) => add(&remotes, output, args),
        Remote::List => {
            let all = remotes.list()?;
            output.answer(&all.iter().map(|(name, entry)| known(name, entry)).collect::<Vec<_>>())
        }
        Remote::Remove { name } => {
            remotes.remove(name)?;
            output.answer(&Removed { status: "removed", name: name.to_string() })
        }
    }
}

fn add(remotes: &Remotes, output: Output, args: &RemoteAdd) -> Result<()> {
    let ca_cert = args.ca_cert.as_ref().map(|file| connect::cwd().map(|cwd| cwd.join(file))).transpose()?;
    if let Some(file) = &ca_cert {
        check_authorities(file)?;
    }
    let mut entry = RemoteEntry { url: args.url.clone(), token: None, ca_cert };
    // Before anybody types a secret.
    remotes.check(&args.name, &entry)?;
    entry.token = match (args.no_token, args.token_stdin) {
        (true, _) => None,
        (false, true) => Some(from_stdin()?),
        (false, false) => Some(from_terminal(&args.name)?),
    };
    remotes.add(&args.name, &entry)?;
    output.answer(&known(&args.name, &remotes.get(&args.name)?))
}

fn known(name: &RemoteName, entry: &RemoteEntry) -> Known {
    Known { name: name.to_string(), url: entry.url.clone(), has_token: entry.token.is_some() }
}

fn from_stdin() -> Result<Token> {
    let mut text = String::new();
    io::stdin().lock().take(MAX_INPUT).read_to_string(&mut text).map_err(unreadable)?;
    text.parse()
}

/// Asks for the token where nobody looking at the screen sees it.
fn from_terminal(name: &RemoteName) -> Result<Token> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return Err(Error::invalid("there is no terminal to ask for the token")
            .hint("pipe it to pn remote add --token-stdin, or say --no-token if the server wants none"));
    }
    let quiet = Quiet::new(&stdin)?;
    let _ = write!(io::stderr(), "token for {name}: ");
    let line = read_line(&mut stdin.lock());
    drop(quiet);
    // The end of the line was not shown either.
    let _ = writeln!(io::stderr());
    let line = line?;
    if line.contains(&CTRL_C) {
        return Err(Error::invalid("interrupted").hint("nothing was kept"));
    }
    String::from_utf8(line).map_err(|_| Error::invalid("the token is not UTF-8"))?.parse()
}

/// A line of a terminal, which ends with whatever the terminal takes for an end.
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

/// A terminal that does not show what is typed, until this is dropped.
struct Quiet<'a, T: AsFd> {
    terminal: &'a T,
    before: Termios,
}

impl<'a, T: AsFd> Quiet<'a, T> {
    fn new(terminal: &'a T) -> Result<Self> {
        let failed = |e: rustix::io::Errno| Error::internal(format!("cannot silence the terminal: {e}"));
        let before = tcgetattr(terminal).map_err(failed)?;
        let mut quiet = before.clone();
        // Ctrl-C must not end the process, or nobody would undo this: here it ends the line.
        quiet.local_modes -= LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ISIG;
        quiet.special_codes[SpecialCodeIndex::VEOL] = CTRL_C;
        tcsetattr(terminal, OptionalActions::Flush, &quiet).map_err(failed)?;
        Ok(Self { terminal, before })
    }
}

impl<T: AsFd> Drop for Quiet<'_, T> {
    fn drop(&mut self) {
        let _ = tcsetattr(self.terminal, OptionalActions::Now, &self.before);
    }
}

impl Render for Known {
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

impl Render for Vec<Known> {
    fn render(&self, screen: &mut Screen) {
        for known in self {
            known.render(screen);
        }
        if self.is_empty() {
            screen.faint("no remotes").end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|known| known.name.clone()).collect()
    }
}

impl Render for Removed {
    fn render(&self, screen: &mut Screen) {
        screen.plain("removed ").id(&self.name).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.name.clone()]
    }
}
