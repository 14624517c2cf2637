//! Frames: a head as JSON and a body of raw bytes, each with its length before them.
//!
//! `head length (u32, little endian) · body length (u32, little endian) · head · body`

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Most bytes of a head.
pub(crate) const MOST_HEAD: usize = 8 << 20;
/// Most bytes of a body.
pub(crate) const MOST_BODY: usize = 64 << 20;

/// Why a channel cannot go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("the channel broke: {0}")]
    Io(#[from] io::Error),
    #[error("a frame announces {head} and {body} bytes, more than {MOST_HEAD} and {MOST_BODY}")]
    Oversize { head: usize, body: usize },
    #[error("a frame's head makes no sense: {0}")]
    Head(#[from] serde_json::Error),
}

/// One frame as bytes, without its body.
fn opening(head: &impl Serialize, body: usize) -> Result<Vec<u8>, FrameError> {
    let mut bytes = vec![0; 8];
    serde_json::to_writer(&mut bytes, head)?;
    let length = bytes.len() - 8;
    let (Ok(head), Ok(size)) = (u32::try_from(length), u32::try_from(body)) else {
        return Err(FrameError::Oversize { head: length, body });
    };
    if length > MOST_HEAD || body > MOST_BODY {
        return Err(FrameError::Oversize { head: length, body });
    }
    bytes[..4].copy_from_slice(&head.to_le_bytes());
    bytes[4..8].copy_from_slice(&size.to_le_bytes());
    Ok(bytes)
}

/// One frame as bytes.
pub(crate) fn encode(head: &impl Serialize, body: &[u8]) -> Result<Vec<u8>, FrameError> {
    let mut bytes = opening(head, body.len())?;
    bytes.extend_from_slice(body);
    Ok(bytes)
}

/// Writes one frame.
pub(crate) fn write(output: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    output.write_all(frame)?;
    output.flush()
}

/// Reads one frame; `None` at the end of the channel, if it is between two frames.
pub(crate) fn read<T: DeserializeOwned>(input: &mut impl Read) -> Result<Option<(T, Vec<u8>)>, FrameError> {
    let lengths = up_to(input, 8)?;
    if lengths.is_empty() {
        return Ok(None);
    }
    let lengths: [u8; 8] = lengths.try_into().map_err(|_| io::Error::from(io::ErrorKind::UnexpectedEof))?;
    let [a, b, c, d, e, f, g, h] = lengths;
    let (head, body) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
    let (head, body) = (head as usize, body as usize);
    if head > MOST_HEAD || body > MOST_BODY {
        return Err(FrameError::Oversize { head, body });
    }
    let head = exactly(input, head)?;
    let body = exactly(input, body)?;
    Ok(Some((serde_json::from_slice(&head)?, body)))
}

fn exactly(input: &mut impl Read, count: usize) -> io::Result<Vec<u8>> {
    let bytes = up_to(input, count)?;
    match bytes.len() == count {
        true => Ok(bytes),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Room is made as bytes come, not as they are announced.
fn up_to(input: &mut impl Read, count: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(count.min(64 << 10));
    input.take(count as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    /// Gives its bytes in pieces of these sizes, over and over.
    struct ChunkedReader<'a>(&'a [u8], Vec<usize>, usize);

    impl Read for ChunkedReader<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let size = self.1.get(self.2 % self.1.len().max(1)).copied().unwrap_or(1).max(1);
            self.2 += 1;
            let count = size.min(buffer.len()).min(self.0.len());
            let (now, later) = self.0.split_at(count);
            buffer[..count].copy_from_slice(now);
            self.0 = later;
            Ok(count)
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_in_any_pieces(
            frames in prop::collection::vec((".{0,40}", prop::collection::vec(any::<u8>(), 0..200)), 0..6),
            sizes in prop::collection::vec(1_usize..40, 1..6),
        ) {
            let mut bytes = Vec::new();
            for (head, body) in &frames {
                write(&mut bytes, &encode(head, body).unwrap()).unwrap();
            }
            let mut input = ChunkedReader(&bytes, sizes, 0);
            for frame in &frames {
                prop_assert_eq!(&read::<String>(&mut input).unwrap().unwrap(), frame);
            }
            prop_assert!(read::<String>(&mut input).unwrap().is_none());
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), sizes in prop::collection::vec(1_usize..9, 1..4)) {
            let mut input = ChunkedReader(&bytes, sizes, 0);
            while let Ok(Some(_)) = read::<serde_json::Value>(&mut input) {}
        }

        #[test]
        fn a_cut_frame_is_an_error(head in ".{0,40}", body in prop::collection::vec(any::<u8>(), 0..50), cut in 1_usize..500) {
            let bytes = encode(&head, &body).unwrap();
            let cut = bytes.len() - 1 - cut % (bytes.len() - 1);
            prop_assert!(read::<String>(&mut &bytes[..cut]).is_err());
        }
    }

    #[test]
    fn announced_sizes_cost_nothing() {
        let huge = [&(MOST_HEAD as u32).to_le_bytes()[..], &(MOST_BODY as u32).to_le_bytes(), b"{}"].concat();
        assert!(matches!(read::<String>(&mut huge.as_slice()), Err(FrameError::Io(_))));
        let over = [&2_u32.to_le_bytes()[..], &(MOST_BODY as u32 + 1).to_le_bytes(), b"{}"].concat();
        assert!(matches!(read::<String>(&mut over.as_slice()), Err(FrameError::Oversize { .. })));
        assert!(matches!(encode(&"", &vec![0; MOST_BODY + 1]), Err(FrameError::Oversize { .. })));
    }
}
