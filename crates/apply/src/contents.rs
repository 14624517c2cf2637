//! Contents of files, found by their digest: one file that is written from front to back.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use sha2::{Digest as _, Sha256};

const MAGIC: &[u8] = b"holon contents 1\n";
/// How much is read at once to find what is kept: many small contents, or the line between two large ones.
const READ_AHEAD: usize = 1 << 16;

/// Writes contents, each once.
#[derive(Debug)]
pub struct ContentWriter {
    out: BufWriter<File>,
    has: HashSet<String>,
}

impl ContentWriter {
    /// Makes the file, private to its owner.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        let mut out = BufWriter::new(file);
        out.write_all(MAGIC)?;
        Ok(Self { out, has: HashSet::new() })
    }

    /// Keeps what has this digest (hex SHA-256) and length, unless it is there.
    pub fn keep(&mut self, sha256: &str, len: u64, content: &mut dyn Read) -> io::Result<()> {
        if self.has.contains(sha256) {
            return Ok(());
        }
        writeln!(self.out, "{sha256} {len}")?;
        let copied = io::copy(&mut content.take(len), &mut self.out)?;
        if copied != len {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "a file became shorter while it was read",
            ));
        }
        self.has.insert(sha256.to_owned());
        Ok(())
    }

    /// Writes what is left; with `durable` it also reaches the disk.
    pub fn finish(self, durable: bool) -> io::Result<()> {
        let file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        if durable { file.sync_data() } else { Ok(()) }
    }
}

/// Contents that were kept.
#[derive(Debug)]
pub struct ContentFile {
    file: File,
    at: HashMap<String, (u64, u64)>,
}

impl ContentFile {
    /// Opens what a [`ContentWriter`] made.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut from = BufReader::with_capacity(READ_AHEAD, File::open(path)?);
        let damaged =
            || io::Error::new(io::ErrorKind::InvalidData, "it is not a file of contents, or it is damaged");
        let mut magic = vec![0; MAGIC.len()];
        from.read_exact(&mut magic)?;
        if magic != MAGIC {
            return Err(damaged());
        }
        let whole = from.get_ref().metadata()?.len();
        let mut at = HashMap::new();
        let mut offset = MAGIC.len() as u64;
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = (&mut from).take(128).read_until(b'\n', &mut line)? as u64;
            if read == 0 {
                return Ok(Self { file: from.into_inner(), at });
            }
            let text = std::str::from_utf8(&line).ok().and_then(|text| text.strip_suffix('\n'));
            let (sha256, len) = text.and_then(|text| text.split_once(' ')).ok_or_else(damaged)?;
            let len: u64 = len.parse().map_err(|_| damaged())?;
            offset += read;
            if len > whole.saturating_sub(offset) {
                return Err(damaged());
            }
            at.insert(sha256.to_owned(), (offset, len));
            offset += len;
            let skip = i64::try_from(len).map_err(|_| damaged())?;
            from.seek_relative(skip)?;
        }
    }

    /// Whether this content is there.
    pub fn has(&self, sha256: &str) -> bool {
        self.at.contains_key(sha256)
    }

    /// The content with this digest; `None` when it was not kept. What does not have the digest it is kept under is an
    /// error.
    pub fn read(&self, sha256: &str) -> io::Result<Option<Vec<u8>>> {
        let Some(&(offset, len)) = self.at.get(sha256) else { return Ok(None) };
        let mut bytes = vec![0; usize::try_from(len).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut bytes, offset)?;
        if holon_git::touched::hex(&Sha256::digest(&bytes)) != sha256 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a kept content is damaged"));
        }
        Ok(Some(bytes))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use holon_git::touched::hex;
    use proptest::prelude::*;

    use super::*;

    fn digest(bytes: &[u8]) -> String {
        hex(&Sha256::digest(bytes))
    }

    #[test]
    fn what_is_kept_is_found_by_its_digest() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("contents");
        let (one, two) = (b"one\nline".as_slice(), b"".as_slice());
        let mut writer = ContentWriter::create(&path).unwrap();
        for content in [one, two, one] {
            let mut from = content;
            writer.keep(&digest(content), content.len() as u64, &mut from).unwrap();
        }
        writer.finish(true).unwrap();
        let file = ContentFile::open(&path).unwrap();
        assert_eq!(file.read(&digest(one)).unwrap().unwrap(), one);
        assert_eq!(file.read(&digest(two)).unwrap().unwrap(), two);
        assert_eq!(file.read(&digest(b"another")).unwrap(), None);
    }

    #[test]
    fn a_damaged_content_is_never_given_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("contents");
        let mut writer = ContentWriter::create(&path).unwrap();
        writer.keep(&digest(b"right"), 5, &mut b"right".as_slice()).unwrap();
        writer.finish(false).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() = b'!';
        std::fs::write(&path, &bytes).unwrap();
        assert!(ContentFile::open(&path).unwrap().read(&digest(b"right")).is_err());
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert!(ContentFile::open(&path).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_open_or_are_refused(tail in proptest::collection::vec(any::<u8>(), 0..300)) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("contents");
            std::fs::write(&path, [MAGIC, &tail].concat()).unwrap();
            if let Ok(file) = ContentFile::open(&path) {
                for sha256 in file.at.keys() {
                    let _ = file.read(sha256);
                }
            }
        }
    }
}
