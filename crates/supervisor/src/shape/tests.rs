#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{RepositoryShape, read, wanted};

/// Files with their texts; those with an empty text are names only.
fn shape(files: &[(&str, &str)]) -> RepositoryShape {
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    let texts: BTreeMap<String, String> =
        files.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
    read(&names, &texts)
}

#[track_caller]
fn check(files: &[(&str, &str)], checks: &[&str]) {
    let shape = shape(files);
    assert_eq!(shape.checks(), checks, "{shape:#?}");
}

#[test]
fn one_build_each() {
    check(&[("Cargo.toml", "[package]\nname = \"x\"\n")], &["cargo test"]);
    check(
        &[("Cargo.toml", "[package]\nname = \"x\"\n"), (".config/nextest.toml", "")],
        &["cargo nextest run"],
    );
    check(&[("Cargo.toml", "not toml")], &[]);
    check(&[("package.json", r#"{"scripts":{"test":"jest"}}"#)], &["npm test"]);
    check(&[("package.json", r#"{"scripts":{"test":"jest"}}"#), ("pnpm-lock.yaml", "")], &["pnpm test"]);
    check(&[("package.json", r#"{"scripts":{"test":"jest"}}"#), ("yarn.lock", "")], &["yarn test"]);
    check(&[("package.json", r#"{"scripts":{"test":"x"},"packageManager":"pnpm@9"}"#)], &["pnpm test"]);
    check(&[("package.json", r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#)], &[]);
    check(&[("package.json", r#"{"devDependencies":{"vitest":"^2"}}"#)], &["npx vitest run"]);
    check(&[("package.json", r#"{"devDependencies":{"jest":"^2"}}"#)], &["npx jest"]);
    check(&[("pyproject.toml", "[tool.pytest.ini_options]\n")], &["python -m pytest"]);
    check(
        &[("pyproject.toml", "[project]\ndependencies = [\"pytest>=8\"]\n"), ("uv.lock", "")],
        &["uv run pytest"],
    );
    check(&[("pyproject.toml", "[project]\ndependencies = [\"pytest-cov\"]\n")], &[]);
    check(&[("tox.ini", "[testenv]\ncommands = x\n")], &["tox"]);
    check(&[("pytest.ini", "")], &["python -m pytest"]);
    check(&[("setup.cfg", "[metadata]\n")], &[]);
    check(&[("tests/test_a.py", ""), ("a.py", "")], &["python -m pytest"]);
    check(&[("go.mod", "module x\n")], &["go test ./..."]);
    check(&[("pom.xml", "<project/>")], &["mvn -q test"]);
    check(&[("pom.xml", "<project/>"), ("mvnw", "")], &["./mvnw -q test"]);
    check(&[("build.gradle.kts", ""), ("gradlew", "")], &["./gradlew test"]);
    check(&[("Makefile", "all:\n\tcc x.c\ntest: all\n\t./x\n")], &["make test"]);
    check(&[("Makefile", "check:\n\t./x\n")], &["make check"]);
    check(&[("Makefile", "test := 1\nall:\n")], &[]);
    check(
        &[("CMakeLists.txt", "project(x)\n"), ("tests/CMakeLists.txt", "add_test(a b)\n")],
        &["cmake -B build && cmake --build build && ctest --test-dir build"],
    );
    check(&[("CMakeLists.txt", "project(x)\n")], &[]);
    check(&[("README.md", "")], &[]);
}

#[test]
fn a_makefile_beside_a_build_is_left_out() {
    check(&[("Cargo.toml", "[package]\nname = \"x\"\n"), ("Makefile", "test:\n")], &["cargo test"]);
    check(&[("package.json", "{}"), ("Makefile", "test:\n")], &["make test"]);
}

#[test]
fn several_builds_at_the_root_all_count() {
    let files =
        [("Cargo.toml", "[package]\nname = \"x\"\n"), ("package.json", r#"{"scripts":{"test":"x"}}"#)];
    check(&files, &["cargo test", "npm test"]);
}

const WORKSPACE: [(&str, &str); 6] = [
    ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\", \"tools/gen\"]\nexclude = [\"crates/old\"]\n"),
    ("crates/a/Cargo.toml", "[package]\nname = \"demo-a\"\n"),
    ("crates/b/Cargo.toml", "[package]\nname = \"demo-b\"\n"),
    ("crates/old/Cargo.toml", "[package]\nname = \"old\"\n"),
    ("tools/gen/Cargo.toml", "[package]\nname = \"gen\"\n"),
    ("target/x/Cargo.toml", "[package]\nname = \"no\"\n"),
];

#[test]
fn the_touched_package_is_checked() {
    let shape = shape(&WORKSPACE);
    assert!(shape.is_monorepo());
    assert_eq!(shape.packages.len(), 5);
    assert_eq!(shape.checks(), ["cargo test --workspace"]);
    let check =
        |touched: &[&str], expect: &[&str]| assert_eq!(shape.checks_for(touched), expect, "{touched:?}");
    check(&["crates/a/src/lib.rs"], &["cargo test -p demo-a"]);
    check(
        &["crates/a/src/lib.rs", "crates/b/x", "crates/a/y"],
        &["cargo test -p demo-a", "cargo test -p demo-b"],
    );
    check(&["tools/gen/x"], &["cargo test -p gen"]);
    check(&["crates/old/x"], &["cargo test --manifest-path crates/old/Cargo.toml"]);
    check(&["README.md"], &["cargo test --workspace"]);
    check(&["crates/abc/x"], &["cargo test --workspace"]);
    check(&[], &["cargo test --workspace"]);
}

#[test]
fn packages_in_folders() {
    let check = |files: &[(&str, &str)], touched: &str, expect: &str| {
        assert_eq!(shape(files).checks_for(&[touched]), [expect]);
    };
    let script = r#"{"scripts":{"test":"x"}}"#;
    check(&[("package.json", "{}"), ("web/package.json", script)], "web/a.ts", "npm --prefix web test");
    check(&[("pnpm-workspace.yaml", ""), ("web/package.json", script)], "web/a.ts", "pnpm --dir web test");
    check(&[("yarn.lock", ""), ("web/package.json", script)], "web/a.ts", "yarn --cwd web test");
    check(&[("web/package.json", r#"{"devDependencies":{"jest":"1"}}"#)], "web/a", "npx jest --rootDir web");
    check(
        &[("web/package.json", r#"{"devDependencies":{"vitest":"1"}}"#)],
        "web/a",
        "npx vitest run --root web",
    );
    check(&[("py/pyproject.toml", ""), ("py/tests/test_a.py", "")], "py/a.py", "python -m pytest py");
    check(&[("svc/go.mod", "")], "svc/x.go", "go -C svc test ./...");
    check(
        &[("pom.xml", "<module>core</module>"), ("core/pom.xml", "")],
        "core/A.java",
        "mvn -q -pl core -am test",
    );
    check(&[("core/pom.xml", "")], "core/A.java", "mvn -q -f core/pom.xml test");
    let gradle = [("build.gradle", ""), ("settings.gradle", ""), ("a/b/build.gradle", "")];
    check(&gradle, "a/b/X.java", "gradle :a:b:test");
    check(&[("a b/Makefile", "test:\n")], "a b/x", "make -C 'a b' test");
}

#[test]
fn other_peoples_code_is_left_alone() {
    let files = ["node_modules/x/package.json", "vendor/y/go.mod", "a/Cargo.toml", "Cargo.toml"];
    assert_eq!(wanted(&files), ["Cargo.toml", "a/Cargo.toml"]);
    assert!(!shape(&[("go.mod", "")]).is_monorepo());
}

proptest! {
    #[test]
    fn any_tree_has_a_shape(
        files in prop::collection::btree_map(
            "([a-c é]{0,3}/){0,3}(Cargo.toml|package.json|pyproject.toml|go.mod|pom.xml|Makefile|CMakeLists.txt|tox.ini)",
            "[\\[\\]{}\"=:a-z\n ]{0,40}",
            0..8,
        ),
        touched in "[a-c/é]{0,6}",
    ) {
        let names: Vec<&str> = files.keys().map(String::as_str).collect();
        let shape = read(&names, &files);
        prop_assert!(shape.checks().len() <= 8);
        let _ = shape.checks_for(&[&touched]);
    }
}
