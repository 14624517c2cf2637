//! New submodules: which commit they point to, read from the agent's files by hand.
//!
//! Git is never run there: those files are the agent's, and git believes them.

use holon_git::{config, pointer};

use super::DiffError;
use super::scan_base::ScanBase;
use crate::snapshot::tree::{OpenTree, TreeEntryKind, bytes, join};
use crate::snapshot::{GIT_INSIDE, GitView, WORKSPACE_INSIDE};

const SMALL: u64 = 1 << 20;
const PACKED: u64 = 8 << 20;

/// The commit of the submodule at `path`, if that is one: a directory with a `.git` file, listed in the
/// result's `.gitmodules`, whose HEAD can be resolved. Everything else is a directory of plain files.
pub(crate) fn commit_of_new(
    ground: &ScanBase,
    git: Option<&GitView>,
    path: &[u8],
) -> Result<Option<String>, DiffError> {
    let dot_git = join(path, b".git");
    let there = ground.written.look(&dot_git).map_err(ground.written_error(&dot_git))?;
    if there.is_none_or(|meta| meta.kind != TreeEntryKind::File) || !is_listed(ground, path)? {
        return Ok(None);
    }
    let text = ground.written.read_small(&dot_git, SMALL).map_err(ground.written_error(&dot_git))?;
    let Some(named) = text.as_deref().and_then(pointer::parse) else { return Ok(None) };
    let named = bytes(&named);
    if let Some(rest) = named.strip_prefix(format!("{GIT_INSIDE}/").as_bytes()) {
        let Some(root) = git.and_then(GitView::written).and_then(|path| OpenTree::open(path).ok()) else {
            return Ok(None);
        };
        let id = resolve(b"", rest).and_then(|dir| head(&[&root], &dir));
        return Ok(id.filter(|id| ground.format.is_id(id)));
    }
    let inside = format!("{WORKSPACE_INSIDE}/");
    let dir = match named.strip_prefix(inside.as_bytes()) {
        Some(rest) => resolve(b"", rest),
        None => resolve(path, named),
    };
    let id = dir.and_then(|dir| head(&[&ground.written, &ground.base], &dir));
    Ok(id.filter(|id| ground.format.is_id(id)))
}

fn is_listed(ground: &ScanBase, path: &[u8]) -> Result<bool, DiffError> {
    let name = b".gitmodules";
    let mut text = ground.written.read_small(name, SMALL).map_err(ground.written_error(name))?;
    if text.is_none() && ground.written.look(name).map_err(ground.written_error(name))?.is_none() {
        text = ground.base.read_small(name, SMALL).map_err(ground.base_error(name))?;
    }
    let settings = config::parse(&text.unwrap_or_default());
    Ok(settings
        .iter()
        .any(|s| s.section == "submodule" && s.key == "path" && s.value.as_deref() == Some(path)))
}

/// `target` as seen from `from`, both inside the workspace; `None` when it leads out.
fn resolve(from: &[u8], target: &[u8]) -> Option<Vec<u8>> {
    if target.first() == Some(&b'/') {
        return None;
    }
    let mut parts: Vec<&[u8]> = from.split(|&b| b == b'/').filter(|part| !part.is_empty()).collect();
    for part in target.split(|&b| b == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join(&b'/'))
}

fn head(roots: &[&OpenTree], dir: &[u8]) -> Option<String> {
    let read = |name: &[u8], cap| {
        roots.iter().find_map(|root| root.read_small(&join(dir, name), cap).ok().flatten())
    };
    let first = text(&read(b"HEAD", 4096)?)?;
    let Some(name) = first.strip_prefix("ref:").map(str::trim) else { return Some(first) };
    let plain = name.starts_with("refs/") && !name.contains("..") && !name.contains('\0');
    if !plain {
        return None;
    }
    if let Some(found) = read(name.as_bytes(), 4096) {
        return text(&found);
    }
    let packed = read(b"packed-refs", PACKED)?;
    let packed = String::from_utf8_lossy(&packed);
    packed
        .lines()
        .find_map(|line| line.split_once(' ').filter(|(_, n)| *n == name).map(|(found, _)| found.to_owned()))
}

fn text(bytes: &[u8]) -> Option<String> {
    Some(std::str::from_utf8(bytes).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn targets_stay_inside() {
        let check = |from: &str, target: &str, expect: Option<&str>| {
            assert_eq!(resolve(from.as_bytes(), target.as_bytes()), expect.map(|e| e.as_bytes().to_vec()));
        };
        check("libs/x", "../../.git/modules/x", Some(".git/modules/x"));
        check("x", "./../.git//modules/x", Some(".git/modules/x"));
        check("x", "../../outside", None);
        check("x", "/etc", None);
    }
}
