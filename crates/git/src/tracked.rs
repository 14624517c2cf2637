//! What the user's repository tracks: its index, read by the one command that runs in it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Git, GitError, Repository};

/// Room for arguments in one call, well below what any kernel allows.
const BATCH_BYTES: usize = 64 * 1024;

/// Index entries at or below some paths: workspace-relative path to (mode, object id).
pub type IndexEntries = BTreeMap<PathBuf, (u32, String)>;

/// Asks the index of `repository` for everything at or below `paths` (relative to the workspace).
///
/// Reads the index and nothing else: no hook, filter or monitor has an occasion to run.
pub fn below(git: &Git, repository: &Repository, paths: &[PathBuf]) -> Result<IndexEntries, GitError> {
    let mut entries = IndexEntries::new();
    let mut rest = paths;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = |path: &&PathBuf| {
            bytes += path.as_os_str().len() + repository.prefix.as_os_str().len() + 2;
            bytes <= BATCH_BYTES
        };
        let count = rest.iter().take_while(fits).count().max(1);
        let (batch, later) = rest.split_at(count);
        one_batch(git, repository, batch, &mut entries)?;
        rest = later;
    }
    Ok(entries)
}

fn one_batch(
    git: &Git,
    repo: &Repository,
    paths: &[PathBuf],
    into: &mut IndexEntries,
) -> Result<(), GitError> {
    let fixed = ["--literal-pathspecs", "ls-files", "--stage", "-z", "--"].map(OsString::from);
    let args = fixed.into_iter().chain(paths.iter().map(|path| repo.prefix.join(path).into_os_string()));
    let out = git
        .call(args)
        .git_dir(&repo.git_dir)
        .work_tree(&repo.toplevel)
        .dir(&repo.toplevel)
        .within(Duration::from_secs(30))
        .output()?;
    for record in out.split(|&b| b == 0).filter(|r| !r.is_empty()) {
        let Some(tab) = record.iter().position(|&b| b == b'\t') else { continue };
        let head = String::from_utf8_lossy(&record[..tab]);
        let mut fields = head.split(' ');
        let (Some(mode), Some(id)) = (fields.next(), fields.next()) else { continue };
        let Ok(mode) = u32::from_str_radix(mode, 8) else { continue };
        let path = Path::new(OsStr::from_bytes(&record[tab + 1..]));
        if let Ok(path) = path.strip_prefix(&repo.prefix) {
            into.insert(path.to_owned(), (mode, id.to_owned()));
        }
    }
    Ok(())
}

/// An index entry with what the file looked like when git last saw that it is as the index says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StampedEntry {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// Its mode.
    pub mode: u32,
    /// The object.
    pub id: String,
    /// Seconds and nanoseconds of its last change.
    pub mtime: (i64, u32),
    /// Its length, of which git keeps 32 bits.
    pub size: u64,
}

/// Every index entry below the workspace. Reads the index and nothing else.
pub fn stamped(git: &Git, repo: &Repository) -> Result<Vec<StampedEntry>, GitError> {
    let out = call(git, repo, &["--literal-pathspecs", "ls-files", "--stage", "--debug", "-z", "--", "."])?;
    let mut found: Vec<StampedEntry> = Vec::new();
    for (number, record) in out.split(|&b| b == 0).enumerate() {
        // What is said about an entry stands before the next one.
        let head = if number == 0 { 0 } else { debug_end(record) };
        if let Some(last) = found.last_mut() {
            read_debug(&String::from_utf8_lossy(&record[..head]), last);
        }
        let entry = &record[head..];
        let Some(tab) = entry.iter().position(|&b| b == b'\t') else { continue };
        let fields = String::from_utf8_lossy(&entry[..tab]);
        let mut fields = fields.split(' ');
        let (Some(mode), Some(id)) = (fields.next(), fields.next()) else { continue };
        let Ok(mode) = u32::from_str_radix(mode, 8) else { continue };
        let path = Path::new(OsStr::from_bytes(&entry[tab + 1..])).to_owned();
        found.push(StampedEntry { path, mode, id: id.to_owned(), mtime: (0, 0), size: 0 });
    }
    Ok(found)
}

/// Files git does not track and is not told to ignore, relative to the workspace. No hook, filter or monitor runs.
pub fn others(git: &Git, repo: &Repository) -> Result<Vec<PathBuf>, GitError> {
    let out = call(git, repo, &["ls-files", "--others", "--exclude-standard", "-z", "--", "."])?;
    let names = out.split(|&b| b == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect())
}

fn call(git: &Git, repo: &Repository, args: &[&str]) -> Result<Vec<u8>, GitError> {
    git.call(args)
        .git_dir(&repo.git_dir)
        .work_tree(&repo.toplevel)
        .dir(&repo.toplevel.join(&repo.prefix))
        .within(Duration::from_secs(30))
        .output()
}

/// The end of the lines that begin with two spaces.
fn debug_end(record: &[u8]) -> usize {
    let lines = record.split_inclusive(|&b| b == b'\n');
    lines.take_while(|line| line.starts_with(b"  ")).map(<[u8]>::len).sum()
}

fn read_debug(text: &str, into: &mut StampedEntry) {
    for line in text.lines().map(str::trim) {
        if let Some((seconds, nanos)) = line.strip_prefix("mtime: ").and_then(|rest| rest.split_once(':')) {
            into.mtime = (seconds.parse().unwrap_or(0), nanos.parse().unwrap_or(0));
        } else if let Some(rest) = line.strip_prefix("size: ") {
            into.size = rest.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0);
        }
    }
}
