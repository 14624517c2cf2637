//! How long files are, and which of them know of something.

use crate::tidy::length::{is_test, lines_of_code};
use crate::tidy::{SourceTree, TidyFile};

/// What the files of the tree measure, in lines.
pub(super) struct FileSizes {
    /// Sources of crates, without their tests.
    pub(super) product: usize,
    /// Tests, wherever they are, with the crates that only tests use, xtask and bench left out.
    pub(super) tests: usize,
    /// All files in `crates/*/src`, tests in them too: what other projects are counted by.
    sources: usize,
    /// Product files from the longest on.
    pub(super) largest: Vec<(usize, String)>,
}

impl FileSizes {
    pub(super) fn source_lines(&self) -> usize {
        self.sources
    }

    /// The length of the file in the middle.
    pub(super) fn median(&self) -> usize {
        self.largest.get(self.largest.len() / 2).map_or(0, |(lines, _)| *lines)
    }
}

/// The sources of the crates.
pub(super) fn sources(tree: &SourceTree) -> impl Iterator<Item = &TidyFile> {
    tree.rust().filter(|file| {
        let parts: Vec<&str> = file.path.split('/').collect();
        matches!(parts.as_slice(), ["crates", _, "src", ..])
    })
}

/// The sources of the crates without files of tests.
pub(super) fn product_files(tree: &SourceTree) -> impl Iterator<Item = &TidyFile> {
    sources(tree).filter(|file| !is_test(file))
}

/// The text up to the unit tests, which stand last.
pub(super) fn product_text(file: &TidyFile) -> String {
    file.text.lines().take(lines_of_code(&file.text)).map(|line| format!("{line}\n")).collect()
}

pub(super) fn file_sizes(tree: &SourceTree) -> FileSizes {
    let length = |file: &TidyFile| file.text.lines().count();
    let mut largest: Vec<(usize, String)> =
        product_files(tree).map(|file| (lines_of_code(&file.text), file.path.clone())).collect();
    largest.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    let product = largest.iter().map(|(lines, _)| lines).sum();
    let all: usize = tree.rust().filter(|file| file.path.starts_with("crates/")).map(length).sum();
    FileSizes { product, tests: all - product, sources: sources(tree).map(length).sum(), largest }
}

/// Files of the product whose text has one of the markers in quotes.
pub(super) fn diff_readers(tree: &SourceTree, markers: &[String]) -> Vec<String> {
    let quoted: Vec<String> = markers.iter().map(|marker| format!("\"{marker}")).collect();
    let reads = |file: &&TidyFile| {
        let text = product_text(file);
        quoted.iter().any(|marker| text.contains(marker))
    };
    product_files(tree).filter(reads).map(|file| file.path.clone()).collect()
}

/// How many files of the product, sources and data, have a word.
pub(super) fn files_naming(tree: &SourceTree, word: &str) -> usize {
    let of_product = |file: &&TidyFile| {
        let folder = file.path.split('/').next().unwrap_or_default();
        matches!(folder, "crates" | "modes" | "adapters" | "policies" | "rules" | "schemas")
            && !is_test(file)
            && !file.path.contains("/testkit/")
    };
    let names = |file: &&TidyFile| {
        product_text(file).split(|c: char| !c.is_alphanumeric()).any(|found| found.eq_ignore_ascii_case(word))
    };
    tree.0.iter().filter(of_product).filter(names).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: &str = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";

    #[test]
    fn tests_are_counted_apart_from_the_product() {
        let tree = SourceTree::of(&[
            ("crates/a/src/one.rs", UNIT),
            ("crates/a/src/two.rs", "1\n2\n3\n"),
            ("crates/a/src/two/tests.rs", "1\n2\n"),
            ("crates/a/tests/whole.rs", "1\n"),
            ("xtask/src/main.rs", "1\n"),
        ]);
        let sizes = file_sizes(&tree);
        assert_eq!((sizes.product, sizes.tests, sizes.source_lines()), (5, 7, 11));
        assert_eq!(sizes.largest.first(), Some(&(3, "crates/a/src/two.rs".to_owned())));
        assert_eq!(sizes.median(), 2);
    }

    #[test]
    fn only_the_product_counts_for_readers_and_words() {
        let tree = SourceTree::of(&[
            ("crates/a/src/diff.rs", "if line.starts_with(\"@@ -\") { Architect }\n"),
            (
                "crates/a/src/other.rs",
                "#[cfg(test)]\nmod tests {\n    const A: &str = \"@@ -1\"; // architect\n}\n",
            ),
            ("crates/a/src/architects.rs", "// @@ - is not quoted\n"),
            ("modes/architect.toml", "name = \"architect\"\n"),
            ("docs/modes.md", "architect\n"),
        ]);
        assert_eq!(diff_readers(&tree, &["@@ -".to_owned()]), ["crates/a/src/diff.rs"]);
        assert_eq!(files_naming(&tree, "architect"), 2);
    }
}
