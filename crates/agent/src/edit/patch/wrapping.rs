//! What models put around a patch: prose, code fences, a shell line with a here-document.

/// A line of the text that was sent, and its number.
pub(super) type NumberedLine<'a> = (usize, &'a str);

pub(super) const BEGIN: &str = "*** Begin Patch";
pub(super) const END: &str = "*** End Patch";

/// The lines of the patch itself; empty when there is none.
pub(super) fn unwrap(text: &str) -> Vec<NumberedLine<'_>> {
    let lines: Vec<NumberedLine<'_>> = text
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .enumerate()
        .map(|(index, line)| (index + 1, line))
        .collect();
    let mut rest = lines.as_slice();
    let mut found = Vec::new();
    // Some send several patches one after the other.
    while let Some(begin) = rest.iter().position(|(_, line)| line.trim() == BEGIN) {
        rest = &rest[begin + 1..];
        let end = rest.iter().position(|(_, line)| line.trim_end() == END);
        let body = &rest[..end.unwrap_or(rest.len())];
        found.extend_from_slice(if end.is_some() { body } else { without_closing(body) });
        rest = &rest[end.map_or(rest.len(), |end| end + 1)..];
    }
    if found.is_empty() && !lines.iter().any(|(_, line)| line.trim() == BEGIN) {
        let begin = lines.iter().position(|(_, line)| starts_a_file(line)).unwrap_or(lines.len());
        let body = &lines[begin..];
        let end = body.iter().position(|(_, line)| line.trim_end() == END);
        found.extend_from_slice(end.map_or_else(|| without_closing(body), |end| &body[..end]));
    }
    found
}

fn starts_a_file(line: &str) -> bool {
    ["*** Add File:", "*** Update File:", "*** Delete File:", "diff --git ", "--- "]
        .iter()
        .any(|start| line.starts_with(start))
}

/// Without blank lines, a fence or the end of a here-document after the last line.
fn without_closing<'a, 'b>(mut lines: &'b [NumberedLine<'a>]) -> &'b [NumberedLine<'a>] {
    while let [before @ .., (_, last)] = lines {
        let word = last.trim();
        let closing =
            word.is_empty() || word.trim_matches('`').is_empty() || ["EOF", "PATCH", "END"].contains(&word);
        // A line with a sign in front belongs to the patch, whatever it says.
        if !closing || last.starts_with(['+', '-']) || (last.starts_with(' ') && !word.is_empty()) {
            break;
        }
        lines = before;
    }
    lines
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn the_patch_is_found_in_what_is_around_it() {
        let body = "*** Delete File: a\n*** Delete File: b";
        for text in [
            format!("{BEGIN}\n{body}\n{END}"),
            format!("{BEGIN}\n{body}\n{END}\n"),
            format!("{BEGIN}\r\n{}\r\n{END}\r\n", body.replace('\n', "\r\n")),
            format!("{BEGIN}\n{body}"),
            format!("{BEGIN}\n{body}\n\n"),
            format!("Here it is:\n```diff\n{BEGIN}\n{body}\n{END}\n```\nDone."),
            format!("```\n{BEGIN}\n{body}\n```\n"),
            format!("apply_patch <<'EOF'\n{BEGIN}\n{body}\n{END}\nEOF\n"),
            format!("apply_patch <<'EOF'\n{BEGIN}\n{body}\nEOF\n"),
            format!("{body}\n"),
            format!("{body}\n{END}\n"),
            format!("{BEGIN}\n*** Delete File: a\n{END}\n{BEGIN}\n*** Delete File: b\n{END}\n"),
        ] {
            let lines: Vec<&str> = unwrap(&text).into_iter().map(|(_, line)| line).collect();
            assert_eq!(lines.join("\n"), body, "{text}");
        }
    }

    #[test]
    fn text_without_a_patch_has_none() {
        for text in ["", "\n", "no patch here", "```\n```", &format!("{BEGIN}\n{END}")] {
            assert_eq!(unwrap(text), [], "{text}");
        }
    }
}
