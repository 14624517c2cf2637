//! The first difference between two texts, for people.

/// Lines shown before and after it.
const AROUND: usize = 3;

/// Shows where `found` departs from `expected`: `-` is what was recorded, `+` what was asked now.
pub(super) fn first_difference(expected: &str, found: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), found.lines().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail = old[same..].iter().rev().zip(new[same..].iter().rev()).take_while(|(a, b)| a == b).count();
    let mut out = format!("line {}:\n", same + 1);
    let mut show = |mark: char, lines: &[&str], most: usize| {
        for line in lines.iter().take(most) {
            out.push_str(&format!("{mark} {}\n", shorten(line)));
        }
        if lines.len() > most {
            out.push_str(&format!("{mark} … {} more lines\n", lines.len() - most));
        }
    };
    show(' ', &old[same.saturating_sub(AROUND)..same], AROUND);
    show('-', &old[same..old.len() - tail], 8);
    show('+', &new[same..new.len() - tail], 8);
    let after = &old[old.len() - tail..];
    show(' ', &after[..after.len().min(AROUND)], AROUND);
    out
}

fn shorten(line: &str) -> String {
    const MOST: usize = 160;
    if line.chars().nth(MOST).is_none() {
        return line.to_owned();
    }
    line.chars().take(MOST).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::first_difference;

    #[test]
    fn the_place_and_both_sides_are_shown() {
        let shown = first_difference("a\nb\nc\nd\ne\nf\n", "a\nb\nc\nX\ne\nf\n");
        assert_eq!(shown, "line 4:\n  a\n  b\n  c\n- d\n+ X\n  e\n  f\n");
        assert_eq!(first_difference("a\n", "a\nb\n"), "line 2:\n  a\n+ b\n");
        assert_eq!(first_difference("a\nb\n", "a\n"), "line 2:\n  a\n- b\n");
    }
}
