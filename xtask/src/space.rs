//! Room on the disk: builds take a lot of it, and a full disk looks like anything but a full disk.

use std::path::Path;
use std::process::Command;

use crate::{XtaskFailure, process};

/// Both commands, one after the other from an empty build folder, take about so much, in megabytes.
const NEEDED: u64 = 10_000;
/// With less than this at the end, what failed may have failed for want of room.
const SCARCE: u64 = 1_000;

/// How much is free where cargo builds, in megabytes.
pub(crate) fn free(target: &Path) -> Result<u64, XtaskFailure> {
    // The folder itself may not be there yet.
    let there = target.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
    parse(&process::capture(Command::new("df").arg("-Pm").arg(there))?)
}

/// The fourth column of the second line, as POSIX has it.
fn parse(text: &str) -> Result<u64, XtaskFailure> {
    let line = text.lines().nth(1).unwrap_or_default();
    let column = line.split_whitespace().nth(3).and_then(|number| number.parse().ok());
    column.ok_or_else(|| format!("cannot read what `df` said: {text}"))
}

/// What is worth saying before anything is built, from what is built already and what is free.
pub(crate) fn before(target: &Path) -> Option<String> {
    let built = target.join("debug/holon").is_file();
    free(target).ok().filter(|free| !built && *free < NEEDED).map(|free| {
        format!(
            "DISK: {free} MB are free for builds, and a first build with all tests takes up to {NEEDED} MB"
        )
    })
}

/// What is worth saying at the end.
pub(crate) fn after(target: &Path) -> Option<String> {
    let scarce = |free: u64| {
        format!("DISK FULL: only {free} MB are left where cargo builds; failures may come from that")
    };
    free(target).ok().filter(|free| *free < SCARCE).map(scarce)
}

/// Removes a build nobody comes back to: on a CI machine each is used once.
pub(crate) fn give_back(folder: &Path) {
    if std::env::var_os("CI").is_some() {
        // What cannot be removed only costs room.
        let _ = std::fs::remove_dir_all(folder);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn df_is_understood() {
        let text = "Filesystem 1048576-blocks Used Available Capacity Mounted on\n/dev/vda 257000 26000 66000 28% /\n";
        assert_eq!(parse(text).unwrap(), 66_000);
        assert!(parse("").is_err() && parse("a\nb c d e").is_err());
    }

    #[test]
    fn a_folder_that_is_not_there_yet_has_the_room_of_its_parent() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free(&folder.path().join("target/later")).is_ok());
    }
}
