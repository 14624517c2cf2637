//! Where `unsafe` may be written.

use super::code::code_only;
use super::{SourceTree, TidyFinding};

/// The one crate that may.
const PLACE: &str = "crates/sandbox/";

/// `unsafe` stands only in the sandbox crate.
pub(super) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| !file.path.starts_with(PLACE)) {
        for (index, line) in code_only(&file.text).lines().enumerate() {
            if has_word(line, "unsafe") {
                findings.push(TidyFinding::new(
                    &file.path,
                    index + 1,
                    format!("unsafe code outside of {PLACE}"),
                ));
            }
        }
    }
    findings
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::expect;

    #[test]
    fn unsafe_is_found_as_code_only() {
        let text = "#![forbid(unsafe_code)]\n// unsafe\nfn f() { unsafe { g() } }\nlet s = \"unsafe\";\n";
        expect(
            check,
            &[("crates/core/src/a.rs", text), ("crates/sandbox/src/a.rs", text)],
            &[("crates/core/src/a.rs:3", "unsafe")],
        );
    }
}
