//! The files a patch was made against, as far as they can still be had: in the repository, or untouched in the workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use holon_git::{FileMode, Git, ObjectFormat, PathDigest, Repository, ScratchRepository, TouchedPath, apply};

use super::evidence::{BaseEvidence, ReapplyOutcome};
use super::patch_file::PatchSummary;

/// A patch and where it was made.
pub(super) struct PatchOrigin<'a> {
    pub(super) workspace: &'a Path,
    pub(super) base_commit: Option<&'a str>,
    pub(super) patch: &'a [u8],
    pub(super) touched: &'a [TouchedPath],
}

/// Looks for the originals and tries the patch on them. What cannot be had is said, and proves nothing either way.
pub(super) fn look(made: &PatchOrigin<'_>) -> BaseEvidence {
    let mut evidence = BaseEvidence::default();
    let Ok(git) = Git::find() else { return evidence };
    let repository = Repository::look(made.workspace).ok().and_then(|found| found.repository);
    let objects = repository.as_ref().and_then(|repository| ScratchObjects::borrow(&git, repository));
    let summary = PatchSummary::of(made.patch);
    let mut contents: BTreeMap<&Path, Vec<u8>> = BTreeMap::new();
    let ids = ids(&summary, made.touched);
    let asked: Vec<&str> = made.base_commit.into_iter().chain(ids.values().map(String::as_str)).collect();
    let answers = objects.as_ref().and_then(|objects| objects.read(&git, &asked)).unwrap_or_default();
    if let (Some(commit), Some(_)) = (made.base_commit, &objects) {
        evidence.commit_is_there = Some(answers.get(commit).is_some_and(|(kind, _)| kind == "commit"));
    }
    for entry in made.touched {
        let Some(base) = &entry.base else { continue };
        let name = entry.path.to_string_lossy().into_owned();
        let stored =
            ids.get(&entry.path).and_then(|id| answers.get(id.as_str())).filter(|(kind, _)| kind == "blob");
        if let Some((_, bytes)) = stored {
            let digest = PathDigest::of_bytes(base.mode, bytes);
            evidence.originals.insert(name, digest.sha256);
            contents.insert(&entry.path, bytes.clone());
        } else if let Some(bytes) = untouched(&made.workspace.join(&entry.path), base) {
            contents.insert(&entry.path, bytes);
        } else {
            evidence.lost.insert(name);
        }
    }
    let modules = made.touched.iter().flat_map(|entry| [&entry.base, &entry.result]).flatten();
    let has_module = modules.into_iter().any(|digest| digest.mode == FileMode::Gitlink);
    if evidence.lost.is_empty() && !has_module && !made.patch.is_empty() {
        let format = repository.map(|repository| repository.format).unwrap_or_default();
        evidence.applied = again(&git, made, &contents, format);
    }
    evidence
}

/// The id of each touched file's original, as the patch names it.
fn ids(summary: &PatchSummary<'_>, touched: &[TouchedPath]) -> BTreeMap<PathBuf, String> {
    let id_of = |entry: &TouchedPath| {
        let name = entry.path.to_string_lossy();
        let file = summary.sections.iter().find(|file| file.old.as_deref() == Some(&*name))?;
        let id = String::from_utf8(file.old_id?.to_vec()).ok()?;
        let whole = ObjectFormat::Sha1.is_id(&id) || ObjectFormat::Sha256.is_id(&id);
        whole.then(|| (entry.path.clone(), id))
    };
    touched.iter().filter(|entry| entry.base.is_some()).filter_map(id_of).collect()
}

/// A file of the workspace that is still what it was.
fn untouched(path: &Path, base: &PathDigest) -> Option<Vec<u8>> {
    let now = PathDigest::of_path(path).ok()??;
    if now != *base {
        return None;
    }
    match base.mode {
        FileMode::Symlink => Some(fs::read_link(path).ok()?.as_os_str().as_bytes().to_vec()),
        FileMode::Gitlink => None,
        FileMode::Regular | FileMode::Executable => fs::read(path).ok(),
    }
}

/// Applies the patch to the originals, in a folder of its own.
fn again(
    git: &Git,
    made: &PatchOrigin<'_>,
    contents: &BTreeMap<&Path, Vec<u8>>,
    format: ObjectFormat,
) -> Option<ReapplyOutcome> {
    let folder = tempfile::tempdir().ok()?;
    for entry in made.touched {
        let (Some(base), Some(bytes)) = (&entry.base, contents.get(entry.path.as_path())) else { continue };
        put(&folder.path().join(&entry.path), base.mode, bytes).ok()?;
    }
    match apply::plain(git, made.patch, folder.path(), format) {
        Ok(()) => {}
        Err(holon_git::GitError::Failed { stderr, .. }) => return Some(ReapplyOutcome::Refused(stderr)),
        Err(_) => return None,
    }
    let differs = |entry: &&TouchedPath| {
        PathDigest::of_path(&folder.path().join(&entry.path)).ok() != Some(entry.result.clone())
    };
    let paths: BTreeSet<String> =
        made.touched.iter().filter(differs).map(|entry| entry.path.to_string_lossy().into_owned()).collect();
    Some(if paths.is_empty() {
        ReapplyOutcome::Reproduced
    } else {
        ReapplyOutcome::Differs(paths.into_iter().collect())
    })
}

fn put(path: &Path, mode: FileMode, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    if mode == FileMode::Symlink {
        return symlink(std::ffi::OsStr::from_bytes(bytes), path);
    }
    fs::write(path, bytes)?;
    let bits = if mode == FileMode::Executable { 0o755 } else { 0o644 };
    fs::set_permissions(path, fs::Permissions::from_mode(bits))
}

/// The objects of a repository, read through one of our own: nothing of its settings counts.
struct ScratchObjects {
    scratch: ScratchRepository,
    _folder: tempfile::TempDir,
}

impl ScratchObjects {
    fn borrow(_git: &Git, repository: &Repository) -> Option<Self> {
        let folder = tempfile::tempdir().ok()?;
        let scratch = ScratchRepository::new(folder.path(), repository.format).ok()?;
        scratch.borrow_objects(&[repository.common_dir.join("objects")]).ok()?;
        Some(Self { scratch, _folder: folder })
    }

    /// Kind and content of each object that is there.
    fn read(&self, git: &Git, ids: &[&str]) -> Option<BTreeMap<String, (String, Vec<u8>)>> {
        if ids.is_empty() {
            return Some(BTreeMap::new());
        }
        let at = self.scratch.path();
        let asked: String = ids
            .iter()
            .filter(|id| id.bytes().all(|b| b.is_ascii_hexdigit()))
            .map(|id| format!("{id}\n"))
            .collect();
        let call = git.call(["cat-file", "--batch"]).git_dir(at).dir(at);
        let out = call.feed(|stdin| stdin.write_all(asked.as_bytes())).ok()?;
        Some(answers(&out))
    }
}

/// What `cat-file --batch` says: a line with id, kind and size, then the bytes; or that it is missing.
fn answers(mut out: &[u8]) -> BTreeMap<String, (String, Vec<u8>)> {
    let mut found = BTreeMap::new();
    while let Some(end) = out.iter().position(|b| *b == b'\n') {
        let head = String::from_utf8_lossy(&out[..end]).into_owned();
        out = &out[end + 1..];
        let mut fields = head.split(' ');
        let (Some(id), Some(kind), Some(size)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let Some(bytes) = size.parse::<usize>().ok().and_then(|size| out.get(..size)) else { break };
        found.insert(id.to_owned(), (kind.to_owned(), bytes.to_vec()));
        out = out.get(bytes.len() + 1..).unwrap_or_default();
    }
    found
}
