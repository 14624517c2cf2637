//! The setup that a project's files suggest: a container description says it outright, lock files say which client installs
//! what they hold.

use crate::devcontainer;
use crate::setup::{EnvironmentSetup, ProjectFiles, SetupSource};

/// Files at the top of a project that decide what a setup leaves, whatever its commands are.
pub const INPUT_FILES: &[&str] = &[
    ".devcontainer.json",
    ".devcontainer/devcontainer.json",
    ".mise.toml",
    ".node-version",
    ".npmrc",
    ".nvmrc",
    ".python-version",
    ".ruby-version",
    ".tool-versions",
    ".yarnrc",
    ".yarnrc.yml",
    "Cargo.lock",
    "Cargo.toml",
    "Gemfile",
    "Gemfile.lock",
    "Pipfile.lock",
    "bun.lock",
    "bun.lockb",
    "composer.json",
    "composer.lock",
    "go.mod",
    "go.sum",
    "mise.toml",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "package.json",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "poetry.lock",
    "pyproject.toml",
    "requirements-dev.txt",
    "requirements.txt",
    "rust-toolchain",
    "rust-toolchain.toml",
    "setup.cfg",
    "setup.py",
    "uv.lock",
    "yarn.lock",
];

/// Files that name versions of tools, by what installs them.
const TOOL_FILES: [(&str, &str); 3] =
    [("mise.toml", "mise install"), (".mise.toml", "mise install"), (".tool-versions", "asdf install")];

/// Collects what files suggest.
#[derive(Default)]
struct Suggestions {
    commands: Vec<String>,
    permits: Vec<String>,
    files: Vec<String>,
    notes: Vec<String>,
}

impl Suggestions {
    fn add(&mut self, file: &str, command: &str, permit: &str) {
        self.commands.push(command.to_owned());
        self.files.push(file.to_owned());
        if !self.permits.iter().any(|known| known == permit) {
            self.permits.push(permit.to_owned());
        }
    }
}

/// What the files of a project suggest; nothing where none does.
pub fn found_setup(files: &dyn ProjectFiles) -> Option<EnvironmentSetup> {
    let mut found = Suggestions::default();
    for (file, command) in TOOL_FILES {
        if files.is_file(file) {
            // The hosts that tools come from are nobody's configuration, so no permit can be suggested.
            found
                .notes
                .push(format!("{file} names tools: `{command}` is left to you, with the hosts it needs"));
        }
    }
    let described = devcontainer::FILES.iter().find_map(|file| Some((*file, files.text(file)?)));
    if let Some((file, text)) = described {
        match devcontainer::commands(&text) {
            Ok(commands) if commands.is_empty() => {}
            Ok(commands) => {
                found.commands = commands;
                found.files.push(file.to_owned());
                // Its commands usually call the clients of the lock files.
                let mut by_lock = Suggestions::default();
                of_lock_files(files, &mut by_lock);
                found.permits = by_lock.permits;
            }
            Err(why) => found.notes.push(format!("{file} is not understood: {why}")),
        }
    }
    if found.commands.is_empty() {
        of_lock_files(files, &mut found);
    }
    if found.commands.is_empty() {
        return None;
    }
    let Suggestions { commands, permits, files, notes } = found;
    Some(EnvironmentSetup {
        commands,
        permits,
        inputs: Vec::new(),
        source: SetupSource::Found { files },
        notes,
    })
}

fn of_lock_files(files: &dyn ProjectFiles, found: &mut Suggestions) {
    of_node(files, found);
    of_python(files, found);
    if files.is_file("Cargo.lock") {
        found.add("Cargo.lock", "cargo fetch --locked", "cargo");
    }
    if files.is_file("go.sum") {
        found.add("go.sum", "go mod download", "go");
    }
}

/// One client installs a folder of packages: the one whose lock file is there.
fn of_node(files: &dyn ProjectFiles, found: &mut Suggestions) {
    let lock = |name: &str| files.is_file(name);
    let npm = ["npm-shrinkwrap.json", "package-lock.json"].into_iter().find(|name| lock(name));
    if lock("pnpm-lock.yaml") {
        found.add("pnpm-lock.yaml", "pnpm install --frozen-lockfile", "pnpm");
    } else if lock("yarn.lock") {
        let berry = lock(".yarnrc.yml")
            || files.text("yarn.lock").is_some_and(|text| text.lines().any(|line| line == "__metadata:"));
        let command = if berry { "yarn install --immutable" } else { "yarn install --frozen-lockfile" };
        found.add("yarn.lock", command, "yarn");
    } else if let Some(name) = ["bun.lock", "bun.lockb"].into_iter().find(|name| lock(name)) {
        found.add(name, "bun install --frozen-lockfile", "npm");
    } else if let Some(name) = npm {
        found.add(name, "npm ci", "npm");
    }
}

/// The same for Python; a plain list of requirements is what counts where nothing stronger is.
fn of_python(files: &dyn ProjectFiles, found: &mut Suggestions) {
    if files.is_file("uv.lock") {
        found.add("uv.lock", "uv sync --frozen", "uv");
    } else if files.is_file("poetry.lock") {
        let command = "POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --no-interaction";
        found.add("poetry.lock", command, "pip");
    } else if files.is_file("requirements.txt") {
        found.add(
            "requirements.txt",
            "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt",
            "pip",
        );
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeMap;

    use super::*;

    /// A project in memory.
    pub(crate) struct Files(BTreeMap<String, String>);

    impl Files {
        pub(crate) fn of(files: &[(&str, &str)]) -> Self {
            Self(files.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect())
        }
    }

    impl ProjectFiles for Files {
        fn text(&self, path: &str) -> Option<String> {
            self.0.get(path).cloned()
        }

        fn is_file(&self, path: &str) -> bool {
            self.0.contains_key(path)
        }
    }

    fn found(files: &[(&str, &str)]) -> Option<(Vec<String>, Vec<String>)> {
        found_setup(&Files::of(files)).map(|setup| (setup.commands, setup.permits))
    }

    fn one(files: &[(&str, &str)]) -> (String, String) {
        let (commands, permits) = found(files).unwrap();
        assert_eq!((commands.len(), permits.len()), (1, 1), "{commands:?} {permits:?}");
        (commands[0].clone(), permits[0].clone())
    }

    #[test]
    fn a_lock_file_names_its_client() {
        for (file, command, permit) in [
            ("package-lock.json", "npm ci", "npm"),
            ("npm-shrinkwrap.json", "npm ci", "npm"),
            ("pnpm-lock.yaml", "pnpm install --frozen-lockfile", "pnpm"),
            ("yarn.lock", "yarn install --frozen-lockfile", "yarn"),
            ("bun.lock", "bun install --frozen-lockfile", "npm"),
            ("uv.lock", "uv sync --frozen", "uv"),
            ("Cargo.lock", "cargo fetch --locked", "cargo"),
            ("go.sum", "go mod download", "go"),
        ] {
            assert_eq!(one(&[(file, "")]), (command.to_owned(), permit.to_owned()), "{file}");
        }
        let berry = [("yarn.lock", "# x\n\n__metadata:\n  version: 8\n")];
        assert_eq!(one(&berry).0, "yarn install --immutable");
        assert!(one(&[("requirements.txt", "six\n")]).0.contains("venv"));
    }

    #[test]
    fn one_client_for_each_language_and_all_languages() {
        let all =
            [("package-lock.json", ""), ("yarn.lock", ""), ("requirements.txt", ""), ("Cargo.lock", "")];
        let (commands, permits) = found(&all).unwrap();
        assert_eq!(permits, ["yarn", "pip", "cargo"]);
        assert_eq!(commands.len(), 3);
        // A manifest without a lock file says nothing about versions.
        assert_eq!(found(&[("package.json", "{}"), ("Cargo.toml", ""), ("pyproject.toml", "")]), None);
    }

    #[test]
    fn a_container_description_is_followed_and_needs_the_clients_of_the_lock_files() {
        let text = "{ // comment\n \"postCreateCommand\": \"npm ci && npm run build\", }";
        let files = [(".devcontainer/devcontainer.json", text), ("package-lock.json", "")];
        let (commands, permits) = found(&files).unwrap();
        assert_eq!((commands, permits), (vec!["npm ci && npm run build".to_owned()], vec!["npm".to_owned()]));
        let broken = [(".devcontainer.json", "{ broken"), ("package-lock.json", "")];
        let setup = found_setup(&Files::of(&broken)).unwrap();
        assert_eq!(setup.commands, ["npm ci"]);
        assert!(setup.notes[0].contains("not understood"), "{:?}", setup.notes);
    }

    #[test]
    fn files_that_name_tools_are_told() {
        let setup = found_setup(&Files::of(&[("mise.toml", ""), ("go.sum", "")])).unwrap();
        assert!(setup.notes[0].contains("mise install"), "{:?}", setup.notes);
        assert_eq!(found(&[("mise.toml", "")]), None);
    }

    #[test]
    fn the_list_of_inputs_is_sorted_and_holds_every_file_that_is_looked_for() {
        assert!(INPUT_FILES.is_sorted());
        for file in TOOL_FILES.iter().map(|(file, _)| file).chain(&devcontainer::FILES) {
            assert!(INPUT_FILES.contains(file), "{file}");
        }
    }
}
