//! Long text made to fit, with an honest word about what is missing.

use super::lines::Fences;

/// Whether a text is short enough to be a body as it is.
pub fn fits(text: &str, limit: usize) -> bool {
    text.len() <= limit || text.chars().count() <= limit
}

/// The text, or its beginning up to the end of a line with a note; never more than `limit` characters.
///
/// `whole` says where the whole text is, as in "plan.md of run 2026…".
pub fn cut(text: &str, limit: usize, whole: &str) -> String {
    if fits(text, limit) {
        return text.to_owned();
    }
    let total = text.chars().count();
    // Enough for the note and for closing a fence.
    let room = limit.saturating_sub(200 + whole.chars().count());
    let end = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
    let kept = match text[..end].rfind('\n') {
        // One endless line is cut anywhere.
        Some(newline) if newline * 2 > end => &text[..newline],
        _ => &text[..end],
    };
    let mut open = Fences::default();
    for line in kept.split('\n') {
        open.step(line);
    }
    let close = open.closing().map(|fence| format!("\n{fence}")).unwrap_or_default();
    let shown = kept.chars().count();
    let note =
        format!("{close}\n\n*Cut here: {shown} of {total} characters are shown; {whole} has all of it.*");
    let room = limit.saturating_sub(note.chars().count());
    let kept: String = if shown > room { kept.chars().take(room).collect() } else { kept.to_owned() };
    format!("{kept}{note}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_fits_stays() {
        assert_eq!(cut("a\nb", 3, "x"), "a\nb");
        assert_eq!(cut("äöü", 3, "x"), "äöü");
    }

    #[test]
    fn a_cut_is_said_and_closes_its_fence() {
        let text = format!("# T\n~~~~\n{}", "line\n".repeat(1000));
        let short = cut(&text, 1000, "plan.md");
        assert!(short.contains("\n~~~~\n\n*Cut here: "), "{short}");
        assert!(short.ends_with("of 5009 characters are shown; plan.md has all of it.*"), "{short}");
    }

    proptest! {
        #[test]
        fn never_longer_than_asked(text in "(?s).{0,2000}", limit in 400usize..1000) {
            prop_assert!(cut(&text, limit, "plan.md of run x").chars().count() <= limit);
        }
    }
}
