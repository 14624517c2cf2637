//! Where the bodies of functions are in a source text.

use std::ops::Range;

use crate::tidy::code_only;

/// The places of the bodies of all functions that are in no other function, braces included, in order.
pub(crate) fn outermost_bodies(source: &str) -> Vec<Range<usize>> {
    let code = code_only(source);
    let mut finder = BodyFinder::default();
    for ((at, _), c) in source.char_indices().zip(code.chars()) {
        finder.read(at, c);
    }
    finder.bodies
}

/// Goes through the code once and keeps what stands before each brace.
#[derive(Default)]
struct BodyFinder {
    /// The code since the item began that may have a body.
    header: String,
    /// How many parentheses and brackets are open within the innermost braces.
    nested: usize,
    /// The same for the braces around.
    around: Vec<usize>,
    /// Where the body began that is being read, and how many braces were open before it.
    inside: Option<(usize, usize)>,
    bodies: Vec<Range<usize>>,
}

impl BodyFinder {
    fn read(&mut self, at: usize, c: char) {
        match c {
            '{' => self.open(at),
            '}' => self.close(at),
            ';' if self.nested == 0 => self.header.clear(),
            _ => {
                match c {
                    '(' | '[' => self.nested += 1,
                    ')' | ']' => self.nested = self.nested.saturating_sub(1),
                    _ => {}
                }
                self.header.push(c);
            }
        }
    }

    fn open(&mut self, at: usize) {
        if self.inside.is_none() && self.nested == 0 && is_function(&self.header) {
            self.inside = Some((at, self.around.len()));
        }
        self.around.push(std::mem::take(&mut self.nested));
        self.header.clear();
    }

    fn close(&mut self, at: usize) {
        self.nested = self.around.pop().unwrap_or_default();
        self.header.clear();
        if let Some((start, _)) = self.inside.filter(|(_, depth)| *depth == self.around.len()) {
            self.bodies.push(start..at + 1);
            self.inside = None;
        }
    }
}

/// A function has a name; a pointer to one has none.
fn is_function(header: &str) -> bool {
    let mut words = header.split_whitespace();
    words.any(|word| word == "fn") && words.next().is_some_and(|name| name.starts_with(is_name))
}

fn is_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn bodies(source: &str) -> Vec<&str> {
        outermost_bodies(source).into_iter().map(|range| &source[range]).collect()
    }

    #[test]
    fn bodies_are_found_wherever_functions_are() {
        assert_eq!(bodies("fn a() { 1 }\nconst fn b(x: [u8; 3]) -> u8 { x[0] }"), ["{ 1 }", "{ x[0] }"]);
        assert_eq!(bodies("impl A { fn a(&self) -> Option<u8> { None } fn b(); }"), ["{ None }"]);
        assert_eq!(
            bodies("mod m { pub(crate) fn a<T>() where T: Fn(u8) -> u8 { if x { y } } }"),
            ["{ if x { y } }"]
        );
        assert_eq!(bodies("fn a() { fn b() { 1 } b() } fn c() {}"), ["{ fn b() { 1 } b() }", "{}"]);
    }

    #[test]
    fn what_is_no_function_has_no_body() {
        assert!(
            bodies("struct A { f: fn(u8) -> u8 }\nconst B: fn() = { x };\nenum E { A { b: u8 } }").is_empty()
        );
        assert!(bodies("const C: &[u8] = &[f({ 1 })];\nstatic D: A = A { a: 1 };").is_empty());
        assert!(bodies("// fn a() { 1 }\nconst S: &str = \"fn a() { 1 }\";").is_empty());
    }

    #[test]
    fn letters_of_more_than_one_byte_move_nothing() {
        assert_eq!(bodies("// ééé\nfn a() { \"é}\" }"), ["{ \"é}\" }"]);
    }

    #[test]
    fn braces_in_this_file_are_balanced() {
        let source = include_str!("functions.rs");
        let first = source.find("let code = code_only").unwrap();
        assert!(outermost_bodies(source).iter().any(|body| body.contains(&first)));
    }
}
