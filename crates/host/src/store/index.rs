//! All runs of a workspace: found, listed, tidied.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use holon_core::ids::RunId;
use holon_core::manifest::Manifest;

use super::folder::{RunFolder, RunRecord, active_folder};
use crate::error::HostError;
use crate::holon_folders::HolonFolders;

/// The runs of one workspace.
#[derive(Debug, Clone)]
pub struct RunStore {
    runs: PathBuf,
}

/// One line of a listing.
#[derive(Debug, Clone)]
pub struct StoredRunSummary {
    /// What was asked.
    pub record: RunRecord,
    /// How it went; `None` while it runs.
    pub manifest: Option<Manifest>,
    /// Whether it is running now.
    pub alive: bool,
}

/// What a clean-up removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunsGcReport {
    /// Runs removed whole.
    pub removed: Vec<RunId>,
    /// Runs that were found dead and marked.
    pub interrupted: usize,
}

impl RunStore {
    /// The store of a workspace (given by its canonical path).
    pub fn of(places: &HolonFolders, workspace: &Path) -> Self {
        Self { runs: places.runs_of(workspace) }
    }

    /// The store whose runs are in this folder.
    pub fn at(runs: PathBuf) -> Self {
        Self { runs }
    }

    /// The folder that holds the runs.
    pub fn folder(&self) -> &Path {
        &self.runs
    }

    /// Ids of all runs, oldest first.
    pub fn ids(&self) -> Result<Vec<RunId>, HostError> {
        let entries = match fs::read_dir(&self.runs) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(HostError::io("read", &self.runs)(e)),
        };
        let mut ids: Vec<RunId> =
            entries.flatten().filter_map(|e| e.file_name().to_str().and_then(|n| n.parse().ok())).collect();
        ids.sort();
        Ok(ids)
    }

    /// The folder of a run.
    pub fn open(&self, id: &RunId) -> RunFolder {
        RunFolder::open(self.runs.join(id.as_str()))
    }

    /// Finds a run by its id, a unique part of it (the beginning or the end), or `last`.
    pub fn find(&self, name: &str) -> Result<RunFolder, HostError> {
        // Every id begins with nothing, and an empty variable in a script must not mean the only run there is.
        if name.trim().is_empty() {
            return Err(HostError::usage("the name of the run is empty", "`holon runs list` shows them all"));
        }
        let ids = self.ids()?;
        let found: Vec<&RunId> = match name {
            "last" => self.latest(&ids).into_iter().collect(),
            _ => {
                ids.iter().filter(|id| id.as_str().starts_with(name) || id.as_str().ends_with(name)).collect()
            }
        };
        match found.as_slice() {
            [one] => Ok(self.open(one)),
            [] => Err(HostError::run(
                format!("no run `{name}` for this workspace"),
                "`holon runs list` shows them all",
            )),
            several => {
                let names: Vec<&str> = several.iter().take(5).map(|id| id.as_str()).collect();
                Err(HostError::run(
                    format!("`{name}` could be {} runs: {}", several.len(), names.join(", ")),
                    "give more of the id",
                ))
            }
        }
    }

    /// The newest run; ids tell only seconds apart, so runs of the same second are told apart by their records.
    fn latest<'a>(&self, ids: &'a [RunId]) -> Option<&'a RunId> {
        let second = |id: &RunId| id.as_str()[..15].to_owned();
        let newest = second(ids.last()?);
        let same = ids.iter().filter(|id| second(id) == newest);
        same.max_by_key(|id| self.open(id).record().map(|r| r.started_at).unwrap_or_default())
    }

    /// Every readable run, newest first.
    pub fn list(&self) -> Result<Vec<StoredRunSummary>, HostError> {
        let mut rows = Vec::new();
        for id in self.ids()?.iter().rev() {
            let folder = self.open(id);
            // A folder that is being made or removed this moment has no record yet or any more.
            let Ok(record) = folder.record() else { continue };
            rows.push(StoredRunSummary {
                alive: !record.finished && folder.is_alive(),
                manifest: folder.manifest(),
                record,
            });
        }
        Ok(rows)
    }

    /// Marks runs whose process is gone; looks only at runs that never said they were over.
    pub fn sweep(&self) -> Result<usize, HostError> {
        let active = active_folder(&self.runs);
        let Ok(entries) = fs::read_dir(&active) else { return Ok(0) };
        let mut marked = 0;
        for entry in entries.flatten() {
            let Some(id) = entry.file_name().to_str().and_then(|n| n.parse::<RunId>().ok()) else { continue };
            let folder = self.open(&id);
            if folder.path().join("run.json").exists() {
                if folder.is_alive() {
                    continue;
                }
                match folder.mark_interrupted() {
                    Ok(true) => marked += 1,
                    Ok(false) => {}
                    // One run that cannot be mended now must not stop all others; it is tried again next time.
                    Err(_) => continue,
                }
            } else if folder.is_alive() || entry.metadata().and_then(|m| m.modified()).is_ok_and(is_young) {
                // Being made this moment.
                continue;
            }
            let _ = fs::remove_file(entry.path());
        }
        Ok(marked)
    }

    /// Removes a run that is over.
    pub fn remove(&self, folder: &RunFolder) -> Result<(), HostError> {
        if folder.record().is_ok_and(|r| !r.finished) && folder.is_alive() {
            return Err(HostError::run("the run is still going on", "wait for it, or stop it first"));
        }
        holon_sandbox::snapshot::remove_tree(folder.path()).map_err(HostError::io("remove", folder.path()))
    }

    /// Removes finished runs older than `age`, always keeping the newest `keep`; marks dead ones first.
    pub fn gc(&self, age: Duration, keep: usize) -> Result<RunsGcReport, HostError> {
        let mut report = RunsGcReport { interrupted: self.sweep()?, ..RunsGcReport::default() };
        let ids = self.ids()?;
        let old = ids.len().saturating_sub(keep);
        for id in &ids[..old] {
            let folder = self.open(id);
            let modified = fs::metadata(folder.path().join("run.json")).and_then(|m| m.modified());
            // Without a readable record it is a left-over of a removal that was interrupted.
            let due = modified.map_or(true, |time| age_of(time) >= age);
            if due && !folder.is_alive() {
                self.remove(&folder)?;
                report.removed.push(id.clone());
            }
        }
        Ok(report)
    }
}

/// Younger than a run folder takes to be made, with room to spare.
fn is_young(modified: SystemTime) -> bool {
    age_of(modified) < Duration::from_secs(10)
}

/// How long ago that was; what is in the future, because the clock was set back since, is new.
fn age_of(modified: SystemTime) -> Duration {
    SystemTime::now().duration_since(modified).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A store with a run that was written so many hours from now.
    fn store_with(hours: u64, ahead: bool) -> (tempfile::TempDir, RunStore) {
        let folder = tempfile::tempdir().unwrap();
        let store = RunStore::at(folder.path().join("runs"));
        let run = store.folder().join("20261115-184933-6jqtoc");
        fs::create_dir_all(&run).unwrap();
        fs::write(run.join("run.json"), "{}").unwrap();
        let span = Duration::from_secs(hours * 3600);
        let time = if ahead { SystemTime::now() + span } else { SystemTime::now() - span };
        fs::File::options().write(true).open(run.join("run.json")).unwrap().set_modified(time).unwrap();
        (folder, store)
    }

    #[test]
    fn a_clock_that_was_set_back_removes_no_run() {
        let day = Duration::from_secs(24 * 3600);
        let removed = |hours, ahead| store_with(hours, ahead).1.gc(day, 0).unwrap().removed.len();
        assert_eq!(removed(25, false), 1, "older than a day");
        assert_eq!(removed(23, false), 0, "younger");
        assert_eq!(removed(9000, true), 0, "written by a clock that was a year ahead");
    }

    #[test]
    fn what_is_being_made_counts_as_young_whatever_the_clock_says() {
        assert!(is_young(SystemTime::now()) && is_young(SystemTime::now() + Duration::from_secs(3600)));
        assert!(!is_young(SystemTime::now() - Duration::from_secs(3600)));
    }
}
