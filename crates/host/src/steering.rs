//! Which paths of a change steer what runs on someone's machine, and so need a person.

use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use holon_core::sensitive;

/// Those of the changed `paths`, in their order, that are sensitive by name, or because the folder they are in is a
/// git repository in `workspace` or becomes one with the change.
pub(crate) fn sensitive_paths<'p>(workspace: &Path, paths: &[&'p Path]) -> Vec<&'p Path> {
    // Changed files, and the folders they are in.
    let changed: HashSet<&[u8]> =
        paths.iter().flat_map(|path| path.ancestors()).map(|path| path.as_os_str().as_bytes()).collect();
    let mut known: HashMap<Vec<u8>, bool> = HashMap::new();
    let mut holds = |path: &[u8]| {
        if let Some(known) = known.get(path) {
            return *known;
        }
        let name = Path::new(std::ffi::OsStr::from_bytes(path));
        let there = changed.contains(path) || workspace.join(name).symlink_metadata().is_ok();
        known.insert(path.to_owned(), there);
        there
    };
    let steers = |path: &&&Path| {
        let bytes = path.as_os_str().as_bytes();
        sensitive::matches(bytes).is_some() || sensitive::in_git_folder(bytes, &mut holds)
    };
    paths.iter().filter(steers).copied().collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn check(there: &[&str], changed: &[&str], expect: &[&str]) {
        let workspace = tempfile::tempdir().unwrap();
        for path in there {
            let path = workspace.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        let changed: Vec<&Path> = changed.iter().map(Path::new).collect();
        let expect: Vec<&Path> = expect.iter().map(Path::new).collect();
        assert_eq!(sensitive_paths(workspace.path(), &changed), expect, "{there:?} {changed:?}");
    }

    #[test]
    fn inv_15_hooks_of_a_repository_without_a_working_tree_are_sensitive() {
        let bare = ["fixture.git/HEAD", "fixture.git/objects/x", "fixture.git/refs/heads/main"];
        check(&bare, &["fixture.git/hooks/post-receive", "src/a.rs"], &["fixture.git/hooks/post-receive"]);
        check(&["HEAD", "objects/x", "refs/x"], &["config"], &["config"]);
        // One that only comes to be with the change.
        check(
            &[],
            &["x/HEAD", "x/config", "x/objects/y", "x/refs/heads/main", "y"],
            &["x/HEAD", "x/config", "x/objects/y", "x/refs/heads/main"],
        );
        check(&["a/HEAD"], &["a/config", "AGENTS.md"], &["AGENTS.md"]);
    }
}
