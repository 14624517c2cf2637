//! Several versions of a source text in one: every function that differs asks which version is switched on.

use std::ops::Range;

use super::functions::outermost_bodies;
use super::number::ASK;

/// A source text with all its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WovenSource {
    pub(crate) text: String,
    /// Which lines, counted from 1, came about because of which numbers.
    pub(crate) regions: Vec<(Range<usize>, Vec<usize>)>,
}

impl WovenSource {
    /// The numbers whose versions stand in a line.
    pub(crate) fn at_line(&self, line: usize) -> impl Iterator<Item = usize> {
        self.regions
            .iter()
            .filter(move |(lines, _)| lines.contains(&line))
            .flat_map(|(_, numbers)| numbers)
            .copied()
    }
}

/// Whether two versions of a file differ in nothing but the bodies of functions that can ask at run time.
pub(crate) fn differs_in_bodies(original: &str, changed: &str) -> bool {
    let (old, new) = (outermost_bodies(original), outermost_bodies(changed));
    outside(original, &old) == outside(changed, &new)
        && old.iter().zip(&new).enumerate().all(|(at, (before, after))| {
            original[before.clone()] == changed[after.clone()] || can_ask(outside(original, &old)[at])
        })
}

/// Puts versions of a file, each with its number, into one text; each must differ in nothing but bodies.
pub(crate) fn weave(original: &str, versions: &[(usize, &str)]) -> WovenSource {
    let bodies = outermost_bodies(original);
    let changed: Vec<_> =
        versions.iter().map(|(number, text)| (*number, *text, outermost_bodies(text))).collect();
    let mut woven = WovenSource { text: String::new(), regions: Vec::new() };
    let mut end = 0;
    for (at, body) in bodies.iter().enumerate() {
        woven.text.push_str(&original[end..body.start]);
        end = body.end;
        let original = &original[body.clone()];
        let other = |(number, text, bodies): &(usize, &'_ str, Vec<Range<usize>>)| {
            let body = bodies.get(at).map(|body| text[body.clone()].to_owned())?;
            (body != original).then_some((*number, body))
        };
        let others: Vec<(usize, String)> = changed.iter().filter_map(other).collect();
        if others.is_empty() {
            woven.text.push_str(original);
            continue;
        }
        let first = line(&woven.text);
        woven.text.push_str(&format!("{{ match {ASK} {{\n"));
        for (number, body) in &others {
            woven.text.push_str(&format!("{number} => {body}\n"));
        }
        woven.text.push_str(&format!("_ => {original}\n}} }}"));
        let numbers = others.iter().map(|(number, _)| *number).collect();
        woven.regions.push((first..line(&woven.text) + 1, numbers));
    }
    woven.text.push_str(&original[end..]);
    woven
}

/// The line at the end of a text, counted from 1.
fn line(text: &str) -> usize {
    text.matches('\n').count() + 1
}

/// What is before, between and after the bodies.
fn outside<'a>(text: &'a str, bodies: &[Range<usize>]) -> Vec<&'a str> {
    let starts = std::iter::once(0).chain(bodies.iter().map(|body| body.end));
    let ends = bodies.iter().map(|body| body.start).chain([text.len()]);
    starts.zip(ends).map(|(start, end)| &text[start..end]).collect()
}

/// A constant function is evaluated by the compiler, and a hidden type has one body: neither can choose at run time.
fn can_ask(before_body: &str) -> bool {
    let header = before_body.rsplit([';', '}', '{']).next().unwrap_or_default();
    let words: Vec<&str> = header.split_whitespace().collect();
    let constant = words.windows(2).any(|pair| pair == ["const", "fn"]);
    !constant && !words.windows(2).any(|pair| pair == ["->", "impl"])
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGINAL: &str = "use a;\nfn f(x: u8) -> bool {\n    x > 1\n}\nconst A: u8 = 1;\nfn g() {}\n";

    #[test]
    fn only_bodies_can_be_switched() {
        let changed = |old: &str, new: &str| differs_in_bodies(ORIGINAL, &ORIGINAL.replacen(old, new, 1));
        assert!(changed("x > 1", "x >= 1") && changed("{}", "{ h(); }"));
        assert!(!changed("A: u8 = 1", "A: u8 = 2"), "a constant");
        assert!(!changed("x: u8", "x: u16"), "a signature");
        assert!(!changed("fn g() {}\n", ""), "a function less");
        let hidden = |header: &str| {
            let text = |body: &str| format!("struct S;\n{header} {{ {body} }}\n");
            differs_in_bodies(&text("1"), &text("2"))
        };
        assert!(hidden("pub fn f() -> u8"));
        assert!(!hidden("pub const fn f() -> u8") && !hidden("fn f() -> impl Iterator<Item = u8>"));
    }

    #[test]
    fn all_versions_stand_in_one_text() {
        let one = ORIGINAL.replacen("x > 1", "x >= 1", 1);
        let two = ORIGINAL.replacen("x > 1", "true", 1).replacen("{}", "{ h() }", 1);
        let woven = weave(ORIGINAL, &[(7, &one), (9, &two)]);
        let expect = "use a;\nfn f(x: u8) -> bool { match ASK {\n7 => {\n    x >= 1\n}\n9 => {\n    true\n}\n_ => {\n    \
                      x > 1\n}\n} }\nconst A: u8 = 1;\nfn g() { match ASK {\n9 => { h() }\n_ => {}\n} }\n";
        assert_eq!(woven.text, expect.replace("ASK", ASK));
        assert_eq!(woven.regions, [(2..13, vec![7, 9]), (14..18, vec![9])]);
        assert_eq!(woven.at_line(3).collect::<Vec<_>>(), [7, 9]);
        assert_eq!(woven.at_line(1).count() + woven.at_line(13).count(), 0);
        assert_eq!(weave(ORIGINAL, &[]).text, ORIGINAL);
    }
}
