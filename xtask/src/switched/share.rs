//! What cargo built of other people's packages for the tests serves the copy too: nothing of it depends on where the
//! tree is.

use std::collections::BTreeSet;
use std::fs::{self, File, FileTimes};
use std::io;
use std::path::Path;

/// Where cargo notes what it has built, by package and digest.
const NOTES: &str = ".fingerprint";
/// What cargo builds and runs before some packages, in folders of the same names.
const SCRIPTS: &str = "build";
/// What it builds of them.
const BUILT: &str = "deps";

/// Takes over what is built of packages that are not `own`; what cannot be taken over is built again.
pub(crate) fn share_dependencies(from: &Path, to: &Path, own: &BTreeSet<String>) {
    // Only costs time when it fails.
    let _ = take_over(from, to, own);
}

fn take_over(from: &Path, to: &Path, own: &BTreeSet<String>) -> io::Result<()> {
    let mut digests = BTreeSet::new();
    for folder in [NOTES, SCRIPTS] {
        for name in names(&from.join(folder))? {
            let Some((package, digest)) = name.rsplit_once('-') else { continue };
            if !own.contains(package) {
                copy_all(&from.join(folder).join(&name), &to.join(folder).join(&name))?;
                digests.insert(digest.to_owned());
            }
        }
    }
    fs::create_dir_all(to.join(BUILT))?;
    for name in names(&from.join(BUILT))? {
        let stem = name.split('.').next().unwrap_or_default();
        if stem.rsplit_once('-').is_some_and(|(_, digest)| digests.contains(digest)) {
            take_file(&from.join(BUILT).join(&name), &to.join(BUILT).join(&name))?;
        }
    }
    Ok(())
}

fn names(folder: &Path) -> io::Result<Vec<String>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for name in names(from)? {
        let (from, to) = (from.join(&name), to.join(&name));
        if from.is_dir() { copy_all(&from, &to)? } else { copy(&from, &to)? }
    }
    Ok(())
}

/// Libraries are large and replaced, never written to; everything else may be.
fn take_file(from: &Path, to: &Path) -> io::Result<()> {
    let replaced = from.extension().is_some_and(|ending| ending == "rlib" || ending == "rmeta");
    if to.exists() || (replaced && fs::hard_link(from, to).is_ok()) {
        return Ok(());
    }
    copy(from, to)
}

/// With its time, by which cargo tells what is newer.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if !to.exists() {
        fs::copy(from, to)?;
        let written = from.metadata()?.modified()?;
        File::options().append(true).open(to)?.set_times(FileTimes::new().set_modified(written))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_the_packages_of_others_are_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a"), folder.path().join("b"));
        for file in [
            ".fingerprint/other-kit-12ab/lib-other_kit",
            ".fingerprint/own-core-34cd/lib-own_core",
            "build/other-kit-56ef/out/made.rs",
            "deps/libother_kit-12ab.rlib",
            "deps/other_kit-12ab.d",
            "deps/libown_core-34cd.rlib",
        ] {
            fs::create_dir_all(from.join(file).parent().unwrap()).unwrap();
            fs::write(from.join(file), file).unwrap();
        }
        for _ in 0..2 {
            take_over(&from, &to, &BTreeSet::from(["own-core".to_owned()])).unwrap();
        }
        let there = |file: &str| to.join(file).exists();
        assert!(
            there(".fingerprint/other-kit-12ab/lib-other_kit") && there("build/other-kit-56ef/out/made.rs")
        );
        assert!(there("deps/libother_kit-12ab.rlib") && there("deps/other_kit-12ab.d"));
        assert!(!there(".fingerprint/own-core-34cd") && !there("deps/libown_core-34cd.rlib"));
        let time =
            |folder: &Path| folder.join("deps/other_kit-12ab.d").metadata().unwrap().modified().unwrap();
        assert_eq!(time(&from), time(&to));
    }
}
