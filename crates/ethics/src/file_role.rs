//! What kind of file a path is, as far as its name tells: it decides what a line in it may mean.

use std::sync::LazyLock;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use holon_core::weakened;
use serde::Deserialize;

/// What a file is for; several can hold at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FileRole {
    /// Prose for people.
    pub(crate) docs: bool,
    /// Code of tests; data for tests is not meant.
    pub(crate) test_code: bool,
    /// Anything below folders of tests, fixtures and examples.
    pub(crate) test: bool,
    /// Written by a package manager: full of digests.
    pub(crate) lock: bool,
    /// Rows and records.
    pub(crate) data: bool,
    /// Lines that a shell or a build runs.
    pub(crate) script: bool,
    /// Says who made the project, so names and addresses belong there.
    pub(crate) credits: bool,
    /// Made by a program or a minifier.
    pub(crate) generated: bool,
    /// Takes text apart; its tokens are words.
    pub(crate) lexer: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRolesFile {
    docs: Vec<String>,
    test: Vec<String>,
    lock: Vec<String>,
    data: Vec<String>,
    script: Vec<String>,
    credits: Vec<String>,
    generated: Vec<String>,
    lexer: Vec<String>,
}

struct FileRoleGlobs {
    docs: GlobSet,
    test: GlobSet,
    lock: GlobSet,
    data: GlobSet,
    script: GlobSet,
    credits: GlobSet,
    generated: GlobSet,
    lexer: GlobSet,
}

static GLOBS: LazyLock<Option<FileRoleGlobs>> =
    LazyLock::new(|| load(include_str!("../../../rules/ethics/places.toml")).ok());

fn load(text: &str) -> Result<FileRoleGlobs, String> {
    let file: FileRolesFile = toml::from_str(text).map_err(|e| e.to_string())?;
    let set = |globs: &[String]| -> Result<GlobSet, String> {
        let mut builder = GlobSetBuilder::new();
        for glob in globs {
            let mut glob = GlobBuilder::new(glob);
            let built = glob.literal_separator(true).case_insensitive(true).empty_alternates(true).build();
            builder.add(built.map_err(|e| e.to_string())?);
        }
        builder.build().map_err(|e| e.to_string())
    };
    Ok(FileRoleGlobs {
        docs: set(&file.docs)?,
        test: set(&file.test)?,
        lock: set(&file.lock)?,
        data: set(&file.data)?,
        script: set(&file.script)?,
        credits: set(&file.credits)?,
        generated: set(&file.generated)?,
        lexer: set(&file.lexer)?,
    })
}

impl FileRole {
    /// Without its table a path is taken for plain code, where most rules hold.
    pub(crate) fn of(path: &str) -> Self {
        let Some(globs) = GLOBS.as_ref() else { return Self::default() };
        let data = globs.data.is_match(path);
        let test = globs.test.is_match(path) || weakened::is_test_file(path);
        Self {
            docs: globs.docs.is_match(path),
            test_code: test && !data,
            test,
            lock: globs.lock.is_match(path),
            data,
            script: globs.script.is_match(path),
            credits: globs.credits.is_match(path),
            generated: globs.generated.is_match(path),
            lexer: globs.lexer.is_match(path),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn places_by_name() {
        load(include_str!("../../../rules/ethics/places.toml")).unwrap();
        assert!(FileRole::of("docs/guide/intro.md").docs);
        assert!(FileRole::of("web/package-lock.json").lock);
        assert!(FileRole::of("tests/api/test_user.py").test_code);
        let fixture = FileRole::of("tests/fixtures/customers.csv");
        assert!(fixture.data && fixture.test && !fixture.test_code);
        assert!(FileRole::of(".github/workflows/ci.yml").script);
        assert!(FileRole::of("Dockerfile").script && FileRole::of("scripts/build.sh").script);
        assert!(FileRole::of("CODEOWNERS").credits && FileRole::of("web/package.json").credits);
        assert!(FileRole::of("src/lexer.rs").lexer);
        assert_eq!(FileRole::of("src/main.rs"), FileRole::default());
    }
}
