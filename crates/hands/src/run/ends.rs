//! The beginning and the end of a text that may be longer than what there is room for.

/// Keeps at most `most` bytes for showing: half from the beginning, half from the end, whole characters.
pub(super) struct HeadAndTail {
    most: usize,
    head: String,
    /// Whether the head takes nothing more.
    closed: bool,
    /// What follows the head; only its end, once it is long.
    tail: String,
    total: u64,
}

impl HeadAndTail {
    pub(super) fn new(most: usize) -> Self {
        Self { most, head: String::new(), closed: false, tail: String::new(), total: 0 }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.total += text.len() as u64;
        let mut rest = text;
        if !self.closed {
            let room = (self.most / 2).saturating_sub(self.head.len());
            let fits = text.floor_char_boundary(room);
            self.head.push_str(&text[..fits]);
            rest = &text[fits..];
            self.closed = !rest.is_empty();
        }
        self.tail.push_str(rest);
        // Now and then, so that every byte is moved a bounded number of times.
        if self.tail.len() > 2 * self.most + (64 << 10) {
            let from = self.tail.ceil_char_boundary(self.tail.len() - self.most);
            self.tail.drain(..from);
        }
    }

    /// Whether all that was pushed, and so many bytes more, would still be shown in full.
    pub(super) fn holds(&self, more: usize) -> bool {
        self.total + more as u64 <= self.most as u64
    }

    /// Everything so far in two parts, as long as [`HeadAndTail::holds`] it.
    pub(super) fn parts(&self) -> [&str; 2] {
        [&self.head, &self.tail]
    }

    /// The text, if it has at most `most` bytes, or else its beginning and end with a line between them that says how
    /// many bytes are left out.
    pub(super) fn show(&self, most: usize, note: impl FnOnce(u64) -> String) -> String {
        let most = most.min(self.most);
        if self.total <= most as u64 {
            return format!("{}{}", self.head, self.tail);
        }
        let kept = self.head.len() + self.tail.len();
        // What is still whole may be cut elsewhere than where head and tail meet.
        let whole = (self.total == kept as u64).then(|| format!("{}{}", self.head, self.tail));
        let (front, back) = match &whole {
            Some(whole) => (whole.as_str(), whole.as_str()),
            None => (self.head.as_str(), self.tail.as_str()),
        };
        let head = &front[..front.floor_char_boundary(most / 2)];
        let tail = &back[back.ceil_char_boundary(back.len().saturating_sub(most - most / 2))..];
        let left_out = self.total - (head.len() + tail.len()) as u64;
        let before = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
        format!("{head}{before}{}\n{tail}", note(left_out))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn show(most: usize, later: usize, pieces: &[&str]) -> String {
        let mut ends = HeadAndTail::new(most);
        pieces.iter().for_each(|piece| ends.push(piece));
        ends.show(later, |left_out| format!("[{left_out}]"))
    }

    #[test]
    fn beginning_and_end_are_shown() {
        let check = |most, text: &str, expected| assert_eq!(show(most, most, &[text]), expected);
        check(10, "0123456789", "0123456789");
        check(10, "0123456789x", "01234\n[1]\n6789x");
        check(4, "a\nbbbbbb\nc", "a\n[6]\n\nc");
        check(5, "üüüü", "ü\n[4]\nü");
        check(0, "x", "[1]\n");
        check(0, "", "");
        assert_eq!(show(100, 4, &["0123456789"]), "01\n[6]\n89");
    }

    proptest! {
        #[test]
        fn nothing_is_torn_and_every_byte_is_counted(
            pieces in prop::collection::vec("[aü€🦀\n]{0,12}", 0..40),
            most in 0_usize..200, later in 0_usize..250,
        ) {
            let whole = pieces.concat();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let shown = show(most, later, &pieces);
            let most = most.min(later);
            if whole.len() <= most {
                prop_assert_eq!(shown, whole);
            } else {
                let at = shown.find('[').unwrap();
                let end = shown.find(']').unwrap();
                let (head, tail) = (&shown[..at], &shown[end + 2..]);
                let left_out: usize = shown[at + 1..end].parse().unwrap();
                let head = if whole.starts_with(head) { head } else { head.strip_suffix('\n').unwrap() };
                prop_assert!(whole.starts_with(head) && whole.ends_with(tail));
                let shown = head.len() + tail.len();
                // A line break may be the text's own or the note's.
                prop_assert!(shown + left_out == whole.len() || shown + left_out == whole.len() + 1);
                prop_assert!(shown <= most + 1 && shown + 8 >= most);
            }
        }
    }

    #[test]
    fn much_text_takes_little_room() {
        let mut ends = HeadAndTail::new(1000);
        for _ in 0..10_000 {
            ends.push(&"line\n".repeat(20));
        }
        assert!(ends.tail.capacity() < 1 << 20);
        assert_eq!(ends.total, 1_000_000);
        let shown = ends.show(1000, |left_out| left_out.to_string());
        assert!(shown.contains("\n999000\n"), "{shown}");
    }
}
