//! Reading files: lines for a reader, or all bytes for an edit.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;

use super::open;
use crate::stop::StopSignal;
use crate::words::refused;
use crate::workspace_paths::WorkspacePaths;
use crate::{ExecutorError, ExecutorErrorKind, FileBytes, FileText, digest};

/// Up to this size a file is read to its end, to count its lines and to hash it.
const READ_WHOLE: u64 = 16 << 20;
/// Lines further down than this are not found: some files have no end.
const MOST_SCANNED: u64 = 512 << 20;
/// A NUL this early means that it is no text.
const SNIFFED: usize = 8 << 10;
/// Most bytes of text in one answer, whatever was asked for.
const MOST_TEXT: u64 = 16 << 20;
/// Largest file that is loaded, whatever was asked for.
const MOST_LOADED: u64 = 60 << 20;

/// [`crate::ToolRequest::Read`].
pub(crate) fn lines(
    place: &WorkspacePaths,
    given: &str,
    (from_line, lines): (u64, u64),
    max_bytes: u64,
    stop: &StopSignal,
) -> Result<FileText, ExecutorError> {
    let (mut file, metadata) = open::plain(place, given)?;
    let from_line = from_line.max(1);
    let mut wanted = LineWindow::new(from_line, lines, max_bytes.min(MOST_TEXT));
    let mut hash = digest::RunningDigest::default();
    let mut buffer = vec![0; 64 << 10];
    let (mut scanned, mut ended, mut binary) = (0_u64, false, false);
    while scanned < MOST_SCANNED && !stop.asked() {
        let count = match file.read(&mut buffer) {
            Ok(0) => {
                ended = true;
                break;
            }
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(refused("read", given, &error)),
        };
        let chunk = &buffer[..count];
        if scanned == 0 && chunk[..count.min(SNIFFED)].contains(&0) {
            binary = true;
        }
        scanned += count as u64;
        if scanned <= READ_WHOLE {
            hash.update(chunk);
        }
        wanted.take(chunk);
        let whole = metadata.len() <= READ_WHOLE && scanned <= READ_WHOLE;
        if (wanted.full() || binary) && !whole {
            break;
        }
    }
    let hashed = ended && scanned <= READ_WHOLE;
    let total_lines = ended.then(|| wanted.lines_seen());
    let (text, cut) = if binary { (String::new(), false) } else { wanted.text(ended) };
    Ok(FileText {
        text,
        from_line,
        total_lines: if binary { None } else { total_lines },
        bytes: metadata.len().max(if ended { scanned } else { 0 }),
        sha256: hashed.then(|| hash.finish()),
        binary,
        cut,
    })
}

/// The lines that were asked for, picked out of chunks.
struct LineWindow {
    from: u64,
    lines: u64,
    most: usize,
    /// Number of the line the next byte belongs to.
    line: u64,
    at_line_start: bool,
    bytes: Vec<u8>,
    /// Whether something wanted did not fit.
    overfull: bool,
    /// Whether there is something behind what was wanted.
    more: bool,
}

impl LineWindow {
    fn new(from: u64, lines: u64, most: u64) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let bytes = Vec::new();
        Self { from, lines, most, line: 1, at_line_start: true, bytes, overfull: false, more: false }
    }

    fn take(&mut self, mut chunk: &[u8]) {
        while !chunk.is_empty() {
            let end = chunk.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
            let (line, rest) = chunk.split_at(end.unwrap_or(chunk.len()));
            self.take_part(line);
            self.at_line_start = end.is_some();
            self.line += u64::from(end.is_some());
            chunk = rest;
        }
    }

    fn take_part(&mut self, part: &[u8]) {
        if self.line < self.from {
            return;
        }
        if self.line - self.from >= self.lines {
            self.more = true;
            return;
        }
        let room = self.most - self.bytes.len();
        self.overfull |= part.len() > room;
        self.bytes.extend_from_slice(&part[..part.len().min(room)]);
    }

    /// Whether nothing more can come.
    fn full(&self) -> bool {
        self.overfull || self.more
    }

    fn lines_seen(&self) -> u64 {
        self.line - u64::from(self.at_line_start)
    }

    fn text(self, ended: bool) -> (String, bool) {
        let mut bytes = self.bytes.as_slice();
        if self.overfull {
            bytes = without_half_character(bytes);
        }
        let mut text = String::from_utf8_lossy(bytes).into_owned();
        // A replaced byte is longer than it was.
        let fits = text.floor_char_boundary(self.most);
        let cut = self.overfull || self.more || fits < text.len() || !ended;
        text.truncate(fits);
        (text, cut)
    }
}

/// Without the beginning of a character whose rest was cut off.
fn without_half_character(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => match bytes.utf8_chunks().last() {
            // Broken earlier on: only an unfinished end is of interest.
            Some(chunk) if !chunk.invalid().is_empty() && chunk.invalid().len() < 4 => {
                let start = bytes.len() - chunk.invalid().len();
                let unfinished =
                    std::str::from_utf8(&bytes[start..]).is_err_and(|error| error.error_len().is_none());
                if unfinished { &bytes[..start] } else { bytes }
            }
            _ => bytes,
        },
    }
}

/// [`crate::ToolRequest::Load`].
pub(crate) fn whole(place: &WorkspacePaths, given: &str, max_bytes: u64) -> Result<FileBytes, ExecutorError> {
    let (file, metadata) = open::plain(place, given)?;
    let most = max_bytes.min(MOST_LOADED);
    let too_large = |size: String| {
        let message = format!("{given} has {size} bytes, more than the {most} allowed: read parts of it");
        ExecutorError::new(ExecutorErrorKind::TooLarge, message)
    };
    if metadata.len() > most {
        return Err(too_large(metadata.len().to_string()));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(|error| refused("read", given, &error))?;
    if bytes.len() as u64 > most {
        return Err(too_large(format!("more than {most}")));
    }
    let sha256 = digest::of(&bytes);
    Ok(FileBytes { bytes, sha256, executable: metadata.permissions().mode() & 0o100 != 0 })
}
