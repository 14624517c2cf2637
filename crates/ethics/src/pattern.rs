//! Regular expressions over bytes: expressions of rules are long and repeat much, which is costly to prepare for all of
//! Unicode and cheap for bytes. Texts in other scripts still match as they are written.

use regex::bytes::{Captures, Regex, RegexBuilder, RegexSet, RegexSetBuilder};

/// Memory a compiled expression may take.
const MOST_BYTES: usize = 64 << 20;

/// One expression.
#[derive(Debug)]
pub(crate) struct RulePattern(Regex);

/// Several expressions as one search.
#[derive(Debug)]
pub(crate) struct RulePatternSet(RegexSet);

/// What matched, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PatternHit<'t> {
    text: &'t str,
    start: usize,
    end: usize,
}

/// The groups of a match.
pub(crate) struct PatternGroups<'t> {
    text: &'t str,
    captures: Captures<'t>,
}

impl RulePattern {
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        let built = RegexBuilder::new(&as_bytes(pattern)).unicode(false).size_limit(MOST_BYTES).build();
        built.map(Self).map_err(|error| error.to_string())
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.0.is_match(counted(text))
    }

    pub(crate) fn captures<'t>(&self, text: &'t str) -> Option<PatternGroups<'t>> {
        self.0.captures(counted(text)).map(|captures| PatternGroups { text, captures })
    }

    pub(crate) fn captures_iter<'r, 't>(
        &'r self,
        text: &'t str,
    ) -> impl Iterator<Item = PatternGroups<'t>> + use<'r, 't> {
        self.0.captures_iter(counted(text)).map(move |captures| PatternGroups { text, captures })
    }

    pub(crate) fn find_iter<'r, 't>(
        &'r self,
        text: &'t str,
    ) -> impl Iterator<Item = PatternHit<'t>> + use<'r, 't> {
        self.0.find_iter(counted(text)).filter_map(move |hit| PatternHit::of(text, hit.start(), hit.end()))
    }
}

impl RulePatternSet {
    pub(crate) fn new<S: AsRef<str>>(patterns: &[S]) -> Result<Self, String> {
        let patterns: Vec<String> = patterns.iter().map(|pattern| as_bytes(pattern.as_ref())).collect();
        let built = RegexSetBuilder::new(patterns).unicode(false).size_limit(4 * MOST_BYTES).build();
        built.map(Self).map_err(|error| error.to_string())
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.0.is_match(counted(text))
    }

    /// The numbers of those that match, in order.
    pub(crate) fn matches(&self, text: &str) -> Vec<usize> {
        self.0.matches(counted(text)).into_iter().collect()
    }
}

impl<'t> PatternHit<'t> {
    /// Nothing when it would cut a character apart.
    fn of(text: &'t str, start: usize, end: usize) -> Option<Self> {
        text.get(start..end).map(|_| Self { text, start, end })
    }

    pub(crate) fn as_str(&self) -> &'t str {
        self.text.get(self.start..self.end).unwrap_or_default()
    }

    pub(crate) fn start(&self) -> usize {
        self.start
    }

    pub(crate) fn end(&self) -> usize {
        self.end
    }
}

impl<'t> PatternGroups<'t> {
    pub(crate) fn name(&self, name: &str) -> Option<PatternHit<'t>> {
        self.captures.name(name).and_then(|hit| PatternHit::of(self.text, hit.start(), hit.end()))
    }

    pub(crate) fn get(&self, number: usize) -> Option<PatternHit<'t>> {
        self.captures.get(number).and_then(|hit| PatternHit::of(self.text, hit.start(), hit.end()))
    }
}

/// The bytes of a text that is about to be searched; tests count them.
fn counted(text: &str) -> &[u8] {
    #[cfg(test)]
    SEARCHED.set(SEARCHED.get() + text.len() as u64);
    text.as_bytes()
}

#[cfg(test)]
thread_local! {
    /// How many bytes this thread has searched so far.
    pub(crate) static SEARCHED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Other scripts know no letter case here; they are taken as they stand.
fn as_bytes(pattern: &str) -> String {
    if pattern.is_ascii() {
        return pattern.to_owned();
    }
    let mut out = String::with_capacity(pattern.len());
    let mut inside = false;
    for c in pattern.chars() {
        if c.is_ascii() == inside {
            out.push_str(if inside { ")" } else { "(?-i:" });
            inside = !inside;
        }
        out.push(c);
    }
    if inside {
        out.push(')');
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn other_scripts_match_as_written() {
        let pattern = RulePattern::new("(?i)\\btel\\b|téléphone|电话").unwrap();
        for text in ["TEL 1", "le téléphone", "电话: 1"] {
            assert!(pattern.is_match(text), "{text}");
        }
        assert!(!pattern.is_match("hotel"));
    }

    #[test]
    fn characters_stay_whole() {
        let pattern = RulePattern::new("(?P<value>x[^a])").unwrap();
        assert_eq!(pattern.captures("xé").unwrap().name("value"), None);
        assert_eq!(pattern.captures("éxb").unwrap().name("value").unwrap().as_str(), "xb");
    }
}
