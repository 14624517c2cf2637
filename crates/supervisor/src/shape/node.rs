//! npm, pnpm and yarn.

use serde_json::Value;

use super::{BuildTool, RepositoryListing, RepositoryPackage, join, quoted};

pub(super) fn package(tree: &RepositoryListing<'_>, folder: &str) -> Option<RepositoryPackage> {
    let manifest: Value = serde_json::from_str(tree.text(&join(folder, "package.json"))).ok()?;
    let build = build(tree, folder, &manifest);
    let script = manifest["scripts"]["test"].as_str().filter(|script| !script.contains("no test specified"));
    let check = match script {
        Some(_) => Some(test(build, folder)),
        None => runner(&manifest).map(|runner| bare(runner, folder)),
    };
    Some(RepositoryPackage { path: folder.to_owned(), build, check, whole: false })
}

/// By the lock file beside it or at the root, or by what the manifest says.
fn build(tree: &RepositoryListing<'_>, folder: &str, manifest: &Value) -> BuildTool {
    let manager = manifest["packageManager"].as_str().unwrap_or("");
    let has = |file: &str| tree.has(&join(folder, file)) || tree.has(file);
    if manager.starts_with("pnpm") || has("pnpm-lock.yaml") || has("pnpm-workspace.yaml") {
        BuildTool::Pnpm
    } else if manager.starts_with("yarn") || has("yarn.lock") {
        BuildTool::Yarn
    } else {
        BuildTool::Npm
    }
}

fn test(build: BuildTool, folder: &str) -> String {
    let place = quoted(folder);
    match (build, folder.is_empty()) {
        (BuildTool::Pnpm, true) => "pnpm test".to_owned(),
        (BuildTool::Pnpm, false) => format!("pnpm --dir {place} test"),
        (BuildTool::Yarn, true) => "yarn test".to_owned(),
        (BuildTool::Yarn, false) => format!("yarn --cwd {place} test"),
        (_, true) => "npm test".to_owned(),
        (_, false) => format!("npm --prefix {place} test"),
    }
}

/// A runner that is installed, though no script calls it.
fn runner(manifest: &Value) -> Option<&'static str> {
    let has = |name: &str| {
        ["devDependencies", "dependencies"].iter().any(|section| manifest[*section][name].is_string())
    };
    if has("vitest") {
        Some("vitest run")
    } else if has("jest") {
        Some("jest")
    } else {
        None
    }
}

fn bare(runner: &str, folder: &str) -> String {
    match (runner.split(' ').next(), folder.is_empty()) {
        (_, true) => format!("npx {runner}"),
        (Some("jest"), false) => format!("npx jest --rootDir {}", quoted(folder)),
        (_, false) => format!("npx {runner} --root {}", quoted(folder)),
    }
}
