//! Every dependency may be used under a licence that deny.toml allows.

use serde::Deserialize;
use serde_json::Value;
use spdx::{Expression, ParseMode};

use super::{SourceTree, TidyFinding};
use crate::{XtaskFailure, process, project};

const LIST: &str = "deny.toml";

/// What is used of the configuration of `cargo deny`; it knows more sections.
#[derive(Deserialize)]
struct DenyConfiguration {
    licenses: AllowedLicences,
}

#[derive(Deserialize)]
struct AllowedLicences {
    allow: Vec<String>,
}

/// A package of Cargo.lock and the licence it names.
pub(super) struct LicensedPackage {
    name: String,
    licence: String,
}

/// The licences of everything that Cargo.lock names for the platform that is built for.
pub(super) fn of_dependencies() -> Result<Vec<LicensedPackage>, XtaskFailure> {
    let mut metadata = project::cargo();
    metadata.args(["metadata", "--format-version=1", "--locked", "--all-features"]);
    metadata.args(["--filter-platform", "x86_64-unknown-linux-gnu"]);
    let metadata: Value = serde_json::from_str(&process::capture(&mut metadata)?)
        .map_err(|error| format!("cannot read what `cargo metadata` said: {error}"))?;
    let packages = metadata["packages"].as_array().cloned().unwrap_or_default();
    let text = |package: &Value, key: &str| package[key].as_str().unwrap_or_default().to_owned();
    // What has no source is a part of this workspace.
    let foreign = packages.iter().filter(|package| !package["source"].is_null());
    Ok(foreign
        .map(|package| LicensedPackage { name: text(package, "name"), licence: text(package, "license") })
        .collect())
}

/// Each package has a licence that can be chosen, and each licence of the list is needed.
pub(super) fn check(tree: &SourceTree, packages: &[LicensedPackage]) -> Vec<TidyFinding> {
    let Some(file) = tree.get(LIST) else { return vec![TidyFinding::new(LIST, 0, "is missing")] };
    let allowed = match toml::from_str::<DenyConfiguration>(&file.text) {
        Ok(configuration) => configuration.licenses.allow,
        Err(error) => return vec![TidyFinding::new(LIST, 0, error.to_string())],
    };
    let mut findings = Vec::new();
    for package in packages {
        if let Some(why) = refused(&package.licence, &allowed) {
            findings.push(TidyFinding::new(LIST, 0, format!("{}: {why}", package.name)));
        }
    }
    for licence in &allowed {
        let named = |package: &LicensedPackage| package.licence.contains(licence.as_str());
        if spdx::license_id(licence).is_none() {
            findings.push(TidyFinding::new(LIST, 0, format!("`{licence}` is no licence that SPDX knows")));
        } else if !packages.iter().any(named) {
            findings.push(TidyFinding::new(LIST, 0, format!("no dependency has the licence {licence}")));
        }
    }
    findings
}

fn refused(licence: &str, allowed: &[String]) -> Option<String> {
    let expression = match Expression::parse_mode(licence, ParseMode::LAX) {
        Ok(expression) => expression,
        Err(error) => return Some(format!("its licence `{licence}` cannot be read: {}", error.reason)),
    };
    let may = |requirement: &spdx::LicenseReq| {
        requirement.addition.is_none() && allowed.contains(&requirement.license.to_string())
    };
    (!expression.evaluate(may))
        .then(|| format!("its licence `{licence}` is not among those that are allowed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_licence_has_to_be_allowed_and_needed() {
        let check = |allow: &str, licence: &str, expect: &[&str]| {
            let tree =
                SourceTree::of(&[(LIST, &format!("[licenses]\nversion = 2\nallow = [{allow}]\n[bans]\n"))]);
            let packages = [LicensedPackage { name: "x".into(), licence: licence.into() }];
            let told: Vec<String> = super::check(&tree, &packages).iter().map(ToString::to_string).collect();
            assert_eq!(told.len(), expect.len(), "{told:?}");
            assert!(told.iter().zip(expect).all(|(told, part)| told.contains(part)), "{told:?}");
        };
        check("\"MIT\"", "MIT", &[]);
        check("\"MIT\"", "MIT/Apache-2.0", &[]);
        check("\"MIT\"", "Apache-2.0 WITH LLVM-exception OR MIT", &[]);
        check("\"MIT\"", "MIT AND ISC", &["x: its licence `MIT AND ISC` is not among"]);
        check("\"MIT\", \"ISC\"", "(MIT OR Zlib) AND ISC", &[]);
        check("\"MIT\", \"Zlib\"", "MIT", &["no dependency has the licence Zlib"]);
        check("\"MIT\"", "", &["cannot be read", "no dependency"]);
        check("\"MITT\"", "MIT", &["x: ", "`MITT` is no licence"]);
    }

    #[test]
    fn a_list_that_is_missing_or_broken_is_told() {
        assert_eq!(check(&SourceTree::of(&[]), &[])[0].to_string(), "deny.toml: is missing");
        assert_eq!(check(&SourceTree::of(&[(LIST, "[licenses]\nallow = 1\n")]), &[]).len(), 1);
    }
}
