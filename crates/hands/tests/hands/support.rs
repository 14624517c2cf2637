//! What the tests share: a workspace with hands, and a way to wait for them.

use std::future::Future;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use holon_hands::{
    CommandRequest, CommandResult, ExecutorError, ExecutorErrorKind, FolderListing, JobId, JobReport,
    LocalExecutor, SearchMatches, SearchRequest, ToolExecutor, ToolRequest, ToolResponse,
};

struct ThreadWaker(Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future on this thread.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(ThreadWaker(std::thread::current())));
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        std::thread::park();
    }
}

/// Begins a future without waiting for it; it may be done at once.
pub(crate) fn poll_once<T>(future: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> Option<T> {
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// Begins a future that cannot be done yet.
pub(crate) fn begin<T>(future: Pin<&mut (impl Future<Output = T> + ?Sized)>) {
    assert!(poll_once(future).is_none());
}

/// A workspace with hands for it.
pub(crate) struct ExecutorWorld {
    // The hands go first: they end what still runs in the folder.
    pub(crate) hands: Box<dyn ToolExecutor>,
    pub(crate) dir: tempfile::TempDir,
}

impl ExecutorWorld {
    pub(crate) fn new() -> Self {
        Self::with(|dir| Box::new(local(dir)))
    }

    pub(crate) fn with(hands: impl FnOnce(&Path) -> Box<dyn ToolExecutor>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("w")).unwrap();
        Self { hands: hands(dir.path()), dir }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("w").join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn content(&self, name: &str) -> String {
        String::from_utf8(std::fs::read(self.path(name)).unwrap()).unwrap()
    }

    pub(crate) fn doing(&self, deed: ToolRequest) -> Result<ToolResponse, ExecutorError> {
        wait(self.hands.carry_out(deed, None))
    }

    /// A deed that must fail like this, in words that hold these parts.
    #[track_caller]
    pub(crate) fn refused(&self, deed: ToolRequest, trouble: ExecutorErrorKind, parts: &[&str]) {
        let error = self.doing(deed.clone()).expect_err(&format!("{deed:?} was done"));
        assert_eq!(error.trouble, trouble, "{}", error.message);
        for part in parts {
            assert!(error.message.contains(part), "`{}` does not say `{part}`", error.message);
        }
    }

    #[track_caller]
    pub(crate) fn run(&self, line: &str) -> CommandResult {
        self.run_as(CommandRequest { line: line.to_owned(), max_bytes: 10_000, ..CommandRequest::default() })
    }

    #[track_caller]
    pub(crate) fn run_as(&self, run: CommandRequest) -> CommandResult {
        match self.doing(ToolRequest::Run(run)).unwrap() {
            ToolResponse::Ran(ran) => ran,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn start(&self, line: &str) -> JobId {
        match self
            .doing(ToolRequest::Start(CommandRequest { line: line.to_owned(), ..CommandRequest::default() }))
            .unwrap()
        {
            ToolResponse::Started(id) => id,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn look(&self, job: JobId, wait_ms: u64) -> JobReport {
        match self.doing(ToolRequest::Look { job, wait_ms, max_bytes: 10_000 }).unwrap() {
            ToolResponse::Look(look) => look,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn grep(&self, search: SearchRequest) -> SearchMatches {
        match self.doing(ToolRequest::Grep(search)).unwrap() {
            ToolResponse::Found(found) => found,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn listing(&self, deed: ToolRequest) -> FolderListing {
        match self.doing(deed).unwrap() {
            ToolResponse::Listing(listing) => listing,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn fifo(&self, name: &str) {
        let path = self.path(name);
        let status = std::process::Command::new("mkfifo").args(["-m", "666"]).arg(&path).status().unwrap();
        assert!(status.success());
    }
}

/// A command that holds this FIFO open and does not end by itself.
pub(crate) fn lives(fifo: &str) -> String {
    format!("exec 3>{fifo}; sleep 1000")
}

/// The life of a [`lives`] command, which has begun.
pub(crate) struct CommandLife(std::fs::File);

impl ExecutorWorld {
    /// Waits until the command is there.
    pub(crate) fn life(&self, fifo: &str) -> CommandLife {
        CommandLife(std::fs::File::open(self.path(fifo)).unwrap())
    }
}

impl CommandLife {
    /// Waits until it and everything it started are gone.
    pub(crate) fn wait_for_end(mut self) {
        assert_eq!(self.0.read(&mut [0]).unwrap(), 0);
    }
}

/// Hands for the folder `w` in this one.
pub(crate) fn local(dir: &Path) -> LocalExecutor {
    LocalExecutor::new(dir.join("w")).keep_output_in(dir.join("kept"))
}

/// Waits until no process has this number any more, or only a dead one that nobody has waited for.
pub(crate) fn wait_for_end(pid: i32) {
    let state = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit(") ").next().and_then(|rest| rest.chars().next())
    };
    while !matches!(state(), None | Some('Z' | 'X')) {
        std::thread::yield_now();
    }
}
