//! The head of the audit chain, written down beside the database.
//!
//! Two lines of a fixed length, written in turn and in place: a file that is replaced waits for the disk, and every commit
//! would wait with it. Whoever reads while a line is written finds that line not whole, and the one before it whole.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use holon_core::digest::sha256_parts;
use serde::{Deserialize, Serialize};

use crate::chain::ChainHead;
use crate::error::StoreError;

/// Bytes of a line, its end included.
const LINE: usize = 224;

pub(super) struct ChainAnchor {
    path: PathBuf,
    /// The file, once something was written, and the line that is written next.
    file: Option<(File, u64)>,
}

/// A line: a head, and how it is known to be whole.
#[derive(Serialize, Deserialize)]
struct AnchorLine {
    seq: u64,
    hash: String,
    check: String,
}

impl ChainAnchor {
    pub(super) fn of(folder: &Path) -> Self {
        Self { path: folder.join("audit.head"), file: None }
    }

    /// What was written last, and perhaps what was written before; nothing before the first entry.
    pub(super) fn read(&self) -> Result<Vec<ChainHead>, StoreError> {
        match fs::read(&self.path) {
            Ok(bytes) => parse(&bytes).ok_or_else(|| StoreError::Damaged {
                what: "audit head",
                why: format!("{} holds no head of an audit log", self.path.display()),
            }),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(e) => Err(StoreError::io("read", &self.path)(e)),
        }
    }

    /// Writes a head down.
    pub(super) fn write(&mut self, head: &ChainHead) -> Result<(), StoreError> {
        let line = line(head);
        let written = match self.file.take().filter(|(file, _)| is_there(file)) {
            Some((file, next)) => {
                file.write_all_at(line.as_bytes(), next * LINE as u64).map(|()| (file, 1 - next))
            }
            None => self.begin(&line).map(|file| (file, 0)),
        };
        self.file = Some(written.map_err(StoreError::io("write", &self.path))?);
        Ok(())
    }

    /// A new file, in one step; one of an older form is replaced by it.
    fn begin(&self, line: &str) -> io::Result<File> {
        let next = self.path.with_extension("head.new");
        fs::write(&next, line.repeat(2))?;
        fs::rename(&next, &self.path)?;
        File::options().write(true).open(&self.path)
    }
}

/// Whether a file still has a name.
fn is_there(file: &File) -> bool {
    file.metadata().is_ok_and(|meta| meta.nlink() > 0)
}

fn line(head: &ChainHead) -> String {
    let line = AnchorLine { seq: head.seq, hash: head.hash.clone(), check: check(head.seq, &head.hash) };
    let text = serde_json::to_string(&line).unwrap_or_default();
    format!("{text:<width$}\n", width = LINE - 1)
}

fn check(seq: u64, hash: &str) -> String {
    sha256_parts([&seq.to_be_bytes()[..], hash.as_bytes()]).chars().take(16).collect()
}

/// The heads in a file; none when it is no such file.
fn parse(bytes: &[u8]) -> Option<Vec<ChainHead>> {
    if bytes.len() != 2 * LINE {
        // Before there were lines, it was a head and nothing else.
        return serde_json::from_slice(bytes).ok().map(|head| vec![head]);
    }
    let whole = |part: &[u8]| {
        let AnchorLine { seq, hash, check: told } = serde_json::from_slice(part).ok()?;
        (told == check(seq, &hash)).then_some(ChainHead { seq, hash })
    };
    let heads: Vec<ChainHead> = bytes.chunks(LINE).filter_map(whole).collect();
    (!heads.is_empty()).then_some(heads)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn head(seq: u64) -> ChainHead {
        ChainHead { seq, hash: holon_core::digest::sha256(&seq.to_be_bytes()) }
    }

    #[test]
    fn inv_13_the_last_head_is_always_there() {
        let folder = tempfile::tempdir().unwrap();
        let mut anchor = ChainAnchor::of(folder.path());
        assert_eq!(anchor.read().unwrap(), []);
        for seq in 1..=4 {
            anchor.write(&head(seq)).unwrap();
            assert!(anchor.read().unwrap().contains(&head(seq)), "{seq}");
            assert_eq!(ChainAnchor::of(folder.path()).read().unwrap(), anchor.read().unwrap());
        }
        // Another process begins where this one ended, and a file that was taken away comes back.
        let mut other = ChainAnchor::of(folder.path());
        other.write(&head(5)).unwrap();
        fs::remove_file(folder.path().join("audit.head")).unwrap();
        other.write(&head(6)).unwrap();
        assert_eq!(other.read().unwrap(), [head(6), head(6)]);
    }

    #[test]
    fn an_older_form_is_read_and_replaced() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("audit.head"), serde_json::to_string(&head(7)).unwrap()).unwrap();
        let mut anchor = ChainAnchor::of(folder.path());
        assert_eq!(anchor.read().unwrap(), [head(7)]);
        anchor.write(&head(8)).unwrap();
        assert_eq!(anchor.read().unwrap(), [head(8), head(8)]);
    }

    #[test]
    fn every_line_has_the_same_length() {
        for seq in [0, 1, 99, u64::MAX] {
            assert_eq!(line(&head(seq)).len(), LINE);
        }
    }

    proptest! {
        /// A reader may see any mixture of a line and the one that takes its place.
        #[test]
        fn inv_13_a_line_that_is_being_written_is_never_taken_for_a_head(
            seq in 2u64..1_000_000,
            cut in 0usize..=LINE,
            first: bool,
        ) {
            let (before, old, new) = (line(&head(seq - 1)), line(&head(seq - 2)), line(&head(seq)));
            let mixed = format!("{}{}", &new[..cut], &old[cut..]);
            let file = if first { mixed + &before } else { before + &mixed };
            let heads = parse(file.as_bytes()).unwrap();
            prop_assert!(heads.contains(&head(seq - 1)));
            prop_assert!(heads.iter().all(|found| (seq - 2..=seq).any(|seq| head(seq) == *found)), "{heads:?}");
        }

        #[test]
        fn whatever_is_in_the_file_is_no_reason_to_fail(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
            prop_assert!(parse(&bytes).is_none());
        }
    }
}
