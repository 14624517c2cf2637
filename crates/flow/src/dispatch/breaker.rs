//! The circuit breaker: work that keeps failing is not tried again and again.
//!
//! Three failures in a row of one task open it; an open one refuses at once. After a cool-down one trial is let through,
//! and what becomes of that closes it or opens it anew. Its state outlives the process.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holon_core::ids::TaskId;
use holon_host::HostError;
use holon_host::store::write_atomic;
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

/// When a breaker opens, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerRule {
    /// Failures in a row that open it.
    pub failures: u32,
    /// How long it stays open before a trial.
    pub cool_down: Duration,
}

impl Default for BreakerRule {
    fn default() -> Self {
        Self { failures: 3, cool_down: Duration::from_secs(5 * 60) }
    }
}

/// Where one task stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CircuitBreaker {
    /// Failures since the last success.
    pub failures: u32,
    /// When it opened, or when the trial began, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_at_ms: Option<u64>,
}

/// Whether work may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It may.
    Go,
    /// It may, and what becomes of it decides for the others.
    Trial,
    /// Not before this moment.
    Refused {
        /// Milliseconds since 1970.
        until_ms: u64,
    },
}

impl CircuitBreaker {
    /// Decides about the next start. A trial takes the place of the opening, so that nobody else gets one meanwhile.
    pub fn admit(&mut self, now_ms: u64, rule: BreakerRule) -> Admission {
        let Some(opened) = self.opened_at_ms else { return Admission::Go };
        let until_ms = opened.saturating_add(u64::try_from(rule.cool_down.as_millis()).unwrap_or(u64::MAX));
        // A clock that was set back must not keep it open for ever.
        if now_ms >= until_ms || opened > now_ms {
            self.opened_at_ms = Some(now_ms);
            return Admission::Trial;
        }
        Admission::Refused { until_ms }
    }

    /// Takes note of how work ended.
    pub fn record(&mut self, ok: bool, now_ms: u64, rule: BreakerRule) {
        if ok {
            *self = Self::default();
            return;
        }
        self.failures = self.failures.saturating_add(1);
        if self.failures >= rule.failures {
            self.opened_at_ms = Some(now_ms);
        }
    }
}

/// The breakers of all tasks, one small file each.
#[derive(Debug, Clone)]
pub(crate) struct CircuitBreakers {
    folder: PathBuf,
    rule: BreakerRule,
}

impl CircuitBreakers {
    pub(crate) fn new(state: &Path, rule: BreakerRule) -> Self {
        Self { folder: state.join("breakers"), rule }
    }

    /// Failures that opened it, and when the task may be tried again; `None` when it may start now.
    pub(crate) fn refuses(&self, task: &TaskId, now_ms: u64) -> Result<Option<(u32, u64)>, HostError> {
        if !self.file(task).exists() {
            return Ok(None);
        }
        self.with(task, |breaker, rule| match breaker.admit(now_ms, rule) {
            Admission::Go | Admission::Trial => None,
            Admission::Refused { until_ms } => Some((breaker.failures, until_ms)),
        })
    }

    pub(crate) fn record(&self, task: &TaskId, ok: bool, now_ms: u64) -> Result<(), HostError> {
        // Nearly all work succeeds, and leaves nothing behind.
        if ok && !self.file(task).exists() {
            return Ok(());
        }
        self.with(task, |breaker, rule| breaker.record(ok, now_ms, rule))
    }

    fn file(&self, task: &TaskId) -> PathBuf {
        self.folder.join(format!("{task}.json"))
    }

    fn with<T>(
        &self,
        task: &TaskId,
        work: impl FnOnce(&mut CircuitBreaker, BreakerRule) -> T,
    ) -> Result<T, HostError> {
        private_folder(&self.folder)?;
        let lock_path = self.folder.join("lock");
        let lock = File::options().create(true).append(true).open(&lock_path);
        let lock = lock.map_err(HostError::io("create", &lock_path))?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive)
            .map_err(|e| HostError::io("lock", &lock_path)(e.into()))?;
        let path = self.file(task);
        // One that cannot be read counts as new: a broken file must not stop all work.
        let mut breaker: CircuitBreaker =
            fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        let before = breaker.clone();
        let result = work(&mut breaker, self.rule);
        if breaker == CircuitBreaker::default() {
            match fs::remove_file(&path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => {
                    return Err(HostError::io("remove", &path)(e));
                }
                _ => {}
            }
        } else if breaker != before {
            write_atomic(&path, &serde_json::to_vec(&breaker).unwrap_or_default())?;
        }
        Ok(result)
    }
}

/// Makes a folder that nobody else can look into.
pub(crate) fn private_folder(path: &Path) -> Result<(), HostError> {
    use std::os::unix::fs::DirBuilderExt;
    let made = fs::DirBuilder::new().mode(0o700).recursive(true).create(path);
    made.map_err(HostError::io("create", path))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    const RULE: BreakerRule = BreakerRule { failures: 3, cool_down: Duration::from_millis(100) };

    #[test]
    fn three_failures_in_a_row_open_it_and_a_trial_closes_it() {
        let mut breaker = CircuitBreaker::default();
        for (ok, now) in [(false, 1), (false, 2), (true, 3), (false, 4), (false, 5)] {
            breaker.record(ok, now, RULE);
            assert_eq!(breaker.admit(now, RULE), Admission::Go);
        }
        breaker.record(false, 10, RULE);
        assert_eq!(breaker.admit(11, RULE), Admission::Refused { until_ms: 110 });
        assert_eq!(breaker.admit(110, RULE), Admission::Trial);
        // One trial at a time.
        assert_eq!(breaker.admit(111, RULE), Admission::Refused { until_ms: 210 });
        breaker.record(false, 120, RULE);
        assert_eq!(breaker.admit(121, RULE), Admission::Refused { until_ms: 220 });
        assert_eq!(breaker.admit(220, RULE), Admission::Trial);
        breaker.record(true, 230, RULE);
        assert_eq!((breaker.admit(231, RULE), &breaker), (Admission::Go, &CircuitBreaker::default()));
    }

    #[test]
    fn it_outlives_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let task: TaskId = "t-1".parse().unwrap();
        let breakers = || CircuitBreakers::new(folder.path(), RULE);
        assert_eq!(breakers().refuses(&task, 1).unwrap(), None);
        for now in 1..=3 {
            breakers().record(&task, false, now).unwrap();
        }
        assert_eq!(breakers().refuses(&task, 4).unwrap(), Some((3, 103)));
        assert_eq!(breakers().refuses(&"t-2".parse().unwrap(), 4).unwrap(), None, "others are not concerned");
        assert_eq!(breakers().refuses(&task, 103).unwrap(), None);
        breakers().record(&task, true, 104).unwrap();
        assert!(!folder.path().join("breakers/t-1.json").exists());
    }

    proptest! {
        #[test]
        fn it_is_never_open_longer_than_the_cool_down(steps in prop::collection::vec((any::<bool>(), 0u64..300), 1..40)) {
            let (mut breaker, mut now) = (CircuitBreaker::default(), 1000);
            for (ok, pause) in steps {
                now += pause;
                match breaker.admit(now, RULE) {
                    Admission::Refused { until_ms } => {
                        prop_assert!(until_ms > now && until_ms <= now + 100);
                        prop_assert!(breaker.failures >= 3);
                    }
                    _ => breaker.record(ok, now, RULE),
                }
            }
        }
    }
}
