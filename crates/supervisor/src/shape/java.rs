//! Maven and Gradle.

use super::{BuildTool, RepositoryListing, RepositoryPackage, join, quoted};

pub(super) fn maven(tree: &RepositoryListing<'_>, folder: &str) -> RepositoryPackage {
    let program = if tree.has("mvnw") { "./mvnw" } else { "mvn" };
    let module = folder.rsplit('/').next().unwrap_or(folder);
    let below_root = tree.text("pom.xml").contains(&format!("<module>{module}</module>"))
        || tree.text("pom.xml").contains(&format!("<module>{folder}</module>"));
    let check = if folder.is_empty() {
        format!("{program} -q test")
    } else if below_root {
        format!("{program} -q -pl {} -am test", quoted(folder))
    } else {
        format!("{program} -q -f {} test", quoted(&join(folder, "pom.xml")))
    };
    RepositoryPackage {
        path: folder.to_owned(),
        build: BuildTool::Maven,
        check: Some(check),
        whole: folder.is_empty(),
    }
}

pub(super) fn gradle(tree: &RepositoryListing<'_>, folder: &str) -> RepositoryPackage {
    let program = if tree.has("gradlew") { "./gradlew" } else { "gradle" };
    let settings = tree.has("settings.gradle") || tree.has("settings.gradle.kts");
    let check = if folder.is_empty() {
        format!("{program} test")
    } else if settings {
        format!("{program} {}", quoted(&format!(":{}:test", folder.replace('/', ":"))).trim_matches('\''))
    } else {
        format!("{program} -p {} test", quoted(folder))
    };
    RepositoryPackage {
        path: folder.to_owned(),
        build: BuildTool::Gradle,
        check: Some(check),
        whole: folder.is_empty(),
    }
}
