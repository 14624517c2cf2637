//! What a copy looked like when it was finished, so that later only what changed must be read.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use super::stamp::FileTimestamp;
use super::tree::TreeEntryMeta;

const MAGIC: &[u8; 8] = b"holonix1";

/// The part of a file's metadata that changes whenever its content does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStat {
    pub(crate) mode: u32,
    pub(crate) size: u64,
    pub(crate) ino: u64,
    pub(crate) mtime: FileTimestamp,
    pub(crate) ctime: FileTimestamp,
}

impl From<&TreeEntryMeta> for FileStat {
    fn from(meta: &TreeEntryMeta) -> Self {
        Self { mode: meta.mode, size: meta.size, ino: meta.ino, mtime: meta.mtime, ctime: meta.ctime }
    }
}

/// One file or link: what the original was, and what the copy was.
///
/// The file system's clock moves on after the copy, so no later change has a time that is in here: a file that looks as
/// indexed is as indexed, unless it changed while the copy was made, which its time tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CopyIndexEntry {
    pub(crate) base: FileStat,
    pub(crate) copy: FileStat,
}

/// Writes the index while the copy is made.
#[derive(Debug)]
pub(crate) struct CopyIndexWriter {
    out: BufWriter<File>,
}

impl CopyIndexWriter {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let mut out = BufWriter::new(File::create(path)?);
        out.write_all(MAGIC)?;
        Ok(Self { out })
    }

    pub(crate) fn add(&mut self, path: &[u8], pair: &CopyIndexEntry) -> io::Result<()> {
        self.out.write_all(&(path.len() as u32).to_le_bytes())?;
        self.out.write_all(path)?;
        for seen in [&pair.base, &pair.copy] {
            self.out.write_all(&seen.mode.to_le_bytes())?;
            self.out.write_all(&seen.size.to_le_bytes())?;
            self.out.write_all(&seen.ino.to_le_bytes())?;
            for stamp in [seen.mtime, seen.ctime] {
                self.out.write_all(&stamp.sec.to_le_bytes())?;
                self.out.write_all(&stamp.nsec.to_le_bytes())?;
            }
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A whole index in memory.
#[derive(Debug, Default)]
pub(crate) struct CopyIndex {
    pub(crate) entries: HashMap<Vec<u8>, CopyIndexEntry>,
}

impl CopyIndex {
    /// Reads an index back.
    pub(crate) fn load(path: &Path) -> io::Result<Self> {
        let mut from = BufReader::new(File::open(path)?);
        let mut magic = [0; 8];
        from.read_exact(&mut magic)?;
        if &magic != MAGIC {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not an index of this version"));
        }
        let mut entries = HashMap::new();
        while let Some(len) = first(&mut from)? {
            if len as usize > super::tree::LONGEST_PATH {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the index is damaged"));
            }
            let mut path = vec![0; len as usize];
            from.read_exact(&mut path)?;
            let pair = CopyIndexEntry { base: seen(&mut from)?, copy: seen(&mut from)? };
            entries.insert(path, pair);
        }
        Ok(Self { entries })
    }
}

/// The length that begins a record; `None` at a clean end.
fn first(from: &mut impl Read) -> io::Result<Option<u32>> {
    let mut bytes = [0; 4];
    let mut filled = 0;
    while filled < 4 {
        match from.read(&mut bytes[filled..])? {
            0 if filled == 0 => return Ok(None),
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => filled += n,
        }
    }
    Ok(Some(u32::from_le_bytes(bytes)))
}

fn seen(from: &mut impl Read) -> io::Result<FileStat> {
    Ok(FileStat {
        mode: u32::from_le_bytes(array(from)?),
        size: u64::from_le_bytes(array(from)?),
        ino: u64::from_le_bytes(array(from)?),
        mtime: stamp(from)?,
        ctime: stamp(from)?,
    })
}

fn stamp(from: &mut impl Read) -> io::Result<FileTimestamp> {
    Ok(FileTimestamp { sec: i64::from_le_bytes(array(from)?), nsec: u32::from_le_bytes(array(from)?) })
}

fn array<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    fn pair(n: u64) -> CopyIndexEntry {
        let stamp = FileTimestamp { sec: n as i64 - 5, nsec: 7 };
        let base = FileStat { mode: 0o644, size: n, ino: n + 1, mtime: stamp, ctime: stamp };
        CopyIndexEntry { base, copy: FileStat { ino: n + 2, ..base } }
    }

    #[test]
    fn written_and_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index");
        let mut writer = CopyIndexWriter::create(&path).unwrap();
        for n in 0..100 {
            writer.add(format!("dir/{n}\n\u{e9}").as_bytes(), &pair(n)).unwrap();
        }
        writer.finish().unwrap();
        let index = CopyIndex::load(&path).unwrap();
        assert_eq!(index.entries.len(), 100);
        assert_eq!(index.entries["dir/42\n\u{e9}".as_bytes()], pair(42));
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 3]).unwrap();
        assert!(CopyIndex::load(&path).is_err());
    }

    proptest! {
        #[test]
        fn damaged_files_are_errors(tail in proptest::collection::vec(any::<u8>(), 0..200)) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("index");
            fs::write(&path, [MAGIC.as_slice(), &tail].concat()).unwrap();
            let _ = CopyIndex::load(&path);
        }
    }
}
