//! Who carries the threads: this process, unless another one does already.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use holon_host::ModelCancel;
use holon_host::thread::TurnSurroundings;
use holon_sandbox::isolation::Launcher;
use holon_server::{AccessSettings, ChatServer, ReplySource, ServerError, ServerLimits, ServerSetup};

use crate::command::run::host_in;
use crate::command::serve::demo::ServeDemoStage;
use crate::failure::CliFailure;
use crate::session::{self, Session};

/// How often the door of a server that is only just starting is tried, and the pause between.
const TRIES: usize = 100;
const PAUSE: Duration = Duration::from_millis(50);

/// Where answers shall come from, as far as whoever starts it may say.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReplySourceFlags {
    /// The provider of the model.
    pub(crate) provider: Option<String>,
    /// A cassette instead of a model.
    pub(crate) replay: Option<PathBuf>,
    /// The demonstration.
    pub(crate) demo: bool,
    /// Whether a model makes the titles of threads; else their first words do.
    pub(crate) titles: bool,
}

/// The way to the threads. When it is dropped, turns that this process carries end, and are kept.
pub(crate) struct Carrier {
    state: PathBuf,
    make: Box<dyn Fn() -> ServerSetup + Send + Sync>,
    own: Mutex<Option<InProcessServer>>,
    stage: Option<ServeDemoStage>,
    /// Whether answers must come from this process.
    own_only: bool,
}

struct InProcessServer {
    stop: ModelCancel,
    thread: JoinHandle<Result<(), ServerError>>,
}

impl Carrier {
    /// Finds the server that carries the threads, or becomes it.
    pub(crate) fn open(session: &Session, wish: ReplySourceFlags) -> Result<Self, CliFailure> {
        let stage = wish.demo.then(ServeDemoStage::build).transpose()?;
        let places = match &stage {
            Some(stage) => stage.places(session),
            None => session.places()?,
        };
        let minds = match (&stage, wish.replay) {
            (Some(stage), _) => ReplySource::Cassette { file: stage.cassette(), demo: true },
            (None, Some(file)) => {
                let file = file.canonicalize().map_err(CliFailure::io("read", &file))?;
                ReplySource::Cassette { file, demo: false }
            }
            (None, None) => {
                ReplySource::Network { provider: wish.provider, model: None, titles: wish.titles }
            }
        };
        let own_only = matches!(minds, ReplySource::Cassette { .. });
        let state = places.state.clone();
        let make = move || ServerSetup {
            around: TurnSurroundings {
                launcher: Launcher::default(),
                env: Arc::new(session::variable),
                home: places.home.clone(),
            },
            secrets: session::secrets(),
            // Only this user's own programs come in, and they name the folder.
            roots: vec![PathBuf::from("/")],
            doors: AccessSettings::default(),
            limits: ServerLimits::default(),
            minds: minds.clone(),
            host: Arc::new(host_in),
            give_back: holon_sandbox::memory::give_back,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            page: &[],
            places: places.clone(),
        };
        let carrier = Self { state, make: Box::new(make), own: Mutex::new(None), stage, own_only };
        carrier.settle()?;
        Ok(carrier)
    }

    /// The folder of the demonstration.
    pub(crate) fn sample(&self) -> Option<PathBuf> {
        self.stage.as_ref().map(ServeDemoStage::sample)
    }

    /// Whether a cassette answers, which knows of chats only.
    pub(crate) fn plays_cassette(&self) -> bool {
        self.own_only
    }

    /// Whether another process carries the threads.
    pub(crate) fn is_guest(&self) -> bool {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// A connection to whoever carries the threads now.
    pub(super) fn connect(&self) -> io::Result<UnixStream> {
        match holon_server::connect(&self.state) {
            Ok(stream) => Ok(stream),
            // The process that carried them has gone; this one goes on.
            Err(_) if self.is_guest() => {
                self.settle().map_err(|failure| io::Error::other(failure.to_string()))?;
                holon_server::connect(&self.state)
            }
            Err(e) => Err(e),
        }
    }

    fn settle(&self) -> Result<(), CliFailure> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..TRIES {
            match self.start() {
                Ok(started) => {
                    *own = Some(started);
                    return Ok(());
                }
                Err(ServerError::Taken { .. }) if self.own_only => {
                    return Err(CliFailure::user(
                        "another Holon carries the threads, and would answer in the cassette's place",
                        "end it first, or use another XDG_STATE_HOME",
                    ));
                }
                Err(ServerError::Taken { .. }) => {
                    if holon_server::connect(&self.state).is_ok() {
                        return Ok(());
                    }
                    // The other process holds the lock before it listens, and a lock tells nobody when it goes.
                    std::thread::sleep(PAUSE);
                }
                Err(e) => {
                    return Err(CliFailure::config(e.to_string()).hint(e.hint()));
                }
            }
        }
        Err(CliFailure::config("another Holon holds the threads and does not answer")
            .hint("`fuser` on the file `server/lock` of the state folder names its process"))
    }

    /// Starts a server in this process and waits until it can be reached.
    fn start(&self) -> Result<InProcessServer, ServerError> {
        let (tell, told) = channel();
        let setup = (self.make)();
        let stop = ModelCancel::default();
        let ending = stop.clone();
        let thread = std::thread::spawn(move || {
            ChatServer::run_on_unix_socket(setup, &ending, || {
                let _ = tell.send(());
            })
        });
        if told.recv().is_ok() {
            return Ok(InProcessServer { stop, thread });
        }
        let lost = || ServerError::Folder {
            path: self.state.display().to_string(),
            source: io::Error::other("the server ended without a word"),
        };
        match thread.join() {
            Ok(Err(e)) => Err(e),
            Ok(Ok(())) | Err(_) => Err(lost()),
        }
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        let own = self.own.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = own.take() {
            own.stop.cancel();
            // It has said on the way what there was to say.
            let _ = own.thread.join();
        }
    }
}
