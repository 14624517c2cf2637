//! Documents are clean, and what they show is tried out.

use super::{SourceTree, TidyFinding};

/// The test that runs the examples of documents; it names the documents it reads.
const DOCS_TEST: &str = "crates/holon/tests/docs.rs";

/// No space at the end of a line and no tab in Markdown; every document with `console` examples is run by a test.
pub(super) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    let tested = tree.get(DOCS_TEST).map_or("", |file| file.text.as_str());
    for file in tree.0.iter().filter(|file| file.extension() == "md") {
        for (number, line) in file.lines() {
            if line.ends_with([' ', '\t']) {
                findings.push(TidyFinding::new(&file.path, number, "space at the end of the line"));
            } else if line.contains('\t') {
                findings.push(TidyFinding::new(&file.path, number, "tab"));
            }
        }
        let example = file.lines().find(|(_, line)| line.trim_start().starts_with("```console"));
        if let Some((number, _)) = example.filter(|_| !tested.contains(&format!("\"{}\"", file.path))) {
            let message = format!("console examples that {DOCS_TEST} does not run");
            findings.push(TidyFinding::new(&file.path, number, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::expect;

    #[test]
    fn stray_space_is_found() {
        let text = "# A\nb \nc\td\n";
        expect(check, &[("a.md", text), ("a.rs", text)], &[("a.md:2", "space"), ("a.md:3", "tab")]);
    }

    #[test]
    fn examples_are_run() {
        let document = ("README.md", "# A\n\n```console\n$ holon --version\n```\n");
        expect(check, &[document], &[("README.md:3", "does not run")]);
        expect(check, &[document, (DOCS_TEST, "for page in [\"README.md\"] {}")], &[]);
    }
}
