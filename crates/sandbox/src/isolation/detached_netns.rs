//! A network for a container of someone else's making: nothing but loopback, and listeners of the host's on it.
//!
//! Root makes it itself. An ordinary user's engine lives in a user namespace of its own, and only a network that was made
//! in there can be joined from there: so the engine starts this binary inside, which makes one and keeps it.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::job::PayloadNetwork;
use super::{sys, wire};

/// The name this binary is started under to keep a network.
const KEEPER_NAME: &str = "holon-keeper";
/// How long an engine may take to start it.
const PATIENCE: Duration = Duration::from_secs(30);
/// Enough of what an engine says when it cannot.
const MAX_WORDS: u64 = 4 << 10;

/// A network namespace with listeners in it; it lasts as long as this, or whoever has joined it.
#[derive(Debug)]
pub(crate) struct DetachedNetns {
    namespace: NetnsHandle,
    listeners: VecDeque<TcpListener>,
}

#[derive(Debug)]
enum NetnsHandle {
    /// One of this process's own, held by a descriptor.
    Own(File),
    /// One that somebody keeps in the engine's user namespace.
    Kept(NetnsHolder),
}

/// A process that keeps a network until it is let go.
#[derive(Debug)]
struct NetnsHolder {
    pid: u32,
    child: Child,
    socket: Option<UnixStream>,
}

impl Drop for NetnsHolder {
    fn drop(&mut self) {
        // The end of the socket is what it waits for.
        self.socket = None;
        let _ = self.child.wait();
    }
}

impl DetachedNetns {
    /// Makes one, which only root may.
    pub(crate) fn new() -> io::Result<Self> {
        // A thread can leave its network alone, and takes nobody along.
        let made = std::thread::spawn(|| {
            let listeners = leave()?.into();
            let namespace = NetnsHandle::Own(File::open("/proc/thread-self/ns/net")?);
            Ok(Self { namespace, listeners })
        });
        made.join().unwrap_or_else(|_| Err(io::Error::other("the thread that makes a network died")))
    }

    /// Lets an ordinary user's engine make one: `into` is its command that runs another in its user namespace, `binary` what
    /// can become the keeper, and `stage` a folder for the name it needs.
    pub(crate) fn kept(
        into: &[OsString],
        env: &[(String, String)],
        binary: &Path,
        stage: &Path,
    ) -> io::Result<Self> {
        let (program, args) = into.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let name = stage.join(KEEPER_NAME);
        symlink(binary.canonicalize()?, &name)?;
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(PATIENCE))?;
        let mut child = Command::new(program)
            .args(args)
            .arg(&name)
            .env_clear()
            .envs(env.iter().map(|(name, value)| (name, value)))
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let told =
            wire::receive::<u32>(&ours).and_then(|pid| Ok((pid, wire::take_fds(&ours, ports().len())?)));
        match told {
            Ok((pid, fds)) => {
                let listeners = fds.into_iter().map(TcpListener::from).collect();
                let keeper = NetnsHolder { pid, child, socket: Some(ours) };
                Ok(Self { namespace: NetnsHandle::Kept(keeper), listeners })
            }
            Err(error) => {
                drop(ours);
                let _ = child.kill();
                let mut said = String::new();
                let errors =
                    child.stderr.take().map(|errors| errors.take(MAX_WORDS).read_to_string(&mut said));
                let _ = (errors, child.wait());
                let last = said.lines().rfind(|line| !line.trim().is_empty());
                Err(last.map_or(error, |line| io::Error::other(line.trim().to_owned())))
            }
        }
    }

    /// A path by which another process of the same user, or in the same user namespace, finds the namespace.
    pub(crate) fn path(&self) -> PathBuf {
        match &self.namespace {
            NetnsHandle::Own(file) => format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()).into(),
            NetnsHandle::Kept(keeper) => format!("/proc/{}/ns/net", keeper.pid).into(),
        }
    }

    /// The next listener, that for a gateway first; each once.
    pub(crate) fn take_listener(&mut self) -> Option<TcpListener> {
        self.listeners.pop_front()
    }
}

/// Where it is listened. The network is made before it is known what it is for: a listener nobody serves is dropped.
fn ports() -> &'static [u16] {
    PayloadNetwork::Permit.ports()
}

/// Leaves the network for a new one with nothing but loopback, and listens there.
fn leave() -> io::Result<Vec<TcpListener>> {
    sys::leave_network()?;
    sys::loopback_up()?;
    ports().iter().map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port))).collect()
}

/// Whether this process was started to keep a network.
pub(super) fn is_keeper(name: &OsString) -> bool {
    Path::new(name).file_name().is_some_and(|name| name == KEEPER_NAME)
}

/// Makes a network, hands its listeners over, and keeps it until the host lets go.
pub(super) fn keep(socket: &UnixStream) -> io::Result<()> {
    let listeners = leave()?;
    wire::give(socket, &std::process::id())?;
    let handles: Vec<_> = listeners.iter().map(AsFd::as_fd).collect();
    wire::give_fds(socket, &handles)?;
    drop(handles);
    drop(listeners);
    let mut socket = socket;
    socket.read(&mut [0]).map(|_| ())
}
