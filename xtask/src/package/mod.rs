//! `cargo xtask package`: what people install, made from one binary.
//!
//! A tarball, a Debian package, a container image, a list of what is linked in, and the digests of all of them. The same
//! binary and commit give the same bytes.

mod debian;
mod digest;
mod gzip;
mod image;
mod linked;
mod payload;
mod release;
mod sbom;
mod tar;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{XtaskFailure, process, project};
use payload::Payload;
use release::Release;

/// The only processor that is built for.
const ARCHITECTURE: &str = "x86_64";

/// What the command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct PackageOptions {
    /// A binary that is there already; without it one is built to be shipped.
    binary: Option<PathBuf>,
    /// Where the packages go; `target/package` without it.
    out: Option<PathBuf>,
}

impl PackageOptions {
    fn parse(args: &[&str]) -> Result<Self, XtaskFailure> {
        match args {
            [] => Ok(Self::default()),
            ["--binary", path, rest @ ..] => {
                Ok(Self { binary: Some(PathBuf::from(path)), ..Self::parse(rest)? })
            }
            ["--out", path, rest @ ..] => Ok(Self { out: Some(PathBuf::from(path)), ..Self::parse(rest)? }),
            [other, ..] => Err(format!(
                "package does not know `{other}`: it is cargo xtask package [--binary PATH] [--out FOLDER]"
            )),
        }
    }
}

/// `cargo xtask package [--binary PATH] [--out FOLDER]`.
pub(crate) fn run(args: &[&str]) -> Result<(), XtaskFailure> {
    let options = PackageOptions::parse(args)?;
    let target = project::metadata()?.target;
    let binary = match options.binary {
        Some(binary) => binary,
        None => build(&target)?,
    };
    let out = options.out.unwrap_or_else(|| target.join("package"));
    empty(&out)?;
    let work = tempfile::tempdir().map_err(|error| format!("cannot make a temporary folder: {error}"))?;
    let stripped = strip(&binary, work.path())?;
    let release = Release::of(&stripped)?;
    let payload = Payload::gather(&stripped, work.path())?;
    let name = format!("holon-{}-{ARCHITECTURE}-linux", release.version);
    write(&out.join(format!("{name}.tar.gz")), &gzip::compress(&payload.tarball(&name, release.time)?)?)?;
    debian::write(&payload, &release, work.path(), &out)?;
    write(&out.join(format!("{name}.oci.tar")), &image::archive(&payload, &release)?)?;
    write(&out.join(format!("holon-{}.cdx.json", release.version)), &sbom::document(&release)?)?;
    checksums(&out)
}

fn build(target: &Path) -> Result<PathBuf, XtaskFailure> {
    eprintln!("package: building a binary to be shipped; that takes some minutes");
    process::show(project::cargo().args(["build", "--locked", "--profile", "dist", "--package", "holon"]))?;
    Ok(target.join("dist/holon"))
}

/// A folder without what an earlier call left in it.
fn empty(folder: &Path) -> Result<(), XtaskFailure> {
    fs::create_dir_all(folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    let entries =
        fs::read_dir(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !(name.starts_with("holon") || name == SUMS) {
            return Err(format!("{} is not of a package: give a folder of its own", path.display()));
        }
        fs::remove_file(&path).map_err(|error| format!("cannot remove {}: {error}", path.display()))?;
    }
    Ok(())
}

/// A copy without symbols, which nobody who installs it reads.
fn strip(binary: &Path, work: &Path) -> Result<PathBuf, XtaskFailure> {
    let stripped = work.join("holon");
    process::capture(Command::new("strip").arg("-o").arg(&stripped).arg(binary))?;
    Ok(stripped)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), XtaskFailure> {
    fs::write(path, bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// The file with the digests, in the form that `sha256sum --check` reads.
const SUMS: &str = "SHA256SUMS";

fn checksums(out: &Path) -> Result<(), XtaskFailure> {
    let entries = fs::read_dir(out).map_err(|error| format!("cannot read {}: {error}", out.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let mut lines = String::new();
    for path in &paths {
        let bytes = fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        lines.push_str(&format!("{}  {name}\n", digest::sha256(&bytes)));
        println!("{} ({} kB)", path.display(), bytes.len().div_ceil(1000));
    }
    println!("{}", out.join(SUMS).display());
    write(&out.join(SUMS), lines.as_bytes())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn options_are_read() {
        assert_eq!(PackageOptions::parse(&[]).unwrap(), PackageOptions::default());
        let options = PackageOptions::parse(&["--binary", "a", "--out", "b"]).unwrap();
        assert_eq!(options, PackageOptions { binary: Some("a".into()), out: Some("b".into()) });
        assert!(PackageOptions::parse(&["--binary"]).unwrap_err().contains("--binary PATH"));
    }

    #[test]
    fn digests_stand_beside_names_and_nothing_foreign_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("holon.x"), "abc").unwrap();
        checksums(folder.path()).unwrap();
        let sums = fs::read_to_string(folder.path().join(SUMS)).unwrap();
        assert_eq!(sums, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  holon.x\n");
        empty(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        fs::write(folder.path().join("mine.txt"), "").unwrap();
        assert!(empty(folder.path()).unwrap_err().contains("mine.txt"));
    }
}
