//! Code in Markdown, fenced so that nothing inside can end it.

/// The longest run of one character in a text.
fn longest_run(text: &str, of: char) -> usize {
    let mut longest = 0;
    let mut current = 0;
    for c in text.chars() {
        current = if c == of { current + 1 } else { 0 };
        longest = longest.max(current);
    }
    longest
}

/// A fenced block with an info string; the fence is longer than any inside.
pub fn block(info: &str, text: &str) -> String {
    let fence = "`".repeat((longest_run(text, '`') + 1).max(3));
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{info}\n{text}{end}{fence}\n")
}

/// A code span on one line.
pub fn code(text: &str) -> String {
    let flat: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let ticks = "`".repeat(longest_run(&flat, '`') + 1);
    // A space inside keeps a backtick at the edge away from the delimiter; Markdown takes it off again.
    let pad = if flat.starts_with('`') || flat.ends_with('`') || flat.trim().is_empty() { " " } else { "" };
    format!("{ticks}{pad}{flat}{pad}{ticks}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_are_longer_than_what_they_hold() {
        assert_eq!(block("rust", "a"), "```rust\na\n```\n");
        assert_eq!(block("suggestion", ""), "```suggestion\n```\n");
        assert_eq!(block("", "````\n```\n"), "`````\n````\n```\n`````\n");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`x`"), "`` `x` ``");
        assert_eq!(code("a\nb"), "`a b`");
    }
}
