//! Compressing with the system's gzip, without a name and a time inside.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use crate::XtaskFailure;

/// The bytes, compressed.
pub(super) fn compress(bytes: &[u8]) -> Result<Vec<u8>, XtaskFailure> {
    let told = |error: std::io::Error| format!("cannot compress with gzip: {error}");
    let mut child = Command::new("gzip")
        .args(["-9", "-n", "-c"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(told)?;
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let (Some(mut input), Some(mut output)) = (input, output) else {
        return Err("gzip has no standard streams".into());
    };
    let mut compressed = Vec::new();
    std::thread::scope(|scope| {
        let written = scope.spawn(move || input.write_all(bytes));
        output.read_to_end(&mut compressed)?;
        written.join().unwrap_or_else(|_| Err(std::io::Error::other("the writer came to grief")))
    })
    .map_err(told)?;
    let status = child.wait().map_err(told)?;
    if status.success() { Ok(compressed) } else { Err(format!("gzip ended with {status}")) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    #[test]
    fn the_same_bytes_give_the_same_bytes() {
        let text = vec![b'x'; 300_000];
        let compressed = super::compress(&text).unwrap();
        assert!(compressed.starts_with(&[0x1f, 0x8b]) && compressed.len() < 3000);
        assert_eq!(compressed, super::compress(&text).unwrap());
        assert_eq!(compressed[4..8], [0; 4], "there is no time inside");
    }
}
