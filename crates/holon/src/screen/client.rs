//! The person's side of a session: their terminal, their keys, and what the run says before and afterwards.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use holon_core::event::{EventSink, RunEvent};
use holon_host::RunPlan;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Signal;
use rustix::stdio::stdin;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};

use super::detach::{DetachKeys, TypedKeys};
use super::filter::ScreenFilter;
use super::frame::{FrameBuffer, FrameKind, NotStarted, ScreenFrame, TerminalHello};
use super::person_side::{self, LentTerminal};
use super::{door, process};
use crate::show::progress::RunProgress;
use crate::terminal::Terminal;

/// How a session ended for the person.
#[derive(Debug)]
pub(crate) enum SessionEnd {
    /// The run is over; this is its folder.
    Finished(PathBuf),
    /// Nothing was started.
    NotStarted { message: String, hint: Option<String>, usage: bool },
    /// The person left; the run goes on.
    Detached(Option<PathBuf>),
    /// The person is at another terminal now.
    Replaced,
    /// The process that carried the run is gone.
    Lost(Option<PathBuf>),
    /// Somebody insisted on the end.
    Insisted(i32),
}

/// Starts a session and stays until it ends, or the person leaves.
pub(crate) fn begin(plan: &RunPlan, terminal: &Terminal) -> io::Result<SessionEnd> {
    let (line, _carrier) = process::start()?;
    ScreenFrame::with(FrameKind::Plan, plan)?.send(&line)?;
    PersonSession::new(line, terminal)?.stay()
}

/// Comes back to the session of a run.
pub(crate) fn come_back(folder: &Path, terminal: &Terminal) -> io::Result<SessionEnd> {
    PersonSession::new(door::enter(folder)?, terminal)?.stay()
}

/// What signals said since they were asked last.
#[derive(Clone)]
struct HeardSignals {
    resized: Arc<AtomicBool>,
    continued: Arc<AtomicBool>,
    hung_up: Arc<AtomicBool>,
    end: Arc<AtomicBool>,
}

impl HeardSignals {
    /// Listens, and writes a byte for each, so that a wait ends.
    fn listen(wake: &UnixStream) -> io::Result<Self> {
        let new = Arc::<AtomicBool>::default;
        let heard = Self { resized: new(), continued: new(), hung_up: new(), end: new() };
        for (signal, flag) in [
            (SIGWINCH, &heard.resized),
            (SIGCONT, &heard.continued),
            (SIGHUP, &heard.hung_up),
            (SIGINT, &heard.end),
            (SIGTERM, &heard.end),
            (SIGQUIT, &heard.end),
        ] {
            signal_hook::flag::register(signal, Arc::clone(flag))?;
            signal_hook::low_level::pipe::register(signal, wake.try_clone()?)?;
        }
        Ok(heard)
    }
}

fn since(flag: &AtomicBool) -> bool {
    flag.swap(false, Ordering::SeqCst)
}

struct PersonSession<'a> {
    line: UnixStream,
    frames: FrameBuffer,
    signals: HeardSignals,
    awake: UnixStream,
    terminal: &'a Terminal,
    progress: Option<RunProgress>,
    lent: Option<LentTerminal>,
    /// What the agent switched on in this terminal.
    seen: ScreenFilter,
    keys: DetachKeys,
    folder: Option<PathBuf>,
    ending: bool,
}

impl<'a> PersonSession<'a> {
    fn new(line: UnixStream, terminal: &'a Terminal) -> io::Result<Self> {
        let (awake, wake) = UnixStream::pair()?;
        awake.set_nonblocking(true)?;
        wake.set_nonblocking(true)?;
        let signals = HeardSignals::listen(&wake)?;
        let hello = TerminalHello { device: person_side::device(), size: person_side::size() };
        ScreenFrame::with(FrameKind::Hello, &hello)?.send(&line)?;
        Ok(Self {
            line,
            frames: FrameBuffer::default(),
            signals,
            awake,
            terminal,
            progress: Some(RunProgress::new(terminal, false, false)),
            lent: None,
            seen: ScreenFilter::default(),
            keys: DetachKeys::default(),
            folder: None,
            ending: false,
        })
    }

    fn send(&self, frame: &ScreenFrame) {
        // A line that is gone is noticed when it is read.
        let _ = frame.send(&self.line);
    }

    /// Carries both ways until something ends it.
    fn stay(mut self) -> io::Result<SessionEnd> {
        loop {
            let (readable, typed) = self.wait();
            if let Some(end) = self.answer_signals() {
                return Ok(end);
            }
            if typed && let Some(end) = self.type_keys() {
                return Ok(end);
            }
            if readable {
                let mut buffer = [0; 64 << 10];
                match self.line.read(&mut buffer) {
                    Ok(0) => return Ok(self.part(SessionEnd::Lost)),
                    Ok(read) => self.frames.push(&buffer[..read]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => return Ok(self.part(SessionEnd::Lost)),
                }
                while let Some(frame) = self.frames.next()? {
                    if let Some(end) = self.take(&frame)? {
                        return Ok(end);
                    }
                }
            }
        }
    }

    /// Waits for the run, a key while the terminal is lent, or a signal.
    fn wait(&self) -> (bool, bool) {
        let (input, lent) = (stdin(), self.lent.is_some());
        let mut fds = vec![PollFd::new(&self.line, PollFlags::IN), PollFd::new(&self.awake, PollFlags::IN)];
        if lent {
            fds.push(PollFd::new(&input, PollFlags::IN));
        }
        if poll(&mut fds, None).is_err() {
            return (false, false);
        }
        let ready = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
        let told = (ready(0), ready(2));
        if ready(1) {
            let _ = (&self.awake).read(&mut [0; 64]);
        }
        told
    }

    fn take(&mut self, frame: &ScreenFrame) -> io::Result<Option<SessionEnd>> {
        match frame.kind {
            FrameKind::Event => {
                if let (Some(progress), Ok(event)) = (&mut self.progress, frame.read::<RunEvent>()) {
                    progress.emit(&event);
                }
            }
            FrameKind::Begun => {
                self.folder = Some(path(&frame.content));
                // The status line goes before the screen comes.
                self.progress = None;
                self.lent = Some(LentTerminal::lend(self.seen.modes())?);
            }
            FrameKind::Drawn => {
                let mut out = Vec::with_capacity(frame.content.len());
                self.seen.feed(&frame.content, &mut out);
                if person_side::write(&out).is_err() {
                    return Ok(Some(self.detach()));
                }
            }
            FrameKind::Stopped => self.step_aside(),
            FrameKind::Over => {
                self.take_back();
                self.progress = Some(RunProgress::new(self.terminal, false, false));
            }
            FrameKind::Replaced => return Ok(Some(self.part(|_| SessionEnd::Replaced))),
            FrameKind::Finished => {
                let folder = path(&frame.content);
                self.part(SessionEnd::Lost);
                return Ok(Some(SessionEnd::Finished(folder)));
            }
            FrameKind::NotStarted => {
                let NotStarted { message, hint, usage } = frame.read()?;
                self.part(SessionEnd::Lost);
                return Ok(Some(SessionEnd::NotStarted { message, hint, usage }));
            }
            _ => {}
        }
        Ok(None)
    }

    fn type_keys(&mut self) -> Option<SessionEnd> {
        let mut buffer = [0; 16 << 10];
        let read = match rustix::io::read(stdin(), &mut buffer) {
            Ok(0) | Err(rustix::io::Errno::IO) => return Some(self.detach()),
            Ok(read) => read,
            Err(_) => return None,
        };
        let (bytes, leaves) = match self.keys.take(&buffer[..read]) {
            TypedKeys::Pass(bytes) => (bytes, false),
            TypedKeys::Detach(bytes) => (bytes, true),
        };
        if !bytes.is_empty() {
            self.send(&ScreenFrame { kind: FrameKind::Keys, content: bytes });
        }
        leaves.then(|| self.detach())
    }

    fn answer_signals(&mut self) -> Option<SessionEnd> {
        if since(&self.signals.hung_up) {
            return Some(if self.folder.is_some() { self.detach() } else { self.insist() });
        }
        if since(&self.signals.end) {
            if self.ending {
                return Some(self.insist());
            }
            // The screen goes now, the run as soon as it can.
            self.ending = true;
            self.take_back();
            self.send(&ScreenFrame::bare(FrameKind::End));
        }
        if since(&self.signals.continued) {
            self.come_again();
        }
        if since(&self.signals.resized) {
            self.tell_size();
        }
        None
    }

    fn tell_size(&self) {
        if let Ok(frame) = ScreenFrame::with(FrameKind::Size, &person_side::size()) {
            self.send(&frame);
        }
    }

    /// The agent stopped, so this process does: a shell is to be in front.
    fn step_aside(&mut self) {
        self.take_back_for_now();
        since(&self.signals.continued);
        // Where no shell waits for it this is ignored, and the agent goes on at once.
        let _ = rustix::process::kill_current_process_group(Signal::TSTP);
        since(&self.signals.continued);
        self.come_again();
    }

    fn come_again(&mut self) {
        if let Some(lent) = &mut self.lent {
            let _ = lent.again(self.seen.modes());
            self.tell_size();
            self.send(&ScreenFrame::bare(FrameKind::GoOn));
        }
    }

    fn take_back_for_now(&mut self) {
        if let Some(lent) = &mut self.lent {
            lent.take_back(self.seen.modes());
        }
        let _ = io::stdout().flush();
    }

    fn take_back(&mut self) {
        self.take_back_for_now();
        self.lent = None;
    }

    fn detach(&mut self) -> SessionEnd {
        self.send(&ScreenFrame::bare(FrameKind::Detach));
        self.part(SessionEnd::Detached)
    }

    fn insist(&mut self) -> SessionEnd {
        self.send(&ScreenFrame::bare(FrameKind::End));
        self.part(|_| SessionEnd::Insisted(128 + SIGTERM))
    }

    /// The terminal is the person's again, and nothing is shown any more.
    fn part(&mut self, end: impl FnOnce(Option<PathBuf>) -> SessionEnd) -> SessionEnd {
        if self.lent.is_some() {
            // The agent is still there, with its cursor in the middle of what it drew.
            let _ = person_side::write(self.seen.modes().below());
        }
        self.take_back();
        self.progress = None;
        end(self.folder.clone())
    }
}

fn path(bytes: &[u8]) -> PathBuf {
    std::ffi::OsString::from_vec(bytes.to_vec()).into()
}

/// Whether a person sits at this process: keys come from a terminal, and it can be drawn on.
pub(crate) fn is_there() -> bool {
    let both = [stdin(), rustix::stdio::stdout()];
    both.iter().all(|end| rustix::termios::isatty(end.as_fd()))
}
