//! Execute, for the native agent: it thinks in a thread of the host while its hands work behind the walls.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use holon_agent::mcp::{McpServerConfig, McpServers};
use holon_agent::supervise::{SupervisionContext, TakeoverRequests};
use holon_agent::{
    AgentConversation, AgentEventSink, NativeAgent, PersonPrompt, SupervisedTurn, SupervisionSession,
    TurnEndReason, TurnResult, TurnSettings,
};
use holon_core::event::EventBody;
use holon_core::redact::RedactStream;
use holon_hands::RemoteExecutor;
use holon_model::{ModelCancel, Provider};
use holon_sandbox::backend::RunningPayload;

use super::TextListener;
use super::carried_changes::CarriedChanges;
use super::probe::NativeProbe;
use crate::error::HostError;

/// The agent at work.
pub(super) struct NativeRunHandle {
    bodies: Receiver<EventBody>,
    stirred: Arc<AtomicBool>,
    cancel: ModelCancel,
    checks: NativeRunChecks,
    takeovers: TakeoverRequests,
    thread: Option<JoinHandle<(AgentConversation, TurnResult, SupervisionSession)>>,
}

/// The checks that are run for it.
#[derive(Clone, Default)]
pub(super) struct NativeRunChecks {
    /// Ends the one that is running; none is begun any more.
    pub abort: ModelCancel,
    /// Whether one is running.
    pub busy: Arc<AtomicBool>,
}

/// What the thread needs; everything in it is the host's.
pub(super) struct NativeRunInput {
    pub settings: TurnSettings,
    pub provider: Arc<dyn Provider>,
    /// Tool servers to start beside the hands.
    pub servers: Vec<McpServerConfig>,
    pub person: Option<Arc<dyn PersonPrompt>>,
    pub words: Option<(Arc<TextListener>, RedactStream)>,
    pub conversation: AgentConversation,
    pub message: String,
    /// What the snapshot held when the run before ended.
    pub carry: Option<CarriedChanges>,
    pub supervision: SupervisionSession,
    pub around: SupervisionContext,
    pub takeovers: TakeoverRequests,
    /// Where checks run that the model did not ask for, and how they are ended.
    pub probe: Option<NativeProbe>,
    pub checks: NativeRunChecks,
}

impl NativeRunHandle {
    /// Starts to think, with the hands at the other end of the payload's channel.
    pub(super) fn start(
        payload: &mut dyn RunningPayload,
        thought: NativeRunInput,
    ) -> Result<Self, HostError> {
        let broken =
            |message: String| HostError::Walls { message, hint: Some("this is a bug in Holon".into()) };
        let channel_to =
            payload.take_channel().ok_or_else(|| broken("the walls gave no channel to the hands".into()))?;
        let hands = Arc::new(RemoteExecutor::over_stream(channel_to).map_err(|e| broken(e.to_string()))?);
        let cancel = ModelCancel::default();
        let (sender, bodies) = channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| broken(format!("cannot prepare to think: {e}")))?;
        let stirred = Arc::new(AtomicBool::new(false));
        let (stop, stirs) = (cancel.clone(), Arc::clone(&stirred));
        let (takeovers, checks) = (thought.takeovers.clone(), thought.checks.clone());
        let span = tracing::Span::current();
        let thread = std::thread::spawn(move || {
            let _run = span.entered();
            let NativeRunInput { settings, provider, person, words, mut conversation, message, .. } = thought;
            let watcher = NativeEventTelling::new(sender, words, stirs);
            let steward = SupervisedTurn::new(thought.supervision, thought.around, &watcher);
            let ended = runtime.block_on(async {
                if let Some(carry) = &thought.carry
                    && let Err(why) = carry.restore(&*hands).await
                {
                    return lost(format!("what the run before had changed cannot be brought back: {why}"));
                }
                let servers = McpServers::start(hands.clone(), &thought.servers).await;
                for trouble in servers.troubles() {
                    watcher.tell(EventBody::Warning { message: trouble.to_string() });
                }
                let mut agent = NativeAgent::new(&provider, &*hands, &settings, &stop)
                    .watched_by(&watcher)
                    .under(&steward)
                    .served_by(&servers);
                if let Some(probe) = &thought.probe {
                    agent = agent.checked_by(probe);
                }
                if let Some(person) = &person {
                    agent = agent.asking(person.as_ref());
                }
                let ended = agent.turn(&mut conversation, &message).await;
                servers.close().await;
                ended
            });
            (conversation, ended, steward.finish())
        });
        Ok(Self { bodies, stirred, cancel, checks, takeovers, thread: Some(thread) })
    }

    /// What happened since the last look.
    pub(super) fn news(&self) -> Vec<EventBody> {
        self.bodies.try_iter().collect()
    }

    /// Whether anything happened since the last look, told or not: a command that prints is at work, and so is a check.
    pub(super) fn stirred(&self) -> bool {
        self.stirred.swap(false, Ordering::Relaxed) || self.checks.busy.load(Ordering::Relaxed)
    }

    /// A person wants the supervisor to take over.
    pub(super) fn take_over(&self, by: String) {
        self.takeovers.ask(by);
    }

    /// Asks it to stop.
    pub(super) fn stop(&self) {
        self.cancel.cancel();
        self.checks.abort.cancel();
    }

    /// Waits for its end after that of its hands, which it must not outlive: a model can take its time.
    pub(super) fn end(
        mut self,
        mut tell: impl FnMut(EventBody),
    ) -> Option<(AgentConversation, TurnResult, SupervisionSession)> {
        self.stop();
        // Ends when the thread drops its sender.
        self.bodies.iter().for_each(&mut tell);
        self.thread.take()?.join().ok()
    }
}

/// A turn that could not begin.
fn lost(why: String) -> TurnResult {
    TurnResult {
        reason: TurnEndReason::HandsGone(why),
        text: String::new(),
        usage: Default::default(),
        rounds: 0,
    }
}

/// Passes on what happens, with pieces of text joined into lines: how they were cut on their way differs from run to run,
/// and one event per word helps nobody. What a running command prints is left to its result, for the same reason.
struct NativeEventTelling {
    joined: Mutex<JoinedText>,
    stirs: Arc<AtomicBool>,
}

struct JoinedText {
    sender: Sender<EventBody>,
    text: String,
    reasoning: String,
    words: Option<(Arc<TextListener>, RedactStream)>,
    /// Whether the words so far end in the middle of a line.
    open_line: bool,
}

impl NativeEventTelling {
    fn new(
        sender: Sender<EventBody>,
        words: Option<(Arc<TextListener>, RedactStream)>,
        stirs: Arc<AtomicBool>,
    ) -> Self {
        let (text, reasoning) = (String::new(), String::new());
        let joined = JoinedText { sender, text, reasoning, words, open_line: false };
        Self { joined: Mutex::new(joined), stirs }
    }
}

impl AgentEventSink for NativeEventTelling {
    fn tell(&self, body: EventBody) {
        self.stirs.store(true, Ordering::Relaxed);
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        match body {
            EventBody::MessageDelta { text } => {
                joined.live(text.as_bytes(), false);
                joined.text(&text);
            }
            EventBody::ReasoningDelta { text } => joined.reasoning(&text),
            EventBody::ToolOutput { .. } => {}
            other => {
                joined.live(b"", true);
                joined.flush();
                joined.send(other);
            }
        }
    }
}

impl JoinedText {
    /// Passes words on at once, as far as no secret can begin in them.
    fn live(&mut self, text: &[u8], ended: bool) {
        let Some((hear, stream)) = &mut self.words else { return };
        let mut clean = Vec::new();
        stream.push(text, &mut clean);
        if ended {
            stream.flush(&mut clean);
            // A message ends with its line, whatever comes next.
            let open = clean.last().map_or(self.open_line, |last| *last != b'\n');
            if open {
                clean.push(b'\n');
            }
        }
        self.open_line = clean.last().map_or(self.open_line, |last| *last != b'\n');
        if !clean.is_empty() {
            hear(&String::from_utf8_lossy(&clean));
        }
    }

    fn text(&mut self, piece: &str) {
        if !self.reasoning.is_empty() {
            self.flush();
        }
        self.text += piece;
        while let Some(end) = self.text.find('\n') {
            let rest = self.text.split_off(end + 1);
            let line = std::mem::replace(&mut self.text, rest);
            self.send(EventBody::MessageDelta { text: line });
        }
    }

    fn reasoning(&mut self, piece: &str) {
        if !self.text.is_empty() {
            self.flush();
        }
        self.reasoning += piece;
        while let Some(end) = self.reasoning.find('\n') {
            let rest = self.reasoning.split_off(end + 1);
            let line = std::mem::replace(&mut self.reasoning, rest);
            self.send(EventBody::ReasoningDelta { text: line });
        }
    }

    fn flush(&mut self) {
        for (text, thought) in
            [(std::mem::take(&mut self.reasoning), true), (std::mem::take(&mut self.text), false)]
        {
            if !text.is_empty() {
                self.send(if thought {
                    EventBody::ReasoningDelta { text }
                } else {
                    EventBody::MessageDelta { text }
                });
            }
        }
    }

    fn send(&self, body: EventBody) {
        // Nobody listens any more only when the run is being torn down.
        let _ = self.sender.send(body);
    }
}

impl Drop for JoinedText {
    fn drop(&mut self) {
        self.live(b"", true);
        self.flush();
    }
}
