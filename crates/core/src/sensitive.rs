//! Paths whose change needs a person: Holon's own files, pipelines, hooks, agent configuration.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::scope;

struct SensitivePathTable {
    set: GlobSet,
    /// By glob number: the group it belongs to.
    groups: Vec<String>,
}

static TABLE: LazyLock<Option<SensitivePathTable>> =
    LazyLock::new(|| load(include_str!("../../../rules/sensitive.toml")).ok());

fn load(text: &str) -> Result<SensitivePathTable, String> {
    let groups: BTreeMap<String, Vec<String>> = toml::from_str(text).map_err(|e| e.to_string())?;
    let mut builder = GlobSetBuilder::new();
    let mut names = Vec::new();
    for (group, globs) in groups {
        for glob in globs {
            // Case-insensitive: on some machines `.GITHUB` is `.github`.
            let built = GlobBuilder::new(&glob).literal_separator(true).case_insensitive(true).build();
            builder.add(built.map_err(|e| e.to_string())?);
            names.push(group.clone());
        }
    }
    Ok(SensitivePathTable { set: builder.build().map_err(|e| e.to_string())?, groups: names })
}

/// Why a workspace-relative path is sensitive (`holon`, `ci`, `hooks`, `agents`), or `None` when it is not.
///
/// A path that does not stay inside the workspace is sensitive in itself.
pub fn matches(path: &[u8]) -> Option<&'static str> {
    let Ok(clean) = scope::normalise(path) else { return Some("outside") };
    // Without its table nothing could be told apart, so everything would need a person.
    let Some(table) = TABLE.as_ref() else { return Some("unknown") };
    let hits = table.set.matches_candidate(&Candidate::from_bytes(&clean));
    hits.first().and_then(|number| table.groups.get(*number)).map(String::as_str)
}

/// Whether a path lies in a folder that git takes for a repository, whatever its name: one that holds `HEAD` with
/// `objects` and `refs`, or with `commondir`. Its `config` and its hooks run commands for whoever enters it.
///
/// `holds` tells whether there will be something at a path, be it a file or a folder.
pub fn in_git_folder(path: &[u8], mut holds: impl FnMut(&[u8]) -> bool) -> bool {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at + 1);
    std::iter::once(0).chain(slashes).any(|end| {
        let mut beside = |name: &str| holds(&[&path[..end], name.as_bytes()].concat());
        beside("HEAD") && (beside("commondir") || (beside("objects") && beside("refs")))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn inv_15_a_repository_under_any_name_is_known_by_what_it_holds() {
        let check = |path: &str, there: &[&str], expect: bool| {
            let holds = |asked: &[u8]| there.iter().any(|name| name.as_bytes() == asked);
            assert_eq!(in_git_folder(path.as_bytes(), holds), expect, "{path} with {there:?}");
        };
        let fixture = ["tests/repo/HEAD", "tests/repo/objects", "tests/repo/refs"];
        check("tests/repo/config", &fixture, true);
        check("tests/repo/hooks/post-receive", &fixture, true);
        check("tests/repo.rs", &fixture, false);
        check("tests/HEAD", &fixture, false);
        check("config", &["HEAD", "objects", "refs"], true);
        check("a/b/config", &["HEAD", "objects", "refs"], true);
        check("x/config", &["x/HEAD", "x/commondir"], true);
        check("x/config", &["x/HEAD", "x/objects"], false);
        check("src/main.rs", &[], false);
    }

    #[test]
    fn the_table_is_sound() {
        assert!(load(include_str!("../../../rules/sensitive.toml")).unwrap().groups.len() > 50);
    }

    #[test]
    fn inv_15_files_that_steer_later_runs_are_sensitive() {
        let check = |path: &str, expect: Option<&str>| assert_eq!(matches(path.as_bytes()), expect, "{path}");
        check(".holon/modes/plan.toml", Some("holon"));
        check("holon.toml", Some("holon"));
        check("HOLON.toml", Some("holon"));
        check(".github/workflows/ci.yml", Some("ci"));
        check(".GitHub/Workflows/ci.yml", Some("ci"));
        check(".husky/pre-commit", Some("hooks"));
        check("vendor/x/.git/config", Some("hooks"));
        check("sub/.gitattributes", None);
        check("AGENTS.md", Some("agents"));
        check("packages/a/CLAUDE.md", Some("agents"));
        check(".claude/settings.json", Some("agents"));
        check(".mcp.json", Some("agents"));
        check("opencode.json", Some("agents"));
        check("./.codex/config.toml", Some("agents"));
        check("../x", Some("outside"));
        check("src/main.rs", None);
        check(".github/ISSUE_TEMPLATE.md", None);
        check("docs/holon.toml.md", None);
        check("docs/agents.md.txt", None);
    }
}
