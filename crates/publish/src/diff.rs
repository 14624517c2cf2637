//! Hunks of a unified diff, line by line, on both sides.

/// One hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffHunk {
    /// First line on the old side.
    pub old_start: u64,
    /// First line on the new side.
    pub new_start: u64,
    /// What follows the second `@@`.
    pub heading: String,
    /// Its lines.
    pub lines: Vec<DiffLine>,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    /// Its number on the old side; none when it was added.
    pub old: Option<u64>,
    /// Its number on the new side; none when it was removed.
    pub new: Option<u64>,
    /// Its text without the first character.
    pub text: String,
}

impl DiffHunk {
    /// The hunk's header.
    pub fn header(&self) -> String {
        let count = |side: fn(&DiffLine) -> Option<u64>| {
            self.lines.iter().filter(|line| side(line).is_some()).count()
        };
        let (old, new) = (count(|l| l.old), count(|l| l.new));
        let text = format!("@@ -{},{old} +{},{new} @@ {}", self.old_start, self.new_start, self.heading);
        text.trim_end().to_owned()
    }
}

/// The hunks of one file's diff; anything that is no hunk is skipped, a broken hunk ends where it breaks.
pub fn hunks(patch: &str) -> Vec<DiffHunk> {
    let mut found: Vec<DiffHunk> = Vec::new();
    let mut left = (0, 0);
    let mut at = (0, 0);
    for line in patch.split('\n') {
        if left == (0, 0) {
            if let Some((hunk, counts)) = header(line) {
                at = (hunk.old_start, hunk.new_start);
                left = counts;
                found.push(hunk);
            }
            continue;
        }
        let Some(hunk) = found.last_mut() else { continue };
        let (kind, text) = line.split_at_checked(1).unwrap_or((" ", ""));
        let (old, new) = match kind {
            "+" => (false, true),
            "-" => (true, false),
            "\\" => continue,
            // Some tools strip the space of an empty context line.
            " " | "\r" => (true, true),
            _ => {
                left = (0, 0);
                continue;
            }
        };
        let number = |is: bool, at: &mut u64, left: &mut u64| {
            is.then(|| {
                let here = *at;
                (*at, *left) = (at.saturating_add(1), left.saturating_sub(1));
                here
            })
        };
        let old = number(old, &mut at.0, &mut left.0);
        let new = number(new, &mut at.1, &mut left.1);
        hunk.lines.push(DiffLine { old, new, text: text.to_owned() });
    }
    found
}

/// `@@ -a,b +c,d @@ heading` as a hunk without lines, and how many are to come.
fn header(line: &str) -> Option<(DiffHunk, (u64, u64))> {
    let rest = line.strip_prefix("@@ -")?;
    let (ranges, heading) = rest.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| -> Option<(u64, u64)> {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    let ((old_start, old_count), (new_start, new_count)) = (range(old)?, range(new)?);
    let heading = heading.trim().to_owned();
    Some((DiffHunk { old_start, new_start, heading, lines: Vec::new() }, (old_count, new_count)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_are_numbered_on_both_sides() {
        let found = hunks(
            "@@ -3,3 +3,4 @@ fn x()\n a\n-b\n+c\n+d\n e\n\\ No newline at end of file\n@@ -9 +10,0 @@\n-z",
        );
        assert_eq!(found.len(), 2);
        let told: Vec<(Option<u64>, Option<u64>, &str)> =
            found[0].lines.iter().map(|l| (l.old, l.new, l.text.as_str())).collect();
        let expect = [
            (Some(3), Some(3), "a"),
            (Some(4), None, "b"),
            (None, Some(4), "c"),
            (None, Some(5), "d"),
            (Some(5), Some(6), "e"),
        ];
        assert_eq!(told, expect);
        assert_eq!(found[0].header(), "@@ -3,3 +3,4 @@ fn x()");
        assert_eq!((found[1].lines[0].old, found[1].lines[0].new), (Some(9), None));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "(@@ -[0-9,]{1,5} \\+[0-9,]{1,5} @@|[ +\\\\-][a-z]{0,3}|\n|é){0,30}") {
            for hunk in hunks(&text) {
                prop_assert!(hunk.lines.iter().all(|l| l.old.is_some() || l.new.is_some()));
            }
        }
    }
}
