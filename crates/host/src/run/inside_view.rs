//! Which files a payload will find, worked out from its mounts without building anything.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use holon_sandbox::mount::{Mount, MountSource};

/// As many links as the kernel follows.
const MOST_LINKS: usize = 40;

/// The files inside, seen from the host.
pub(super) struct InsideView<'a> {
    /// The mounts of a private root; none where the payload sees the host's files.
    mounts: Option<&'a [Mount]>,
    /// Where programs are looked for inside.
    path: Vec<PathBuf>,
}

impl<'a> InsideView<'a> {
    pub(super) fn new(mounts: Option<&'a [Mount]>, path: &str) -> Self {
        Self { mounts, path: std::env::split_paths(path).collect() }
    }

    /// The host's file that is found at a path inside, links followed as they would be inside.
    pub(super) fn on_host(&self, path: &Path) -> Option<PathBuf> {
        let Some(mounts) = self.mounts else { return path.canonicalize().ok() };
        let mut todo: VecDeque<OsString> = names(path).collect();
        let (mut at, mut host, mut links) = (PathBuf::from("/"), None, 0);
        while let Some(name) = todo.pop_front() {
            if name == ".." {
                at.pop();
                continue;
            }
            let next = at.join(&name);
            let found = there(mounts, &next)?;
            let target = match &found {
                FoundInside::Link(target) => Some(target.clone()),
                FoundInside::Host(file) => fs::read_link(file).ok(),
                FoundInside::Made => None,
            };
            match target {
                Some(target) => {
                    links += 1;
                    if links > MOST_LINKS {
                        return None;
                    }
                    if target.is_absolute() {
                        at = PathBuf::from("/");
                    }
                    names(&target).rev().for_each(|name| todo.push_front(name));
                }
                None => at = next,
            }
            host = match found {
                FoundInside::Host(file) => Some(file),
                _ => None,
            };
        }
        host
    }

    /// The host's file that a program's name leads to inside.
    pub(super) fn program(&self, name: &str) -> Option<PathBuf> {
        if name.contains('/') {
            return self.on_host(Path::new(name));
        }
        self.path.iter().find_map(|folder| self.on_host(&folder.join(name)))
    }
}

/// What is at a path inside.
enum FoundInside {
    /// A file or folder of the host's, which may be a link.
    Host(PathBuf),
    /// A link that the walls make.
    Link(PathBuf),
    /// Something of the walls' own that leads nowhere on the host.
    Made,
}

fn there(mounts: &[Mount], path: &Path) -> Option<FoundInside> {
    let over = mounts.iter().filter(|mount| path.starts_with(&mount.at));
    let nearest = over.max_by_key(|mount| mount.at.components().count());
    let way = || mounts.iter().any(|mount| mount.at.starts_with(path)).then_some(FoundInside::Made);
    let Some(mount) = nearest else { return way() };
    let rest = path.strip_prefix(&mount.at).ok()?;
    let below = |root: &Path| {
        let file = if rest.as_os_str().is_empty() { root.to_owned() } else { root.join(rest) };
        file.symlink_metadata().is_ok().then_some(FoundInside::Host(file))
    };
    let found = match &mount.source {
        MountSource::Bind(source) => below(source),
        MountSource::Overlay(overlay) => overlay.lowers.iter().find_map(|lower| below(lower)),
        MountSource::Symlink(target) if rest.as_os_str().is_empty() => {
            Some(FoundInside::Link(target.clone()))
        }
        _ if rest.as_os_str().is_empty() => Some(FoundInside::Made),
        _ => None,
    };
    found.or_else(way)
}

fn names(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_as_they_lead_inside() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("usr/bin")).unwrap();
        fs::create_dir_all(root.join("home/venv/bin")).unwrap();
        fs::create_dir_all(root.join("home/python")).unwrap();
        fs::write(root.join("usr/bin/python3.11"), "").unwrap();
        fs::write(root.join("home/python/python"), "").unwrap();
        symlink("python3.11", root.join("usr/bin/python3")).unwrap();
        symlink("/usr/bin/python3", root.join("home/venv/bin/system")).unwrap();
        symlink("../../python/python", root.join("home/venv/bin/own")).unwrap();
        symlink("loop", root.join("usr/bin/loop")).unwrap();
        let mounts = [
            Mount::read_only(root.join("usr"), "/usr"),
            Mount { at: "/bin".into(), source: MountSource::Symlink("usr/bin".into()), writable: false },
            Mount::read_only(root.join("home/venv"), "/people/u/venv"),
            Mount { at: "/tmp".into(), source: MountSource::EmptyDir, writable: true },
        ];
        let view = InsideView::new(Some(&mounts), "/nowhere:/bin");
        let real = root.join("usr/bin/python3.11");
        assert_eq!(view.on_host(Path::new("/bin/python3")), Some(real.clone()));
        assert_eq!(view.on_host(Path::new("/people/u/venv/bin/system")), Some(real.clone()));
        assert_eq!(view.on_host(Path::new("/people/u/venv/bin/own")), None, "it leads out of what is shown");
        assert_eq!(view.on_host(Path::new("/people/u/venv/../venv/bin/system")), Some(real.clone()));
        assert_eq!(view.on_host(Path::new("/usr/bin/loop")), None);
        assert_eq!(view.on_host(Path::new("/tmp/x")), None);
        assert_eq!((view.program("python3"), view.program("perl")), (Some(real), None));
        let host = InsideView::new(None, "");
        assert_eq!(host.on_host(&root.join("usr/bin/python3")), Some(root.join("usr/bin/python3.11")));
    }
}
