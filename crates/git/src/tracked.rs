//! What the user's repository tracks: its index, read by the one command that runs in it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Error, Git, Repository};

/// Room for arguments in one call, well below what any kernel allows.
const BATCH_BYTES: usize = 64 * 1024;

/// Index entries at or below some paths: workspace-relative path to (mode, object id).
pub type Entries = BTreeMap<PathBuf, (u32, String)>;

/// Asks the index of `repository` for everything at or below `paths` (relative to the workspace).
///
/// Reads the index and nothing else: no hook, filter or monitor has an occasion to run.
pub fn below(git: &Git, repository: &Repository, paths: &[PathBuf]) -> Result<Entries, Error> {
    let mut entries = Entries::new();
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

fn one_batch(git: &Git, repo: &Repository, paths: &[PathBuf], into: &mut Entries) -> Result<(), Error> {
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
