//! A flow's or an orchestration's manifest made once more, from its state and its children's manifests.

use std::path::PathBuf;

use holon_core::digest::sha256;
use holon_host::HolonFolders;
use holon_host::store::RunFolder;

use super::evidence::WholeEvidence;
use crate::error::FlowError;
use crate::{builtin, deliver, folder, orchestrate};

/// What the manifest of a flow or an orchestration would have to say; `None` for a single run.
pub(super) fn whole(places: &HolonFolders, run: &RunFolder) -> Result<Option<WholeEvidence>, FlowError> {
    if let Some(state) = folder::load(run)? {
        let Some(definition) = builtin::find(&state.flow)? else { return Ok(None) };
        let steps = folder::steps_of(places, run.path(), &run.record()?.workspace);
        let changed_children = state
            .steps
            .iter()
            .filter_map(|step| {
                let done = step.done()?;
                changed(&steps.open(done.run.as_ref()?), done.manifest_sha256.as_deref()?, &step.name)
            })
            .collect();
        let expected = deliver::again(&definition, &state, run, &steps)?;
        return Ok(Some(WholeEvidence { expected, changed_children, sealed: state.sealed }));
    }
    let Some(state) = orchestrate::load(run)? else { return Ok(None) };
    let changed_children = state
        .every_attempt()
        .filter_map(|attempt| {
            let at = RunFolder::open(run.path().join(attempt.folder.as_ref()?));
            changed(&at, attempt.end.as_ref()?.manifest_sha256.as_deref()?, &attempt.mode)
        })
        .collect();
    let expected = orchestrate::manifest_again(&state, run)?;
    Ok(Some(WholeEvidence { expected, changed_children, sealed: state.sealed }))
}

/// The name of a child whose manifest is not the one that was seen when it ended.
fn changed(child: &RunFolder, seen: &str, name: &str) -> Option<String> {
    let bytes = std::fs::read(child.output().join("manifest.json")).unwrap_or_default();
    (sha256(&bytes) != seen).then(|| name.to_owned())
}

/// The folders of all runs inside a flow or an orchestration.
pub fn children(places: &HolonFolders, run: &RunFolder) -> Result<Vec<PathBuf>, FlowError> {
    if let Some(state) = folder::load(run)? {
        let steps = folder::steps_of(places, run.path(), &run.record()?.workspace);
        let all = state.steps.iter().flat_map(|step| &step.runs);
        return Ok(all.map(|id| steps.open(id).path().to_owned()).filter(|path| path.is_dir()).collect());
    }
    let Some(state) = orchestrate::load(run)? else { return Ok(Vec::new()) };
    let folders = state.every_attempt().filter_map(|attempt| Some(run.path().join(attempt.folder.as_ref()?)));
    Ok(folders.filter(|path| path.is_dir()).collect())
}
