//! The messages between us and PostgreSQL: those out are gathered until they are sent together, those in are awaited
//! for a bounded time.
//!
//! What they mean is left to the dialogue, and how the first of them go to the greeting.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::time::Duration;

use bytes::BytesMut;
use postgres_protocol::message::backend::Message;
use rustls::{ClientConnection, StreamOwned};

/// Bytes taken from the socket at a time.
const CHUNK: usize = 16 * 1024;
/// Room that is kept for what is sent next.
const ROOM: usize = 1 << 20;
/// What is waited for is waited for at least this long: to the system, no time at all is for ever.
const LEAST: Duration = Duration::from_millis(1);

/// What the bytes travel through.
#[derive(Debug)]
pub(super) enum Way {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Way {
    fn give_up_after(&self, time: Duration) -> io::Result<()> {
        let time = Some(time.max(LEAST));
        match self {
            Way::Tcp(socket) => socket.set_read_timeout(time).and_then(|()| socket.set_write_timeout(time)),
            #[cfg(unix)]
            Way::Unix(socket) => socket.set_read_timeout(time).and_then(|()| socket.set_write_timeout(time)),
            Way::Tls(tls) => tls.sock.set_read_timeout(time).and_then(|()| tls.sock.set_write_timeout(time)),
        }
    }
}

impl Read for Way {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Way::Tcp(socket) => socket.read(into),
            #[cfg(unix)]
            Way::Unix(socket) => socket.read(into),
            Way::Tls(tls) => tls.read(into),
        }
    }
}

impl Write for Way {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match self {
            Way::Tcp(socket) => socket.write(from),
            #[cfg(unix)]
            Way::Unix(socket) => socket.write(from),
            Way::Tls(tls) => tls.write(from),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Way::Tcp(_) => Ok(()),
            #[cfg(unix)]
            Way::Unix(_) => Ok(()),
            Way::Tls(tls) => tls.flush(),
        }
    }
}

/// Whether nothing came, or could be sent, in time. All that did is kept.
pub(super) fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

#[derive(Debug)]
pub(super) struct Wire {
    way: Way,
    /// How long the system waits before it says that it is late.
    patience: Option<Duration>,
    /// What is yet to be sent, and how much of it was.
    pub(super) out: BytesMut,
    sent: usize,
    came: BytesMut,
    chunk: Box<[u8]>,
}

impl Wire {
    pub(super) fn new(way: Way) -> Self {
        let chunk = vec![0; CHUNK].into_boxed_slice();
        Self { way, patience: None, out: BytesMut::new(), sent: 0, came: BytesMut::new(), chunk }
    }

    /// The way itself, as long as nothing has come that was not asked for.
    pub(super) fn into_way(self) -> Way {
        self.way
    }

    fn give_up_after(&mut self, time: Duration) -> io::Result<()> {
        if self.patience != Some(time) {
            self.way.give_up_after(time)?;
            self.patience = Some(time);
        }
        Ok(())
    }

    /// Sends all that was gathered. If it is late, the next call goes on.
    pub(super) fn send(&mut self, patience: Duration) -> io::Result<()> {
        self.give_up_after(patience)?;
        while self.sent < self.out.len() {
            match self.way.write(&self.out[self.sent..]) {
                Ok(0) => return Err(closed()),
                Ok(some) => self.sent += some,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        self.way.flush()?;
        self.sent = 0;
        if self.out.capacity() > ROOM {
            self.out = BytesMut::new();
        }
        self.out.clear();
        Ok(())
    }

    /// The next message.
    pub(super) fn receive(&mut self, patience: Duration) -> io::Result<Message> {
        loop {
            if let Some(message) = Message::parse(&mut self.came)? {
                return Ok(message);
            }
            self.take_some(patience)?;
        }
    }

    /// One byte that is no message, of a server that says nothing else before it is answered.
    pub(super) fn receive_byte(&mut self, patience: Duration) -> io::Result<u8> {
        self.give_up_after(patience)?;
        let mut byte = [0];
        self.way.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    fn take_some(&mut self, patience: Duration) -> io::Result<()> {
        self.give_up_after(patience)?;
        let some = loop {
            match self.way.read(&mut self.chunk) {
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                some => break some?,
            }
        };
        if some == 0 {
            return Err(closed());
        }
        self.came.extend_from_slice(&self.chunk[..some]);
        Ok(())
    }
}

fn closed() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "the server closed the connection")
}
