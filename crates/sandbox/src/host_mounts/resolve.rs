//! Following links without trusting the workspace: nothing it holds may decide what else is seen.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// As many links as the kernel follows.
const LINKS: u32 = 40;

/// The path without links; `None` if it does not exist, or if a link inside `distrusted` leads out of it.
pub(super) fn resolve(path: &Path, distrusted: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().ok()?;
    if real != path && !real.starts_with(distrusted) && leads_through(path, distrusted)? {
        return None;
    }
    Some(real)
}

fn leads_through(path: &Path, distrusted: &Path) -> Option<bool> {
    let mut here = PathBuf::from("/");
    let mut todo: VecDeque<OsString> = parts(path).collect();
    let mut links = 0;
    while let Some(part) = todo.pop_front() {
        if part == ".." {
            here.pop();
            continue;
        }
        here.push(part);
        if here.starts_with(distrusted) {
            return Some(true);
        }
        let Ok(target) = here.read_link() else { continue };
        links += 1;
        if links > LINKS {
            return None;
        }
        here.pop();
        if target.is_absolute() {
            here = PathBuf::from("/");
        }
        for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
            todo.push_front(part);
        }
    }
    Some(false)
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|part| match part {
        Component::Normal(_) | Component::ParentDir => Some(part.as_os_str().to_owned()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_inside_the_workspace_leads_nowhere_else() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        for folder in ["ws/own", "elsewhere/x", "home"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        symlink("../elsewhere", root.join("ws/out")).unwrap();
        symlink(root.join("ws/out/x"), root.join("home/via")).unwrap();
        symlink(root.join("elsewhere/x"), root.join("home/direct")).unwrap();
        symlink(root.join("ws/own"), root.join("home/into")).unwrap();
        symlink("loop", root.join("home/loop")).unwrap();
        for (path, expect) in [
            ("home/direct", Some("elsewhere/x")),
            ("elsewhere/x", Some("elsewhere/x")),
            ("home/../elsewhere/x", Some("elsewhere/x")),
            ("home/into", Some("ws/own")),
            ("ws/out/x", None),
            ("home/via", None),
            ("home/loop", None),
            ("absent", None),
        ] {
            let found = resolve(&root.join(path), &root.join("ws"));
            assert_eq!(found, expect.map(|e| root.join(e)), "{path}");
        }
    }
}
