//! One digest for a whole tree: for `--verify full` and for tests that nothing changed.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::DiffError;
use crate::snapshot::tree::{OpenTree, TreeEntryKind, bytes, open_file_at, path_of, read_link_at};
use crate::snapshot::walk::{TreeWalk, WalkStep};

/// No name has this length.
const LEFT: [u8; 8] = [0xff; 8];

/// Hashes path, kind, mode, modification time and content of everything below `dir`, apart from the given
/// paths (relative to it) and what is below them.
pub fn tree_digest(dir: &Path, without: &[PathBuf]) -> Result<String, DiffError> {
    let failed = |path: &[u8]| DiffError::io("read", dir.join(path_of(path)));
    let root = OpenTree::open(dir).map_err(failed(b""))?;
    let mut walk = root.open_dir(b"").and_then(TreeWalk::new).map_err(failed(b""))?;
    let mut hash = Sha256::new();
    loop {
        let entry = match walk.next().map_err(failed(b""))? {
            WalkStep::Entry(entry) => entry,
            WalkStep::Left => {
                hash.update(LEFT);
                continue;
            }
            WalkStep::Done => break,
        };
        if without.iter().any(|path| bytes(path) == entry.path) {
            continue;
        }
        // Names and the ends of directories say where everything is, at a cost that does not grow with depth.
        hash.update((entry.name.len() as u64).to_le_bytes());
        hash.update(&entry.name);
        hash.update([entry.meta.kind as u8]);
        hash.update(entry.meta.mode.to_le_bytes());
        hash.update(entry.meta.mtime.sec.to_le_bytes());
        hash.update(entry.meta.mtime.nsec.to_le_bytes());
        match entry.meta.kind {
            TreeEntryKind::Dir => walk.descend(&entry).map_err(failed(&entry.path))?,
            TreeEntryKind::Symlink => {
                let target = read_link_at(walk.dir(), &entry.name).map_err(failed(&entry.path))?;
                hash.update((target.len() as u64).to_le_bytes());
                hash.update(&target);
            }
            TreeEntryKind::File => {
                let mut file = open_file_at(walk.dir(), &entry.name).map_err(failed(&entry.path))?;
                let len = feed(&mut file, &mut hash).map_err(failed(&entry.path))?;
                hash.update(len.to_le_bytes());
            }
            TreeEntryKind::Whiteout | TreeEntryKind::Special => {}
        }
    }
    Ok(holon_git::touched::hex(&hash.finalize()))
}

fn feed(from: &mut impl Read, hash: &mut Sha256) -> io::Result<u64> {
    let mut buffer = vec![0; 1 << 16];
    let mut total = 0;
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(total),
            n => {
                hash.update(&buffer[..n]);
                total += n as u64;
            }
        }
    }
}
