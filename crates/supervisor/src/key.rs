//! Small digests and clipped texts: what keeps the state bounded whatever a run throws at it.

/// A stable 64-bit digest of some texts, each set apart from the next.
pub(crate) fn key<'a>(parts: impl IntoIterator<Item = &'a str>) -> u64 {
    let mut hash = FnvHash::new();
    parts.into_iter().for_each(|part| hash.add(part));
    hash.0
}

/// FNV-1a over whole words of eight bytes: the same on every machine, and quick on short texts.
pub(crate) struct FnvHash(u64);

impl FnvHash {
    const PRIME: u64 = 0x0000_0100_0000_01b3;

    pub(crate) const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn mix(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(Self::PRIME);
        self.0 ^= self.0 >> 29;
    }

    /// Adds one text and its length, so that parts cannot run into each other.
    pub(crate) fn add(&mut self, part: &str) {
        for chunk in part.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
        self.mix(part.len() as u64);
    }

    /// Adds a number.
    pub(crate) fn number(&mut self, number: u64) {
        self.mix(number);
    }

    pub(crate) const fn end(self) -> u64 {
        self.0
    }
}

/// At most `most` bytes of a text, on one line, cut at a character and marked as cut.
pub(crate) fn clip(text: &str, most: usize) -> String {
    let fits = text.len() <= most;
    let mut end = if fits { text.len() } else { most.saturating_sub(3) };
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut out: String = text[..end].chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if !fits {
        out.push('…');
    }
    out
}

/// The same for a path: its end tells it apart from others.
pub(crate) fn clip_path(path: &str, most: usize) -> String {
    if path.len() <= most {
        return clip(path, most);
    }
    let mut start = path.len() - most.saturating_sub(3);
    while !path.is_char_boundary(start) {
        start += 1;
    }
    format!("…{}", clip(&path[start..], most))
}

/// Adds to the end of a list that keeps only its newest `most` entries.
pub(crate) fn push_bounded<T>(list: &mut Vec<T>, item: T, most: usize) {
    if list.len() >= most {
        list.remove(0);
    }
    list.push(item);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(key(["ab", "c"]), key(["a", "bc"]));
        assert_ne!(key(["a"]), key(["a", ""]));
        assert_ne!(key(["12345678", "9"]), key(["123456789"]));
        assert_eq!(key(["a", "b"]), key(["a", "b"]));
    }

    #[test]
    fn old_entries_leave_first() {
        let mut list = vec![1, 2];
        push_bounded(&mut list, 3, 2);
        assert_eq!(list, [2, 3]);
    }

    proptest! {
        #[test]
        fn clipped_texts_fit_and_stay_on_one_line(text in "\\PC{0,40}|[\\n\\t\u{0}é…]{0,30}", most in 3usize..30) {
            let out = clip(&text, most);
            prop_assert!(out.len() <= most.max(3));
            prop_assert!(!out.contains(char::is_control));
            let out = clip_path(&text, most);
            prop_assert!(out.len() <= most.max(3));
            prop_assert!(!out.contains(char::is_control));
        }
    }
}
