//! Tests with one change, and how they are run.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::XtaskFailure;
use crate::process::{self, Echo, ProgramEnd};

/// So many times as long anything may take behind other tests.
const PATIENCE_BEHIND: u64 = 5;
/// What the tests are called in their folder, and the program they test.
const TESTS: &str = "tests";
const TESTED: &str = "holon";

/// What else the machine does meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrialPace {
    /// Nothing.
    Alone,
    /// Other tests, which come first.
    Behind,
}

impl TrialPace {
    pub(super) fn within(self, seconds: u64, command: &Command) -> Command {
        match self {
            Self::Alone => process::with_deadline(seconds, command),
            Self::Behind => {
                process::behind_others(&process::with_deadline(seconds * PATIENCE_BEHIND, command))
            }
        }
    }
}

/// Tests that can be run with one change.
pub(crate) struct TestVariant {
    folder: tempfile::TempDir,
    /// Whether the program they test is there too.
    tested: bool,
    /// Where they run.
    package: PathBuf,
    pace: TrialPace,
}

impl TestVariant {
    /// A folder for them, which goes with them; whoever runs a test may look into it.
    pub(super) fn new(target: &Path, package: PathBuf, pace: TrialPace) -> Result<Self, XtaskFailure> {
        let make = || {
            let folder = tempfile::Builder::new().prefix("variant-").tempdir_in(target)?;
            fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
            Ok(folder)
        };
        let folder = make().map_err(|error: std::io::Error| {
            format!("cannot make a folder in {}: {error}", target.display())
        })?;
        Ok(Self { folder, tested: false, package, pace })
    }

    /// Puts the tests and what they test there.
    pub(super) fn put<P>(
        &mut self,
        tests: &P,
        tested: Option<&P>,
        put: impl Fn(&P, &Path) -> Result<(), XtaskFailure>,
    ) -> Result<(), XtaskFailure> {
        put(tests, &self.folder.path().join(TESTS))?;
        if let Some(tested) = tested {
            put(tested, &self.folder.path().join(TESTED))?;
            self.tested = true;
        }
        Ok(())
    }

    /// Runs the tests whose names contain one of these words, or all.
    pub(crate) fn run(
        &self,
        filter: &[&str],
        seconds: u64,
        set: impl FnOnce(&mut Command),
    ) -> Result<ProgramEnd, XtaskFailure> {
        let mut tests = Command::new(self.folder.path().join(TESTS));
        tests.args(filter).current_dir(&self.package).env("CARGO_MANIFEST_DIR", &self.package);
        if self.tested {
            tests.env("HOLON_BIN", self.folder.path().join(TESTED));
        }
        set(&mut tests);
        process::tell(&mut self.pace.within(seconds, &tests), Echo::Silent)
    }
}

/// Does something with each of so many, as many at a time as there are processors; the results are in order.
pub(crate) fn side_by_side<T: Send>(count: usize, act: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(count));
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::SeqCst);
            if at >= count {
                return;
            }
            let result = act(at);
            results.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}
