//! The one line that says what is going on, rewritten in place by a thread of its own so that time is seen to pass.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use holon_core::manifest::RunPhase;

use crate::terminal::shown::styled;
use crate::terminal::{Terminal, TerminalStream, TextStyle, one_line};

/// How often the line is drawn again when nothing happens.
const TICK: Duration = Duration::from_millis(250);
/// Back to the first column and erase the line.
const ERASE: &str = "\r\x1b[2K";

/// A status line on standard error; it disappears when dropped.
pub(crate) struct StatusLine {
    shared: Arc<StatusLineShared>,
    thread: Option<JoinHandle<()>>,
}

struct StatusLineShared {
    state: Mutex<StatusLineState>,
    changed: Condvar,
    stream: TerminalStream,
    width: usize,
}

struct StatusLineState {
    phase: &'static str,
    action: String,
    /// When a pause is over that is counted down.
    until: Option<Instant>,
    began: Instant,
    over: bool,
}

impl StatusLine {
    /// Shows the line.
    pub(crate) fn start(terminal: &Terminal) -> Self {
        let state = StatusLineState {
            phase: "resolve",
            action: String::new(),
            until: None,
            began: Instant::now(),
            over: false,
        };
        let shared = Arc::new(StatusLineShared {
            state: Mutex::new(state),
            changed: Condvar::new(),
            stream: terminal.stderr,
            width: terminal.width,
        });
        let seen = Arc::clone(&shared);
        // Without the thread the line is still drawn at every event.
        let thread =
            std::thread::Builder::new().name("status".into()).spawn(move || seen.keep_drawing()).ok();
        Self { shared, thread }
    }

    /// Another phase began.
    pub(crate) fn phase(&self, phase: RunPhase) {
        let mut state = self.shared.lock();
        state.phase = phase.name();
        state.action.clear();
        state.until = None;
        self.shared.draw(&state, "");
    }

    /// Something is being done.
    pub(crate) fn action(&self, action: &str) {
        let mut state = self.shared.lock();
        action.clone_into(&mut state.action);
        state.until = None;
        self.shared.draw(&state, "");
    }

    /// A pause of this length begins, and is counted down.
    pub(crate) fn waits(&self, wait_ms: u64) {
        let mut state = self.shared.lock();
        state.until = Instant::now().checked_add(Duration::from_millis(wait_ms)).filter(|_| wait_ms > 0);
        self.shared.draw(&state, "");
    }

    /// A line that stays, above the status; `plain` is remembered as the last action.
    pub(crate) fn above(&self, line: &str, plain: &str) {
        let mut state = self.shared.lock();
        plain.trim_start_matches([' ', '|']).clone_into(&mut state.action);
        state.until = None;
        self.shared.draw(&state, line);
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.shared.lock().over = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = write!(io::stderr().lock(), "{ERASE}");
    }
}

impl StatusLineShared {
    fn lock(&self) -> MutexGuard<'_, StatusLineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep_drawing(&self) {
        let mut state = self.lock();
        while !state.over {
            self.draw(&state, "");
            // The line shows a clock, which goes on while nothing happens.
            state = self.changed.wait_timeout(state, TICK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// One write, so that nothing else on the terminal gets in between.
    fn draw(&self, state: &StatusLineState, above: &str) {
        let seconds = state.began.elapsed().as_secs();
        let left = state.until.map(|until| until.saturating_duration_since(Instant::now()));
        let pause = left.filter(|left| !left.is_zero());
        let pause = pause.map(|left| format!(" · again in {} s", left.as_secs() + 1)).unwrap_or_default();
        let plain = format!("{} {}:{:02}{pause}", state.phase, seconds / 60, seconds % 60);
        let room = self.width.saturating_sub(plain.chars().count() + 4);
        let action = match one_line(&state.action, room) {
            action if action.is_empty() => action,
            action => self.stream.paint(TextStyle::Dim, &format!(" · {action}")),
        };
        let above = styled(above, self.stream.colour);
        let newline = if above.is_empty() { "" } else { "\n" };
        let text = format!("{ERASE}{above}{newline}{}{action}", self.stream.paint(TextStyle::Cyan, &plain));
        let mut out = io::stderr().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}
