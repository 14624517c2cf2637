//! How many lines differ between two texts.

use std::collections::BTreeMap;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Above this product of differing lines the exact number is not worth its time.
const MOST: usize = 4_000_000;

/// Lines removed and lines added on the way from one text to another.
pub fn changed_lines(before: &[u8], after: &[u8]) -> (u32, u32) {
    let split = |text: &'_ [u8]| -> Vec<Vec<u8>> {
        text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
    };
    let (before, after) = (split(before), split(after));
    let same = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let (before, after) = (&before[same..], &after[same..]);
    let end = before.iter().rev().zip(after.iter().rev()).take_while(|(a, b)| a == b).count();
    let (before, after) = (&before[..before.len() - end], &after[..after.len() - end]);
    let (gone, new) = if before.len().saturating_mul(after.len()) > MOST {
        (before.len(), after.len())
    } else {
        let all = capture_diff_slices(Algorithm::Myers, before, after);
        all.iter().map(weight).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    };
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    (number(gone), number(new))
}

/// Whether lines of a text are no longer in another, wherever they stand.
pub fn lost_lines(before: &[u8], after: &[u8]) -> bool {
    let told = |line: &&[u8]| !line.trim_ascii().is_empty();
    let mut left: BTreeMap<&[u8], usize> = BTreeMap::new();
    for line in after.split(|byte| *byte == b'\n').filter(told) {
        *left.entry(line.trim_ascii()).or_default() += 1;
    }
    before.split(|byte| *byte == b'\n').filter(told).any(|line| {
        let count = left.get_mut(line.trim_ascii()).filter(|count| **count > 0);
        count.map(|count| *count -= 1).is_none()
    })
}

fn weight(op: &DiffOp) -> (usize, usize) {
    match *op {
        DiffOp::Equal { .. } => (0, 0),
        DiffOp::Delete { old_len, .. } => (old_len, 0),
        DiffOp::Insert { new_len, .. } => (0, new_len),
        DiffOp::Replace { old_len, new_len, .. } => (old_len, new_len),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_count() {
        let check = |before: &str, after: &str, expect: u32| {
            let (gone, new) = changed_lines(before.as_bytes(), after.as_bytes());
            assert_eq!(gone + new, expect, "{before:?} {after:?}");
        };
        assert!(
            !lost_lines(b"a\nb\n", b"b\n  a\nc\n") && lost_lines(b"a\na\n", b"a\n") && lost_lines(b"a", b"b")
        );
        check("", "", 0);
        check("a\nb\n", "a\nb\n", 0);
        check("", "a\nb\n", 2);
        check("a\nb\nc\n", "a\nx\nc\n", 2);
        check("a\nb\nc\nd\n", "a\nc\nd\ne\n", 2);
        check("a\nb", "a\nb\n", 2);
        let (long, other) = ("a\n".repeat(3_000), "b\n".repeat(3_000));
        check(&long, &other, 6_000);
    }
}
