//! Files are named for their idea.

use super::{SourceTree, TidyFinding};

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 8] = ["util", "utils", "helper", "helpers", "types", "common", "misc", "shared"];

/// No Rust file or module folder has a name that could hold anything.
pub(super) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let named = file.path.trim_end_matches(".rs").split('/').find(|part| EMPTY_NAMES.contains(part));
        if let Some(name) = named {
            findings.push(TidyFinding::new(
                &file.path,
                0,
                format!("`{name}` names no idea; say what is in it"),
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::expect;

    #[test]
    fn empty_names_are_found() {
        let files = ["src/utils.rs", "tests/common/mod.rs", "src/typed_ids.rs", "docs/types.md"];
        expect(
            check,
            &files.map(|path| (path, "")),
            &[("src/utils.rs", "`utils`"), ("tests/common/mod.rs", "`common`")],
        );
    }
}
