//! Licences from the package caches of this machine; the only file here that reads others.

use std::fs;
use std::path::{Path, PathBuf};

use crate::check::licences::LicenceLookup;
use crate::dependency::{Dependency, Ecosystem, maven};

/// Files larger than this are not read.
const LARGEST: u64 = 4 << 20;

/// The most entries of one folder that are looked at.
const MOST_ENTRIES: usize = 50_000;

/// How many parents of a Maven package are asked.
const MOST_PARENTS: usize = 4;

/// Where to look; folders that do not exist are passed over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackageCaches {
    /// Folders whose entries are folders of unpacked crates, such as `~/.cargo/registry/src`.
    pub cargo: Vec<PathBuf>,
    /// Folders that are or hold a `node_modules`.
    pub npm: Vec<PathBuf>,
    /// `site-packages` folders.
    pub pip: Vec<PathBuf>,
    /// Module caches, such as `~/go/pkg/mod`.
    pub go: Vec<PathBuf>,
    /// Repositories, such as `~/.m2/repository`.
    pub maven: Vec<PathBuf>,
}

impl PackageCaches {
    /// The usual places below a home folder and in a workspace.
    pub fn usual(workspace: &Path, home: &Path) -> Self {
        let mut pip = Vec::new();
        for root in
            [workspace.join(".venv"), workspace.join("venv"), workspace.join("env"), home.join(".local")]
        {
            pip.extend(entries(&root.join("lib")).into_iter().map(|python| python.join("site-packages")));
        }
        for version in entries(&home.join(".pyenv/versions")) {
            pip.extend(entries(&version.join("lib")).into_iter().map(|python| python.join("site-packages")));
        }
        pip.push("/usr/lib/python3/dist-packages".into());
        Self {
            cargo: vec![workspace.join("vendor"), home.join(".cargo/registry/src")],
            npm: vec![
                workspace.join("node_modules"),
                "/usr/lib/node_modules".into(),
                "/usr/local/lib/node_modules".into(),
            ],
            pip,
            go: vec![home.join("go/pkg/mod")],
            maven: vec![home.join(".m2/repository")],
        }
    }
}

impl LicenceLookup for PackageCaches {
    fn licence(&self, dependency: &Dependency) -> Option<String> {
        // Names come from a file anybody may have written; they must not lead out of a cache.
        let odd = |c: char| c.is_control() || c == '\\';
        if dependency.name.split(['/', ':']).any(|part| part.is_empty() || part.starts_with('.'))
            || dependency.name.contains(odd)
        {
            return None;
        }
        match dependency.ecosystem {
            Ecosystem::Cargo => self.cargo.iter().find_map(|root| cargo(root, dependency)),
            Ecosystem::Npm => self.npm.iter().find_map(|root| npm(root, dependency)),
            Ecosystem::Pip => self.pip.iter().find_map(|root| pip(root, dependency)),
            Ecosystem::Go => self.go.iter().find_map(|root| go(root, dependency)),
            Ecosystem::Maven => self.maven.iter().find_map(|root| pom(root, dependency)),
        }
    }
}

fn cargo(root: &Path, dependency: &Dependency) -> Option<String> {
    let prefix = format!("{}-", dependency.name);
    // A vendored crate lies in the folder itself, a cached one below the folder of its registry.
    let folders = std::iter::once(root.to_owned()).chain(entries(root));
    let mut versions: Vec<PathBuf> = Vec::new();
    for folder in folders {
        versions.extend(entries(&folder).into_iter().filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let versioned = name
                .strip_prefix(&prefix)
                .is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()));
            versioned || name == dependency.name
        }));
    }
    let wanted = dependency.version.as_deref().unwrap_or_default().trim_start_matches(['=', '^', '~', ' ']);
    // The version asked for first, then the newest by name.
    versions.sort();
    versions.sort_by_key(|path| !path.to_string_lossy().ends_with(&format!("{prefix}{wanted}")));
    let (exact, rest): (Vec<_>, Vec<_>) =
        versions.into_iter().partition(|path| path.to_string_lossy().ends_with(&format!("{prefix}{wanted}")));
    exact.into_iter().chain(rest.into_iter().rev()).find_map(|folder| {
        let manifest: toml::Table = read(&folder.join("Cargo.toml"))?.parse().ok()?;
        let package = manifest.get("package")?;
        if package.get("name").and_then(toml::Value::as_str) != Some(&dependency.name) {
            return None;
        }
        let file = || {
            package
                .get("license-file")
                .and_then(toml::Value::as_str)
                .and_then(|file| read(&folder.join(Path::new(file).file_name()?)))
        };
        package
            .get("license")
            .and_then(toml::Value::as_str)
            .map(str::to_owned)
            .or_else(file)
            .or_else(|| text_in(&folder))
    })
}

fn npm(root: &Path, dependency: &Dependency) -> Option<String> {
    let folder = root.join(&dependency.name);
    let manifest: serde_json::Value = serde_json::from_str(&read(&folder.join("package.json"))?).ok()?;
    let licence = manifest.get("license").or_else(|| manifest.get("licenses"))?;
    let one =
        |value: &serde_json::Value| value.as_str().or_else(|| value.get("type")?.as_str()).map(str::to_owned);
    let declared = match licence {
        serde_json::Value::Array(all) => Some(all.iter().filter_map(one).collect::<Vec<_>>().join(" OR ")),
        value => one(value),
    };
    declared.filter(|text| !text.starts_with("SEE ")).or_else(|| text_in(&folder))
}

fn pip(root: &Path, dependency: &Dependency) -> Option<String> {
    let normal = |name: &str| name.to_lowercase().replace(['_', '.'], "-");
    let folder = entries(root).into_iter().find(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let own = name.strip_suffix(".dist-info").or_else(|| name.strip_suffix(".egg-info"));
        own.and_then(|own| own.split_once('-'))
            .is_some_and(|(own, _)| normal(own) == normal(&dependency.name))
    })?;
    let text = read(&folder.join("METADATA")).or_else(|| read(&folder.join("PKG-INFO")))?;
    let head = text.split("\n\n").next().unwrap_or_default();
    let field = |name: &str| {
        head.lines()
            .find_map(|line| line.strip_prefix(name))
            .map(str::trim)
            .filter(|value| !value.is_empty() && *value != "UNKNOWN")
    };
    let classified = || {
        let all: Vec<&str> = head
            .lines()
            .filter_map(|line| line.strip_prefix("Classifier: License :: "))
            .filter_map(|line| line.rsplit(" :: ").next())
            .filter(|name| *name != "OSI Approved")
            .collect();
        (!all.is_empty()).then(|| all.join(", "))
    };
    let expression = field("License-Expression:").map(str::to_owned);
    let known = |text: &String| crate::licence::class_of(text).is_some();
    let declared = field("License:").map(str::to_owned);
    expression
        .or_else(|| declared.clone().filter(known))
        .or_else(classified)
        .or(declared)
        .or_else(|| text_in(&folder))
}

fn go(root: &Path, dependency: &Dependency) -> Option<String> {
    // Capitals are written as `!` and the small letter.
    let escaped = dependency.name.chars().fold(String::new(), |mut path, c| {
        if c.is_ascii_uppercase() {
            path.push('!');
        }
        path.push(c.to_ascii_lowercase());
        path
    });
    let path = Path::new(&escaped);
    let name = path.file_name()?.to_str()?;
    let wanted = format!("{name}@{}", dependency.version.as_deref().unwrap_or_default());
    let parent = root.join(path.parent()?);
    let mut versions: Vec<PathBuf> = entries(&parent)
        .into_iter()
        .filter(|folder| {
            folder.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.starts_with(&format!("{name}@")))
        })
        .collect();
    versions.sort_by_key(|folder| !folder.ends_with(&wanted));
    versions.iter().find_map(|folder| text_in(folder))
}

fn pom(root: &Path, dependency: &Dependency) -> Option<String> {
    let (group, name) = dependency.name.split_once(':')?;
    let mut place = (group.to_owned(), name.to_owned(), dependency.version.clone());
    for _ in 0..MOST_PARENTS {
        let folder = root.join(place.0.replace('.', "/")).join(&place.1);
        let exact = place.2.as_ref().map(|version| folder.join(version)).filter(|folder| folder.is_dir());
        let folder = exact.or_else(|| entries(&folder).into_iter().filter(|path| path.is_dir()).max())?;
        let file =
            entries(&folder).into_iter().find(|path| path.extension().is_some_and(|end| end == "pom"))?;
        let text = read(&file)?;
        if let Some(licences) = maven::inside(&text, "licenses") {
            let mut names: Vec<&str> =
                licences.split("<license>").filter_map(|one| maven::inside(one, "name")).collect();
            names.dedup();
            if !names.is_empty() {
                return Some(choice(&names));
            }
        }
        // A package without a licence of its own has its parent's.
        let parent = maven::inside(&text, "parent")?;
        let part = |name: &str| maven::inside(parent, name).map(str::to_owned);
        place = (part("groupId")?, part("artifactId")?, part("version"));
        if place.0.split('.').chain([place.1.as_str()]).any(|part| part.is_empty() || part.contains('/')) {
            return None;
        }
    }
    None
}

/// Several licences of one package: the taker may choose, so the mildest name is given.
fn choice(names: &[&str]) -> String {
    let mildest = names.iter().filter_map(|name| Some((crate::licence::class_of(name)?, *name))).min();
    mildest.map_or_else(|| names.join(", "), |(_, name)| name.to_owned())
}

/// The text of a licence file in a folder, or one below it.
fn text_in(folder: &Path) -> Option<String> {
    let is_text = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_uppercase();
        ["LICENSE", "LICENCE", "COPYING", "UNLICENSE"].iter().any(|start| name.starts_with(start))
            && path.is_file()
    };
    let mut files: Vec<PathBuf> =
        entries(folder).into_iter().chain(entries(&folder.join("licenses"))).filter(is_text).collect();
    files.sort();
    files.iter().find_map(|file| read(file))
}

fn read(path: &Path) -> Option<String> {
    let metadata =
        fs::metadata(path).ok().filter(|metadata| metadata.is_file() && metadata.len() <= LARGEST)?;
    let _ = metadata;
    fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(list) = fs::read_dir(folder) else { return Vec::new() };
    let mut all: Vec<PathBuf> =
        list.filter_map(Result::ok).take(MOST_ENTRIES).map(|entry| entry.path()).collect();
    all.sort();
    all
}
