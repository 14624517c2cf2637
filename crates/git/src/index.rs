//! Git's index, read by hand: which version of each file it names, and what the file looked like then.
//!
//! Asking git would do too, but git compares files it is unsure of through the filters a repository configures, and those
//! are programs. This only reads.

use crate::ObjectFormat;

/// One entry of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry<'a> {
    /// Relative to the top of the working tree.
    pub path: &'a [u8],
    /// Git's mode.
    pub mode: u32,
    /// The raw object id.
    pub id: &'a [u8],
    /// The file's size, cut to 32 bits, when it was last compared.
    pub size: u32,
    /// Seconds and nanoseconds of its last change of content then.
    pub mtime: (u32, u32),
    /// Its inode number, cut to 32 bits, then.
    pub inode: u32,
    /// More than zero while a merge is unfinished.
    pub stage: u8,
    /// Whether a sparse checkout leaves it out, or it is only announced: there is no file that would be its content.
    pub absent: bool,
}

/// Why an index cannot be read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// It is cut off, or not an index.
    #[error("the index is damaged")]
    Damaged,
    /// It is spread over several files, or names directories instead of files.
    #[error("the index is of a kind that is not read here")]
    Unsupported,
}

/// Calls `each` for every entry, in the order of their paths.
pub fn each_entry(
    bytes: &[u8],
    format: ObjectFormat,
    mut each: impl FnMut(&IndexEntry<'_>),
) -> Result<(), IndexError> {
    let mut reader = IndexReader { bytes, at: 0 };
    if reader.take(4)? != b"DIRC" {
        return Err(IndexError::Damaged);
    }
    let version = reader.u32()?;
    if !(2..=4).contains(&version) {
        return Err(IndexError::Unsupported);
    }
    let id_len = match format {
        ObjectFormat::Sha1 => 20,
        ObjectFormat::Sha256 => 32,
    };
    let count = reader.u32()?;
    let mut path = Vec::new();
    for _ in 0..count {
        let begin = reader.at;
        let fixed = IndexEntryHead::read(&mut reader, id_len)?;
        reader.path(version, begin, &mut path)?;
        if fixed.mode == 0o040_000 {
            return Err(IndexError::Unsupported);
        }
        each(&IndexEntry {
            path: &path,
            mode: fixed.mode,
            id: fixed.id,
            size: fixed.size,
            mtime: fixed.mtime,
            inode: fixed.inode,
            stage: fixed.stage,
            absent: fixed.absent,
        });
    }
    reader.extensions(id_len)
}

struct IndexEntryHead<'a> {
    mtime: (u32, u32),
    inode: u32,
    mode: u32,
    size: u32,
    id: &'a [u8],
    stage: u8,
    absent: bool,
}

impl<'a> IndexEntryHead<'a> {
    fn read(reader: &mut IndexReader<'a>, id_len: usize) -> Result<Self, IndexError> {
        reader.take(8)?;
        let mtime = (reader.u32()?, reader.u32()?);
        reader.take(4)?;
        let inode = reader.u32()?;
        let mode = reader.u32()?;
        reader.take(8)?;
        let size = reader.u32()?;
        let id = reader.take(id_len)?;
        let flags = reader.u16()?;
        let more = if flags & 0x4000 == 0 { 0 } else { reader.u16()? };
        let stage = ((flags >> 12) & 3) as u8;
        Ok(Self { mtime, inode, mode, size, id, stage, absent: more & 0x6000 != 0 })
    }
}

struct IndexReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> IndexReader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], IndexError> {
        let end =
            self.at.checked_add(len).filter(|end| *end <= self.bytes.len()).ok_or(IndexError::Damaged)?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn u16(&mut self) -> Result<u16, IndexError> {
        let bytes = self.take(2)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn u32(&mut self) -> Result<u32, IndexError> {
        let bytes = self.take(4)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn text(&mut self) -> Result<&'a [u8], IndexError> {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|&b| b == 0).ok_or(IndexError::Damaged)?;
        self.at += end + 1;
        Ok(&rest[..end])
    }

    /// The path of an entry that began at `begin`; in version 4 it goes on from the one before.
    fn path(&mut self, version: u32, begin: usize, path: &mut Vec<u8>) -> Result<(), IndexError> {
        if version == 4 {
            let drop = self.offset()?;
            let keep = path.len().checked_sub(drop).ok_or(IndexError::Damaged)?;
            path.truncate(keep);
            path.extend_from_slice(self.text()?);
            return Ok(());
        }
        path.clear();
        path.extend_from_slice(self.text()?);
        // One to eight zeros, so that the next entry begins at a multiple of eight.
        let len = self.at - 1 - begin;
        let padded = (len + 8) & !7;
        self.at = begin + padded;
        if self.at > self.bytes.len() { Err(IndexError::Damaged) } else { Ok(()) }
    }

    /// A number in git's variable-length form for offsets.
    fn offset(&mut self) -> Result<usize, IndexError> {
        let mut value = 0_usize;
        for round in 0..8 {
            let byte = usize::from(self.take(1)?[0]);
            let low = byte & 0x7f;
            value = if round == 0 { low } else { ((value + 1) << 7) | low };
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(IndexError::Damaged)
    }

    /// What follows the entries must be known to change nothing about them.
    fn extensions(&mut self, id_len: usize) -> Result<(), IndexError> {
        while self.bytes.len().saturating_sub(self.at) > id_len {
            let name = self.take(4)?;
            let len = self.u32()? as usize;
            self.take(len)?;
            // Small letters: whoever does not know it cannot read the index.
            if name[0].is_ascii_lowercase() && name != b"sdir" {
                return Err(IndexError::Unsupported);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    fn git(dir: &Path, args: &[&str]) -> String {
        let out = Command::new("git")
            .args(["-c", "user.name=n", "-c", "user.email=e", "-c", "core.autocrlf=false"])
            .args(args)
            .current_dir(dir)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    }

    fn listed(dir: &Path, format: ObjectFormat) -> String {
        let bytes = fs::read(dir.join(".git/index")).unwrap();
        let mut text = String::new();
        each_entry(&bytes, format, |entry| {
            let id = crate::touched::hex(entry.id);
            let path = String::from_utf8_lossy(entry.path);
            text.push_str(&format!("{:06o} {id} {}\t{path}\n", entry.mode, entry.stage));
        })
        .unwrap();
        text
    }

    #[test]
    fn every_version_reads_as_git_lists_it() {
        for (name, format) in [("sha1", ObjectFormat::Sha1), ("sha256", ObjectFormat::Sha256)] {
            let dir = tempfile::tempdir().unwrap();
            git(dir.path(), &["init", "-q", "--object-format", name]);
            for path in ["a", "dir/one", "dir/only longer than that", "dir/sub/x", "ä/ö", "z"] {
                fs::create_dir_all(dir.path().join(path).parent().unwrap()).unwrap();
                fs::write(dir.path().join(path), path).unwrap();
            }
            std::os::unix::fs::symlink("a", dir.path().join("link")).unwrap();
            git(dir.path(), &["add", "."]);
            for version in ["2", "3", "4"] {
                git(dir.path(), &["update-index", "--index-version", version]);
                let expect = git(dir.path(), &["-c", "core.quotePath=false", "ls-files", "--stage"]);
                assert_eq!(listed(dir.path(), format), expect, "version {version}");
            }
            let mut seen = None;
            git(dir.path(), &["update-index", "--skip-worktree", "a"]);
            let bytes = fs::read(dir.path().join(".git/index")).unwrap();
            each_entry(&bytes, format, |entry| {
                if entry.path == b"a" {
                    seen = Some((entry.absent, entry.size));
                }
            })
            .unwrap();
            assert_eq!(seen, Some((true, 1)));
        }
    }

    #[test]
    fn a_split_index_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "-q"]);
        fs::write(dir.path().join("a"), "a").unwrap();
        git(dir.path(), &["add", "."]);
        git(dir.path(), &["update-index", "--split-index"]);
        let bytes = fs::read(dir.path().join(".git/index")).unwrap();
        assert_eq!(each_entry(&bytes, ObjectFormat::Sha1, |_| {}), Err(IndexError::Unsupported));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(tail in proptest::collection::vec(any::<u8>(), 0..400), version in 2_u32..5) {
            let mut bytes = b"DIRC".to_vec();
            bytes.extend(version.to_be_bytes());
            bytes.extend(3_u32.to_be_bytes());
            bytes.extend(tail);
            let _ = each_entry(&bytes, ObjectFormat::Sha1, |_| {});
        }
    }
}
