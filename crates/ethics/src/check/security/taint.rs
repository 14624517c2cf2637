//! What is known of a value: how far it comes from, and what was done to it.

/// What is known of a value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Taint {
    /// How far from home it comes; 0 for what is written out.
    pub(super) level: u8,
    /// It was put together with other text.
    pub(super) built: bool,
    /// Its beginning is fixed.
    pub(super) fixed: bool,
    /// What it was made harmless for.
    pub(super) safe: u32,
    /// The text around it, as far as it is written out.
    pub(super) words: String,
}

impl Taint {
    pub(super) fn of(level: u8) -> Self {
        Self { level, ..Self::default() }
    }

    /// Both at once.
    pub(super) fn join(&mut self, other: &Self) {
        if other.level > 0 {
            self.safe = if self.level == 0 { other.safe } else { self.safe & other.safe };
        }
        self.level = self.level.max(other.level);
        self.built |= other.built;
        if self.words.len() < 2000 && !other.words.is_empty() {
            self.words.push(' ');
            self.words.push_str(&other.words);
        }
    }
}
