//! Who carries the threads: this process, unless another one does already.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use holon_host::Cancel;
use holon_host::thread::Surroundings;
use holon_sandbox::walls::Launcher;
use holon_server::{Doors, Limits, Minds, Server, ServerError, Setup};

use crate::command::run::host_in;
use crate::command::serve::demo::Stage;
use crate::failure::Failure;
use crate::session::{self, Session};

/// How often the door of a server that is only just starting is tried, and the pause between.
const TRIES: usize = 100;
const PAUSE: Duration = Duration::from_millis(50);

/// Where answers shall come from, as far as whoever starts it may say.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wish {
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
    make: Box<dyn Fn() -> Setup + Send + Sync>,
    own: Mutex<Option<Own>>,
    stage: Option<Stage>,
    /// Whether answers must come from this process.
    own_only: bool,
}

struct Own {
    stop: Cancel,
    thread: JoinHandle<Result<(), ServerError>>,
}

impl Carrier {
    /// Finds the server that carries the threads, or becomes it.
    pub(crate) fn open(session: &Session, wish: Wish) -> Result<Self, Failure> {
        let stage = wish.demo.then(Stage::build).transpose()?;
        let places = match &stage {
            Some(stage) => stage.places(session),
            None => session.places()?,
        };
        let minds = match (&stage, wish.replay) {
            (Some(stage), _) => Minds::Cassette { file: stage.cassette(), demo: true },
            (None, Some(file)) => {
                let file = file.canonicalize().map_err(Failure::io("read", &file))?;
                Minds::Cassette { file, demo: false }
            }
            (None, None) => Minds::Network { provider: wish.provider, model: None, titles: wish.titles },
        };
        let own_only = matches!(minds, Minds::Cassette { .. });
        let state = places.state.clone();
        let make = move || Setup {
            around: Surroundings {
                launcher: Launcher::default(),
                env: Arc::new(session::variable),
                home: places.home.clone(),
            },
            secrets: session::secrets(),
            // Only this user's own programs come in, and they name the folder.
            roots: vec![PathBuf::from("/")],
            doors: Doors::default(),
            limits: Limits::default(),
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
        self.stage.as_ref().map(Stage::sample)
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

    fn settle(&self) -> Result<(), Failure> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..TRIES {
            match self.start() {
                Ok(started) => {
                    *own = Some(started);
                    return Ok(());
                }
                Err(ServerError::Taken { .. }) if self.own_only => {
                    return Err(Failure::user(
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
                    return Err(Failure::config(e.to_string()).hint(e.hint()));
                }
            }
        }
        Err(Failure::config("another Holon holds the threads and does not answer")
            .hint("`fuser` on the file `server/lock` of the state folder names its process"))
    }

    /// Starts a server in this process and waits until it can be reached.
    fn start(&self) -> Result<Own, ServerError> {
        let (tell, told) = channel();
        let setup = (self.make)();
        let stop = Cancel::default();
        let ending = stop.clone();
        let thread = std::thread::spawn(move || {
            Server::run_indoors(setup, &ending, || {
                let _ = tell.send(());
            })
        });
        if told.recv().is_ok() {
            return Ok(Own { stop, thread });
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
