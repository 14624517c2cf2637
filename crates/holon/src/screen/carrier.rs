//! The run's side of a session: it holds the agent's terminal, and carries what is drawn and typed to whoever is attached.

use std::fs::{self, File, Permissions};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use holon_core::event::{EventSink, RunEvent};
use holon_host::ModelCancel;
use holon_host::person_terminal::PersonTerminal;
use holon_sandbox::isolation::TerminalSize;

use super::door;
use super::filter::ScreenFilter;
use super::frame::{FrameKind, ScreenFrame, TerminalHello};
use super::person_side::WatchedTerminal;

/// How long a program takes to notice the size of its terminal.
const NOTICE: Duration = Duration::from_millis(150);

/// What the threads of a session share.
#[derive(Clone)]
pub(super) struct ScreenCarrier(Arc<Mutex<CarrierState>>);

struct CarrierState {
    /// Who is attached.
    client: Option<Arc<AttachedClient>>,
    /// The folder of the run, while its screen is there.
    folder: Option<PathBuf>,
    /// The agent's terminal, and what is typed on its way to it.
    inside: Option<Arc<File>>,
    keys: Option<Sender<Vec<u8>>>,
    filter: ScreenFilter,
    size: TerminalSize,
    stopped: bool,
    go_on: bool,
    cancel: ModelCancel,
    drawing: Option<JoinHandle<()>>,
}

/// Somebody's terminal, at the other end of a line.
struct AttachedClient {
    line: Mutex<UnixStream>,
    terminal: Mutex<Option<WatchedTerminal>>,
}

impl AttachedClient {
    fn tell(&self, frame: &ScreenFrame) {
        // One that is gone is noticed by whoever hears it.
        let line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = frame.send(&*line);
    }
}

impl ScreenCarrier {
    /// With a screen of this size, for a run that `cancel` ends.
    pub(super) fn new(size: TerminalSize, cancel: ModelCancel) -> Self {
        Self(Arc::new(Mutex::new(CarrierState {
            client: None,
            folder: None,
            inside: None,
            keys: None,
            filter: ScreenFilter::default(),
            size,
            stopped: false,
            go_on: false,
            cancel,
            drawing: None,
        })))
    }

    fn state(&self) -> MutexGuard<'_, CarrierState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whoever is attached.
    pub(super) fn tell(&self, frame: &ScreenFrame) {
        let client = self.state().client.clone();
        client.iter().for_each(|client| client.tell(frame));
    }

    /// Takes somebody on, in the place of whoever was there; hears them in a thread of their own.
    pub(super) fn attach(&self, line: UnixStream, hello: &TerminalHello) {
        let Ok(ears) = line.try_clone() else { return };
        let terminal = hello.device.as_deref().and_then(|device| WatchedTerminal::remember(device).ok());
        let client = Arc::new(AttachedClient { line: Mutex::new(line), terminal: Mutex::new(terminal) });
        let mut state = self.state();
        if let Some(before) = state.client.replace(Arc::clone(&client)) {
            before.terminal.lock().unwrap_or_else(PoisonError::into_inner).take();
            before.tell(&ScreenFrame::bare(FrameKind::Replaced));
        }
        if let Some(folder) = state.folder.clone() {
            client.tell(&begun(&folder));
            client.tell(&drawn(state.filter.modes().redo()));
            state.size = hello.size;
            if let Some(inside) = &state.inside {
                self.redraw(Arc::clone(inside), hello.size);
            }
            // Nobody else can let it go on.
            state.go_on |= std::mem::take(&mut state.stopped);
        }
        drop(state);
        let carrier = self.clone();
        std::thread::spawn(move || carrier.hear(ears, &client));
    }

    fn hear(&self, mut ears: UnixStream, client: &Arc<AttachedClient>) {
        while let Ok(Some(frame)) = ScreenFrame::receive(&mut ears) {
            match frame.kind {
                FrameKind::Keys => {
                    let keys = self.state().keys.clone();
                    keys.iter().for_each(|keys| {
                        let _ = keys.send(frame.content.clone());
                    });
                }
                FrameKind::Size => {
                    let Ok(size) = frame.read::<TerminalSize>() else { continue };
                    let mut state = self.state();
                    state.size = size;
                    let _ = state.inside.as_ref().map(|inside| size.set(inside));
                }
                FrameKind::GoOn => {
                    let mut state = self.state();
                    (state.go_on, state.stopped) = (true, false);
                }
                FrameKind::End => self.state().cancel.cancel(),
                FrameKind::Detach => {
                    self.let_go(client);
                    return;
                }
                _ => {}
            }
        }
        // Without a word: its process was killed, and its terminal is as the agent left it.
        if let Some(mut terminal) = self.let_go(client) {
            terminal.make_good(self.state().filter.modes());
        }
    }

    /// Lets the agent draw everything anew: another size, for as long as it takes to be noticed.
    fn redraw(&self, inside: Arc<File>, size: TerminalSize) {
        let less = |length: u16| length.saturating_sub(1).max(1);
        let _ = TerminalSize { rows: less(size.rows), columns: less(size.columns), ..size }.set(&inside);
        let carrier = self.clone();
        std::thread::spawn(move || {
            std::thread::sleep(NOTICE);
            let _ = carrier.state().size.set(&inside);
        });
    }

    /// Nobody is attached any more, if it was this one.
    fn let_go(&self, client: &Arc<AttachedClient>) -> Option<WatchedTerminal> {
        let mut state = self.state();
        if state.client.as_ref().is_some_and(|current| Arc::ptr_eq(current, client)) {
            state.client = None;
        }
        let lent = state.folder.is_some();
        let terminal = client.terminal.lock().unwrap_or_else(PoisonError::into_inner).take();
        terminal.filter(|_| lent)
    }

    /// Takes on whoever comes to the run's door.
    fn open_door(&self, listener: UnixListener) {
        let carrier = self.clone();
        std::thread::spawn(move || {
            for line in listener.incoming() {
                let Ok(mut line) = line else { return };
                if carrier.state().folder.is_none() {
                    return;
                }
                let hello = ScreenFrame::receive(&mut line).ok().flatten();
                let hello = hello.filter(|frame| frame.kind == FrameKind::Hello);
                if let Some(hello) = hello.and_then(|frame| frame.read::<TerminalHello>().ok()) {
                    carrier.attach(line, &hello);
                }
            }
        });
    }

    /// Carries what is drawn, until nothing can be drawn any more.
    fn carry(&self, inside: &File, mut record: Box<dyn Write + Send>) {
        let mut buffer = vec![0; 64 << 10];
        let mut inside = inside;
        loop {
            match inside.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => {
                    let mut out = Vec::with_capacity(read);
                    let client = {
                        let mut state = self.state();
                        state.filter.feed(&buffer[..read], &mut out);
                        state.client.clone()
                    };
                    // What cannot be recorded is still shown.
                    let _ = record.write_all(&out);
                    client.iter().for_each(|client| client.tell(&drawn(out.clone())));
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                // The other end is closed: the agent is over.
                Err(_) => break,
            }
        }
        let _ = record.flush();
    }
}

fn begun(folder: &Path) -> ScreenFrame {
    ScreenFrame { kind: FrameKind::Begun, content: folder.as_os_str().as_encoded_bytes().to_vec() }
}

fn drawn(content: Vec<u8>) -> ScreenFrame {
    ScreenFrame { kind: FrameKind::Drawn, content }
}

impl PersonTerminal for ScreenCarrier {
    fn size(&self) -> TerminalSize {
        self.state().size
    }

    fn begin(&mut self, folder: &Path, inside: OwnedFd, record: Box<dyn Write + Send>) {
        let inside = Arc::new(File::from(inside));
        let door = door::of(folder).and_then(|door| {
            let listener = UnixListener::bind(door.path())?;
            fs::set_permissions(door.path(), Permissions::from_mode(0o600))?;
            Ok(listener)
        });
        // Without a door nobody comes back; whoever is here stays.
        if let Ok(listener) = door {
            self.open_door(listener);
        }
        let (keys, typed) = channel::<Vec<u8>>();
        let typing = Arc::clone(&inside);
        std::thread::spawn(move || {
            for bytes in typed {
                let _ = (&*typing).write_all(&bytes);
            }
        });
        let carrier = self.clone();
        let drawing = Arc::clone(&inside);
        let mut state = self.state();
        // It may have changed while the walls were built.
        let _ = state.size.set(&inside);
        state.folder = Some(folder.to_owned());
        state.client.iter().for_each(|client| client.tell(&begun(folder)));
        (state.inside, state.keys) = (Some(inside), Some(keys));
        state.drawing = Some(std::thread::spawn(move || carrier.carry(&drawing, record)));
    }

    fn agent_stopped(&mut self) {
        self.state().stopped = true;
        self.tell(&ScreenFrame::bare(FrameKind::Stopped));
    }

    fn wants_to_go_on(&mut self) -> bool {
        std::mem::take(&mut self.state().go_on)
    }

    fn end(&mut self) {
        let drawing = self.state().drawing.take();
        if let Some(drawing) = drawing {
            // One that panicked has drawn all it could.
            let _ = drawing.join();
        }
        let mut state = self.state();
        (state.inside, state.keys) = (None, None);
        let folder = state.folder.take();
        drop(state);
        if let Some(door) = folder.and_then(|folder| door::of(&folder).ok()) {
            // Whoever waits at it is answered with the end.
            let _ = UnixStream::connect(door.path());
            let _ = fs::remove_file(door.path());
        }
        self.tell(&ScreenFrame::bare(FrameKind::Over));
    }
}

/// Events go to whoever is attached.
impl EventSink for ScreenCarrier {
    fn emit(&mut self, event: &RunEvent) {
        // Nobody reads them beside a screen, and a run must not wait for somebody who looks away.
        if self.state().folder.is_some() {
            return;
        }
        self.tell(&ScreenFrame { kind: FrameKind::Event, content: event.to_line().into_bytes() });
    }
}
