//! The door for this user's own programs: a socket in the server's folder, which nobody else can enter.
//!
//! A terminal and an editor talk to the same server as the page, so that there is one that carries the threads. Whoever
//! comes this way is the local user and needs no token: the system says whose program it is.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream as Blocking;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::middleware;
use axum::serve::Listener;
use tokio::net::unix::SocketAddr;
use tokio::net::{UnixListener, UnixStream};

use crate::api;
use crate::app::AppState;
use crate::guard::ViaUnixSocket;

const NAME: &str = "socket";
/// The longest path that surely fits into the address of a socket.
const MOST: usize = 100;

/// Connects to the server that works with this state folder, if there is one.
pub fn connect(state: &Path) -> io::Result<Blocking> {
    at(&state.join("server"), |path| Blocking::connect(path))
}

/// Opens the door; whoever calls holds the server's lock, so a socket that is there already is nobody's.
pub(crate) fn listen(folder: &Path) -> io::Result<UnixListener> {
    match std::fs::remove_file(folder.join(NAME)) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let listener = at(folder, |path| UnixListener::bind(path))?;
    std::fs::set_permissions(folder.join(NAME), PermissionsExt::from_mode(0o600))?;
    Ok(listener)
}

/// Takes connections of this user's programs, and of root's, who could open any door.
pub(crate) struct UserSocketListener(pub(crate) UnixListener);

impl Listener for UserSocketListener {
    type Io = UnixStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let own = rustix::process::geteuid().as_raw();
        loop {
            let (stream, address) = Listener::accept(&mut self.0).await;
            // The folder keeps others out already; this holds if somebody opened it.
            if stream.peer_cred().is_ok_and(|peer| peer.uid() == own || peer.uid() == 0) {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.0.local_addr()
    }
}

/// What is answered there: the same, under a name of our own, since no browser can come this way.
pub(crate) fn router(app: &Arc<AppState>) -> Router {
    let name = match app.setup.doors.address {
        Some(address) => format!("localhost:{}", address.port()),
        None => "localhost".to_owned(),
    };
    let name = HeaderValue::from_str(&name).unwrap_or(HeaderValue::from_static("localhost"));
    let named = middleware::from_fn(move |mut request: Request, next: middleware::Next| {
        request.headers_mut().insert(header::HOST, name.clone());
        request.extensions_mut().insert(ViaUnixSocket);
        next.run(request)
    });
    api::router(Arc::clone(app)).layer(named)
}

/// Addresses of sockets are short; through a descriptor any folder can be named.
fn at<T>(folder: &Path, work: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let direct = folder.join(NAME);
    if direct.as_os_str().len() <= MOST {
        return work(&direct);
    }
    let held = std::fs::File::open(folder)?;
    work(Path::new(&format!("/proc/self/fd/{}/{NAME}", held.as_raw_fd())))
}
