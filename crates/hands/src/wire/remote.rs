//! The host's end of the channel. The far side is inside the walls and not to be trusted.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::frame;
use super::message::{ExecutorOrder, ExecutorReport, ExpectedResponse, FramePayload, VERSION};
use crate::in_flight::{RequestPromise, RequestWaiter};
use crate::{ExecutorError, ExecutorErrorKind, InFlightRequest, OutputWatch, ToolExecutor, ToolRequest};

/// Most bytes that wait to be sent to a far side that does not read.
const MOST_QUEUED: usize = 160 << 20;

/// Hands at the far end of a channel. Dropping it ends the channel, and with it everything that was started there.
pub struct RemoteExecutor {
    line: Arc<ExecutorChannel>,
    hang_up: Option<Box<dyn Fn() + Send + Sync>>,
}

impl RemoteExecutor {
    /// Hands at the other end of this socket.
    pub fn over_stream(stream: UnixStream) -> io::Result<Self> {
        let (input, ours) = (stream.try_clone()?, stream.try_clone()?);
        let mut remote = Self::over(input, stream)?;
        remote.hang_up = Some(Box::new(move || {
            let _ = ours.shutdown(Shutdown::Both);
        }));
        Ok(remote)
    }

    /// Hands that are heard on `input` and told on `output`.
    pub fn over(input: impl Read + Send + 'static, output: impl Write + Send + 'static) -> io::Result<Self> {
        let line = Arc::new(ExecutorChannel::default());
        let (listening, telling) = (Arc::clone(&line), Arc::clone(&line));
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned()).stack_size(256 << 10);
        thread("hands-listen").spawn(move || listening.listen(input))?;
        let told = thread("hands-tell").spawn(move || telling.tell(output));
        told.inspect_err(|_| line.break_off("no thread is left"))?;
        Ok(Self { line, hang_up: None })
    }

    /// Whether nothing can be done any more, and why.
    pub fn gone(&self) -> Option<String> {
        self.line.lock().gone.clone()
    }
}

impl ToolExecutor for RemoteExecutor {
    fn carry_out<'a>(&'a self, deed: ToolRequest, watch: Option<OutputWatch<'a>>) -> InFlightRequest<'a> {
        let watched = watch.is_some();
        let id = self.line.next_id();
        let begin = move |promise| self.line.ask(id, deed, watched, promise);
        let waiting = RequestWaiter::new(watch, Box::new(begin));
        Box::pin(waiting.on_abandon(move || self.line.abandon(id)))
    }
}

impl Drop for RemoteExecutor {
    fn drop(&mut self) {
        self.line.break_off("the host has ended it");
        if let Some(hang_up) = &self.hang_up {
            hang_up();
        }
    }
}

/// What both directions know.
#[derive(Default)]
struct ExecutorChannel {
    state: Mutex<ChannelState>,
    /// There is something to send, or nothing more to come.
    work: Condvar,
}

#[derive(Default)]
struct ChannelState {
    last_id: u64,
    asked: HashMap<u64, PendingRequest>,
    queue: VecDeque<Vec<u8>>,
    queued: usize,
    gone: Option<String>,
}

struct PendingRequest {
    asked: ExpectedResponse,
    /// `None` when nobody waits any longer; the answer may still come.
    promise: Option<RequestPromise>,
}

impl ExecutorChannel {
    fn next_id(&self) -> u64 {
        let mut state = self.lock();
        state.last_id += 1;
        state.last_id
    }

    fn ask(&self, id: u64, mut deed: ToolRequest, watched: bool, promise: RequestPromise) {
        let asked = ExpectedResponse::of(&deed);
        let body = deed.lighten();
        let frame = match frame::encode(&ExecutorOrder::Do { id, deed, watched }, &body) {
            Ok(frame) => frame,
            Err(error) => {
                return promise.keep(Err(ExecutorError::new(ExecutorErrorKind::TooLarge, error.to_string())));
            }
        };
        let mut state = self.lock();
        if let Some(why) = &state.gone {
            let error = gone(why);
            drop(state);
            return promise.keep(Err(error));
        }
        if state.queued + frame.len() > MOST_QUEUED {
            drop(state);
            return promise.keep(Err(ExecutorError::new(
                ExecutorErrorKind::Exhausted,
                "the hands do not read any more",
            )));
        }
        state.asked.insert(id, PendingRequest { asked, promise: Some(promise) });
        self.send(state, frame);
    }

    fn abandon(&self, id: u64) {
        let mut state = self.lock();
        let Some(pending) = state.asked.get_mut(&id) else { return };
        let promise = pending.promise.take();
        if let Ok(frame) = frame::encode(&ExecutorOrder::Stop { id }, &[]) {
            self.send(state, frame);
        }
        drop(promise);
    }

    fn send(&self, mut state: MutexGuard<'_, ChannelState>, frame: Vec<u8>) {
        state.queued += frame.len();
        state.queue.push_back(frame);
        drop(state);
        self.work.notify_one();
    }

    fn tell(&self, mut output: impl Write) {
        loop {
            let mut state = self.lock();
            while state.queue.is_empty() && state.gone.is_none() {
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            let Some(frame) = state.queue.pop_front() else { return };
            state.queued -= frame.len();
            drop(state);
            if let Err(error) = frame::write(&mut output, &frame) {
                return self.break_off(&format!("they cannot be told anything: {error}"));
            }
        }
    }

    fn listen(&self, mut input: impl Read) {
        let mut ready = false;
        let why = loop {
            let (report, body) = match frame::read::<ExecutorReport>(&mut input) {
                Ok(Some(frame)) => frame,
                Ok(None) => break "their process ended".to_owned(),
                Err(error) => break error.to_string(),
            };
            match report {
                ExecutorReport::Ready { version: VERSION } if !ready && body.is_empty() => ready = true,
                ExecutorReport::Ready { version } => break format!("they speak version {version}"),
                _ if !ready => break "they spoke before they were ready".to_owned(),
                report => {
                    if let Err(why) = self.hear(report, body) {
                        break why;
                    }
                }
            }
        };
        self.break_off(&why);
    }

    fn hear(&self, report: ExecutorReport, body: Vec<u8>) -> Result<(), String> {
        let (id, result) = match report {
            ExecutorReport::Ready { .. } => return Err("they were ready twice".to_owned()),
            ExecutorReport::Piece { id } => return self.piece(id, body),
            ExecutorReport::Failed { id, error } if body.is_empty() => (id, Err(error)),
            ExecutorReport::Failed { .. } => return Err("an error came with bytes".to_owned()),
            ExecutorReport::Done { id, mut done } => match done.restore(body) {
                true => (id, Ok(done)),
                false => return Err("an answer's bytes have no place in it".to_owned()),
            },
        };
        let pending = self.lock().asked.remove(&id).ok_or("they answered what nobody asked")?;
        if result.as_ref().is_ok_and(|done| !pending.asked.fits(done)) {
            return Err("an answer does not fit what was asked".to_owned());
        }
        if let Some(promise) = pending.promise {
            promise.keep(result);
        }
        Ok(())
    }

    fn piece(&self, id: u64, body: Vec<u8>) -> Result<(), String> {
        let text = String::from_utf8(body).map_err(|_| "a piece of output is no text".to_owned())?;
        let teller = {
            let state = self.lock();
            let pending = state.asked.get(&id).ok_or("they reported on what nobody asked")?;
            pending.promise.as_ref().map(RequestPromise::output_forwarder)
        };
        if let Some(teller) = teller {
            teller.piece(&text);
        }
        Ok(())
    }

    /// Nothing can be done from now on, and everything under way is lost.
    fn break_off(&self, why: &str) {
        let lost = {
            let mut state = self.lock();
            state.gone.get_or_insert_with(|| why.to_owned());
            state.queue.clear();
            state.queued = 0;
            std::mem::take(&mut state.asked)
        };
        self.work.notify_all();
        for promise in lost.into_values().filter_map(|pending| pending.promise) {
            promise.keep(Err(gone(why)));
        }
    }

    fn lock(&self) -> MutexGuard<'_, ChannelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn gone(why: &str) -> ExecutorError {
    ExecutorError::new(ExecutorErrorKind::Gone, format!("the hands inside the walls are gone: {why}"))
}
