//! Hands in this very process.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::in_flight::{RequestPromise, RequestWaiter};
use crate::perform::Workbench;
use crate::stop::StopSignal;
use crate::{
    ExecutorError, ExecutorErrorKind, InFlightRequest, OutputWatch, ToolExecutor, ToolRequest, ToolResponse,
};

/// Most deeds under way at the same time.
const MOST_AT_ONCE: usize = 128;

/// Carries deeds out in this process, each on a thread of its own. Dropping it ends all commands and jobs it started.
pub struct LocalExecutor {
    root: PathBuf,
    keep: PathBuf,
    env: Option<Vec<(OsString, OsString)>>,
    bench: OnceLock<Arc<Workbench>>,
    under_way: Arc<AtomicUsize>,
}

impl LocalExecutor {
    /// Hands for the workspace in this folder. Output is kept in `holon-output` in the folder for temporary files, and
    /// commands get the environment of this process, unless said otherwise before the first deed.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        let keep = std::env::temp_dir().join("holon-output");
        Self { root, keep, env: None, bench: OnceLock::new(), under_way: Arc::default() }
    }

    /// Keeps the output of commands in this folder.
    #[must_use]
    pub fn keep_output_in(mut self, folder: impl Into<PathBuf>) -> Self {
        self.keep = folder.into();
        self
    }

    /// Gives commands this environment and no other.
    #[must_use]
    pub fn with_env<K: Into<OsString>, V: Into<OsString>>(
        mut self,
        env: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        self.env = Some(env.into_iter().map(|(key, value)| (key.into(), value.into())).collect());
        self
    }

    /// Starts the shell for the next command ahead of time. Nothing needs it; the first command is quicker for it.
    pub fn make_ready(&self) {
        self.bench().make_ready();
    }

    fn bench(&self) -> &Arc<Workbench> {
        self.bench.get_or_init(|| {
            let root = std::path::absolute(&self.root).unwrap_or_else(|_| self.root.clone());
            Arc::new(Workbench::new(root, self.keep.clone(), self.env.clone()))
        })
    }

    /// Carries a deed out on a thread of its own.
    pub(crate) fn begin(
        &self,
        deed: ToolRequest,
        stop: Arc<StopSignal>,
        mut watch: OutputPieces,
        answer: ResponseCallback,
    ) {
        let mut answer = GuaranteedResponse(Some(answer));
        let seat = ConcurrencySlot::take(&self.under_way);
        if seat.number > MOST_AT_ONCE {
            let message = format!("{MOST_AT_ONCE} calls are under way already: wait for some of them to end");
            answer.give(Err(ExecutorError::new(ExecutorErrorKind::Exhausted, message)));
            return;
        }
        let bench = Arc::clone(self.bench());
        let work = move || {
            let result = bench.perform(&deed, &stop, &mut *watch);
            drop(seat);
            answer.give(result);
            if matches!(deed, ToolRequest::Run(_)) {
                bench.make_ready();
            }
        };
        // A thread that cannot be had drops the pledge, which says so.
        let _ = std::thread::Builder::new().name("hands".to_owned()).spawn(work);
    }
}

impl ToolExecutor for LocalExecutor {
    fn carry_out<'a>(&'a self, deed: ToolRequest, watch: Option<OutputWatch<'a>>) -> InFlightRequest<'a> {
        let watched = watch.is_some();
        let begin = move |promise: RequestPromise| {
            let stop = Arc::clone(promise.stop());
            let pieces: OutputPieces = match watched {
                true => {
                    let teller = promise.output_forwarder();
                    Box::new(move |piece| teller.piece(piece))
                }
                false => Box::new(|_| {}),
            };
            self.begin(deed, stop, pieces, Box::new(move |result| promise.keep(result)));
        };
        Box::pin(RequestWaiter::new(watch, Box::new(begin)))
    }
}

impl Drop for LocalExecutor {
    fn drop(&mut self) {
        if let Some(bench) = self.bench.get() {
            bench.close();
        }
    }
}

/// Hears pieces of output.
pub(crate) type OutputPieces = Box<dyn FnMut(&str) + Send>;
/// Takes the result.
pub(crate) type ResponseCallback = Box<dyn FnOnce(Result<ToolResponse, ExecutorError>) + Send>;

/// An answer that is given in any case.
struct GuaranteedResponse(Option<ResponseCallback>);

impl GuaranteedResponse {
    fn give(&mut self, result: Result<ToolResponse, ExecutorError>) {
        if let Some(answer) = self.0.take() {
            answer(result);
        }
    }
}

impl Drop for GuaranteedResponse {
    fn drop(&mut self) {
        let error = match std::thread::panicking() {
            true => ExecutorError::new(
                ExecutorErrorKind::Other,
                "this failed inside the hands: try it another way",
            ),
            false => ExecutorError::new(
                ExecutorErrorKind::Exhausted,
                "no thread is left for this: end background commands, then try again",
            ),
        };
        self.give(Err(error));
    }
}

/// One of those that are under way.
struct ConcurrencySlot {
    number: usize,
    under_way: Arc<AtomicUsize>,
}

impl ConcurrencySlot {
    fn take(under_way: &Arc<AtomicUsize>) -> Self {
        let number = under_way.fetch_add(1, Ordering::SeqCst) + 1;
        Self { number, under_way: Arc::clone(under_way) }
    }
}

impl Drop for ConcurrencySlot {
    fn drop(&mut self) {
        self.under_way.fetch_sub(1, Ordering::SeqCst);
    }
}
