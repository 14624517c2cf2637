//! Which paths of the workspace a mode may change (or must not see), as globs.
//!
//! Paths are bytes, relative to the workspace, separated by `/`. A star stays inside one component, `**` spans
//! any number of them.

use globset::{Candidate, GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};

/// Why a glob or a path was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// The text is not usable as a workspace-relative glob.
    #[error("`{glob}` is not a usable path pattern: {why}")]
    Glob {
        /// The pattern as written.
        glob: String,
        /// What is wrong, and what to write instead.
        why: String,
    },
    /// The path leaves the workspace or cannot name a file.
    #[error("path `{path}` is refused: {why}")]
    Path {
        /// The path, made printable.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

/// Cleans a workspace-relative path: drops `.` and doubled separators, refuses everything that could leave.
pub fn normalise(path: &[u8]) -> Result<Vec<u8>, ScopeError> {
    let refuse = |why| Err(ScopeError::Path { path: String::from_utf8_lossy(path).into_owned(), why });
    if path.first() == Some(&b'/') {
        return refuse("it is absolute");
    }
    if path.contains(&0) {
        return refuse("it contains a NUL byte");
    }
    let mut out = Vec::with_capacity(path.len());
    for part in path.split(|b| *b == b'/') {
        match part {
            b"" | b"." => {}
            b".." => return refuse("it contains `..`"),
            _ => {
                if !out.is_empty() {
                    out.push(b'/');
                }
                out.extend_from_slice(part);
            }
        }
    }
    if out.is_empty() { refuse("it is empty") } else { Ok(out) }
}

/// A compiled list of globs over workspace paths.
#[derive(Debug, Clone)]
pub struct PathSet {
    set: GlobSet,
    globs: Vec<String>,
}

impl PathSet {
    /// Compiles globs; each must be relative, without `..`.
    pub fn new<S: AsRef<str>>(globs: &[S]) -> Result<Self, ScopeError> {
        let mut builder = GlobSetBuilder::new();
        for glob in globs {
            check_glob(glob.as_ref())?;
            builder.add(build(glob.as_ref())?);
        }
        let set = builder.build().map_err(|e| ScopeError::Glob {
            glob: e.glob().unwrap_or_default().to_owned(),
            why: e.kind().to_string(),
        })?;
        Ok(Self { set, globs: globs.iter().map(|g| g.as_ref().to_owned()).collect() })
    }

    /// Whether the path itself matches; a path that could leave the workspace never does.
    pub fn matches(&self, path: &[u8]) -> bool {
        normalise(path).is_ok_and(|clean| self.set.is_match_candidate(&Candidate::from_bytes(&clean)))
    }

    /// Whether the path or a directory above it matches, as for hidden directories.
    pub fn covers(&self, path: &[u8]) -> bool {
        let Ok(clean) = normalise(path) else { return false };
        let ends = clean.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(i, _)| i).chain([clean.len()]);
        ends.into_iter().any(|end| self.set.is_match_candidate(&Candidate::from_bytes(&clean[..end])))
    }

    /// The globs as written.
    pub fn globs(&self) -> &[String] {
        &self.globs
    }

    /// Whether there is no glob at all.
    pub fn is_empty(&self) -> bool {
        self.globs.is_empty()
    }
}

/// The part of the workspace that a scoped mode may write.
#[derive(Debug, Clone)]
pub struct WriteScope(PathSet);

/// The smallest directories that hold everything a [`WriteScope`] allows, for mounting them writable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnclosingFolders {
    /// Only the whole workspace encloses the scope: the mount cannot help, the check at collection decides.
    Root,
    /// Workspace-relative directories, none inside another, sorted; they may not exist yet.
    Directories(Vec<String>),
}

impl WriteScope {
    /// Compiles the `write` globs of a mode.
    pub fn new<S: AsRef<str>>(globs: &[S]) -> Result<Self, ScopeError> {
        PathSet::new(globs).map(Self)
    }

    /// Whether a change at this workspace-relative path may leave the sandbox; git's own folder never may.
    pub fn allows(&self, path: &[u8]) -> bool {
        !path.split(|b| *b == b'/').any(|part| part.eq_ignore_ascii_case(b".git")) && self.0.matches(path)
    }

    /// The directories to mount writable.
    pub fn directories(&self) -> EnclosingFolders {
        let mut dirs: Vec<String> = Vec::new();
        for glob in self.0.globs() {
            let parts: Vec<&str> = glob.split('/').collect();
            // The last component names a file even when it is literal, so only those before it are directories.
            let literal = parts[..parts.len() - 1].iter().take_while(|p| !has_meta(p)).count();
            if literal == 0 {
                return EnclosingFolders::Root;
            }
            dirs.push(parts[..literal].join("/"));
        }
        dirs.sort_by_key(|d| (d.matches('/').count(), d.clone()));
        let mut kept: Vec<String> = Vec::new();
        for dir in dirs {
            if !kept.iter().any(|k| dir == *k || dir.starts_with(&format!("{k}/"))) {
                kept.push(dir);
            }
        }
        kept.sort();
        EnclosingFolders::Directories(kept)
    }
}

/// Whether each glob of `inner` is provably inside one of `outer`: every path it can match, the other matches.
pub fn all_within(inner: &[String], outer: &[String]) -> bool {
    inner.iter().all(|i| outer.iter().any(|o| within(i, o)))
}

fn within(inner: &str, outer: &str) -> bool {
    if inner == outer || outer == "**" {
        return true;
    }
    // Classes, alternatives and escapes can hide a separator; only the plain forms are reasoned about.
    if inner.contains(['[', ']', '{', '}', '\\']) || outer.contains(['[', ']', '{', '}', '\\']) {
        return false;
    }
    let inner: Vec<&str> = inner.split('/').collect();
    let outer: Vec<&str> = outer.split('/').collect();
    parts_within(&inner, &outer)
}

fn parts_within(inner: &[&str], outer: &[&str]) -> bool {
    match (inner, outer) {
        ([], []) => true,
        // A trailing `**` needs at least one component, which every remaining inner part provides.
        ([_, ..], ["**"]) => true,
        (_, ["**", rest @ ..]) if !rest.is_empty() => {
            parts_within(inner, rest) || (!inner.is_empty() && parts_within(&inner[1..], outer))
        }
        (["**", ..], _) => false,
        ([i, inner_rest @ ..], [o, outer_rest @ ..]) => {
            part_within(i, o) && parts_within(inner_rest, outer_rest)
        }
        _ => false,
    }
}

fn part_within(inner: &str, outer: &str) -> bool {
    if inner == outer || outer == "*" {
        return true;
    }
    !has_meta(inner) && component(outer).is_some_and(|m| m.is_match_candidate(&Candidate::from_bytes(inner)))
}

fn component(glob: &str) -> Option<GlobMatcher> {
    build(glob).ok().map(|g| g.compile_matcher())
}

fn has_meta(part: &str) -> bool {
    part.contains(['*', '?', '[', ']', '{', '}', '\\'])
}

fn build(glob: &str) -> Result<globset::Glob, ScopeError> {
    GlobBuilder::new(glob)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map_err(|e| ScopeError::Glob { glob: glob.to_owned(), why: e.kind().to_string() })
}

/// Refuses globs that are absolute, climb, or do not say clearly what they cover.
pub fn check_glob(glob: &str) -> Result<(), ScopeError> {
    let refuse = |why: &str| Err(ScopeError::Glob { glob: glob.to_owned(), why: why.to_owned() });
    if glob.is_empty() {
        return refuse("it is empty");
    }
    if glob.len() > 1024 {
        return refuse("it is longer than 1024 bytes");
    }
    if glob.starts_with('/') || glob.starts_with('~') {
        return refuse("it must be relative to the workspace");
    }
    if glob.contains('\0') {
        return refuse("it contains a NUL byte");
    }
    if glob.ends_with('/') {
        return refuse("it ends with `/`; write `dir/**` for everything below a directory");
    }
    for part in glob.split('/') {
        match part {
            "" => return refuse("it has an empty component"),
            "." | ".." => return refuse("`.` and `..` are not allowed in it"),
            p if p.contains("**") && p != "**" => return refuse("`**` must stand alone between separators"),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_that_leave_are_refused() {
        let check = |path: &str, expect: Option<&str>| {
            let got = normalise(path.as_bytes()).ok().map(|b| String::from_utf8(b).unwrap());
            assert_eq!(got.as_deref(), expect, "{path}");
        };
        check("a/b", Some("a/b"));
        check("./a//b/.", Some("a/b"));
        check("a/..b", Some("a/..b"));
        check("..", None);
        check("a/../b", None);
        check("/etc/passwd", None);
        check("", None);
        check(".", None);
        check("a\0b", None);
    }

    #[test]
    fn scopes_allow_what_they_say() {
        let check = |globs: &[&str], path: &[u8], expect| {
            assert_eq!(WriteScope::new(globs).unwrap().allows(path), expect, "{globs:?} {path:?}");
        };
        check(&["docs/**"], b"docs/a/b.md", true);
        check(&["docs/**"], b"docs", false);
        check(&["docs/**"], b"docs/../src/x", false);
        check(&["docs/**"], b"docsx/a", false);
        check(&["docs/**"], b"docs/\xff\xfe name", true);
        check(&["docs/**"], b"docs/.git/config", false);
        check(&["**"], b"sub/.GIT/hooks/pre-commit", false);
        check(&["*.md"], b"a.md", true);
        check(&["*.md"], b"a/b.md", false);
        check(&["**/*.md"], b"a/b/c.md", true);
        check(&["**/*.md"], b"c.md", true);
        check(&[], b"a", false);
    }

    #[test]
    fn enclosing_directories_are_the_smallest() {
        let check = |globs: &[&str], expect: Option<&[&str]>| {
            let expect = expect.map_or(EnclosingFolders::Root, |d| {
                EnclosingFolders::Directories(d.iter().map(|s| (*s).to_string()).collect())
            });
            assert_eq!(WriteScope::new(globs).unwrap().directories(), expect, "{globs:?}");
        };
        check(&["docs/**"], Some(&["docs"]));
        check(&["docs/guide/*.md", "docs/**"], Some(&["docs"]));
        check(&["a-b/**", "a/**", "a/c/x.md"], Some(&["a", "a-b"]));
        check(&["docs/*/img/**"], Some(&["docs"]));
        check(&["docs/README.md"], Some(&["docs"]));
        check(&["README.md"], None);
        check(&["docs/**", "**/*.md"], None);
        check(&[], Some(&[]));
    }

    #[test]
    fn unusable_globs_are_refused() {
        for glob in ["", "/etc/**", "~/x", "../x", "a/../b", "docs/", "a//b", "./a", "a**", "[", "{a"] {
            assert!(PathSet::new(&[glob]).is_err(), "{glob}");
        }
    }

    #[test]
    fn hiding_a_directory_hides_what_is_below() {
        let set = PathSet::new(&[".env", "**/*.pem", "secrets"]).unwrap();
        for path in [".env", "a/b/key.pem", "secrets", "secrets/deep/file", "key.pem/x"] {
            assert!(set.covers(path.as_bytes()), "{path}");
        }
        for path in ["a/.env", "secret", "my-secrets/x"] {
            assert!(!set.covers(path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn inside_is_only_claimed_when_provable() {
        let check = |inner: &str, outer: &str, expect| {
            assert_eq!(within(inner, outer), expect, "{inner} in {outer}");
        };
        check("docs/guide/**", "docs/**", true);
        check("docs/**", "docs/**", true);
        check("docs/*.md", "docs/**", true);
        check("docs/a.md", "docs/*.md", true);
        check("anything/{a,b/c}", "**", true);
        check("docs/a/b", "docs/**/b", true);
        check("docs/b", "docs/**/b", true);
        check("**", "docs/**", false);
        check("**/docs/x", "docs/**", false);
        check("docs", "docs/**", false);
        check("docs*/**", "docs/**", false);
        check("docs/**", "docs/*", false);
        check("docs/{a,../src}/**", "docs/**", false);
        check("{a,b/c}", "*/**", false);
    }

    fn part() -> impl Strategy<Value = String> {
        prop_oneof![
            3 => "[ab]{1,2}",
            1 => Just("*".to_owned()),
            1 => Just("**".to_owned()),
            1 => Just("a*".to_owned()),
            1 => Just("?b".to_owned()),
        ]
    }

    fn glob() -> impl Strategy<Value = String> {
        prop::collection::vec(part(), 1..4).prop_map(|p| p.join("/"))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]
        #[test]
        fn inv_11_a_scope_inside_another_never_matches_more(
            inner in glob(), outer in glob(), path in prop::collection::vec("[ab]{1,2}", 1..5)
        ) {
            if within(&inner, &outer) {
                let path = path.join("/");
                let (i, o) = (PathSet::new(&[&inner]).unwrap(), PathSet::new(&[&outer]).unwrap());
                prop_assert!(!i.matches(path.as_bytes()) || o.matches(path.as_bytes()), "{} in {}: {}", inner, outer, path);
            }
        }

        #[test]
        fn nothing_panics_and_nothing_climbs(glob in "\\PC{0,20}", path in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(scope) = WriteScope::new(&[&glob]) {
                let _ = scope.directories();
                if scope.allows(&path) {
                    prop_assert!(normalise(&path).is_ok());
                }
            }
        }
    }
}
