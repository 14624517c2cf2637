//! Moments on the file system's own clock, exact enough to tell before from after.

use std::fs::File;
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::{Timespec, Timestamps, UTIME_NOW, fstat, futimens};
use serde::{Deserialize, Serialize};

use super::tree::TreeEntryMeta;

/// A moment as the file system records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct FileTimestamp {
    /// Seconds since the epoch.
    pub sec: i64,
    /// Nanoseconds within the second.
    pub nsec: u32,
}

impl FileTimestamp {
    /// A moment strictly after every change made before the call, and not after any change made later.
    ///
    /// File times advance in steps of some milliseconds, so a marker's own time could also be that of a
    /// change made just before. It is touched until its time differs from the first one seen; a kernel with
    /// fine-grained times answers at once, an older one within a tick.
    pub(crate) fn now(marker: &Path) -> io::Result<Self> {
        let file = File::create(marker)?;
        let first = TreeEntryMeta::from(fstat(&file)?).ctime;
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        for _ in 0..10_000 {
            futimens(&file, &Timestamps { last_access: now, last_modification: now })?;
            let stamp = TreeEntryMeta::from(fstat(&file)?).ctime;
            if stamp > first {
                return Ok(stamp);
            }
            thread::sleep(Duration::from_micros(500));
        }
        Err(io::Error::other("the clock of the file system stands still"))
    }

    /// Whether something with this change time was changed at or after `start`, on a file system that may
    /// count only whole seconds.
    pub(crate) fn is_since(self, start: Self) -> bool {
        if self.nsec == 0 { self.sec >= start.sec } else { self >= start }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use super::*;
    use crate::snapshot::tree::{OpenTree, bytes};

    #[test]
    fn tells_before_from_after() {
        let dir = tempfile::tempdir().unwrap();
        let root = OpenTree::open(dir.path()).unwrap();
        for round in 0..50 {
            let (before, after) = (format!("b{round}"), format!("a{round}"));
            fs::write(dir.path().join(&before), "x").unwrap();
            let start = FileTimestamp::now(&dir.path().join("marker")).unwrap();
            fs::write(dir.path().join(&after), "x").unwrap();
            let changed =
                |name: &str| root.look(bytes(Path::new(name))).unwrap().unwrap().ctime.is_since(start);
            assert!(!changed(&before));
            assert!(changed(&after));
        }
    }

    #[test]
    fn whole_seconds_count_in_doubt() {
        let start = FileTimestamp { sec: 10, nsec: 500 };
        assert!(FileTimestamp { sec: 10, nsec: 0 }.is_since(start));
        assert!(!FileTimestamp { sec: 9, nsec: 0 }.is_since(start));
        assert!(!FileTimestamp { sec: 10, nsec: 499 }.is_since(start));
    }
}
