//! Reads mode files from where people keep them; what they may say is decided by `core`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use holon_core::mode::{ModeCatalog, ModeSource, Profile, PromptRef, builtin};
use rustix::fs::{Mode, OFlags};

use crate::error::HostError;
use crate::holon_folders::HolonFolders;

/// Longest mode or prompt file read.
const MAX_FILE: u64 = 256 * 1024;

/// All modes that can be used in a workspace: built-in, the user's, the project's.
pub fn catalog(places: &HolonFolders, workspace: Option<&Path>) -> Result<ModeCatalog, HostError> {
    let mut catalog = ModeCatalog::builtin()?;
    for (source, folder) in folders(places, workspace) {
        for path in toml_files(&folder, source)? {
            let added = read_of(source, &path)
                .and_then(|text| Ok(catalog.add(source, &path.to_string_lossy(), &text)?));
            // A broken or greedy file of the project is left out and remembered; the user's own must be right.
            if source == ModeSource::User {
                added?;
            }
        }
    }
    Ok(catalog)
}

/// Where mode files are looked for.
pub fn folders(places: &HolonFolders, workspace: Option<&Path>) -> Vec<(ModeSource, PathBuf)> {
    let mut folders = vec![(ModeSource::User, places.config.join("modes"))];
    folders.extend(workspace.map(|w| (ModeSource::Project, w.join(".holon/modes"))));
    folders
}

/// The mode's own layer of the prompt: embedded, or beside the mode file that names it.
pub fn prompt_text(profile: &Profile) -> Result<String, HostError> {
    let PromptRef { file, source, named_by } = &profile.prompt;
    if *source == ModeSource::Builtin {
        return builtin::prompt(file).map(str::to_owned).ok_or_else(|| {
            HostError::usage(
                format!("mode {}: no built-in prompt `{file}`", profile.name),
                "this is a bug in Holon",
            )
        });
    }
    let path = Path::new(named_by).parent().unwrap_or(Path::new(".")).join(file);
    read_of(*source, &path)
}

/// Regular `*.toml` files of a folder in name order; a missing folder is empty. Links count in the user's own folder
/// alone, where they are how many people keep their configuration.
pub fn toml_files(folder: &Path, source: ModeSource) -> Result<Vec<PathBuf>, HostError> {
    Ok(toml_entries(folder, source)?.files)
}

/// What a folder holds under names that end in `.toml`, each sorted by name.
#[derive(Debug, Default)]
pub struct TomlEntries {
    /// Files that are read.
    pub files: Vec<PathBuf>,
    /// What is not read: links, unless they are the user's own, and what is no file.
    pub passed_over: Vec<PathBuf>,
}

/// The same, with what is passed over.
pub fn toml_entries(folder: &Path, source: ModeSource) -> Result<TomlEntries, HostError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(TomlEntries::default());
        }
        Err(e) => return Err(HostError::io("read", folder)(e)),
    };
    let mut found = TomlEntries::default();
    for entry in entries {
        let entry = entry.map_err(HostError::io("read", folder))?;
        if entry.path().extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let linked = source == ModeSource::User && entry.path().is_file();
        let regular = linked || entry.file_type().is_ok_and(|t| t.is_file());
        if regular { &mut found.files } else { &mut found.passed_over }.push(entry.path());
    }
    found.files.sort();
    found.passed_over.sort();
    Ok(found)
}

/// A small regular file of a workspace as text; never follows a link, never waits on a FIFO.
pub(crate) fn read_bounded(path: &Path) -> Result<String, HostError> {
    read_with(path, OFlags::NOFOLLOW)
}

/// A file by whose it is: links are the user's to use, and nobody else's.
pub fn read_of(source: ModeSource, path: &Path) -> Result<String, HostError> {
    read_with(path, if source == ModeSource::User { OFlags::empty() } else { OFlags::NOFOLLOW })
}

/// A small file the user named that may be somebody else's, and so is no link: what it leads to would be told.
pub fn read_named_file(path: &Path, flag: &str) -> Result<String, HostError> {
    if path.is_symlink() {
        let message = format!("{} is a link, and is not followed", path.display());
        return Err(HostError::usage(message, format!("give the file itself with {flag}")));
    }
    read_with(path, OFlags::NOFOLLOW).map_err(|error| in_request(error, flag))
}

/// A small file the user named with this flag; whatever is wrong with it is a mistake in the request.
pub fn read_named(path: &Path, flag: &str) -> Result<String, HostError> {
    read_with(path, OFlags::empty()).map_err(|error| in_request(error, flag))
}

/// A file of at most `most` bytes the user named with this flag; whatever is wrong with it is a mistake in the request.
pub(crate) fn read_large(path: &Path, flag: &str, most: u64) -> Result<String, HostError> {
    read_at_most(path, OFlags::empty(), most).map_err(|error| in_request(error, flag))
}

fn in_request(error: HostError, flag: &str) -> HostError {
    match error {
        HostError::Io { .. } => {
            HostError::usage(error.to_string(), format!("check the path given with {flag}"))
        }
        other => other,
    }
}

fn read_with(path: &Path, links: OFlags) -> Result<String, HostError> {
    read_at_most(path, links, MAX_FILE)
}

fn read_at_most(path: &Path, links: OFlags, most: u64) -> Result<String, HostError> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY | links;
    let file =
        rustix::fs::open(path, flags, Mode::empty()).map_err(|e| HostError::io("read", path)(e.into()))?;
    let file = fs::File::from(file);
    let meta = file.metadata().map_err(HostError::io("read", path))?;
    if !meta.is_file() || meta.len() > most {
        let most = most >> 10;
        let message = format!("{} is not a regular file of at most {most} KiB", path.display());
        return Err(HostError::usage(message, "replace it with a small plain file"));
    }
    io::read_to_string(file).map_err(|e| match e.kind() {
        io::ErrorKind::InvalidData => {
            HostError::usage(format!("{} is not text in UTF-8", path.display()), "save it as UTF-8")
        }
        _ => HostError::io("read", path)(e),
    })
}
