//! What one call prints: its beginning and its end for the event, all of it in pieces for whoever asks, its last lines
//! for those who watch.

use holon_core::ids::ThreadId;
use holon_core::redact::{RedactStream, Redactor};
use holon_store::{StoreWrite, ToolOutputPiece};
use serde_json::{Value, json};

/// Most of an output that its event holds: half from the beginning, half from the end.
const MOST_SHOWN: usize = 16 << 10;
/// Of an output, so much is written down at once.
const PIECE: usize = 32 << 10;
/// Most that is written down of what all calls of a turn print.
pub(crate) const MOST_OF_A_TURN: u64 = 64 << 20;
/// Most bytes of the last lines that are shown while a call runs.
const LAST_LINES: usize = 2 << 10;

/// The output of one call, redacted as it comes.
pub(crate) struct CallOutput {
    clean: RedactStream,
    /// All of it as long as it is short, then its beginning.
    head: String,
    /// What follows the head; only its end, once it is long.
    tail: String,
    total: u64,
    /// What is not written down yet, and where it begins.
    pending: String,
    written: u64,
    /// Nothing more is written down: the turn has printed too much.
    full: bool,
}

impl CallOutput {
    pub(crate) fn new(redactor: &Redactor) -> Self {
        let (head, tail, pending) = Default::default();
        Self { clean: redactor.stream(), head, tail, total: 0, pending, written: 0, full: false }
    }

    /// Takes what was printed.
    pub(crate) fn push(&mut self, text: &str) {
        let mut clean = Vec::new();
        self.clean.push(text.as_bytes(), &mut clean);
        self.take(&clean);
    }

    fn take(&mut self, clean: &[u8]) {
        let text = String::from_utf8_lossy(clean);
        self.total += text.len() as u64;
        if !self.full {
            self.pending.push_str(&text);
        }
        let room = if self.tail.is_empty() { (MOST_SHOWN / 2).saturating_sub(self.head.len()) } else { 0 };
        let (front, rest) = text.split_at(text.floor_char_boundary(room));
        self.head.push_str(front);
        self.tail.push_str(rest);
        if self.tail.len() > 4 * MOST_SHOWN {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        let from = self.tail.len().saturating_sub(MOST_SHOWN / 2);
        // Where a line begins, if one does soon.
        let from = self.tail.ceil_char_boundary(from);
        self.tail.drain(..from);
    }

    /// What is to be written down now; `room` is what the turn may still keep.
    pub(crate) fn pieces(&mut self, whose: (&ThreadId, u64, &str), room: &mut u64) -> Option<StoreWrite> {
        let due = self.pending.len() >= PIECE && self.total > MOST_SHOWN as u64;
        due.then(|| self.piece(whose, room)).flatten()
    }

    fn piece(&mut self, (thread, turn, call): (&ThreadId, u64, &str), room: &mut u64) -> Option<StoreWrite> {
        let mut body = std::mem::take(&mut self.pending);
        if body.len() as u64 > *room {
            self.full = true;
            body.truncate(body.floor_char_boundary(usize::try_from(*room).unwrap_or(usize::MAX)));
        }
        if body.is_empty() {
            return None;
        }
        *room -= body.len() as u64;
        let start = self.written;
        self.written += body.len() as u64;
        let (thread, call) = (thread.clone(), call.to_owned());
        Some(StoreWrite::ToolOutput(ToolOutputPiece { thread, turn, call, start, body }))
    }

    /// The end of it: what its event says, and what is still to be written down.
    pub(crate) fn end(
        mut self,
        whose: (&ThreadId, u64, &str),
        room: &mut u64,
    ) -> (Value, Option<StoreWrite>) {
        let mut clean = Vec::new();
        self.clean.flush(&mut clean);
        self.take(&clean);
        if self.total <= MOST_SHOWN as u64 {
            self.head.push_str(&self.tail);
            return (json!({"output": self.head}), None);
        }
        let last = self.piece(whose, room);
        self.shorten();
        let left_out = self.total - (self.head.len() + self.tail.len()) as u64;
        let told = json!({"output": self.head, "output_end": self.tail, "output_bytes": self.total,
            "output_left_out": left_out, "output_kept": self.written});
        (told, last)
    }

    /// What is shown while it runs: how much there is, and its last lines.
    pub(crate) fn now(&self) -> (u64, String) {
        let mut text = if self.tail.len() >= LAST_LINES { String::new() } else { self.head.clone() };
        text.push_str(&self.tail);
        let from = text.ceil_char_boundary(text.len().saturating_sub(LAST_LINES));
        // A torn first line says less than none.
        let from = match text[from..].find('\n') {
            Some(end) if from > 0 => from + end + 1,
            _ => from,
        };
        (self.total, text.split_off(from))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn printed(texts: &[&str], room: &mut u64) -> (Value, Vec<ToolOutputPiece>) {
        let thread: ThreadId = "t-1".parse().unwrap();
        let whose = (&thread, 1, "1-1");
        let mut output = CallOutput::new(&Redactor::default());
        let mut writes = Vec::new();
        for text in texts {
            output.push(text);
            writes.extend(output.pieces(whose, room));
        }
        let (told, last) = output.end(whose, room);
        writes.extend(last);
        let piece = |write| match write {
            StoreWrite::ToolOutput(piece) => piece,
            other => unreachable!("{other:?}"),
        };
        (told, writes.into_iter().map(piece).collect())
    }

    #[test]
    fn a_short_output_is_whole_in_its_event() {
        let (told, pieces) = printed(&["one\n", "two\n"], &mut 1000);
        assert_eq!((told, pieces.len()), (json!({"output": "one\ntwo\n"}), 0));
        let exact = "x".repeat(MOST_SHOWN);
        assert_eq!(printed(&[&exact], &mut 1000).0, json!({"output": exact}));
    }

    #[test]
    fn a_long_output_has_its_end_and_all_of_it_is_kept() {
        let text: String = (0..20_000).map(|n| format!("line {n} 好\n")).collect();
        let parts: Vec<&str> = text.split_inclusive('\n').collect();
        let (told, pieces) = printed(&parts, &mut { MOST_OF_A_TURN });
        let (head, tail) = (told["output"].as_str().unwrap(), told["output_end"].as_str().unwrap());
        assert!(text.starts_with(head) && text.ends_with(tail) && head.len() + tail.len() <= MOST_SHOWN);
        let left_out = told["output_left_out"].as_u64().unwrap() as usize;
        assert_eq!(head.len() + tail.len() + left_out, text.len());
        assert_eq!(told["output_kept"], text.len());
        let whole: String = pieces.iter().map(|piece| piece.body.as_str()).collect();
        assert_eq!(whole, text);
        let mut next = 0;
        for piece in &pieces {
            assert_eq!(piece.start, next);
            next += piece.body.len() as u64;
        }
    }

    #[test]
    fn a_turn_that_prints_too_much_says_what_is_not_kept() {
        let (mut room, text) = (100_000, "好".repeat(50_000));
        let (told, pieces) = printed(&[&text, &text], &mut room);
        let kept: usize = pieces.iter().map(|piece| piece.body.len()).sum();
        assert!(kept <= 100_000 && kept > 99_990, "{kept}");
        assert_eq!(
            (told["output_kept"].as_u64(), told["output_bytes"].as_u64()),
            (Some(kept as u64), Some(300_000))
        );
        assert!(told["output_end"].as_str().unwrap().ends_with('好'));
    }

    #[test]
    fn whoever_watches_sees_the_last_lines() {
        let mut output = CallOutput::new(&Redactor::default());
        output.push("first\nsecond\n");
        assert_eq!(output.now(), (13, "first\nsecond\n".to_owned()));
        output.push(&"a long line that says nothing\n".repeat(3000));
        let (bytes, text) = output.now();
        assert!(bytes == 90_013 && text.len() <= LAST_LINES && text.starts_with("a long"), "{text}");
    }
}
