//! How alike two lines are.

/// Longer lines are compared by their beginning.
pub(super) const MOST_BYTES: usize = 160;

/// From 0 (nothing in common) to 1 (the same), by the edits that lead from one line to the other.
pub(super) fn alike(a: &str, b: &str) -> f32 {
    if a == b {
        return 1.0;
    }
    let a = &a.as_bytes()[..a.len().min(MOST_BYTES)];
    let b = &b.as_bytes()[..b.len().min(MOST_BYTES)];
    let longer = a.len().max(b.len());
    if longer == 0 {
        return 1.0;
    }
    1.0 - edits(a, b) as f32 / longer as f32
}

/// The least number of insertions, removals and exchanges of bytes.
fn edits(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let exchanged = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = exchanged.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// Up to eight lines that are compared with every line of a file at once, roughly, by the pairs of letters they have.
pub(super) struct SimilarityProbes {
    /// For each pair of bytes, one byte per probe that says whether the probe has the pair.
    pairs: Vec<u64>,
    sizes: Vec<usize>,
}

/// How many lines fit.
pub(super) const MOST_PROBES: usize = 8;

/// Sums stay within one byte each.
const MOST_PAIRS: usize = 200;

impl SimilarityProbes {
    /// Prepares for comparing with these lines.
    pub(super) fn new(lines: &[&str]) -> Self {
        let mut pairs = vec![0; 1 << 16];
        let mut sizes = Vec::new();
        for (index, line) in lines.iter().take(MOST_PROBES).enumerate() {
            let found = line.as_bytes().windows(2).take(MOST_PAIRS);
            sizes.push(found.len());
            found.for_each(|pair| pairs[index_of(pair)] |= 1 << (index * 8));
        }
        Self { pairs, sizes }
    }

    /// How alike a line is to each probe, from 0 to 1.
    pub(super) fn compare(&self, line: &str) -> impl Iterator<Item = f32> + use<'_> {
        let pairs = line.as_bytes().windows(2).take(MOST_PAIRS);
        let size = pairs.len();
        let sums = pairs.fold(0_u64, |sums, pair| sums + self.pairs[index_of(pair)]);
        self.sizes.iter().enumerate().map(move |(index, probe)| {
            let common = (sums >> (index * 8)) & 0xff;
            let total = size + probe;
            // Repeated pairs count once in the probe and often in the line; more than all is not possible.
            if total == 0 { 0.0 } else { (2.0 * common as f32 / total as f32).min(1.0) }
        })
    }
}

fn index_of(pair: &[u8]) -> usize {
    usize::from(pair[0]) << 8 | usize::from(pair[1])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn edits_are_counted() {
        for (a, b, expect) in [("", "", 0), ("abc", "", 3), ("kitten", "sitting", 3), ("ab", "ba", 2)] {
            assert_eq!(edits(a.as_bytes(), b.as_bytes()), expect, "{a} {b}");
        }
        assert!(alike("let x = 1;", "let x = 2;") > 0.85);
        assert!(alike("let x = 1;", "fn main() {") < 0.4);
    }

    #[test]
    fn probes_prefer_what_is_alike() {
        let probes = SimilarityProbes::new(&["let total = sum(prices);", "return None"]);
        let found: Vec<f32> = probes.compare("let total = sum(costs);").collect();
        assert!(found[0] > 0.7 && found[1] < 0.3, "{found:?}");
        let found: Vec<f32> = probes.compare(&"ab".repeat(5000)).collect();
        assert!(found.iter().all(|alike| *alike <= 1.0));
    }
}
