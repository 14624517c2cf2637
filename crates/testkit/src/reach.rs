//! Whether another user can get to a path, and places where one can.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// True when every folder above `path` lets others through and `path` itself has the `wanted` bits for others.
pub(crate) fn open_to_others(path: &Path, wanted: u32) -> bool {
    let Ok(path) = path.canonicalize() else { return false };
    let has =
        |path: &Path, bits: u32| path.metadata().is_ok_and(|meta| meta.permissions().mode() & bits == bits);
    has(&path, wanted) && path.ancestors().skip(1).all(|folder| has(folder, 0o001))
}

/// A folder for temporary files that every user can reach.
pub(crate) fn shared_temp_dir() -> PathBuf {
    let places = [std::env::temp_dir(), PathBuf::from("/tmp"), PathBuf::from("/var/tmp")];
    places
        .iter()
        .find(|place| open_to_others(place, 0o001))
        .unwrap_or_else(|| {
            panic!("none of {places:?} can be reached by every user: set TMPDIR to one that can")
        })
        .clone()
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;

    #[test]
    fn a_private_folder_hides_what_is_below() {
        let base = tempfile::tempdir_in(shared_temp_dir()).unwrap();
        let file = base.path().join("file");
        std::fs::write(&file, "x").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        for (mode, expect) in [(0o700, false), (0o711, true), (0o755, true), (0o750, false)] {
            std::fs::set_permissions(base.path(), Permissions::from_mode(mode)).unwrap();
            assert_eq!(open_to_others(&file, 0o004), expect, "{mode:o}");
        }
        assert!(!open_to_others(&file, 0o001), "the file is not executable");
        assert!(!open_to_others(&base.path().join("absent"), 0));
    }
}
