//! Reports that a check's own run wrote into its tree. What lay there before, whoever made it, is none of them: not what
//! the change brings along, not what the workspace held, not what an earlier check of the same tree left.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use holon_checks::ReportLocations;
use holon_sandbox::snapshot::WorkspaceSnapshot;

use super::check_tree::{CheckedChange, TreeKind};

/// Folders that hold no reports, and much else.
const PASSED_OVER: [&str; 6] = [".git", "node_modules", "__pycache__", ".venv", "venv", ".gradle"];
/// Most entries looked at.
const ENTRIES: usize = 50_000;
/// Most reports read.
const FILES: usize = 2_000;
/// Longest report read.
const LONGEST: u64 = 8 << 20;
/// Most that is read of all of them.
const ALL: u64 = 32 << 20;

/// What tells one writing of a file from the next: nobody inside can set the time of a change of the inode.
type InodeStamp = (u64, i64, i64, u64);

/// Reports that were seen in a tree, by path.
pub(super) type ReportStamps = BTreeMap<String, InodeStamp>;

/// The texts of reports that are new in a tree since it was last looked at, by path. `seen` is brought up to date.
pub(super) fn fresh_reports(
    change: &CheckedChange<'_>,
    snapshot: &WorkspaceSnapshot,
    kind: TreeKind,
    places: &ReportLocations,
    seen: &mut ReportStamps,
) -> BTreeMap<String, String> {
    let Some(written) = snapshot.written() else { return BTreeMap::new() };
    let mut found = Vec::new();
    walk(written, "", places, &mut { ENTRIES }, &mut found);
    found.sort();
    let mut fresh = BTreeMap::new();
    let mut read = 0;
    for (path, stamp) in found {
        if seen.insert(path.clone(), stamp) == Some(stamp) || read >= ALL {
            continue;
        }
        let Some(text) = text_of(&written.join(&path)) else { continue };
        // In a copy everything is among what was written; a copied-up file may say what it said before.
        let before = change.laid(kind, snapshot.workspace(), &path);
        if before.as_deref() != Some(text.as_bytes()) {
            read += text.len() as u64;
            fresh.insert(path, text);
        }
    }
    fresh
}

/// Looks for reports; links are not followed.
fn walk(
    root: &Path,
    below: &str,
    places: &ReportLocations,
    left: &mut usize,
    found: &mut Vec<(String, InodeStamp)>,
) {
    let Ok(list) = fs::read_dir(root.join(below)) else { return };
    for entry in list.flatten() {
        if *left == 0 || found.len() >= FILES {
            return;
        }
        *left -= 1;
        let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else { continue };
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        if kind.is_dir() && !PASSED_OVER.contains(&name.as_str()) {
            walk(root, &path, places, left, found);
        } else if kind.is_file() && places.holds(&path) {
            let Ok(meta) = entry.metadata() else { continue };
            if meta.len() <= LONGEST {
                found.push((path, (meta.ino(), meta.ctime(), meta.ctime_nsec(), meta.len())));
            }
        }
    }
}

fn text_of(path: &Path) -> Option<String> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits() as i32).open(path).ok()?;
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn reports_are_found_without_following_links_and_told_apart_by_when_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("target/surefire-reports");
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("TEST-a.xml"), "<testsuite/>").unwrap();
        fs::write(folder.path().join("pom.xml"), "<project/>").unwrap();
        std::os::unix::fs::symlink(&place, folder.path().join("build")).unwrap();
        std::os::unix::fs::symlink(place.join("TEST-a.xml"), place.join("TEST-b.xml")).unwrap();
        let places = ReportLocations::of("mvn test", &["build/*.xml".to_owned()]).unwrap();
        let look = || {
            let mut found = Vec::new();
            walk(folder.path(), "", &places, &mut { ENTRIES }, &mut found);
            found
        };
        let first = look();
        assert_eq!(first.len(), 1);
        assert_eq!(first[0].0, "target/surefire-reports/TEST-a.xml");
        fs::remove_file(place.join("TEST-a.xml")).unwrap();
        fs::write(place.join("TEST-a.xml"), "<testsuite />").unwrap();
        assert_ne!(look()[0].1, first[0].1, "written once more is another one");
        let mut found = Vec::new();
        walk(folder.path(), "", &places, &mut 1, &mut found);
        assert!(found.is_empty(), "it does not look for ever");
    }
}
