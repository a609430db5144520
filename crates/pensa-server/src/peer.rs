//! Determines whether a connection comes from the same user of this machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::OnceLock;

/// Both addresses of a connection, and the cached answer.
#[derive(Debug)]
pub(crate) struct Peer {
    remote: SocketAddr,
    local: SocketAddr,
    same_user: OnceLock<bool>,
}

impl Peer {
    pub(crate) fn new(remote: SocketAddr, local: SocketAddr) -> Self {
        Self { remote: canonical(remote), local: canonical(local), same_user: OnceLock::new() }
    }

    /// Whether the other end belongs to the user who runs this process, according to the kernel. Looked up at most once
    /// per connection, at the first request without a token.
    pub(crate) fn is_same_user(&self) -> bool {
        *self.same_user.get_or_init(|| {
            self.remote.ip().is_loopback() && kernel::owner(self.remote, self.local).is_some_and(kernel::is_us)
        })
    }
}

/// Converts IPv4-mapped IPv6 addresses to IPv4.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(target_os = "linux")]
mod kernel {
    use std::fs::File;
    use std::io::{BufRead, BufReader};

    use super::{SocketAddr, row_owner};

    /// The kernel shows this uid for every user without a mapping in this user namespace, so it identifies nobody.
    const OVERFLOW_UID: u32 = 65_534;

    /// The uid of the socket from `remote` to `local`.
    pub(super) fn owner(remote: SocketAddr, local: SocketAddr) -> Option<u32> {
        ["/proc/net/tcp", "/proc/net/tcp6"].into_iter().find_map(|table| {
            let mut rows = BufReader::with_capacity(1 << 15, File::open(table).ok()?);
            let mut row = String::with_capacity(256);
            while rows.read_line(&mut row).ok()? > 0 {
                if let Some(uid) = row_owner(&row, remote, local) {
                    return Some(uid);
                }
                row.clear();
            }
            None
        })
    }

    pub(super) fn is_us(uid: u32) -> bool {
        uid == rustix::process::geteuid().as_raw() && uid != OVERFLOW_UID
    }
}

#[cfg(not(target_os = "linux"))]
mod kernel {
    use super::SocketAddr;

    pub(super) fn owner(_: SocketAddr, _: SocketAddr) -> Option<u32> {
        None
    }

    pub(super) fn is_us(_: u32) -> bool {
        false
    }
}

/// The uid in a row of `/proc/net/tcp`; `None` if the row describes another socket.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux has such a table"))]
fn row_owner(row: &str, remote: SocketAddr, local: SocketAddr) -> Option<u32> {
    let mut columns = row.split_ascii_whitespace().skip(1);
    if parse_address(columns.next()?)? != remote || parse_address(columns.next()?)? != local {
        return None;
    }
    let uid = columns.nth(4)?.parse().ok()?;
    // A socket without inode was closed by its process; its uid is shown as 0, which does not mean root.
    let inode: u64 = columns.nth(1)?.parse().ok()?;
    (inode != 0).then_some(uid)
}

/// Parses `0100007F:1D6D`: 32-bit words of the address in native byte order, then the port.
fn parse_address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| Some(u32::from_str_radix(address.get(at * 8..at * 8 + 8)?, 16).ok()?.to_ne_bytes());
    let address: IpAddr = match address.len() {
        8 => Ipv4Addr::from(word(0)?).into(),
        32 => {
            let mut bytes = [0; 16];
            for (at, chunk) in bytes.chunks_exact_mut(4).enumerate() {
                chunk.copy_from_slice(&word(at)?);
            }
            Ipv6Addr::from(bytes).into()
        }
        _ => return None,
    };
    Some(canonical(SocketAddr::new(address, port)))
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;

    const ROW: &str =
        " 7: 0100007F:D431 0100007F:1D6D 01 00000000:00000000 00:00000000 00000000  1000        0 81234 1 0";

    fn at(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn owner_is_read_from_the_row_of_this_socket() {
        let (remote, local) = (at("127.0.0.1:54321"), at("127.0.0.1:7533"));
        assert_eq!(row_owner(ROW, remote, local), Some(1000));
        assert_eq!(row_owner(ROW, local, remote), None, "that is our own end");
        assert_eq!(row_owner(ROW, at("127.0.0.1:54322"), local), None);
        assert_eq!(row_owner("  sl  local_address rem_address   st", remote, local), None);
    }

    #[test]
    fn a_socket_without_a_process_has_no_owner() {
        let row = ROW.replace("81234", "0").replace("1000", "0");
        assert_eq!(row_owner(&row, at("127.0.0.1:54321"), at("127.0.0.1:7533")), None);
    }

    #[test]
    fn ipv4_and_ipv6_addresses_are_parsed() {
        for (text, address) in [
            ("00000000000000000000000001000000:1D6D", "[::1]:7533"),
            ("0000000000000000FFFF00000100007F:1D6D", "127.0.0.1:7533"),
            ("0100007F:0050", "127.0.0.1:80"),
        ] {
            assert_eq!(parse_address(text), Some(at(address)));
        }
        assert_eq!(parse_address("01:1D6D"), None);
    }
}
