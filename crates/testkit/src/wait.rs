//! Waiting for a condition, never longer than a deadline.

use std::path::Path;
use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Asks `condition` with growing pauses until it holds (true) or `patience` is over (false); it is asked at least once.
pub fn wait_until(patience: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + patience;
    let mut pause = FIRST_PAUSE;
    loop {
        if condition() {
            return true;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Blocks until `path` exists; panics when it does not within `patience`.
#[track_caller]
pub fn wait_for_file(path: impl AsRef<Path>, patience: Duration) {
    let path = path.as_ref();
    let there = wait_until(patience, || path.symlink_metadata().is_ok());
    assert!(there, "{} did not appear within {patience:?}", path.display());
}

/// Blocks until `path` holds text for which `enough` is true and returns it; panics after `patience`.
#[track_caller]
pub fn wait_for_content(path: impl AsRef<Path>, patience: Duration, enough: impl Fn(&str) -> bool) -> String {
    let path = path.as_ref();
    let mut text = None;
    let there = wait_until(patience, || {
        text = std::fs::read_to_string(path).ok();
        text.as_deref().is_some_and(&enough)
    });
    assert!(there, "{} did not get the expected content within {patience:?}: {text:?}", path.display());
    text.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_asked_again() {
        let mut asked = 0;
        let held = wait_until(Duration::from_secs(60), || {
            asked += 1;
            asked == 3
        });
        assert!(held);
        assert_eq!(asked, 3);
    }

    #[test]
    fn patience_ends() {
        let mut asked = 0;
        assert!(!wait_until(Duration::ZERO, || {
            asked += 1;
            false
        }));
        assert_eq!(asked, 1);
    }

    #[test]
    #[should_panic(expected = "did not appear")]
    fn a_file_that_never_comes() {
        wait_for_file("/nonexistent/file", Duration::ZERO);
    }
}
