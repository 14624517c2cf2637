//! Hands in this very process.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::doing::{Promise, Waiting};
use crate::perform::Workbench;
use crate::stop::Stop;
use crate::{Deed, Doing, Done, Hands, HandsError, Trouble, Watch};

/// Most deeds under way at the same time.
const MOST_AT_ONCE: usize = 128;

/// Carries deeds out in this process, each on a thread of its own. Dropping it ends all commands and jobs it started.
pub struct Local {
    root: PathBuf,
    keep: PathBuf,
    env: Option<Vec<(OsString, OsString)>>,
    bench: OnceLock<Arc<Workbench>>,
    under_way: Arc<AtomicUsize>,
}

impl Local {
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
    pub(crate) fn begin(&self, deed: Deed, stop: Arc<Stop>, mut watch: Pieces, answer: Answer) {
        let mut answer = Pledge(Some(answer));
        let seat = Seat::take(&self.under_way);
        if seat.number > MOST_AT_ONCE {
            let message = format!("{MOST_AT_ONCE} calls are under way already: wait for some of them to end");
            answer.give(Err(HandsError::new(Trouble::Exhausted, message)));
            return;
        }
        let bench = Arc::clone(self.bench());
        let work = move || {
            let result = bench.perform(&deed, &stop, &mut *watch);
            drop(seat);
            answer.give(result);
            if matches!(deed, Deed::Run(_)) {
                bench.make_ready();
            }
        };
        // A thread that cannot be had drops the pledge, which says so.
        let _ = std::thread::Builder::new().name("hands".to_owned()).spawn(work);
    }
}

impl Hands for Local {
    fn carry_out<'a>(&'a self, deed: Deed, watch: Option<Watch<'a>>) -> Doing<'a> {
        let watched = watch.is_some();
        let begin = move |promise: Promise| {
            let stop = Arc::clone(promise.stop());
            let pieces: Pieces = match watched {
                true => {
                    let teller = promise.teller();
                    Box::new(move |piece| teller.piece(piece))
                }
                false => Box::new(|_| {}),
            };
            self.begin(deed, stop, pieces, Box::new(move |result| promise.keep(result)));
        };
        Box::pin(Waiting::new(watch, Box::new(begin)))
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        if let Some(bench) = self.bench.get() {
            bench.close();
        }
    }
}

/// Hears pieces of output.
pub(crate) type Pieces = Box<dyn FnMut(&str) + Send>;
/// Takes the result.
pub(crate) type Answer = Box<dyn FnOnce(Result<Done, HandsError>) + Send>;

/// An answer that is given in any case.
struct Pledge(Option<Answer>);

impl Pledge {
    fn give(&mut self, result: Result<Done, HandsError>) {
        if let Some(answer) = self.0.take() {
            answer(result);
        }
    }
}

impl Drop for Pledge {
    fn drop(&mut self) {
        let error = match std::thread::panicking() {
            true => HandsError::new(Trouble::Other, "this failed inside the hands: try it another way"),
            false => HandsError::new(
                Trouble::Exhausted,
                "no thread is left for this: end background commands, then try again",
            ),
        };
        self.give(Err(error));
    }
}

/// One of those that are under way.
struct Seat {
    number: usize,
    under_way: Arc<AtomicUsize>,
}

impl Seat {
    fn take(under_way: &Arc<AtomicUsize>) -> Self {
        let number = under_way.fetch_add(1, Ordering::SeqCst) + 1;
        Self { number, under_way: Arc::clone(under_way) }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.under_way.fetch_sub(1, Ordering::SeqCst);
    }
}
