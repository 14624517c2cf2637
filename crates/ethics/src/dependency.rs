//! Dependencies a project declares, from the manifests of five ecosystems.

pub(crate) mod lock;
pub(crate) mod maven;
mod python;

use std::collections::BTreeSet;
use std::fmt;

/// Where packages come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ecosystem {
    /// Rust.
    Cargo,
    /// JavaScript.
    Npm,
    /// Python.
    Pip,
    /// Go.
    Go,
    /// Java and its relatives.
    Maven,
}

impl Ecosystem {
    /// As the rules write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cargo => "cargo",
            Self::Npm => "npm",
            Self::Pip => "pip",
            Self::Go => "go",
            Self::Maven => "maven",
        }
    }

    /// The ecosystem a file declares dependencies of.
    pub fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let requirements = name.contains("requirements") || path.contains("requirements/");
        Some(match name {
            "Cargo.toml" => Self::Cargo,
            "package.json" => Self::Npm,
            "pyproject.toml" | "Pipfile" | "setup.cfg" | "setup.py" => Self::Pip,
            "go.mod" => Self::Go,
            "pom.xml" | "build.gradle" | "build.gradle.kts" => Self::Maven,
            _ if requirements && (name.ends_with(".txt") || name.ends_with(".in")) => Self::Pip,
            _ => return None,
        })
    }
}

/// One declared dependency.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dependency {
    /// Where it comes from.
    pub ecosystem: Ecosystem,
    /// Its name there; `group:artifact` for Maven.
    pub name: String,
    /// The version asked for, as written.
    pub version: Option<String>,
    /// Only needed to develop and test.
    pub development_only: bool,
    /// Fetched from an address instead of the ecosystem's registry.
    pub from_address: bool,
}

impl fmt::Display for Dependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.ecosystem.name())
    }
}

impl Dependency {
    fn new(ecosystem: Ecosystem, name: &str, version: Option<&str>) -> Self {
        let version = version.filter(|v| !v.is_empty() && *v != "*").map(str::to_owned);
        Self { ecosystem, name: name.to_owned(), version, development_only: false, from_address: false }
    }
}

/// What a manifest declares; `None` when the file is none or cannot be read.
pub fn declared(path: &str, text: &str) -> Option<Vec<Dependency>> {
    match Ecosystem::of(path)? {
        Ecosystem::Cargo => cargo(text),
        Ecosystem::Npm => npm(text),
        Ecosystem::Pip => python::declared(path, text),
        Ecosystem::Go => Some(go(text)),
        Ecosystem::Maven => Some(maven::declared(path, text)),
    }
}

/// What a manifest declares after a change and did not before.
pub fn added(path: &str, before: Option<&str>, after: &str) -> Option<Vec<Dependency>> {
    let before = before.and_then(|text| declared(path, text)).unwrap_or_default();
    let known: BTreeSet<(&str, bool, bool)> =
        before.iter().map(|d| (d.name.as_str(), d.from_address, d.development_only)).collect();
    let after = declared(path, after)?;
    let fresh = |d: &Dependency| !known.contains(&(d.name.as_str(), d.from_address, d.development_only));
    Some(after.into_iter().filter(fresh).collect())
}

/// What added lines alone suggest, when the manifest as a whole is not at hand.
pub fn guessed(path: &str, lines: &[&str]) -> Vec<Dependency> {
    let text = lines.join("\n");

    match Ecosystem::of(path) {
        Some(Ecosystem::Cargo) => lines.iter().filter_map(|line| cargo_line(line)).collect(),
        Some(Ecosystem::Npm) => lines.iter().filter_map(|line| npm_line(line)).collect(),
        Some(Ecosystem::Pip) => python::guessed(path, lines),
        Some(Ecosystem::Go) => go(&format!("require (\n{text}\n)")),
        Some(Ecosystem::Maven) => maven::declared(path, &text),
        None => Vec::new(),
    }
}

fn cargo(text: &str) -> Option<Vec<Dependency>> {
    const SECTIONS: [(&str, bool); 3] =
        [("dependencies", false), ("dev-dependencies", true), ("build-dependencies", true)];
    let manifest: toml::Table = text.parse().ok()?;
    let targets = manifest.get("target").and_then(toml::Value::as_table).into_iter().flat_map(|t| t.values());
    let workspace = manifest.get("workspace");
    let tables = std::iter::once(&manifest).chain(targets.chain(workspace).filter_map(toml::Value::as_table));
    let mut found = Vec::new();
    for table in tables {
        for (section, development_only) in SECTIONS {
            let list = table.get(section).and_then(toml::Value::as_table).into_iter().flatten();
            let list = list.filter_map(|(name, value)| cargo_entry(name, value));
            found.extend(list.map(|dependency| Dependency { development_only, ..dependency }));
        }
    }
    Some(found)
}

fn cargo_entry(name: &str, value: &toml::Value) -> Option<Dependency> {
    let text = |key: &str| value.get(key).and_then(toml::Value::as_str);
    if value.get("path").is_some() && text("version").is_none() {
        return None;
    }
    let version = value.as_str().or_else(|| text("version"));
    let dependency = Dependency::new(Ecosystem::Cargo, text("package").unwrap_or(name), version);
    Some(Dependency { from_address: value.get("git").is_some(), ..dependency })
}

fn cargo_line(line: &str) -> Option<Dependency> {
    const KEYS: [&str; 20] = [
        "name",
        "version",
        "edition",
        "license",
        "description",
        "authors",
        "repository",
        "homepage",
        "readme",
        "publish",
        "default",
        "features",
        "path",
        "resolver",
        "members",
        "rust-version",
        "documentation",
        "build",
        "opt-level",
        "lto",
    ];
    let (name, _) = line.split_once('=')?;
    let name = name.trim().trim_matches('"').trim_end_matches(".workspace").trim_end_matches(".version");
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)) && !name.is_empty();
    if !plain || KEYS.contains(&name) {
        return None;
    }
    let table: toml::Table = line.parse().ok()?;
    let value = table.get(name)?;
    let versioned = |text: &str| {
        text.trim_start_matches(['^', '~', '=', '>', '<', ' ', '*']).starts_with(|c: char| c.is_ascii_digit())
            || text == "*"
    };
    let is_dependency = match value {
        toml::Value::String(text) => versioned(text),
        toml::Value::Table(table) => {
            ["version", "git", "workspace"].iter().any(|key| table.contains_key(*key))
        }
        _ => false,
    };
    if is_dependency { cargo_entry(name, value) } else { None }
}

fn npm(text: &str) -> Option<Vec<Dependency>> {
    const SECTIONS: [(&str, bool); 4] = [
        ("dependencies", false),
        ("optionalDependencies", false),
        ("peerDependencies", false),
        ("devDependencies", true),
    ];
    let manifest: serde_json::Value = serde_json::from_str(text).ok()?;
    let mut found = Vec::new();
    for (section, development_only) in SECTIONS {
        let list = manifest.get(section).and_then(serde_json::Value::as_object).into_iter().flatten();
        let list = list.filter_map(|(name, version)| npm_entry(name, version.as_str()?));
        found.extend(list.map(|dependency| Dependency { development_only, ..dependency }));
    }
    Some(found)
}

fn npm_entry(name: &str, version: &str) -> Option<Dependency> {
    if ["file:", "link:", "workspace:", "portal:"].iter().any(|local| version.starts_with(local)) {
        return None;
    }
    // `npm:other@1` is another package under this name.
    let (name, version) = match version.strip_prefix("npm:") {
        Some(other) => other.rsplit_once('@').filter(|(name, _)| !name.is_empty()).unwrap_or((other, "")),
        None => (name, version),
    };
    let from_address = version.contains("://") || version.contains('/');
    Some(Dependency { from_address, ..Dependency::new(Ecosystem::Npm, name, Some(version)) })
}

fn npm_line(line: &str) -> Option<Dependency> {
    let line = line.trim().trim_end_matches(',');
    let entry: serde_json::Value = serde_json::from_str(&format!("{{{line}}}")).ok()?;
    let (name, version) = entry.as_object()?.iter().next()?;
    let version = version.as_str()?;
    let start = version.trim_start_matches(['^', '~', '=', '>', '<', ' ', 'v']);
    let versioned = start.starts_with(|c: char| c.is_ascii_digit())
        || matches!(version, "*" | "latest" | "next")
        || version.contains("git");
    let own = ["version", "node", "npm", "pnpm", "yarn", "engines"].contains(&name.as_str());
    (versioned && !own).then(|| npm_entry(name, version)).flatten()
}

fn go(text: &str) -> Vec<Dependency> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let entry = match line {
            "require (" | "replace (" => {
                inside = true;
                continue;
            }
            ")" => {
                inside = false;
                continue;
            }
            // What stands behind the arrow is what is built, whatever name it is asked for by.
            _ => match line.split_once("=>") {
                Some((_, instead)) => Some(instead.trim()),
                None => line.strip_prefix("require ").or(inside.then_some(line)),
            },
        };
        let mut words = entry.unwrap_or_default().split_whitespace();
        if let (Some(name), Some(version)) = (words.next(), words.next())
            && name.contains('.')
            && !name.starts_with(['.', '/'])
            && version.starts_with('v')
        {
            found.push(Dependency::new(Ecosystem::Go, name, Some(version)));
        }
    }
    found
}

#[cfg(test)]
mod tests;
