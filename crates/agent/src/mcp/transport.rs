//! A conversation with a program inside the walls, carried by the hands.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use holon_hands::{
    ExecutorError, ExecutorErrorKind, JobId, ProgramRequest, ToolExecutor, ToolRequest, ToolResponse,
};
use rmcp::RoleClient;
use rmcp::service::TxJsonRpcMessage;
use rmcp::transport::Transport;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::frames::{McpLineFramer, McpMessage};
use super::tool_reply::bounded;

/// Most bytes heard at once.
const MOST_HEARD: u64 = 64 * 1024;

/// A program that was opened; letting go of it ends the program.
pub(super) struct OpenedProgram {
    hands: Arc<dyn ToolExecutor>,
    job: JobId,
    /// What it wrote to its standard error, as far as it was looked at: every look shows only what is new.
    errors: tokio::sync::Mutex<String>,
}

/// Most bytes of standard error that are kept.
const MOST_ERRORS: usize = 2000;

impl OpenedProgram {
    /// Starts the program.
    pub(super) async fn open(
        hands: Arc<dyn ToolExecutor>,
        program: ProgramRequest,
    ) -> Result<Arc<Self>, ExecutorError> {
        match hands.carry_out(ToolRequest::Open(program), None).await? {
            ToolResponse::Started(job) => Ok(Arc::new(Self { hands, job, errors: Default::default() })),
            other => Err(unexpected(&other)),
        }
    }

    /// Ends the program now; a second time does nothing.
    pub(super) async fn end(&self) {
        self.look(ToolRequest::End { job: self.job }).await;
    }

    /// The end of what the program wrote to its standard error.
    pub(super) async fn stderr(&self) -> String {
        self.look(ToolRequest::Look { job: self.job, wait_ms: 100, max_bytes: MOST_ERRORS as u64 }).await
    }

    async fn look(&self, deed: ToolRequest) -> String {
        let mut errors = self.errors.lock().await;
        if let Ok(ToolResponse::Look(look)) = self.hands.carry_out(deed, None).await {
            errors.push_str(&look.output);
            *errors = bounded(&errors, MOST_ERRORS);
        }
        errors.trim().to_owned()
    }

    async fn hear(&self) -> Result<Vec<u8>, ExecutorError> {
        match self.hands.carry_out(ToolRequest::Hear { job: self.job, max_bytes: MOST_HEARD }, None).await? {
            ToolResponse::Heard(bytes) => Ok(bytes),
            other => Err(unexpected(&other)),
        }
    }
}

impl Drop for OpenedProgram {
    fn drop(&mut self) {
        // Without a runtime the run is over, and the hands end what they started.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (hands, job) = (Arc::clone(&self.hands), self.job);
            runtime.spawn(async move { drop(hands.carry_out(ToolRequest::End { job }, None).await) });
        }
    }
}

fn unexpected(done: &ToolResponse) -> ExecutorError {
    ExecutorError::new(
        ExecutorErrorKind::Other,
        format!("the hands gave an answer that does not fit: {done:?}"),
    )
}

/// Why a conversation ended, for whoever asks after it.
#[derive(Clone, Default)]
pub(super) struct PartingReason(Arc<Mutex<Option<String>>>);

impl PartingReason {
    /// What happened.
    pub(super) fn why(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn because(&self, why: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    }
}

/// Messages to and from an opened program.
pub(super) struct ProgramPipe {
    opened: Arc<OpenedProgram>,
    frames: McpLineFramer,
    ready: VecDeque<McpMessage>,
    heard: mpsc::Receiver<Result<Vec<u8>, ExecutorError>>,
    listener: JoinHandle<()>,
    /// One message is written after the other.
    writing: Arc<tokio::sync::Mutex<()>>,
    parting: PartingReason,
}

impl ProgramPipe {
    /// Begins to listen.
    pub(super) fn new(opened: Arc<OpenedProgram>, parting: PartingReason) -> Self {
        // A task of its own listens, because what is heard must not get lost when waiting for it is given up.
        let (tell, heard) = mpsc::channel(4);
        let speaker = Arc::clone(&opened);
        let listener = tokio::spawn(async move {
            loop {
                let bytes = speaker.hear().await;
                let last = !matches!(&bytes, Ok(bytes) if !bytes.is_empty());
                if tell.send(bytes).await.is_err() || last {
                    break;
                }
            }
        });
        let (frames, ready, writing) = Default::default();
        Self { opened, frames, ready, heard, listener, writing, parting }
    }
}

impl Drop for ProgramPipe {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl Transport<RoleClient> for ProgramPipe {
    type Error = ExecutorError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), ExecutorError>> + Send + 'static {
        let (opened, writing) = (Arc::clone(&self.opened), Arc::clone(&self.writing));
        async move {
            let mut bytes = serde_json::to_vec(&item).map_err(|error| {
                ExecutorError::new(ExecutorErrorKind::Invalid, format!("cannot be written: {error}"))
            })?;
            bytes.push(b'\n');
            let _turn = writing.lock().await;
            opened
                .hands
                .carry_out(ToolRequest::Feed { job: opened.job, bytes, end: false }, None)
                .await
                .map(drop)
        }
    }

    async fn receive(&mut self) -> Option<McpMessage> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Some(message);
            }
            let bytes = match self.heard.recv().await {
                Some(Ok(bytes)) if !bytes.is_empty() => bytes,
                Some(Err(error)) => {
                    self.parting.because(error.message);
                    return None;
                }
                _ => {
                    self.parting.because("it ended".to_owned());
                    return None;
                }
            };
            match self.frames.take(&bytes) {
                Ok(messages) => self.ready.extend(messages),
                Err(nonsense) => {
                    self.parting.because(nonsense.to_string());
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), ExecutorError> {
        self.listener.abort();
        self.opened.end().await;
        Ok(())
    }
}
