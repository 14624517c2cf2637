//! The longest functions.

use super::sizes::{product_files, product_text};
use crate::tidy::SourceTree;
use crate::tidy::code::code_only;

/// Functions of the product from the longest on, in lines from their signature to their brace, with where they are.
pub(super) fn longest(tree: &SourceTree) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = product_files(tree)
        .flat_map(|file| {
            functions_in(&product_text(file))
                .into_iter()
                .map(move |(lines, at, name)| (lines, format!("{name} ({}:{at})", file.path)))
        })
        .collect();
    all.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    all.truncate(super::LISTED);
    all
}

/// The length, the first line from 1, and the name of each function with a body.
fn functions_in(source: &str) -> Vec<(usize, usize, String)> {
    let code = code_only(source);
    let lines: Vec<&str> = code.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let margin = line.len() - line.trim_start().len();
        // The formatter puts the closing brace as far out as the signature.
        let closes = |line: &&str| {
            line.trim_start().starts_with(['}', ';']) && line.len() - line.trim_start().len() == margin
        };
        if line.trim_end().ends_with(['}', ';']) {
            continue;
        }
        if let Some(length) = lines[at + 1..].iter().position(closes) {
            found.push((length + 2, at + 1, name.to_owned()));
        }
    }
    found
}

fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let qualifiers = ["pub", "async", "const", "unsafe", "extern"];
    let plain = before
        .split_whitespace()
        .all(|word| qualifiers.contains(&word.split('(').next().unwrap_or_default()) || word.ends_with(')'));
    let end = after.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    (plain && end > 0).then(|| &after[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_end_at_their_own_brace() {
        let source = "pub(crate) async fn one(\n    a: u8,\n) -> u8 {\n    if a {\n    }\n}\n\nfn short() {}\n\
            impl A {\n    const fn two() {\n        x(\"}\");\n    }\n\n    fn declared();\n}\nlet f: fn (u8) = g;\n";
        assert_eq!(functions_in(source), [(6, 1, "one".to_owned()), (3, 10, "two".to_owned())]);
    }

    #[test]
    fn the_longest_comes_first() {
        let tree = SourceTree::of(&[("crates/a/src/b.rs", "fn a() {\n}\nfn b() {\n    1\n}\n")]);
        assert_eq!(
            longest(&tree),
            [(3, "b (crates/a/src/b.rs:3)".to_owned()), (2, "a (crates/a/src/b.rs:1)".to_owned())]
        );
    }
}
