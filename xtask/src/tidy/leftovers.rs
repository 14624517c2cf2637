//! Nothing unfinished is committed.

use super::code::code_only;
use super::{SourceTree, TidyFinding};

const LEFTOVERS: [&str; 4] = ["todo!", "unimplemented!", "dbg!", "#[ignore"];

/// No placeholder, no debugging print, no test that is switched off.
pub(super) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        for (index, line) in code_only(&file.text).lines().enumerate() {
            for word in LEFTOVERS.iter().filter(|word| has(line, word)) {
                findings.push(TidyFinding::new(&file.path, index + 1, format!("`{word}` is left over")));
            }
        }
    }
    findings
}

fn has(line: &str, word: &str) -> bool {
    let part_of_a_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| !line[..at].ends_with(part_of_a_name))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::expect;

    #[test]
    fn left_overs_are_found_as_code_only() {
        let text = "// todo!\nfn f() { todo!() }\nlet s = \"dbg!\";\nmy_todo!();\n#[ignore = \"slow\"]\n";
        expect(
            check,
            &[("src/a.rs", text), ("a.md", text)],
            &[("src/a.rs:2", "todo!"), ("src/a.rs:5", "#[ignore")],
        );
    }
}
