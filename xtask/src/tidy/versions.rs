//! Versions are chosen in one place.

use super::arrows::entries;
use super::{SourceTree, TidyFinding};

/// Every dependency of a member is `x.workspace = true`; versions are in the root manifest.
pub(super) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for file in tree.manifests() {
        // A manifest that cannot be read is reported by the rule about arrows.
        let manifest: toml::Table = file.text.parse().unwrap_or_default();
        for (section, name, value) in entries(&manifest) {
            let from_workspace = value.get("workspace").and_then(toml::Value::as_bool) == Some(true);
            if !from_workspace || value.get("version").is_some() {
                let message = format!("`{name}` in [{section}]: versions belong in [workspace.dependencies]");
                findings.push(TidyFinding::new(&file.path, 0, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::expect;

    #[test]
    fn a_version_in_a_member_is_found() {
        let text = "[dependencies]\na.workspace = true\nb = \"1\"\nc = { path = \"../c\" }\nd = { workspace = true, features = [\"x\"] }\n";
        expect(
            check,
            &[("crates/x/Cargo.toml", text), ("Cargo.toml", text)],
            &[("crates/x/Cargo.toml", "`b`"), ("crates/x/Cargo.toml", "`c`")],
        );
    }
}
