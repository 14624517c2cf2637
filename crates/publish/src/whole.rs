//! The flow or orchestration that an output folder is a part of, as far as it can be seen from the folder.

use std::fs;
use std::path::{Path, PathBuf};

use holon_core::ids::RunId;
use holon_core::manifest::Manifest;
use holon_core::release::{ReleaseRecord, WholeRecord};

/// The whole, by what the manifest says or by where the folder is; `None` for work of its own.
pub(crate) fn of(dir: &Path, named: Option<&RunId>) -> Option<WholeRecord> {
    let dir = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    let beside = manifest_beside(&dir);
    if named.is_none() && beside.is_none() {
        return None;
    }
    let manifest = beside.and_then(|path| serde_json::from_slice::<Manifest>(&fs::read(path).ok()?).ok());
    let fits = |manifest: &Manifest| named.is_none_or(|run| *run == manifest.run_id);
    Some(match manifest.filter(fits) {
        Some(manifest) => WholeRecord::Known(ReleaseRecord::of_manifest(&manifest)),
        None => WholeRecord::Unknown { run: named.map_or_else(|| "a flow".to_owned(), ToString::to_string) },
    })
}

/// Where the whole's manifest would be: `OUT/evidence/steps/<name>` is a part of what `--out` wrote, and
/// `<whole>/steps/<workspace>/runs/<run>/output` one of the store.
fn manifest_beside(dir: &Path) -> Option<PathBuf> {
    let up = |levels: usize| dir.ancestors().nth(levels);
    let is = |levels: usize, name: &str| up(levels).and_then(Path::file_name).is_some_and(|own| own == name);
    if is(1, "steps") && is(2, "evidence") {
        return up(3).map(|out| out.join("manifest.json"));
    }
    let stored = is(0, "output") && is(2, "runs") && is(4, "steps");
    up(5).filter(|_| stored).map(|whole| whole.join("output/manifest.json"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use holon_core::{RunOutcome, RunStatus};

    use super::*;

    #[test]
    fn inv_17_a_part_is_known_by_its_place_or_its_manifest() {
        let temp = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(temp.path()).unwrap();
        let id = RunId::from_parts(0, [1; 4]);
        let mut manifest = Manifest::begun(id.clone(), "orchestrate", "1970-01-01T00:00:00Z");
        manifest.conclude(RunStatus::Completed, RunOutcome::Success);
        let (copied, stored) = (root.join("out/evidence/steps/one"), root.join("w/steps/k/runs/r/output"));
        for (part, whole) in [(&copied, root.join("out")), (&stored, root.join("w/output"))] {
            fs::create_dir_all(part).unwrap();
            assert!(matches!(of(part, None), Some(WholeRecord::Unknown { .. })), "{part:?}");
            fs::create_dir_all(&whole).unwrap();
            fs::write(whole.join("manifest.json"), manifest.to_json()).unwrap();
            for named in [None, Some(&id)] {
                assert!(matches!(of(part, named), Some(WholeRecord::Known(_))), "{part:?} {named:?}");
            }
            let other = RunId::from_parts(0, [2; 4]);
            assert!(matches!(of(part, Some(&other)), Some(WholeRecord::Unknown { .. })), "{part:?}");
        }
        assert_eq!(of(&root.join("out"), None), None);
        assert!(matches!(of(&root, Some(&id)), Some(WholeRecord::Unknown { .. })));
    }
}
