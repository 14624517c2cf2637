//! HTTP, event streams and the page: chats with a snapshot that lives, runs and their gates.
//!
//! [`ChatServer::bind`] opens the door, [`ChatServer::serve`] stays until it is told to end, and loses nothing then. Everything a
//! client sees was stored before.

mod api;
mod app;
mod caller;
mod event_log;
mod guard;
mod live_threads;
mod memory_trim;
mod metrics;
mod page;
mod problem;
mod runs;
mod setup;
mod stream;
mod turn;
mod unix_socket;
mod uploads;
mod words;

use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::sync::Arc;
use std::time::Duration;

use holon_host::ModelCancel;
use holon_store::{ChatStore, StoreError};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;

pub use api::document;
pub use guard::{TokenFileError, only_its_owners};
pub use page::PAGE;
pub use problem::ApiProblem;
pub use setup::{AccessSettings, ReplySource, ServerLimits, ServerSetup};
pub use unix_socket::connect;

use app::AppState;
use guard::IdleGuardListener;

/// How long turns get to write down their end when the server ends.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long connections get to bring or take the rest, once everything else has ended.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Why a server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address cannot be used.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Where.
        address: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// Its folder cannot be used.
    #[error("cannot use {path}: {source}")]
    Folder {
        /// Which one.
        path: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The owner's token cannot be used.
    #[error(transparent)]
    Token(#[from] TokenFileError),
    /// Another server works with the same folder.
    #[error("another server is running on {path}")]
    Taken {
        /// The folder.
        path: String,
    },
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ServerError {
    /// What a person can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Listen { .. } => "choose another address with --listen, e.g. 127.0.0.1:0",
            Self::Token(error) => error.hint(),
            Self::Taken { .. } => {
                "stop the other one (`holon chat` and `holon acp` are servers, too), or use another XDG_STATE_HOME"
            }
            Self::Store(StoreError::Newer { .. }) => {
                "use the release that wrote it, or another XDG_STATE_HOME"
            }
            Self::Store(StoreError::Database(_) | StoreError::Damaged { .. }) => {
                "put a copy of `server/holon.db` in the state folder back, or move it away to begin anew"
            }
            Self::Folder { .. } | Self::Store(_) => "check XDG_STATE_HOME and the space left there",
        }
    }
}

/// Where a server listens, and how its owner comes in.
pub struct OpenDoor {
    /// The address.
    pub address: SocketAddr,
    /// The owner's token; none where a file names everyone who may come in.
    pub token: Option<String>,
    /// Good for one browser, once: what stands in an address that is handed to another program may be seen by others.
    pub ticket: Option<String>,
}

/// A server that listens.
pub struct ChatServer {
    app: Arc<AppState>,
    listener: Option<TcpListener>,
    indoors: UnixListener,
    address: Option<SocketAddr>,
    /// The owner's, where nobody else comes in.
    token: Option<String>,
    _lock: std::fs::File,
}

impl ChatServer {
    /// Opens the door, after bringing the store up to date and marking what a killed server left.
    pub async fn bind(setup: ServerSetup, address: SocketAddr) -> Result<Self, ServerError> {
        Self::open(setup, Some(address)).await
    }

    /// The same without an address: only this user's own programs come in, by [`connect`].
    pub async fn bind_unix_socket(setup: ServerSetup) -> Result<Self, ServerError> {
        Self::open(setup, None).await
    }

    async fn open(mut setup: ServerSetup, address: Option<SocketAddr>) -> Result<Self, ServerError> {
        let folder = setup.places.state.join("server");
        let unusable = |source| ServerError::Folder { path: folder.display().to_string(), source };
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(unusable)?;
        let lock = std::fs::File::create(folder.join("lock")).map_err(unusable)?;
        let exclusive = rustix::fs::FlockOperation::NonBlockingLockExclusive;
        rustix::fs::flock(&lock, exclusive)
            .map_err(|_| ServerError::Taken { path: folder.display().to_string() })?;
        let listener = match address {
            Some(address) => Some(TcpListener::bind(address).await.map_err(cannot_listen(address))?),
            None => None,
        };
        let address = listener.as_ref().and_then(|listener| listener.local_addr().ok());
        setup.doors.address = address;
        let mut token = None;
        if address.is_some() && setup.doors.tokens.is_empty() {
            let own = guard::kept(&folder, setup.doors.renew)?;
            setup.doors.tokens.push((guard::LOCAL.to_owned(), own.clone()));
            token = Some(own);
        }
        let store = ChatStore::open(&folder)?;
        let app = Arc::new(AppState::new(setup, store));
        app.uploads.tidy(&app.store).await?;
        turn::recover(&app).await?;
        let indoors = unix_socket::listen(&folder).map_err(unusable)?;
        Ok(Self { app, listener, indoors, address, token, _lock: lock })
    }

    /// Listens and answers until somebody asks for the end; `ready` is told where. Blocks.
    pub fn run(
        setup: ServerSetup,
        address: SocketAddr,
        stop: &ModelCancel,
        ready: impl FnOnce(&OpenDoor),
    ) -> Result<(), ServerError> {
        Self::stay(Self::bind(setup, address), stop, |server| {
            let ticket = server.token.as_ref().and_then(|_| server.app.sessions.ticket());
            let address = server.address.unwrap_or(address);
            ready(&OpenDoor { address, token: server.token.clone(), ticket });
        })
    }

    /// The same without an address; `ready` is called when [`connect`] succeeds. Blocks.
    pub fn run_on_unix_socket(
        setup: ServerSetup,
        stop: &ModelCancel,
        ready: impl FnOnce(),
    ) -> Result<(), ServerError> {
        Self::stay(Self::bind_unix_socket(setup), stop, |_| ready())
    }

    fn stay(
        bind: impl Future<Output = Result<Self, ServerError>>,
        stop: &ModelCancel,
        ready: impl FnOnce(&Self),
    ) -> Result<(), ServerError> {
        let unusable = |source| ServerError::Folder { path: "the system's threads".to_owned(), source };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(unusable)?;
        runtime.block_on(async {
            let server = bind.await?;
            ready(&server);
            let address = server.address;
            let (end, ended) = watch::channel(false);
            let stop = stop.clone();
            tokio::spawn(async move {
                stop.cancelled().await;
                let _ = end.send(true);
            });
            server.serve(ended).await.map_err(|source| match address {
                Some(address) => cannot_listen(address)(source),
                None => unusable(source),
            })
        })
    }

    /// Where it listens, if anybody but this user's own programs may come.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Answers until `end` becomes true; then ends what is under way, keeps it, and closes.
    pub async fn serve(self, mut end: watch::Receiver<bool>) -> std::io::Result<()> {
        let Self { app, listener, indoors, .. } = self;
        let (ended, closing) = watch::channel(false);
        let ending = Arc::clone(&app);
        let stop = async move {
            let _ = end.wait_for(|end| *end).await;
            // First the turns: streams end with them, and connections with their streams.
            ending.end(PATIENCE).await;
            let _ = ended.send(true);
        };
        tokio::spawn(stop);
        let until = |mut closing: watch::Receiver<bool>| async move {
            let _ = closing.wait_for(|ended| *ended).await;
        };
        let own = unix_socket::UserSocketListener(indoors);
        let inside =
            axum::serve(own, unix_socket::router(&app)).with_graceful_shutdown(until(closing.clone()));
        let too_late = until(closing.clone());
        let served = async {
            match listener {
                None => inside.await,
                Some(listener) => {
                    // Whoever names people or other names may have a proxy in front, which is another user's program.
                    let doors = &app.setup.doors;
                    let alone = !doors.is_shared() && doors.hosts.is_empty();
                    let listener = guard::OwnUsers { listener, alone };
                    let listener = IdleGuardListener { listener, patience: guard::PATIENCE };
                    let outside =
                        axum::serve(listener, api::router(app)).with_graceful_shutdown(until(closing));
                    tokio::try_join!(outside.into_future(), inside.into_future()).map(|_| ())
                }
            }
        };
        // Whoever only half said something, or does not read, has nothing stored that could be lost.
        let too_late = async {
            too_late.await;
            tokio::time::sleep(LAST_WORDS).await;
        };
        tokio::select! {
            served = served => served,
            () = too_late => Ok(()),
        }
    }
}

fn cannot_listen(address: SocketAddr) -> impl Fn(std::io::Error) -> ServerError {
    move |source| ServerError::Listen { address: address.to_string(), source }
}
