//! Cargo, go, CMake and make.

use toml::{Table, Value};

use super::{BuildTool, RepositoryListing, RepositoryPackage, join, quoted};

pub(super) fn cargo(tree: &RepositoryListing<'_>, folder: &str) -> Option<RepositoryPackage> {
    let manifest: Table = tree.text(&join(folder, "Cargo.toml")).parse().ok()?;
    let package = manifest.get("package").and_then(|package| package.get("name")).and_then(Value::as_str);
    let workspace = manifest.contains_key("workspace");
    let runner = if tree.has(".config/nextest.toml") { "cargo nextest run" } else { "cargo test" };
    let check = match (folder.is_empty(), package, workspace) {
        (true, _, true) => format!("{runner} --workspace"),
        (true, _, false) => runner.to_owned(),
        (false, Some(name), _) if is_member(tree, folder) => format!("{runner} -p {}", quoted(name)),
        (false, _, true) => {
            format!("{runner} --workspace --manifest-path {}", quoted(&join(folder, "Cargo.toml")))
        }
        (false, Some(_), false) => {
            format!("{runner} --manifest-path {}", quoted(&join(folder, "Cargo.toml")))
        }
        (false, None, false) => return None,
    };
    Some(RepositoryPackage {
        path: folder.to_owned(),
        build: BuildTool::Cargo,
        check: Some(check),
        whole: workspace,
    })
}

/// Whether the root's workspace claims a folder: by name, or by a pattern with a star at its end.
fn is_member(tree: &RepositoryListing<'_>, folder: &str) -> bool {
    let root: Table = tree.text("Cargo.toml").parse().unwrap_or_default();
    let list = |key: &str| -> Vec<String> {
        let found = root.get("workspace").and_then(|workspace| workspace.get(key)).and_then(Value::as_array);
        found
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(|path| path.trim_start_matches("./").to_owned())
            .collect()
    };
    let claims = |pattern: &String| match pattern.strip_suffix("/*") {
        Some(parent) => folder.rsplit_once('/').is_some_and(|(own, _)| own == parent),
        None if pattern == "*" => !folder.contains('/'),
        None => pattern.trim_end_matches('/') == folder,
    };
    list("members").iter().any(claims) && !list("exclude").iter().any(|path| path == folder)
}

pub(super) fn go(folder: &str) -> RepositoryPackage {
    let check = if folder.is_empty() {
        "go test ./...".to_owned()
    } else {
        format!("go -C {} test ./...", quoted(folder))
    };
    RepositoryPackage { path: folder.to_owned(), build: BuildTool::Go, check: Some(check), whole: false }
}

pub(super) fn cmake(tree: &RepositoryListing<'_>, folder: &str) -> Option<RepositoryPackage> {
    // Folders below one with a CMakeLists.txt belong to it.
    let parents = folder.match_indices('/').map(|(at, _)| &folder[..at]).chain(Some(""));
    if !folder.is_empty() && parents.into_iter().any(|parent| tree.has(&join(parent, "CMakeLists.txt"))) {
        return None;
    }
    let tests = |path: &str| {
        let text = tree.text(path);
        ["enable_testing", "add_test", "include(CTest)", "gtest_discover_tests"]
            .iter()
            .any(|word| text.contains(word))
    };
    let any = tree.below(folder).filter(|path| path.ends_with("CMakeLists.txt")).any(tests);
    let source = if folder.is_empty() { String::new() } else { format!("-S {} ", quoted(folder)) };
    let build = quoted(&join(folder, "build"));
    let check = format!("cmake {source}-B {build} && cmake --build {build} && ctest --test-dir {build}");
    Some(RepositoryPackage {
        path: folder.to_owned(),
        build: BuildTool::Cmake,
        check: any.then_some(check),
        whole: true,
    })
}

pub(super) fn make(tree: &RepositoryListing<'_>, folder: &str) -> Option<RepositoryPackage> {
    let text = [tree.text(&join(folder, "Makefile")), tree.text(&join(folder, "makefile"))].concat();
    let has = |target: &&str| {
        text.lines().any(|line| {
            let rest = line.strip_prefix(*target).map(str::trim_start);
            rest.is_some_and(|rest| rest.starts_with(':') && !rest.starts_with(":="))
        })
    };
    let target = ["test", "check", "tests"].into_iter().find(|target| has(target))?;
    let place = if folder.is_empty() { String::new() } else { format!("-C {} ", quoted(folder)) };
    let check = format!("make {place}{target}");
    Some(RepositoryPackage {
        path: folder.to_owned(),
        build: BuildTool::Make,
        check: Some(check),
        whole: true,
    })
}
