//! A network for a container of someone else's making: nothing but loopback, and a listener of the host's on it.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsRawFd;

use super::job::GATEWAY_PORT;
use super::sys;

/// A network namespace with a listener in it; it lasts as long as this, or whoever has joined it.
#[derive(Debug)]
pub(crate) struct Apart {
    namespace: File,
    listener: Option<TcpListener>,
}

impl Apart {
    /// Makes one, which only root may.
    pub(crate) fn new() -> io::Result<Self> {
        // A thread can leave its network alone, and takes nobody along.
        let made = std::thread::spawn(|| {
            sys::leave_network()?;
            sys::loopback_up()?;
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, GATEWAY_PORT))?;
            Ok(Self { namespace: File::open("/proc/thread-self/ns/net")?, listener: Some(listener) })
        });
        made.join().unwrap_or_else(|_| Err(io::Error::other("the thread that makes a network died")))
    }

    /// A path by which another process of the same user finds the namespace.
    pub(crate) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.namespace.as_raw_fd())
    }

    /// The listener; once.
    pub(crate) fn take_listener(&mut self) -> Option<TcpListener> {
        self.listener.take()
    }
}
