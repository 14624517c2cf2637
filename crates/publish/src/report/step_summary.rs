//! The job summary of GitHub Actions.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::path::Path;

use crate::error::PublishError;
use crate::folder::VerifiedOutput;
use crate::marker::Marker;
use crate::text::cut;

/// The most bytes GitHub shows of one step's summary.
pub const STEP_SUMMARY_LIMIT: usize = 1024 * 1024;

/// Adds a page to the summary, once per run and within what is left of the limit; false when it was there.
pub fn append_step_summary(path: &Path, output: &VerifiedOutput, page: &str) -> Result<bool, PublishError> {
    let mut file = OpenOptions::new()
        .create(true)
        .read(true)
        .append(true)
        .open(path)
        .map_err(PublishError::io("open", path))?;
    let mut present = Vec::new();
    (&file)
        .take(4 * STEP_SUMMARY_LIMIT as u64)
        .read_to_end(&mut present)
        .map_err(PublishError::io("read", path))?;
    let marker = Marker::new("summary").with("run", output.run()).with("digest", output.digest()).to_string();
    if String::from_utf8_lossy(&present).contains(&marker) {
        return Ok(false);
    }
    let room = STEP_SUMMARY_LIMIT.saturating_sub(present.len() + marker.len() + 8);
    let text = within(page, room, &format!("the output of run {}", output.run()));
    file.write_all(format!("{text}\n{marker}\n").as_bytes()).map_err(PublishError::io("write", path))?;
    Ok(true)
}

/// The text cut to so many bytes.
fn within(page: &str, bytes: usize, whole: &str) -> String {
    let mut limit = bytes;
    let mut text = cut(page, limit, whole);
    // Characters may have several bytes.
    while text.len() > bytes && limit > 0 {
        limit = limit * 3 / 4;
        text = cut(page, limit, whole);
    }
    if text.len() > bytes { String::new() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_what_counts() {
        for bytes in [0, 100, 1000, 5000] {
            assert!(within(&"äöü ".repeat(2000), bytes, "x").len() <= bytes, "{bytes}");
        }
        assert_eq!(within("short", 100, "x"), "short");
    }
}
