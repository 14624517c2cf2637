//! What a lock file says about the licences of packages. It is written by whoever made the change, so it is believed where
//! it says something bad, and nowhere else.

use std::sync::LazyLock;

use crate::change::FileChangeLines;
use crate::pattern::RulePattern;

/// A licence a lock file states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatedLicence {
    /// The package.
    pub(crate) name: String,
    /// The expression.
    pub(crate) licence: String,
    /// Only needed to develop and test.
    pub(crate) development_only: bool,
    /// Where it says so.
    pub(crate) line: u64,
}

/// The parts that count, in the order they stand in: where a package begins, its licence, and whether it is for developers.
static PARTS: LazyLock<Option<RulePattern>> = LazyLock::new(|| {
    let package = r#""(?:[^"]*/)?node_modules/(?P<name>(?:@[^"/]+/)?[^"/]+)"\s*:\s*\{"#;
    let licence = r#""license"\s*:\s*"(?P<licence>[^"]{1,120})""#;
    RulePattern::new(&format!(r#"{package}|{licence}|"(?P<dev>dev|devOptional)"\s*:\s*true"#)).ok()
});

/// What the added lines of a lock file state.
pub(crate) fn stated(file: &FileChangeLines) -> Vec<StatedLicence> {
    let name = file.path.rsplit('/').next().unwrap_or(&file.path);
    let Some(parts) = PARTS.as_ref().filter(|_| matches!(name, "package-lock.json" | "npm-shrinkwrap.json"))
    else {
        return Vec::new();
    };
    let mut found: Vec<StatedLicence> = Vec::new();
    let mut package: Option<String> = None;
    let mut development_only = false;
    for line in &file.added {
        for hit in parts.captures_iter(&line.text) {
            if let Some(name) = hit.name("name") {
                package = Some(name.as_str().to_owned());
                development_only = false;
            } else if let (Some(licence), Some(name)) = (hit.name("licence"), &package) {
                let (name, licence) = (name.clone(), licence.as_str().to_owned());
                found.push(StatedLicence { name, licence, development_only, line: line.number });
            } else if hit.name("dev").is_some() {
                development_only = true;
                // It may stand behind the licence.
                let same = found.last_mut().filter(|last| package.as_deref() == Some(&last.name));
                same.into_iter().for_each(|last| last.development_only = true);
            }
        }
    }
    found
}
