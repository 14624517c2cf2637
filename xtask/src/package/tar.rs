//! Writing tar archives (ustar): always the same bytes for the same content, owned by root.

use crate::XtaskFailure;

const BLOCK: usize = 512;
/// How long a name may be, and the folder before it.
const NAME: usize = 100;
const PREFIX: usize = 155;

/// An archive that is being written.
pub(super) struct TarWriter {
    bytes: Vec<u8>,
    /// The time every entry gets, in seconds since 1970.
    time: u64,
}

impl TarWriter {
    pub(super) fn new(time: u64) -> Self {
        Self { bytes: Vec::new(), time }
    }

    /// Adds a folder.
    pub(super) fn folder(&mut self, path: &str, mode: u32) -> Result<(), XtaskFailure> {
        let header = header(&format!("{}/", path.trim_end_matches('/')), mode, 0, self.time, b'5')?;
        self.bytes.extend(header);
        Ok(())
    }

    /// Adds a file.
    pub(super) fn file(&mut self, path: &str, mode: u32, content: &[u8]) -> Result<(), XtaskFailure> {
        self.bytes.extend(header(path, mode, content.len(), self.time, b'0')?);
        self.bytes.extend(content);
        self.bytes.resize(self.bytes.len().next_multiple_of(BLOCK), 0);
        Ok(())
    }

    /// The whole archive.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.bytes.resize(self.bytes.len() + 2 * BLOCK, 0);
        self.bytes
    }
}

fn header(path: &str, mode: u32, size: usize, time: u64, kind: u8) -> Result<[u8; BLOCK], XtaskFailure> {
    let (prefix, name) = split(path).ok_or_else(|| format!("{path} is too long for an archive"))?;
    let mut header = [0; BLOCK];
    let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, &format!("{mode:07o}"));
    put(108, &format!("{:07o}", 0));
    put(116, &format!("{:07o}", 0));
    put(124, &format!("{size:011o}"));
    put(136, &format!("{time:011o}"));
    // The sum is made with spaces in its own place.
    put(148, "        ");
    put(257, "ustar");
    put(263, "00");
    put(265, "root");
    put(297, "root");
    put(345, prefix);
    header[156] = kind;
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    Ok(header)
}

/// A path as the two fields of a header that hold it.
fn split(path: &str) -> Option<(&str, &str)> {
    if path.len() <= NAME {
        return Some(("", path));
    }
    path.match_indices('/')
        .map(|(at, _)| (&path[..at], &path[at + 1..]))
        .find(|(prefix, name)| prefix.len() <= PREFIX && name.len() <= NAME && !name.is_empty())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::process::Command;

    #[test]
    fn tar_reads_what_was_written() {
        let long = format!("{}/{}", "d".repeat(90), "f".repeat(80));
        let mut writer = TarWriter::new(1_000_000_000);
        writer.folder("a", 0o755).unwrap();
        writer.file("a/b", 0o644, b"content").unwrap();
        writer.file(&long, 0o755, &[7; 1025]).unwrap();
        assert!(writer.file(&"x".repeat(101), 0o644, b"").unwrap_err().contains("too long"));
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("a.tar");
        std::fs::write(&archive, writer.finish()).unwrap();
        let mut tar = Command::new("tar");
        let list = crate::process::capture(tar.args(["--utc", "-tvf"]).arg(&archive)).unwrap();
        let lines: Vec<&str> = list.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("drwxr-xr-x root/root") && lines[0].ends_with(" a/"), "{list}");
        assert!(lines[1].starts_with("-rw-r--r-- root/root") && lines[1].contains(" 7 2001-09-09 01:46"));
        assert!(lines[2].contains("1025") && lines[2].ends_with(&long), "{list}");
    }
}
