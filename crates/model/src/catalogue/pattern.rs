//! Names with `*` for anything.

/// Whether a name fits a pattern; `*` stands for any characters, everything else for itself.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(rest) = name.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    // The middle parts are found as far left as possible, which leaves the most for the last one.
    let mut rest = rest;
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, name, fits) in [
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("abc*", "abc", true),
            ("abc*", "abcd", true),
            ("*abc*", "xabcx", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("a*ba", "aba", true),
            ("ab*ba", "aba", false),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}
