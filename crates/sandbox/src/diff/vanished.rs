//! Originals that disappeared while the agent worked on its copies of them.

use std::collections::HashSet;
use std::os::fd::AsFd;

use super::DiffError;
use super::collect::equal;
use super::origin::{OriginHandle, UpperFileOrigin};
use super::overlay::OverlayScan;
use super::scan_base::{ResultSource, ScanFindings};
use crate::snapshot::tree::TreeEntryKind;

impl OverlayScan<'_> {
    /// Finds files that were copied from an original which is no longer there. A file renamed by the agent
    /// looks the same at first sight, so two things must come together: the directory it would have vanished
    /// from did change, and no touched base file is the one it was copied from (where the kernel does not say
    /// which that was: none that is gone has the same content).
    pub(super) fn vanished(&self, found: &mut ScanFindings) -> Result<(), DiffError> {
        let ground = self.ground;
        let mut known: Option<HashSet<OriginHandle>> = None;
        let mut moved = Vec::new();
        for (path, placed) in &found.placed {
            let ResultSource::Written(at) = placed else { continue };
            if ground.base.look(path).map_err(ground.base_error(path))?.is_some()
                || !self.parent_changed(path)?
            {
                continue;
            }
            let Ok(file) = ground.written.open_file(at) else { continue };
            let origin = self.prefix.origin(file.as_fd()).map_err(ground.written_error(at))?;
            let explained = match origin {
                None => true,
                Some(UpperFileOrigin::File(handle)) => {
                    known.get_or_insert_with(|| self.handles(found)).contains(&handle)
                }
                Some(UpperFileOrigin::Unknown) => self.is_renamed(at, found)?,
            };
            if !explained {
                moved.push(path.clone());
            }
        }
        found.moved.extend(moved);
        Ok(())
    }

    /// Whether a base file that is gone has the content of the agent's file at `at`.
    fn is_renamed(&self, at: &[u8], found: &ScanFindings) -> Result<bool, DiffError> {
        let ground = self.ground;
        let size = ground.written.look(at).map_err(ground.written_error(at))?.map(|meta| meta.size);
        for (path, _) in found.placed.iter().filter(|(_, placed)| **placed == ResultSource::Absent) {
            let base = ground.base.look(path).map_err(ground.base_error(path))?;
            if base.is_none_or(|meta| meta.kind != TreeEntryKind::File || Some(meta.size) != size) {
                continue;
            }
            let mut mine = ground.written.open_file(at).map_err(ground.written_error(at))?;
            let Ok(mut base) = ground.base.open_file(path) else { continue };
            if equal(&mut mine, &mut base).map_err(ground.base_error(path))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the nearest base directory above `path` that still exists changed during the run.
    pub(super) fn parent_changed(&self, path: &[u8]) -> Result<bool, DiffError> {
        let mut end = path.len();
        loop {
            end = path[..end].iter().rposition(|&b| b == b'/').unwrap_or(0);
            let dir = &path[..end];
            if let Some(meta) = self.ground.base.look(dir).map_err(self.ground.base_error(dir))? {
                return Ok(meta.ctime.is_since(self.started));
            }
            if end == 0 {
                return Ok(true);
            }
        }
    }

    /// Handles of all base files that the scan touched or left out.
    fn handles(&self, found: &ScanFindings) -> HashSet<OriginHandle> {
        let base = &self.ground.base;
        let paths = found.placed.keys().chain(&found.unsure);
        let handle = |path: &Vec<u8>| {
            let (dir, name) = base.parent_of(path).ok().flatten()?;
            match dir {
                Some(dir) => OriginHandle::of(dir, name),
                None => OriginHandle::of(base.fd(), name),
            }
        };
        paths.filter_map(handle).collect()
    }
}
