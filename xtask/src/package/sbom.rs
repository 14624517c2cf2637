//! The list of what is linked in (CycloneDX), from what cargo resolves for the program as it is shipped.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::{XtaskFailure, process, project};

use super::release::Release;

/// The platform that is built for; what other platforms need is not in the binary.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// The whole document.
pub(super) fn document(release: &Release) -> Result<Vec<u8>, XtaskFailure> {
    let mut metadata = project::cargo();
    metadata.args(["metadata", "--format-version=1", "--locked", "--filter-platform", PLATFORM]);
    let metadata = process::capture(&mut metadata)?;
    let metadata: Value = serde_json::from_str(&metadata)
        .map_err(|error| format!("cannot read what `cargo metadata` said: {error}"))?;
    let lock = std::fs::read_to_string(project::root().join("Cargo.lock"))
        .map_err(|error| format!("cannot read Cargo.lock: {error}"))?;
    let document = describe(&metadata, &checksums(&lock)?, &release.date("+%Y-%m-%dT%H:%M:%SZ")?)?;
    serde_json::to_vec_pretty(&document).map_err(|error| format!("cannot write the list: {error}"))
}

/// The digests of Cargo.lock, by name and version.
fn checksums(lock: &str) -> Result<BTreeMap<(String, String), String>, XtaskFailure> {
    let lock: toml::Table = lock.parse().map_err(|error| format!("Cargo.lock: {error}"))?;
    let packages = lock.get("package").and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let text = |package: &toml::Value, key: &str| package.get(key)?.as_str().map(str::to_owned);
    let entry = |package: &toml::Value| {
        Some(((text(package, "name")?, text(package, "version")?), text(package, "checksum")?))
    };
    Ok(packages.iter().filter_map(entry).collect())
}

fn describe(
    metadata: &Value,
    checksums: &BTreeMap<(String, String), String>,
    time: &str,
) -> Result<Value, XtaskFailure> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages: BTreeMap<String, Value> =
        list(&metadata["packages"]).into_iter().map(|package| (text(&package["id"]), package)).collect();
    let nodes: BTreeMap<String, Vec<String>> =
        list(&metadata["resolve"]["nodes"]).iter().map(|node| (text(&node["id"]), linked_in(node))).collect();
    let root = packages.iter().find(|(_, package)| package["name"] == "holon");
    let (root, product) = root.ok_or("`cargo metadata` names no package holon")?;
    let (mut reached, mut todo) = (BTreeSet::new(), vec![root.clone()]);
    while let Some(id) = todo.pop() {
        if reached.insert(id.clone()) {
            todo.extend(nodes.get(&id).into_iter().flatten().cloned());
        }
    }
    let reference = |id: &String| packages.get(id).map(purl).unwrap_or_default();
    let components: Vec<Value> = reached
        .iter()
        .filter(|id| *id != root)
        .filter_map(|id| packages.get(id))
        .map(|package| component(package, "library", checksums))
        .collect();
    let depends = |id: &String| {
        let on: Vec<String> = nodes.get(id).into_iter().flatten().map(reference).collect();
        json!({ "ref": reference(id), "dependsOn": on })
    };
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "timestamp": time, "component": component(product, "application", checksums) },
        "components": components,
        "dependencies": reached.iter().map(depends).collect::<Vec<_>>(),
    }))
}

/// What a package needs at run time; what only its build or its tests need is not in the binary.
fn linked_in(node: &Value) -> Vec<String> {
    let normal = |dependency: &&Value| {
        let kinds = dependency["dep_kinds"].as_array();
        kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
    };
    let dependencies = node["deps"].as_array().map(Vec::as_slice).unwrap_or_default();
    dependencies.iter().filter(normal).filter_map(|one| one["pkg"].as_str().map(str::to_owned)).collect()
}

fn purl(package: &Value) -> String {
    let text = |key: &str| package[key].as_str().unwrap_or_default();
    format!("pkg:cargo/{}@{}", text("name"), text("version"))
}

fn component(package: &Value, kind: &str, checksums: &BTreeMap<(String, String), String>) -> Value {
    let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let mut component = json!({
        "type": kind,
        "bom-ref": purl(package),
        "name": text("name"),
        "version": text("version"),
        "purl": purl(package),
    });
    if let Some(licence) = package["license"].as_str() {
        // Cargo still takes the old way to write a choice.
        component["licenses"] = json!([{ "expression": licence.replace('/', " OR ") }]);
    }
    if let Some(digest) = checksums.get(&(text("name"), text("version"))) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": digest }]);
    }
    component
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_what_is_linked_in_is_listed() {
        let package =
            |name: &str| json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0" });
        let needs = |name: &str, kind: Value| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let packages = ["holon", "a", "b", "tested", "built"].map(package);
        let metadata = json!({
            "packages": packages,
            "resolve": { "nodes": [
                { "id": "holon", "deps": [needs("a", Value::Null), needs("tested", "dev".into()), needs("built", "build".into())] },
                { "id": "a", "deps": [needs("b", Value::Null)] },
                { "id": "b", "deps": [] },
            ]},
        });
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"00ff\"\n";
        let document = describe(&metadata, &checksums(lock).unwrap(), "2026-01-01T00:00:00Z").unwrap();
        let components = document["components"].as_array().unwrap();
        let names: Vec<&str> = components.iter().map(|one| one["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(components[0]["hashes"][0]["content"], "00ff");
        assert_eq!(components[0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(document["metadata"]["component"]["purl"], "pkg:cargo/holon@1.0.0");
        assert_eq!(
            document["dependencies"][0],
            json!({ "ref": "pkg:cargo/a@1.0.0", "dependsOn": ["pkg:cargo/b@1.0.0"] })
        );
        assert!(describe(&json!({}), &BTreeMap::new(), "").is_err());
    }
}
