//! The git crate against the real git, in temporary directories.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use holon_git::apply;
use holon_git::refs::RepositoryHead;
use holon_git::repo::{UnfinishedOperation, WorktreeLink};
use holon_git::{
    FileMode, Git, GitError, GitVersion, ObjectFormat, PathDigest, Repository, ScratchRepository, tracked,
};
use tempfile::TempDir;

/// Runs the real git as a user would, with a configuration of its own.
fn sh(dir: &Path, args: &[&str]) -> String {
    let out = Command::new("git")
        .args(args)
        .current_dir(dir)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", "/nonexistent")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .envs([("GIT_AUTHOR_NAME", "t"), ("GIT_AUTHOR_EMAIL", "t@t"), ("GIT_COMMITTER_NAME", "t")])
        .envs([("GIT_COMMITTER_EMAIL", "t@t"), ("GIT_CONFIG_COUNT", "1")])
        .envs([("GIT_CONFIG_KEY_0", "protocol.file.allow"), ("GIT_CONFIG_VALUE_0", "always")])
        .output()
        .unwrap();
    assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).trim().to_owned()
}

fn write(dir: &Path, path: &str, text: &str) {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn repository(options: &[&str]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    sh(dir.path(), &[&["init", "-q", "-b", "main"], options].concat());
    write(dir.path(), "a.txt", "one\ntwo\nthree\n");
    write(dir.path(), "sub/b.txt", "b\n");
    sh(dir.path(), &["add", "."]);
    sh(dir.path(), &["commit", "-qm", "first"]);
    dir
}

fn look(dir: &Path) -> Repository {
    Repository::look(dir).unwrap().repository.unwrap()
}

#[test]
fn finding_git() {
    let git = Git::find().unwrap();
    assert!(git.version() >= GitVersion::OLDEST && git.path().is_absolute());
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(Git::find_in(empty.path().as_os_str()), Err(GitError::NotInstalled)));
    assert!(matches!(Git::find_in(OsStr::new(".:bin")), Err(GitError::NotInstalled)));
    let check = |script: &str, expect: fn(&GitError) -> bool| {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("git");
        // Written by another process: a descriptor of ours could be inherited by a git of another test and
        // make the script busy.
        let write = format!("cat > '{0}' && chmod 755 '{0}'", path.display());
        let mut child = Command::new("sh").args(["-c", &write]).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(format!("#!/bin/sh\n{script}\n").as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
        let error = Git::find_in(dir.path().as_os_str()).unwrap_err();
        assert!(expect(&error), "{script}: {error}");
    };
    check("echo git version 2.30.2", |e| matches!(e, GitError::TooOld { .. }));
    check("echo hello", |e| matches!(e, GitError::NotGit { .. }));
    check(
        "echo broken >&2; exit 3",
        |e| matches!(e, GitError::Failed { exit: Some(3), stderr, .. } if stderr == "broken"),
    );
    check("kill -9 $$", |e| matches!(e, GitError::Failed { exit: None, .. }));
}

#[test]
fn versions_are_read() {
    let check = |text, expect: Option<(u32, u32)>| {
        assert_eq!(GitVersion::parse(text).map(|v| (v.major, v.minor)), expect, "{text}");
    };
    check("git version 2.47.3", Some((2, 47)));
    check("git version 2.39.5 (Apple Git-154)", Some((2, 39)));
    check("git version 3.0.rc1.windows.1", Some((3, 0)));
    check("git version two", None);
    check("", None);
}

#[test]
fn a_hanging_git_is_stopped() {
    let git = Git::find().unwrap();
    let dir = repository(&[]);
    let fifo = dir.path().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    let call = git.call(["hash-object", "fifo"]).dir(dir.path()).within(std::time::Duration::from_millis(50));
    assert!(matches!(call.output(), Err(GitError::TimedOut { .. })));
}

#[test]
fn facts_match_what_git_says() {
    for options in [&[][..], &["--object-format=sha256"]] {
        let dir = repository(options);
        let facts = look(dir.path());
        let id = sh(dir.path(), &["rev-parse", "HEAD"]);
        assert_eq!(facts.head, RepositoryHead::Commit { id: id.clone(), branch: Some("main".into()) });
        assert_eq!(facts.format == ObjectFormat::Sha256, !options.is_empty());
        assert!(facts.is_toplevel() && facts.link == WorktreeLink::Directory && facts.unfinished.is_none());
        sh(dir.path(), &["pack-refs", "--all"]);
        assert_eq!(look(dir.path()).head.commit(), Some(id.as_str()));
        sh(dir.path(), &["checkout", "-q", "--detach"]);
        assert_eq!(look(dir.path()).head, RepositoryHead::Commit { id: id.clone(), branch: None });
        assert_eq!(look(dir.path()).ask_head(&Git::find().unwrap()).unwrap(), Some(id));
        let below = look(&dir.path().join("sub"));
        assert_eq!((below.prefix.as_path(), below.is_toplevel()), (Path::new("sub"), false));
    }
}

#[test]
fn unusual_repositories() {
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(Repository::look(empty.path()).unwrap().repository, None);
    sh(empty.path(), &["init", "-q", "-b", "trunk"]);
    assert_eq!(look(empty.path()).head, RepositoryHead::Unborn { branch: "trunk".into() });

    let dir = repository(&[]);
    sh(dir.path(), &["sparse-checkout", "set", "--no-cone", "/a.txt"]);
    assert!(look(dir.path()).sparse);

    let dir = repository(&[]);
    sh(dir.path(), &["checkout", "-qb", "other"]);
    write(dir.path(), "a.txt", "other\n");
    sh(dir.path(), &["commit", "-qam", "other"]);
    sh(dir.path(), &["checkout", "-q", "main"]);
    write(dir.path(), "a.txt", "main\n");
    sh(dir.path(), &["commit", "-qam", "main"]);
    let _ = Command::new("git").args(["merge", "-q", "other"]).current_dir(dir.path()).output().unwrap();
    assert_eq!(look(dir.path()).unfinished, Some(UnfinishedOperation::Merge));
}

#[test]
fn worktrees_and_submodules_are_followed_only_when_they_point_back() {
    let main = repository(&[]);
    let place = tempfile::tempdir().unwrap();
    let tree = place.path().join("tree");
    sh(main.path(), &["worktree", "add", "-q", tree.to_str().unwrap()]);
    let facts = look(&tree);
    assert_eq!((facts.link, facts.worktree_name().unwrap()), (WorktreeLink::Worktree, OsStr::new("tree")));
    assert_eq!(facts.common_dir, main.path().canonicalize().unwrap().join(".git"));
    assert_eq!(facts.head.commit().unwrap(), sh(&tree, &["rev-parse", "HEAD"]));

    sh(
        main.path(),
        &["-c", "protocol.file.allow=always", "submodule", "add", "-q", main.path().to_str().unwrap(), "m"],
    );
    let facts = look(&main.path().join("m"));
    assert_eq!(facts.link, WorktreeLink::Submodule);
    assert_eq!(facts.head.commit().unwrap(), sh(&main.path().join("m"), &["rev-parse", "HEAD"]));

    // A stranger's `.git` file that names someone else's repository, worktree or submodule gets nothing.
    for target in [".git", ".git/worktrees/tree", ".git/modules/m"] {
        let thief = tempfile::tempdir().unwrap();
        fs::write(thief.path().join(".git"), format!("gitdir: {}\n", main.path().join(target).display()))
            .unwrap();
        let found = Repository::look(thief.path()).unwrap();
        assert_eq!(found.repository, None, "{target}");
        assert_eq!(found.warnings.len(), 1, "{target}");
    }
}

#[test]
fn hostile_dot_git_gains_nothing() {
    let victim = repository(&[]);
    let check = |make: &dyn Fn(&Path)| {
        let dir = tempfile::tempdir().unwrap();
        make(&dir.path().join(".git"));
        let found = Repository::look(dir.path()).unwrap();
        assert_eq!(found.repository, None);
        found.warnings.len()
    };
    assert_eq!(check(&|at| symlink(victim.path().join(".git"), at).unwrap()), 1);
    assert_eq!(check(&|at| fs::write(at, vec![b'x'; 100_000]).unwrap()), 1);
    assert_eq!(check(&|at| fs::write(at, "gitdir: .git\n").unwrap()), 1);
    assert_eq!(check(&|at| rustix::fs::mkfifoat(rustix::fs::CWD, at, rustix::fs::Mode::RWXU).unwrap()), 1);
    assert_eq!(check(&|at| fs::create_dir(at).unwrap()), 0);
    let fifo_inside = |at: &Path| {
        fs::create_dir_all(at.join("objects")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at.join("config"), rustix::fs::Mode::RWXU).unwrap();
        fs::write(at.join("HEAD"), "ref: refs/heads/x\n").unwrap();
    };
    assert_eq!(check(&fifo_inside), 1);
}

#[test]
fn tracked_paths_are_literal() {
    let git = Git::find().unwrap();
    let dir = repository(&[]);
    write(dir.path(), "[a]*.txt", "odd\n");
    write(dir.path(), "sub/\u{e9}\n", "odd\n");
    sh(dir.path(), &["add", "."]);
    let below = |workspace: &str, paths: &[&str]| {
        let facts = look(&dir.path().join(workspace));
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        let found = tracked::below(&git, &facts, &paths).unwrap();
        found.into_keys().map(|p| p.to_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(below("", &["[a]*.txt"]), ["[a]*.txt"]);
    assert_eq!(below("", &["sub", "absent"]), ["sub/b.txt", "sub/\u{e9}\n"]);
    assert_eq!(below("sub", &["b.txt"]), ["b.txt"]);
    let many: Vec<String> =
        (0..5000).map(|n| format!("no/such/file/{n:040}")).chain(["a.txt".into()]).collect();
    assert_eq!(below("", &many.iter().map(String::as_str).collect::<Vec<_>>()), ["a.txt"]);
}

/// One path with its two sides: exec bit and content.
type TwoSidedPath<'a> = (&'a [u8], Option<(bool, &'a [u8])>, Option<(bool, &'a [u8])>);

fn patch_of(format: ObjectFormat, rows: &[TwoSidedPath<'_>], renames: bool) -> holon_git::objects::TreeDiff {
    let git = Git::find().unwrap();
    let temp = tempfile::tempdir().unwrap();
    let scratch = ScratchRepository::new(temp.path(), format).unwrap();
    scratch
        .import(&git, |to| {
            for (tree, second) in [("base", false), ("result", true)] {
                to.tree(tree)?;
                for (path, base, result) in rows {
                    if let Some((exec, content)) = if second { result } else { base } {
                        to.file(path, *exec, content.len() as u64, &mut &content[..])?;
                    }
                }
            }
            Ok(())
        })
        .unwrap();
    scratch.diff(&git, "base", "result", renames).unwrap()
}

#[test]
fn trees_become_patches_that_apply() {
    let text: &[u8] = b"1\n2\n3\n4\n5\n6\n7\n8\n";
    let rows: &[TwoSidedPath<'_>] = &[
        (b"edit", Some((false, text)), Some((false, b"1\n2\nthree\n4\n5\n6\n7\n8\n"))),
        (b"mode", Some((false, text)), Some((true, text))),
        (b"gone", Some((false, b"x\0y")), None),
        (b"dir/new\nline \"q\" \\", None, Some((false, b"no newline at end"))),
        (b"latin\xe9/empty", None, Some((false, b""))),
        (b"from", Some((false, b"a\nb\nc\nd\ne\nf\n")), None),
        (b"to", None, Some((false, b"a\nb\nc\nd\ne\nf\n"))),
    ];
    let git = Git::find().unwrap();
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        for renames in [true, false] {
            let diff = patch_of(format, rows, renames);
            assert_eq!(diff.files, if renames { 6 } else { 7 });
            assert_eq!(diff.patch.windows(11).any(|w| w == b"rename from"), renames);
            let dir = tempfile::tempdir().unwrap();
            let at = |path: &[u8]| dir.path().join(OsStr::from_bytes(path));
            for (path, base, _) in rows {
                if let Some((_, content)) = base {
                    fs::write(at(path), content).unwrap();
                }
            }
            apply::check(&git, &diff.patch, dir.path(), format).unwrap();
            apply::plain(&git, &diff.patch, dir.path(), format).unwrap();
            for (path, _, result) in rows {
                let now = PathDigest::of_path(&at(path)).unwrap();
                let mode = |exec| if exec { FileMode::Executable } else { FileMode::Regular };
                assert_eq!(
                    now,
                    result.map(|(exec, content)| PathDigest::of_bytes(mode(exec), content)),
                    "{path:?}"
                );
            }
            assert!(apply::check(&git, &diff.patch, dir.path(), format).is_err());
        }
    }
}

#[test]
fn what_cannot_be_imported_is_an_error() {
    let git = Git::find().unwrap();
    let temp = tempfile::tempdir().unwrap();
    let scratch = ScratchRepository::new(temp.path(), ObjectFormat::Sha1).unwrap();
    let error = scratch.import(&git, |to| {
        to.tree("base")?;
        to.file(b"f", false, 10, &mut &b"short"[..])
    });
    assert!(matches!(error, Err(GitError::Import { .. })));
    for path in [b"../f".as_slice(), b"/f", b"a//b", b"a/.GIT/config", b"", b"nul\0"] {
        let outside = scratch.import(&git, |to| {
            to.tree("base")?;
            to.file(path, false, 1, &mut &b"x"[..])
        });
        assert!(matches!(outside, Err(GitError::Import { .. })), "{outside:?}");
    }
}

#[test]
fn plain_apply_ignores_the_repository_around() {
    let dir = repository(&[]);
    write(dir.path(), ".gitattributes", "* text eol=crlf filter=evil\n");
    let mark = dir.path().join("ran");
    sh(dir.path(), &["config", "filter.evil.smudge", &format!("touch {}", mark.display())]);
    let diff = patch_of(ObjectFormat::Sha1, &[(b"new", None, Some((false, b"lf\n")))], true);
    apply::plain(&Git::find().unwrap(), &diff.patch, dir.path(), ObjectFormat::Sha1).unwrap();
    assert_eq!(fs::read(dir.path().join("new")).unwrap(), b"lf\n");
    assert!(!mark.exists());
}

#[test]
fn a_patch_is_complete_before_git_begins() {
    // Stands for git and tells what it is given: from a pipe it could not know where a killed process had stopped.
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("git");
    let said =
        "case $* in *--version*) echo git version 2.43.0;; *) test -f /dev/stdin && wc -c > size;; esac";
    fs::write(&script, format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{said}\n")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let git = Git::find_in(dir.path().as_os_str()).unwrap();
    let patch = vec![b'x'; 1 << 20];
    apply::plain(&git, &patch, dir.path(), ObjectFormat::Sha1).unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("size")).unwrap().trim(), (1 << 20).to_string());
}
