//! Watching what a run writes to disk: no kernel gives an ordinary user a quota, so the host looks and ends the run.
//!
//! A look costs one `statvfs`; only when the file system got fuller by a good part of the limit are the folders of the
//! run really counted, so that somebody else's writes cannot end it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Shortest time between two full counts.
const COUNT_EVERY: Duration = Duration::from_millis(500);

/// What a run may put on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskLimits {
    /// Bytes in all watched folders together.
    pub bytes: u64,
    /// Files and folders in all watched folders together.
    pub files: u64,
}

/// Which limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskLimit {
    /// Too many bytes.
    Bytes,
    /// Too many files.
    Files,
    /// The file system itself is nearly full.
    Full,
}

/// Watches the folders of one run.
#[derive(Debug)]
pub struct DiskWatch {
    folders: Vec<PathBuf>,
    limits: DiskLimits,
    start: DiskUsage,
    last_count: Option<Instant>,
}

#[derive(Debug, Clone, Copy, Default)]
struct DiskUsage {
    bytes: u64,
    files: u64,
}

impl DiskWatch {
    /// Starts watching; what is there already (a copied workspace) does not count.
    pub fn start(folders: Vec<PathBuf>, limits: DiskLimits) -> Self {
        let start = folders.first().map(|f| free(f)).unwrap_or_default();
        Self { folders, limits, start, last_count: None }
    }

    /// The limit that is broken now, if any. `already` is what was there at the start; `processes` are asked for when
    /// files that have no name any more must be counted too.
    pub fn broken(&mut self, already: DiskLimits, processes: impl FnOnce() -> Vec<u32>) -> Option<DiskLimit> {
        let now = free(self.folders.first()?);
        // Keep the machine usable whatever the limits say.
        if now.bytes < 64 << 20 && self.start.bytes > 64 << 20 {
            return Some(DiskLimit::Full);
        }
        let used = self.start.bytes.saturating_sub(now.bytes);
        let made = self.start.files.saturating_sub(now.files);
        let suspicious = used > self.limits.bytes / 2 || made > self.limits.files / 2;
        let due = self.last_count.is_none_or(|t| t.elapsed() >= COUNT_EVERY);
        if !suspicious || !due {
            return None;
        }
        self.last_count = Some(Instant::now());
        let allowed =
            DiskLimits { bytes: self.limits.bytes + already.bytes, files: self.limits.files + already.files };
        let mut total = DiskLimits { bytes: nameless(&processes()), files: 0 };
        if total.bytes > allowed.bytes {
            return Some(DiskLimit::Bytes);
        }
        for folder in &self.folders {
            count(folder, &mut total, &allowed);
            if total.bytes > allowed.bytes {
                return Some(DiskLimit::Bytes);
            }
            if total.files > allowed.files {
                return Some(DiskLimit::Files);
            }
        }
        None
    }
}

fn free(path: &Path) -> DiskUsage {
    rustix::fs::statvfs(path)
        .map(|s| DiskUsage { bytes: s.f_bavail.saturating_mul(s.f_frsize), files: s.f_favail })
        .unwrap_or_default()
}

/// Adds up what is below `folder`, stopping as soon as a limit is passed.
fn count(folder: &Path, total: &mut DiskLimits, allowed: &DiskLimits) {
    let mut todo = vec![folder.to_owned()];
    while let Some(folder) = todo.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            total.files += 1;
            if let Ok(meta) = entry.metadata() {
                total.bytes += meta.blocks() * 512;
                if meta.is_dir() {
                    todo.push(entry.path());
                }
            }
            if total.bytes > allowed.bytes || total.files > allowed.files {
                return;
            }
        }
    }
}

/// Bytes of files on disk that are open but deleted: no folder shows them, yet they fill it.
fn nameless(processes: &[u32]) -> u64 {
    let mut seen = BTreeMap::new();
    for pid in processes {
        for fd in fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
            let Ok(target) = fs::read_link(fd.path()) else { continue };
            let name = target.to_string_lossy();
            // Files in memory have limits of their own.
            let in_memory = ["/memfd:", "/tmp/", "/dev/", "/SYSV"].iter().any(|p| name.starts_with(p));
            if name.ends_with(" (deleted)")
                && !in_memory
                && let Ok(meta) = fs::metadata(fd.path())
            {
                seen.insert((meta.dev(), meta.ino()), meta.blocks() * 512);
            }
        }
    }
    seen.values().sum()
}

/// What is below a folder now.
pub fn measure(folder: &Path) -> DiskLimits {
    let mut total = DiskLimits { bytes: 0, files: 0 };
    count(folder, &mut total, &DiskLimits { bytes: u64::MAX, files: u64::MAX });
    total
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn counts_files_and_allocated_bytes() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("d")).unwrap();
        fs::write(dir.path().join("d/f"), vec![1; 100_000]).unwrap();
        let found = measure(dir.path());
        assert_eq!(found.files, 2);
        assert!(found.bytes >= 100_000, "{found:?}");
    }
}
