//! Uploads that were sent long ago: each was copied into its thread with its message, so what is left is nobody's.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// How long an upload waits for its message.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Takes old ones away; says how many. What cannot be removed now is tried again at the next start.
pub(crate) fn tidy(folder: &Path, now: SystemTime) -> usize {
    let old = |path: &Path| {
        let modified = fs::symlink_metadata(path).and_then(|meta| meta.modified());
        modified.is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age > KEPT))
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| old(&entry.path()) && fs::remove_file(entry.path()).is_ok()).count()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_waited_too_long_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        for (name, age) in [("f-old", KEPT * 2), ("f-new", Duration::ZERO)] {
            let file = fs::File::create(folder.path().join(name)).unwrap();
            file.set_modified(now - age).unwrap();
        }
        assert_eq!(tidy(folder.path(), now), 1);
        assert!(folder.path().join("f-new").exists() && !folder.path().join("f-old").exists());
        assert_eq!(tidy(&folder.path().join("none"), now), 0);
    }
}
