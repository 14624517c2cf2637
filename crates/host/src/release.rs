//! What the release gate is asked with, gathered from a run's folder, and the words of people that are kept there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use holon_core::artifact::orchestration::Orchestration;
use holon_core::ids::RunId;
use holon_core::manifest::Manifest;
use holon_core::mode_run::ModeDecision;
use holon_core::outcome::RunOutcome;
use holon_core::release::{
    PatchState, ReleaseDecision, ReleaseOverride, ReleaseRecord, ReleaseTarget, RunEnding, WholeRecord,
    decide_release,
};
use holon_git::TouchedPath;

use crate::error::HostError;
use crate::steering::sensitive_paths;
use crate::store::{RunFolder, RunRecord, write_durable};

/// What people let pass, beside the run's record: manifests of parts are pinned by their digests and stay as they are.
const OVERRIDES: &str = "overrides.json";

/// Whether the result of a run may go somewhere.
pub fn decision(folder: &RunFolder, target: ReleaseTarget) -> Result<ReleaseDecision, HostError> {
    Ok(decide_release(&record(folder)?, target))
}

/// The same of a run that was read already, as an error, for those who need it to be let out.
pub(crate) fn require(
    folder: &RunFolder,
    read: &ReleaseRunRead,
    target: ReleaseTarget,
) -> Result<(), HostError> {
    let decision = decide_release(&record_of(folder, read), target);
    if decision.is_released() { Ok(()) } else { Err(HostError::Held(Box::new(decision))) }
}

/// A stored run, read once.
pub(crate) struct ReleaseRunRead {
    pub(crate) record: RunRecord,
    pub(crate) manifest: Option<Manifest>,
    /// What its patch touches; `None` when it delivered none.
    pub(crate) touched: Option<Vec<TouchedPath>>,
    overrides: Vec<ReleaseOverride>,
}

impl ReleaseRunRead {
    /// Reads it; what takes long is read side by side.
    pub(crate) fn of(folder: &RunFolder) -> Result<Self, HostError> {
        let (touched, manifest) = if is_long(folder) {
            thread::scope(|scope| {
                let touched = scope.spawn(|| touched(folder));
                let manifest = folder.manifest();
                let ended = |_| HostError::run("reading the run ended unexpectedly", "try again");
                (touched.join().map_err(ended), manifest)
            })
        } else {
            (Ok(touched(folder)), folder.manifest())
        };
        Ok(Self { record: folder.record()?, manifest, touched: touched??, overrides: overrides(folder)? })
    }
}

/// Whether what was recorded of a run's patch is so long that a thread of its own is worth it.
fn is_long(folder: &RunFolder) -> bool {
    fs::metadata(folder.path().join("touched.json")).is_ok_and(|meta| meta.len() > 64 << 10)
}

/// Whether a result may reach the workspace by itself; what cannot be found out is a no.
pub fn applies_by_itself(folder: &RunFolder) -> bool {
    decision(folder, ReleaseTarget::AutoApply).is_ok_and(|decision| decision.is_released())
}

/// Everything the gate wants to know about a stored run.
pub fn record(folder: &RunFolder) -> Result<ReleaseRecord, HostError> {
    Ok(record_of(folder, &ReleaseRunRead::of(folder)?))
}

fn record_of(folder: &RunFolder, read: &ReleaseRunRead) -> ReleaseRecord {
    let run = &read.record;
    let Some(manifest) = read.manifest.as_ref().filter(|_| run.finished) else {
        let (run, ending) = (run.id.to_string(), RunEnding::Unfinished);
        let whole = whole(folder, None);
        return ReleaseRecord { run, ending, whole, ..ReleaseRecord::default() };
    };
    let mut record = ReleaseRecord::of_manifest(manifest);
    if record.patch == PatchState::Absent && folder.evidence().join("withheld.patch").exists() {
        record.patch = PatchState::Withheld;
    }
    if manifest.outcome != RunOutcome::Success {
        record.review = blocking_review(folder);
    }
    record.sensitive = sensitive(run, read.touched.as_deref().unwrap_or_default());
    record.whole = whole(folder, manifest.metadata.part_of.as_ref());
    record.overrides.clone_from(&read.overrides);
    record
}

/// What people let pass of a run, or of a part of it.
pub fn overrides(folder: &RunFolder) -> Result<Vec<ReleaseOverride>, HostError> {
    let path = folder.path().join(OVERRIDES);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(HostError::io("read", &path)(e)),
    };
    serde_json::from_slice(&bytes).map_err(|e| HostError::io("read", &path)(e.into()))
}

/// Keeps one more, once. It must be in the audit log already: from here on it counts.
pub fn keep_override(folder: &RunFolder, word: &ReleaseOverride) -> Result<(), HostError> {
    let mut all = overrides(folder)?;
    if word.audit.is_some() && all.iter().any(|known| known.audit == word.audit) {
        return Ok(());
    }
    all.push(word.clone());
    let text = serde_json::to_vec_pretty(&all).unwrap_or_default();
    write_durable(&folder.path().join(OVERRIDES), &text)
}

/// The folder of the flow or orchestration that a run's folder is kept in: `<whole>/steps/<workspace>/runs/<run>`.
pub fn whole_of(run: &Path) -> Option<PathBuf> {
    let run = fs::canonicalize(run).ok()?;
    let steps = run.parent()?.parent()?.parent()?;
    let whole = steps.parent().filter(|_| steps.file_name().is_some_and(|name| name == "steps"))?;
    whole.join("run.json").is_file().then(|| whole.to_owned())
}

/// The name of that whole.
pub(crate) fn whole_id(run: &Path) -> Option<RunId> {
    whole_of(run)?.file_name()?.to_str()?.parse().ok()
}

/// The whole by where the run is kept; by its manifest alone it has a name and nothing more.
fn whole(folder: &RunFolder, named: Option<&RunId>) -> Option<Box<WholeRecord>> {
    let unknown = |run: String| Box::new(WholeRecord::Unknown { run });
    match whole_of(folder.path()) {
        Some(path) => {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let whole = RunFolder::open(path);
            let known = |mut record: ReleaseRecord| {
                if record.parts_stay.is_none() && is_replaced(&whole, folder) {
                    record.parts_stay = Some("a later plan took the place of this task".to_owned());
                }
                Box::new(WholeRecord::Known(record))
            };
            Some(record(&whole).map_or_else(|_| unknown(name), known))
        }
        None => named.map(|run| unknown(run.to_string())),
    }
}

/// Whether a run is of a task that a later plan took the place of: nobody joined what it made, and nobody assessed it.
fn is_replaced(whole: &RunFolder, part: &RunFolder) -> bool {
    let Some(name) = part.path().file_name().map(|name| name.to_string_lossy().into_owned()) else {
        return false;
    };
    let bytes = fs::read(whole.output().join("orchestration.json")).ok();
    let told = bytes.and_then(|bytes| serde_json::from_slice::<Orchestration>(&bytes).ok());
    let mut runs = told.iter().flat_map(|told| &told.dropped).flat_map(|node| &node.attempts);
    runs.any(|attempt| attempt.run_id.as_ref().is_some_and(|run| run.as_str() == name))
}

/// What the patch of a run touches, as recorded when it was made; `None` when nothing was recorded.
fn touched(folder: &RunFolder) -> Result<Option<Vec<TouchedPath>>, HostError> {
    let path = folder.path().join("touched.json");
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(HostError::io("read", &path)(e)),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|e| HostError::io("read", &path)(e.into()))
}

/// Paths of the delivered patch that steer what runs or is trusted.
fn sensitive(run: &RunRecord, touched: &[TouchedPath]) -> Vec<String> {
    let paths: Vec<&Path> = touched.iter().map(|touched| touched.path.as_path()).collect();
    let found = sensitive_paths(&run.workspace, &paths);
    found.into_iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

/// A review among the tasks of an orchestration that did not come to its end which says no.
fn blocking_review(folder: &RunFolder) -> Option<ModeDecision> {
    let bytes = fs::read(folder.output().join("orchestration.json")).ok()?;
    let whole: Orchestration = serde_json::from_slice(&bytes).ok()?;
    let reviews = whole.tasks.iter().filter(|task| task.mode == "review");
    let said = |id: &str| whole.nodes.iter().find(|node| node.id == id)?.decision.clone();
    reviews.filter_map(|task| said(&task.id)).find(|decision| matches!(decision, ModeDecision::Block { .. }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn inv_17_a_part_is_known_by_where_it_is_kept_also_through_a_link() {
        let state = tempfile::tempdir().unwrap();
        let whole = state.path().join("key/runs/20260102-030405-abcdef");
        let part = whole.join("steps/key/runs/20260102-030406-abcdef");
        fs::create_dir_all(&part).unwrap();
        assert_eq!(whole_of(&part), None, "nothing says that it is a run");
        fs::write(whole.join("run.json"), "{}").unwrap();
        let real = fs::canonicalize(&whole).unwrap();
        assert_eq!(whole_of(&part), Some(real.clone()));
        assert_eq!(whole_of(&whole), None);
        let link = state.path().join("elsewhere");
        std::os::unix::fs::symlink(whole.join("steps"), &link).unwrap();
        assert_eq!(whole_of(&link.join("key/runs/20260102-030406-abcdef")), Some(real));
        assert_eq!(whole_id(&part).unwrap().as_str(), "20260102-030405-abcdef");
    }
}
