//! What is in every package: the binary, its pages and completions, licences and what to read first.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{XtaskFailure, process, project};

use super::tar::TarWriter;

/// Files of the tree that go along, and where they go below the package.
const DOCUMENTS: [&str; 6] =
    ["README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE-APACHE", "LICENSE-MIT", "docs/upgrading.md"];

/// The shells there are completions for, and the usual name of their file.
const SHELLS: [(&str, &str); 3] = [("bash", "holon"), ("zsh", "_holon"), ("fish", "holon.fish")];

/// One file of a package.
pub(super) struct PackagedFile {
    pub(super) name: String,
    pub(super) content: Vec<u8>,
}

/// Everything that gets packaged.
pub(super) struct Payload {
    pub(super) binary_path: PathBuf,
    pub(super) binary: Vec<u8>,
    pub(super) pages: Vec<PackagedFile>,
    /// Named as the shell expects them, with the shell.
    pub(super) completions: Vec<(&'static str, PackagedFile)>,
    pub(super) documents: Vec<PackagedFile>,
    pub(super) apparmor: PackagedFile,
}

impl Payload {
    /// Asks the binary for its pages and completions, and takes the rest from the tree.
    pub(super) fn gather(binary: &Path, work: &Path) -> Result<Self, XtaskFailure> {
        let pages = work.join("man");
        process::capture(Command::new(binary).args(["man", "--out"]).arg(&pages))?;
        let completion = |(shell, name): &(&'static str, &str)| {
            let script = process::capture(Command::new(binary).args(["completions", shell]))?;
            Ok((*shell, PackagedFile { name: (*name).to_owned(), content: script.into_bytes() }))
        };
        Ok(Self {
            binary_path: binary.to_owned(),
            binary: read(binary)?,
            pages: all_of(&pages)?,
            completions: SHELLS.iter().map(completion).collect::<Result<_, XtaskFailure>>()?,
            documents: DOCUMENTS.into_iter().map(of_the_tree).collect::<Result<_, _>>()?,
            apparmor: of_the_tree("packaging/apparmor/holon")?,
        })
    }

    /// An archive with one folder of this name.
    pub(super) fn tarball(&self, name: &str, time: u64) -> Result<Vec<u8>, XtaskFailure> {
        let mut tar = TarWriter::new(time);
        tar.folder(name, 0o755)?;
        tar.file(&format!("{name}/holon"), 0o755, &self.binary)?;
        for file in &self.documents {
            tar.file(&format!("{name}/{}", file.name), 0o644, &file.content)?;
        }
        let folder = |tar: &mut TarWriter, below: &str, files: &[&PackagedFile]| {
            tar.folder(&format!("{name}/{below}"), 0o755)?;
            files
                .iter()
                .try_for_each(|file| tar.file(&format!("{name}/{below}/{}", file.name), 0o644, &file.content))
        };
        folder(&mut tar, "man", &self.pages.iter().collect::<Vec<_>>())?;
        folder(&mut tar, "completions", &self.completions.iter().map(|(_, file)| file).collect::<Vec<_>>())?;
        folder(&mut tar, "apparmor", &[&self.apparmor])?;
        Ok(tar.finish())
    }
}

fn of_the_tree(path: &str) -> Result<PackagedFile, XtaskFailure> {
    let name = path.rsplit('/').next().unwrap_or(path).to_owned();
    Ok(PackagedFile { name, content: read(&project::root().join(path))? })
}

/// The files of a folder, by name.
fn all_of(folder: &Path) -> Result<Vec<PackagedFile>, XtaskFailure> {
    let entries =
        fs::read_dir(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let file = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(PackagedFile { name, content: read(path)? })
    };
    paths.iter().map(file).collect()
}

fn read(path: &Path) -> Result<Vec<u8>, XtaskFailure> {
    fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}
