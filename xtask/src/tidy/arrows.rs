//! Which crate may depend on which.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{SourceTree, TidyFinding};

const TABLE: &str = include_str!("../../arrows.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arrows {
    tests: BTreeSet<String>,
    uses: BTreeMap<String, BTreeSet<String>>,
}

/// Every dependency between crates of this workspace is in xtask/arrows.toml.
pub(super) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    check_with(tree, TABLE)
}

fn check_with(tree: &SourceTree, table: &str) -> Vec<TidyFinding> {
    let arrows: Arrows = match toml::from_str(table) {
        Ok(arrows) => arrows,
        Err(error) => return vec![TidyFinding::new("xtask/arrows.toml", 0, error.to_string())],
    };
    tree.manifests().flat_map(|file| check_manifest(&file.path, &file.text, &arrows)).collect()
}

fn check_manifest(path: &str, text: &str, arrows: &Arrows) -> Vec<TidyFinding> {
    let manifest: toml::Table = match text.parse() {
        Ok(manifest) => manifest,
        Err(error) => return vec![TidyFinding::new(path, 0, format!("cannot be read: {error}"))],
    };
    let name = manifest.get("package").and_then(|package| package.get("name")).and_then(toml::Value::as_str);
    let name = name.unwrap_or_default();
    let Some(allowed) = arrows.uses.get(name) else {
        return vec![TidyFinding::new(path, 0, format!("`{name}` is not in xtask/arrows.toml"))];
    };
    let mut findings = Vec::new();
    for (section, dependency) in dependencies(&manifest) {
        let in_workspace = arrows.uses.contains_key(&dependency);
        let for_tests = section == "dev-dependencies" && arrows.tests.contains(&dependency);
        if in_workspace && !allowed.contains(&dependency) && !for_tests {
            let message =
                format!("`{name}` may not depend on `{dependency}` ({section}); see xtask/arrows.toml");
            findings.push(TidyFinding::new(path, 0, message));
        }
    }
    findings
}

/// All dependencies of a manifest with the kind of section they are in, those for one platform included.
pub(super) fn dependencies(manifest: &toml::Table) -> Vec<(&'static str, String)> {
    entries(manifest).into_iter().map(|(section, name, _)| (section, name)).collect()
}

/// The same, with what the manifest says about each.
pub(super) fn entries(manifest: &toml::Table) -> Vec<(&'static str, String, toml::Value)> {
    const SECTIONS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];
    let platforms =
        manifest.get("target").and_then(toml::Value::as_table).into_iter().flat_map(|table| table.values());
    let tables = std::iter::once(manifest).chain(platforms.filter_map(toml::Value::as_table));
    let mut found = Vec::new();
    for table in tables {
        for section in SECTIONS {
            let list = table.get(section).and_then(toml::Value::as_table).into_iter().flatten();
            found.extend(list.map(|(name, value)| (section, name.clone(), value.clone())));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::expect;

    const ARROWS: &str = "tests = [\"kit\"]\n[uses]\ncore = []\ngit = [\"core\"]\nkit = []\n";

    fn rule(tree: &SourceTree) -> Vec<TidyFinding> {
        check_with(tree, ARROWS)
    }

    #[test]
    fn only_listed_arrows_are_taken() {
        let git = "[package]\nname = \"git\"\n[dependencies]\ncore.workspace = true\nserde.workspace = true\n[dev-dependencies]\nkit.workspace = true\n";
        let core = "[package]\nname = \"core\"\n[dependencies]\nkit.workspace = true\n[target.'cfg(unix)'.build-dependencies]\ngit.workspace = true\n";
        expect(rule, &[("crates/git/Cargo.toml", git)], &[]);
        expect(
            rule,
            &[("crates/core/Cargo.toml", core)],
            &[
                ("crates/core/Cargo.toml", "may not depend on `kit` (dependencies)"),
                ("crates/core/Cargo.toml", "may not depend on `git` (build-dependencies)"),
            ],
        );
    }

    #[test]
    fn a_new_crate_has_to_be_listed() {
        let new = "[package]\nname = \"new\"\n";
        expect(
            rule,
            &[("crates/new/Cargo.toml", new)],
            &[("crates/new/Cargo.toml", "not in xtask/arrows.toml")],
        );
        expect(rule, &[("examples/new/Cargo.toml", new)], &[]);
    }

    #[test]
    fn the_committed_table_is_well_formed() {
        assert!(toml::from_str::<Arrows>(TABLE).is_ok());
    }
}
