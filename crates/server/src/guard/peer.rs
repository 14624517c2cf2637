//! Whose program is at the other end of a connection over loopback: the system's table of sockets says it.
//!
//! A second wall beside the token. What the table does not say is left to the token: a connection that was closed
//! meanwhile, or one from another network namespace.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// So many are told at the same time that they may not come in.
const MOST_REFUSALS: usize = 16;
/// So long each of them has to read it.
const PATIENCE: Duration = Duration::from_secs(2);

const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];
const REFUSAL: &[u8] = b"HTTP/1.1 403 Forbidden\r\ncontent-type: application/problem+json\r\ncontent-length: 76\r\n\
connection: close\r\n\r\n{\"code\":\"forbidden\",\"message\":\"this server belongs to another user account\"}";

/// A listener that can be for its own user, and root, alone.
pub(crate) struct OwnUsers {
    listener: TcpListener,
    alone: bool,
    refusals: Arc<Semaphore>,
}

impl OwnUsers {
    /// Listens for everybody, or, when `alone`, for its own user and root.
    pub(crate) fn new(listener: TcpListener, alone: bool) -> Self {
        Self { listener, alone, refusals: Arc::new(Semaphore::new(MOST_REFUSALS)) }
    }
}

impl Listener for OwnUsers {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, address) = Listener::accept(&mut self.listener).await;
            if !self.alone || !is_anothers(&stream, address) {
                return (stream, address);
            }
            // Whoever opens more at once than are answered is not answered.
            if let Ok(place) = Arc::clone(&self.refusals).try_acquire_owned() {
                tokio::spawn(async move {
                    let _ = timeout(PATIENCE, refuse(stream)).await;
                    drop(place);
                });
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// Says why, and waits until the other end has read it: closing before that would take the answer away again.
async fn refuse(mut stream: TcpStream) -> io::Result<()> {
    stream.write_all(REFUSAL).await?;
    stream.shutdown().await?;
    let mut unread = [0; 1024];
    while stream.read(&mut unread).await? > 0 {}
    Ok(())
}

fn is_anothers(stream: &TcpStream, peer: SocketAddr) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let Ok(here) = stream.local_addr() else { return false };
    peer.ip().to_canonical().is_loopback()
        && TABLES
            .iter()
            .filter_map(|table| std::fs::read_to_string(table).ok())
            .find_map(|text| owner(&text, peer, here))
            .is_some_and(|uid| uid != own && uid != 0)
}

/// The user whose socket is connected from one address to another.
fn owner(table: &str, from: SocketAddr, to: SocketAddr) -> Option<u32> {
    let same = |one: SocketAddr, other: SocketAddr| {
        one.port() == other.port() && one.ip().to_canonical() == other.ip().to_canonical()
    };
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (local, remote) = (address(fields.next()?)?, address(fields.next()?)?);
        let uid: u32 = fields.nth(4)?.parse().ok()?;
        // A socket that nobody holds any more has no inode, and is root's in the table.
        let inode: u64 = fields.nth(1)?.parse().ok()?;
        (inode != 0 && same(local, from) && same(remote, to)).then_some(uid)
    })
}

/// An address as the table writes it: words of the machine's own byte order, and a port.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| Some(u32::from_str_radix(ip.get(at * 8..at * 8 + 8)?, 16).ok()?.to_ne_bytes());
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for (at, four) in bytes.chunks_exact_mut(4).enumerate() {
                four.copy_from_slice(&word(at)?);
            }
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_table_says_whose_a_connection_is() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap();
        let client = std::net::TcpStream::connect(here).unwrap();
        let from = client.local_addr().unwrap();
        let table = std::fs::read_to_string(TABLES[0]).unwrap();
        assert_eq!(owner(&table, from, here), Some(rustix::process::geteuid().as_raw()));
        assert_eq!(owner(&table, here, here), None);
    }

    #[test]
    fn the_refusal_is_as_long_as_it_says() {
        let text = std::str::from_utf8(REFUSAL).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{}", body.len());
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn both_families_are_read() {
        assert_eq!(address("0100007F:1F90"), Some("127.0.0.1:8080".parse().unwrap()));
        let mapped = address("0000000000000000FFFF00000100007F:1F90").unwrap();
        assert_eq!(mapped.ip().to_canonical(), IpAddr::V4(Ipv4Addr::LOCALHOST));
        assert_eq!(address("00000000000000000000000001000000:0050"), Some("[::1]:80".parse().unwrap()));
        assert_eq!(address("nonsense"), None);
    }
}
