//! What may differ between the text a model remembers and the text a file holds.

use std::fmt;

/// Why a passage counted as found although it is not there letter by letter.
///
/// They are tried in this order, each allowing for those before it, and the first that finds anything ends the search:
/// a passage that is there exactly is never looked for in a more tolerant way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tolerance {
    /// CRLF and LF count as the same.
    LineEndings,
    /// Whitespace at the ends of lines does not count. From here on whole lines are compared.
    TrailingWhitespace,
    /// All lines are indented by the same amount more or less, or with tabs instead of spaces.
    Indentation,
    /// Typographic quotes, dashes and spaces count as their plain forms.
    Typography,
    /// The passage was escaped once too often: `\n` and `\"` as two characters.
    Escapes,
    /// First and last line are there, and what is between them is nearly the same.
    Anchors,
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LineEndings => "line endings differ",
            Self::TrailingWhitespace => "whitespace at line ends differs",
            Self::Indentation => "indentation differs",
            Self::Typography => "typographic characters differ",
            Self::Escapes => "the text was escaped once too often",
            Self::Anchors => "only first and last line are the same, the lines between are similar",
        })
    }
}
