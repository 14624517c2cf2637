//! Python's manifests: requirement files, `pyproject.toml`, `Pipfile`, `setup.cfg`, `setup.py`.

use std::sync::LazyLock;

use regex::Regex;

use super::{Dependency, Ecosystem};

/// A requirement as PEP 508 has it: name, extras, and what follows.
static REQUIREMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\])?\s*(?P<rest>$|[=<>!~;@(#,].*)").ok()
});

static QUOTED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"["']([^"'\n]{1,200})["']"#).ok());

pub(super) fn declared(path: &str, text: &str) -> Option<Vec<Dependency>> {
    match path.rsplit('/').next().unwrap_or(path) {
        "pyproject.toml" => pyproject(text),
        "Pipfile" => {
            let file: toml::Table = text.parse().ok()?;
            let list = |key: &str, development_only| {
                let entries = file.get(key).and_then(toml::Value::as_table).into_iter().flatten();
                entries
                    .filter_map(move |(name, value)| poetry_entry(name, value, development_only))
                    .collect::<Vec<_>>()
            };
            Some([list("packages", false), list("dev-packages", true)].concat())
        }
        "setup.cfg" => Some(after_marker(text, "install_requires").lines().filter_map(requirement).collect()),
        "setup.py" => Some(quoted(after_marker(text, "install_requires"))),
        name => {
            let development_only = ["dev", "test", "lint", "doc"].iter().any(|word| name.contains(word));
            let list = text.lines().filter_map(requirement);
            Some(list.map(|dependency| Dependency { development_only, ..dependency }).collect())
        }
    }
}

/// From added lines alone.
pub(super) fn guessed(path: &str, lines: &[&str]) -> Vec<Dependency> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let one = |line: &&str| -> Option<Dependency> {
        let line = line.trim().trim_end_matches(',');
        if !matches!(name, "pyproject.toml" | "setup.py" | "Pipfile") {
            return requirement(line);
        }
        let text = line.trim_matches(['"', '\'']);
        // A list entry is quoted; anything else is a key of the file, unless its value is a version.
        if line.starts_with(['"', '\'']) {
            return requirement(text);
        }
        let (key, value) = line.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        let versioned =
            value.starts_with(['^', '~', '>', '*']) || value.starts_with(|c: char| c.is_ascii_digit());
        let own = ["version", "python", "requires-python", "name", "target-version", "line-length"];
        (versioned && !own.contains(&key.trim()))
            .then(|| Dependency::new(Ecosystem::Pip, &normal(key.trim()), Some(value)))
    };
    lines.iter().filter_map(one).collect()
}

fn pyproject(text: &str) -> Option<Vec<Dependency>> {
    let file: toml::Table = text.parse().ok()?;
    let mut found = Vec::new();
    let mut list = |value: Option<&toml::Value>, development_only: bool| {
        let entries = value.and_then(toml::Value::as_array).into_iter().flatten();
        let entries = entries.filter_map(|entry| requirement(entry.as_str()?));
        found.extend(entries.map(|dependency| Dependency { development_only, ..dependency }));
    };
    let project = file.get("project");
    list(project.and_then(|p| p.get("dependencies")), false);
    let groups = |value: Option<&toml::Value>| -> Vec<toml::Value> {
        value
            .and_then(toml::Value::as_table)
            .map(|table| table.values().cloned().collect())
            .unwrap_or_default()
    };
    groups(project.and_then(|p| p.get("optional-dependencies")))
        .iter()
        .for_each(|value| list(Some(value), false));
    groups(file.get("dependency-groups")).iter().for_each(|value| list(Some(value), true));
    let poetry = file.get("tool").and_then(|tool| tool.get("poetry"));
    let mut table = |value: Option<&toml::Value>, development_only: bool| {
        let entries = value.and_then(toml::Value::as_table).into_iter().flatten();
        found.extend(entries.filter_map(|(name, value)| poetry_entry(name, value, development_only)));
    };
    table(poetry.and_then(|p| p.get("dependencies")), false);
    table(poetry.and_then(|p| p.get("dev-dependencies")), true);
    for group in groups(poetry.and_then(|p| p.get("group"))) {
        table(group.get("dependencies"), true);
    }
    Some(found)
}

fn poetry_entry(name: &str, value: &toml::Value, development_only: bool) -> Option<Dependency> {
    if name == "python" || value.get("path").is_some() {
        return None;
    }
    let version = value.as_str().or_else(|| value.get("version")?.as_str());
    let from_address = value.get("git").is_some() || value.get("url").is_some();
    Some(Dependency {
        development_only,
        from_address,
        ..Dependency::new(Ecosystem::Pip, &normal(name), version)
    })
}

fn requirement(line: &str) -> Option<Dependency> {
    let line = line.split(" #").next().unwrap_or_default().trim();
    if line.starts_with(['#', '-', '.', '/']) || line.is_empty() {
        return None;
    }
    let parts = REQUIREMENT.as_ref()?.captures(line)?;
    let rest = parts.name("rest")?.as_str();
    let version: String = rest
        .trim_start_matches(['=', '<', '>', '!', '~', ' ', '('])
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || *c == '.')
        .collect();
    let dependency =
        Dependency::new(Ecosystem::Pip, &normal(parts.name("name")?.as_str()), Some(version.as_str()));
    Some(Dependency { from_address: rest.starts_with('@'), ..dependency })
}

/// Names that differ only in case and separators are the same package.
fn normal(name: &str) -> String {
    name.to_lowercase().replace(['_', '.'], "-")
}

fn after_marker<'a>(text: &'a str, marker: &str) -> &'a str {
    let Some((_, rest)) = text.split_once(marker) else { return "" };
    let rest = rest.trim_start_matches([' ', '=', '[', '(']);
    let end = rest.find([']', '[']).unwrap_or(rest.len());
    rest.get(..end).unwrap_or_default()
}

fn quoted(text: &str) -> Vec<Dependency> {
    let Some(regex) = QUOTED.as_ref() else { return Vec::new() };
    regex.captures_iter(text).filter_map(|hit| requirement(hit.get(1)?.as_str())).collect()
}
