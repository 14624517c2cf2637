//! Files stay short enough to be read in one sitting.

use super::{SourceTree, TidyFile, TidyFinding};

const MOST_LINES: usize = 600;

/// No Rust file is longer than 600 lines, its tests not counted.
pub(super) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| !is_test(file)) {
        let lines = lines_of_code(&file.text);
        if lines > MOST_LINES {
            let message = format!("{lines} lines, more than {MOST_LINES}: split it by ideas");
            findings.push(TidyFinding::new(&file.path, 0, message));
        }
    }
    findings
}

pub(crate) fn is_test(file: &TidyFile) -> bool {
    file.path.split('/').any(|part| part == "tests" || part == "tests.rs" || part.ends_with("_tests.rs"))
}

/// Up to the module with the unit tests, which stands last.
pub(crate) fn lines_of_code(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let tests =
        lines.windows(2).rposition(|pair| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod tests {"));
    tests.unwrap_or(lines.len())
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::expect;

    #[test]
    fn long_files_are_found() {
        let line = "let x = 1;\n";
        let long = line.repeat(601);
        let tested = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", line.repeat(600), line.repeat(50));
        expect(
            check,
            &[("src/a.rs", &long), ("src/b.rs", &tested), ("tests/c.rs", &long), ("src/tests.rs", &long)],
            &[("src/a.rs", "601 lines")],
        );
    }
}
