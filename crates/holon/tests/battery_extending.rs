//! The examples of docs/extending.md that are code: applied to a copy of the tree, they compile.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn git(folder: &Path, args: &[&str]) -> Vec<u8> {
    let told = Command::new("git").current_dir(folder).args(args).output().unwrap();
    assert!(told.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&told.stderr));
    told.stdout
}

/// A copy of what a fresh clone would hold.
fn copy_of_the_tree(to: &Path) {
    let listing = git(&root(), &["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    for name in String::from_utf8(listing).unwrap().split('\0').filter(|name| !name.is_empty()) {
        let from = root().join(name);
        if from.is_file() {
            std::fs::create_dir_all(to.join(name).parent().unwrap()).unwrap();
            std::fs::copy(&from, to.join(name)).unwrap();
        }
    }
    git(to, &["init", "--quiet"]);
}

#[test]
fn the_examples_that_are_code_compile() {
    let folder = tempfile::tempdir().unwrap();
    copy_of_the_tree(folder.path());
    for entry in std::fs::read_dir(root().join("examples/extending")).unwrap() {
        git(folder.path(), &["apply", entry.unwrap().path().to_str().unwrap()]);
    }
    // The server is above all of them, and what generates its description tells whether the example's is right.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(folder.path()).env("CARGO_TARGET_DIR", target).env_remove("CARGO_MANIFEST_DIR");
    cargo.args(["run", "--locked", "--quiet", "--package", "holon-server", "--example", "openapi"]);
    let told = cargo.stdin(Stdio::null()).output().unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let written = std::fs::read(folder.path().join("openapi.json")).unwrap();
    assert!(told.stdout == written, "openapi.json of the example is what is generated");
}
