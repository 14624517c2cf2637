//! What a run may have left on the host, read from /proc.

use std::fs;
use std::path::{Path, PathBuf};

/// A process of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostProcess {
    /// Its id on the host.
    pub pid: u32,
    /// Its arguments, joined with spaces, or its name in brackets when it has none.
    pub command: String,
}

/// The mount table of the host as this process sees it, one mountinfo line each.
pub fn mounts() -> Vec<String> {
    let table = fs::read_to_string("/proc/self/mountinfo").expect("reading the mount table");
    table.lines().map(str::to_owned).collect()
}

/// The lines of the host's mount table that contain `text`, such as an environment's marker.
pub fn mounts_mentioning(text: &str) -> Vec<String> {
    mounts().into_iter().filter(|line| line.contains(text)).collect()
}

/// Every process but this one that has `marker` in its arguments, variables, folder or mounts.
///
/// Mounts matter: inside a sandbox arguments and variables are clean, but its mount table names the run's folders.
pub fn processes_with_marker(marker: &str) -> Vec<HostProcess> {
    processes_with_markers(&[marker])
}

/// The same for several markers, any of which counts.
pub fn processes_with_markers(markers: &[&str]) -> Vec<HostProcess> {
    let own = std::process::id();
    let own_mounts = mount_namespace(&PathBuf::from("/proc/self"));
    let mut found: Vec<_> = fs::read_dir("/proc")
        .expect("reading /proc")
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path())))
        .filter(|(pid, _)| *pid != own)
        .filter(|(_, folder)| !is_dead(folder))
        .filter(|(_, folder)| markers.iter().any(|marker| mentions(folder, marker.as_bytes(), &own_mounts)))
        .map(|(pid, folder)| HostProcess { pid, command: command_of(&folder) })
        .collect();
    found.sort_by_key(|process| process.pid);
    found
}

/// What this process has open: descriptor numbers with their targets.
pub fn open_fds() -> Vec<(u32, PathBuf)> {
    open_fds_of(std::process::id())
}

/// What a process has open; empty when it is gone or belongs to someone else.
pub fn open_fds_of(pid: u32) -> Vec<(u32, PathBuf)> {
    let folder = PathBuf::from(format!("/proc/{pid}/fd"));
    let listing = fs::canonicalize(&folder).unwrap_or(folder.clone());
    let mut fds: Vec<_> = fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.parse().ok()?;
            Some((number, fs::read_link(entry.path()).ok()?))
        })
        // Listing the folder opens it.
        .filter(|(_, target)| *target != listing)
        .collect();
    fds.sort();
    fds
}

fn mentions(folder: &Path, marker: &[u8], own_mounts: &Option<PathBuf>) -> bool {
    let in_file = |name: &str| fs::read(folder.join(name)).is_ok_and(|bytes| contains(&bytes, marker));
    let in_link = |name: &str| {
        fs::read_link(folder.join(name))
            .is_ok_and(|target| contains(target.as_os_str().as_encoded_bytes(), marker))
    };
    // A mount in the host's own table says nothing about one process; leaks there are found with `mounts`.
    let own_table = || mount_namespace(folder).is_some_and(|namespace| Some(namespace) != *own_mounts);
    in_file("cmdline") || in_file("environ") || in_link("cwd") || (own_table() && in_file("mountinfo"))
}

fn mount_namespace(folder: &Path) -> Option<PathBuf> {
    fs::read_link(folder.join("ns/mnt")).ok()
}

/// A zombie waits for its parent and holds nothing.
fn is_dead(folder: &Path) -> bool {
    let Ok(stat) = fs::read_to_string(folder.join("stat")) else { return true };
    // The name is in parentheses and may itself contain some.
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next());
    matches!(state, None | Some("Z" | "X"))
}

fn command_of(folder: &Path) -> String {
    let arguments = fs::read(folder.join("cmdline")).unwrap_or_default();
    let text = String::from_utf8_lossy(&arguments).trim_end_matches('\0').replace('\0', " ");
    if !text.is_empty() {
        return text;
    }
    format!("[{}]", fs::read_to_string(folder.join("comm")).unwrap_or_default().trim_end())
}

/// Regular files below a folder that hold these bytes, in name order; links are not followed, and huge files not read.
pub fn files_containing(top: &Path, needle: impl AsRef<[u8]>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![top.to_owned()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                todo.push(entry.path());
            } else if kind.is_file()
                && entry.metadata().is_ok_and(|meta| meta.len() < 64 << 20)
                && fs::read(entry.path()).is_ok_and(|bytes| contains(&bytes, needle.as_ref()))
            {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    !needle.is_empty() && bytes.windows(needle.len()).any(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TestEnv;

    #[test]
    fn a_process_is_found_by_its_variables_and_gone_after_its_death() {
        let env = TestEnv::as_ordinary("/bin/true");
        assert_eq!(env.leftover_processes(), []);
        let sleeper = env.program("sleep").arg("3600").cwd("/").spawn();
        let found = processes_with_marker(&env.marker());
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].pid, sleeper.pid());
        assert!(found[0].command.contains("sleep 3600"), "{found:?}");
        sleeper.kill();
        assert_eq!(env.leftover_processes(), []);
    }

    #[test]
    fn an_open_file_is_listed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().canonicalize().unwrap();
        let open = |path: &Path| open_fds().iter().any(|(_, target)| target == path);
        assert!(open(&path));
        drop(file);
        assert!(!open(&path));
    }

    #[test]
    fn the_mount_table_has_a_root() {
        assert!(mounts().iter().any(|line| line.split(' ').nth(4) == Some("/")));
        assert_eq!(mounts_mentioning("no such mount anywhere"), [""; 0]);
    }
}
