//! Modules of Rust that lie in files of their own: which file a declaration leads to.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

/// Files that a text declares as modules, each with the condition it is built under.
pub(crate) fn declared(path: &str, text: &str) -> BTreeMap<String, String> {
    static MODULE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"(?m)^[ \t]*((?:#\[[^\n]*\]\s*)*)(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;"#).ok()
    });
    static PATH: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"\bpath\s*=\s*"([^"\n]+)""#).ok());
    let mut found = BTreeMap::new();
    let (Some(module), Some(elsewhere)) = (MODULE.as_ref(), PATH.as_ref()) else { return found };
    for captures in module.captures_iter(text) {
        let part = |number| captures.get(number).map_or("", |part: regex::Match<'_>| part.as_str());
        let (attributes, name) = (part(1), part(2));
        let condition =
            attributes.lines().filter(|line| line.contains("cfg")).map(str::trim).collect::<String>();
        let told = elsewhere.captures(attributes).and_then(|told| told.get(1));
        match told {
            Some(told) => {
                let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                found.insert(joined(folder, told.as_str()), condition);
            }
            None => {
                for file in files_of(path, name) {
                    found.insert(file, condition.clone());
                }
            }
        }
    }
    found
}

/// Where a module of a file is looked for.
pub(crate) fn files_of(path: &str, name: &str) -> [String; 2] {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let below = match file {
        "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
        _ => joined(folder, file.strip_suffix(".rs").unwrap_or(file)),
    };
    [joined(&below, &format!("{name}.rs")), joined(&below, &format!("{name}/mod.rs"))]
}

/// A path below a folder, without `.` and `..`.
fn joined(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_lead_to_files() {
        let files = |path: &str, text: &str| declared(path, text).into_keys().collect::<Vec<_>>();
        assert_eq!(files("src/lib.rs", "pub mod a;\n"), ["src/a.rs", "src/a/mod.rs"]);
        assert_eq!(files("src/a.rs", "mod b;\n"), ["src/a/b.rs", "src/a/b/mod.rs"]);
        assert_eq!(files("src/lib.rs", "#[path = \"../x/c.rs\"]\npub(crate) mod a;\n"), ["x/c.rs"]);
        assert_eq!(files("src/lib.rs", "mod a {\n}\n"), [""; 0]);
        assert_eq!(declared("src/lib.rs", "#[cfg(unix)]\nmod a;\n")["src/a.rs"], "#[cfg(unix)]");
    }
}
