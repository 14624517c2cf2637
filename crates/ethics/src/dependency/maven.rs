//! `pom.xml` and Gradle's build files, as far as dependencies are plain text in them.

use std::sync::LazyLock;

use regex::Regex;

use super::{Dependency, Ecosystem};

static GRADLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?m)^\s*(?P<how>[A-Za-z]*(?:[iI]mplementation|[aA]pi|[cC]ompileOnly|[rR]untimeOnly|[cC]ompile|kapt|ksp|annotationProcessor))\b[\s(]+(?:platform\()?["'](?P<group>[\w.-]+):(?P<name>[\w.-]+)(?::(?P<version>[\w.+-]+))?"#).ok()
});

pub(super) fn declared(path: &str, text: &str) -> Vec<Dependency> {
    if path.ends_with("pom.xml") { pom(text) } else { gradle(text) }
}

fn pom(text: &str) -> Vec<Dependency> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("<dependency>") {
        // A fragment may end before the element does.
        let (element, next) = after.split_once("</dependency>").unwrap_or((after, ""));
        rest = next;
        let (Some(group), Some(name)) = (inside(element, "groupId"), inside(element, "artifactId")) else {
            continue;
        };
        let development_only = matches!(inside(element, "scope"), Some("test" | "provided"));
        let version = inside(element, "version").filter(|version| !version.starts_with('$'));
        let dependency = Dependency::new(Ecosystem::Maven, &format!("{group}:{name}"), version);
        found.push(Dependency { development_only, ..dependency });
    }
    found
}

/// The trimmed text of the first element with this name.
pub(crate) fn inside<'a>(text: &'a str, element: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{element}>"))?;
    Some(rest.split_once(&format!("</{element}>"))?.0.trim())
}

fn gradle(text: &str) -> Vec<Dependency> {
    let Some(regex) = GRADLE.as_ref() else { return Vec::new() };
    let entry = |hit: regex::Captures<'_>| {
        let name = format!("{}:{}", &hit["group"], &hit["name"]);
        let version = hit.name("version").map(|version| version.as_str());
        let development_only =
            hit["how"].to_lowercase().contains("test") || &hit["how"] == "annotationProcessor";
        Dependency { development_only, ..Dependency::new(Ecosystem::Maven, &name, version) }
    };
    regex.captures_iter(text).map(entry).collect()
}
