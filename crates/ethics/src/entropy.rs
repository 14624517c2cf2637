//! How random a text looks.

/// Shannon entropy in bits per character.
pub(crate) fn bits(text: &str) -> f64 {
    let mut counts = [0u32; 256];
    for byte in text.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let total = text.len() as f64;
    counts.iter().filter(|count| **count > 0).fold(0.0, |sum, count| {
        let share = f64::from(*count) / total;
        sum - share * share.log2()
    })
}

/// How many different characters there are.
pub(crate) fn distinct(text: &str) -> usize {
    let mut seen = [false; 256];
    text.bytes().for_each(|byte| seen[usize::from(byte)] = true);
    seen.iter().filter(|seen| **seen).count()
}

/// The share of characters that only count up from the one before, as in `abcdef` and `123456`.
pub(crate) fn counting(text: &str) -> f64 {
    let bytes: Vec<u8> = text.bytes().map(|b| b.to_ascii_lowercase()).collect();
    let mut in_run = 0usize;
    let mut run = 1usize;
    for pair in bytes.windows(2) {
        let up = pair[1] == pair[0].wrapping_add(1) || (pair == [b'9', b'0']) || (pair == [b'9', b'a']);
        if up {
            run += 1;
        } else {
            in_run += if run >= 4 { run } else { 0 };
            run = 1;
        }
    }
    in_run += if run >= 4 { run } else { 0 };
    if bytes.is_empty() { 0.0 } else { in_run as f64 / bytes.len() as f64 }
}

/// Kinds of characters: lower case, upper case, digits, others.
pub(crate) fn classes(text: &str) -> usize {
    let has = |test: fn(&char) -> bool| usize::from(text.chars().any(|c| test(&c)));
    has(|c| c.is_lowercase())
        + has(|c| c.is_uppercase())
        + has(char::is_ascii_digit)
        + has(|c| !c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_and_regular_texts() {
        assert!(bits("aaaaaaaa") < 0.1);
        assert!(bits("q9Zx1LmP0aKd8Wf3") > 3.5);
        assert_eq!(distinct("abab"), 2);
        assert!(counting("0123456789abcdef") > 0.9);
        assert!(counting("q9Zx1LmP0aKd8Wf3") < 0.1);
        assert_eq!(classes("aA1!"), 4);
        assert_eq!(counting(""), 0.0);
    }
}
