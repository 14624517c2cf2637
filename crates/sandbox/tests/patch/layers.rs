//! Upper layers made by hand: what the kernel writes there, and what it never would.

use std::fs;
use std::path::{Path, PathBuf};

use holon_core::Access;
use holon_sandbox::diff::{CollectOptions, CollectedChanges, DiffError, PatchLimits};
use holon_sandbox::snapshot::{SkipReason, SnapshotRequest, SnapshotStrategyChoice, WorkspaceSnapshot, take};
use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, setxattr};

use crate::cases;
use crate::world::{GIT, PatchWorld, collect, git, link, mode, patch, write};

fn overlay(world: &PatchWorld, access: &Access, hide: &[PathBuf], by_root: bool) -> WorkspaceSnapshot {
    let request = SnapshotRequest {
        hide,
        strategy: SnapshotStrategyChoice::Overlay,
        overlay_works: true,
        payload_uid: by_root.then_some((0, 0)),
        ..world.request(access)
    };
    take(&request).unwrap()
}

fn whiteout(dir: &Path, path: &str) {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    mknodat(CWD, &path, FileType::CharacterDevice, Mode::empty(), 0).unwrap();
}

fn mark(dir: &Path, path: &str, name: &str, value: &str) {
    let path = dir.join(path);
    fs::create_dir_all(&path).unwrap();
    setxattr(&path, name, value.as_bytes(), XattrFlags::empty()).unwrap();
}

/// `A` new, `D` gone, `M` changed, then the path.
fn summary(changes: &CollectedChanges) -> Vec<String> {
    let letter = |c: &holon_sandbox::diff::PathChange| match (&c.base, &c.result) {
        (None, _) => 'A',
        (_, None) => 'D',
        _ => 'M',
    };
    changes.entries.iter().map(|c| format!("{} {}", letter(c), c.path.display())).collect()
}

fn check(by_root: bool, upper: &dyn Fn(&Path), expect: &[&str]) {
    if by_root && !rustix::process::geteuid().is_root() {
        return;
    }
    let world = PatchWorld::new();
    cases::dirty(&world.ws);
    let snapshot = overlay(&world, &Access::ReadWrite, &[], by_root);
    upper(snapshot.written().unwrap());
    let (changes, _) = patch(&snapshot).unwrap();
    assert_eq!(summary(&changes), expect);
    assert_eq!(changes.moved, Vec::<PathBuf>::new());
}

#[test]
fn an_empty_upper_layer_is_no_change() {
    check(false, &|_| {}, &[]);
}

#[test]
fn whiteouts_are_deletions() {
    check(false, &|u| whiteout(u, "docs/a.md"), &["D docs/a.md"]);
    check(false, &|u| whiteout(u, "docs"), &["D docs/a.md", "D docs/b.md"]);
    check(false, &|u| whiteout(u, "src"), &["D src/deep/er/file.rs", "D src/main.rs"]);
}

#[test]
fn opaque_directories_cover_what_is_below() {
    let upper = |name: &'static str| {
        move |u: &Path| {
            mark(u, "docs", name, "y");
            write(u, "docs/a.md", "new\n");
        }
    };
    check(false, &upper("user.overlay.opaque"), &["M docs/a.md", "D docs/b.md"]);
    check(true, &upper("trusted.overlay.opaque"), &["M docs/a.md", "D docs/b.md"]);
    // In an overlay of root these attributes are the payload's own and mean nothing.
    check(true, &upper("user.overlay.opaque"), &["M docs/a.md"]);
    check(false, &|u| mark(u, "docs", "user.overlay.opaque", "x"), &[]);
}

#[test]
fn redirects_are_renames() {
    let moved = &["D docs/a.md", "D docs/b.md", "A manual/a.md", "A manual/b.md"];
    for target in ["/docs", "docs"] {
        let upper = |u: &Path| {
            mark(u, "manual", "trusted.overlay.redirect", target);
            whiteout(u, "docs");
        };
        check(true, &upper, moved);
    }
    let edited = |u: &Path| {
        mark(u, "x/y", "trusted.overlay.redirect", "/src/deep");
        whiteout(u, "src/deep");
        write(u, "x/y/er/file.rs", "// other\n");
        write(u, "x/y/new", "n\n");
    };
    check(true, &edited, &["D src/deep/er/file.rs", "A x/y/er/file.rs", "A x/y/new"]);
    // Redirects that lead nowhere or out show nothing.
    for target in ["/../../etc", "/nowhere", "../docs", "/", "/README.md", "/link"] {
        check(true, &|u| mark(u, "m", "trusted.overlay.redirect", target), &[]);
    }
    // Without root the kernel never writes them.
    check(false, &|u| mark(u, "m", "user.overlay.redirect", "/docs"), &[]);
}

#[test]
fn copied_up_without_change_is_no_change() {
    let upper = |u: &Path| {
        write(u, "docs/a.md", "a\nb\nc\nd\ne\nf\n");
        link(u, "link", "README.md");
    };
    check(false, &upper, &[]);
}

#[test]
fn permissions_taken_away_do_not_hide_changes() {
    let upper = |u: &Path| {
        write(u, "locked/in/file", "x\n");
        write(u, "docs/a.md", "y\n");
        mode(u, "locked/in/file", 0o100);
        mode(u, "docs/a.md", 0o000);
        mode(u, "locked/in", 0o000);
        mode(u, "locked", 0o200);
        mode(u, ".", 0o000);
    };
    check(false, &upper, &["M docs/a.md", "A locked/in/file"]);
}

#[test]
fn hidden_paths_neither_show_nor_leak() {
    let world = PatchWorld::new();
    cases::dirty(&world.ws);
    write(&world.ws, ".env", "TOKEN=secret\n");
    write(&world.ws, "keys/private.pem", "secret\n");
    write(&world.ws, "holon-output/manifest.json", "{}");
    let hide = [".env", "keys/private.pem", "holon-output", "not/there"].map(PathBuf::from);
    let snapshot = overlay(&world, &Access::ReadWrite, &hide, false);
    let veil = snapshot.dir().join("veil");
    for path in [".env", "keys/private.pem", "holon-output"] {
        let kind = std::os::unix::fs::FileTypeExt::is_char_device(
            &fs::symlink_metadata(veil.join(path)).unwrap().file_type(),
        );
        assert!(kind, "{path}");
    }
    assert!(!veil.join("not").exists());
    let upper = snapshot.written().unwrap();
    write(upper, ".env", "TOKEN=mine\n");
    write(upper, "holon-output/x", "x");
    write(upper, "not/there/x", "x");
    whiteout(upper, "keys");
    write(upper, "ok", "ok\n");
    let (changes, made) = patch(&snapshot).unwrap();
    assert_eq!(changes.hidden, [".env", "holon-output", "not/there"].map(PathBuf::from));
    assert_eq!(summary(&changes), ["A ok"]);
    assert!(!String::from_utf8_lossy(&made.bytes).contains("secret"));
    assert_eq!(changes.moved, Vec::<PathBuf>::new());
}

#[test]
fn hidden_paths_are_not_copied() {
    let world = PatchWorld::new();
    cases::dirty(&world.ws);
    write(&world.ws, ".env", "secret\n");
    write(&world.ws, "keys/private.pem", "secret\n");
    let hide = [".env", "keys"].map(PathBuf::from);
    let snapshot = take(&SnapshotRequest { hide: &hide, ..world.request(&Access::ReadWrite) }).unwrap();
    let tree = snapshot.written().unwrap();
    assert!(!tree.join(".env").exists() && !tree.join("keys").exists());
    assert!(collect(&snapshot).is_empty());
    write(tree, "keys/x", "x");
    assert_eq!(collect(&snapshot).hidden, [PathBuf::from("keys")]);
}

#[test]
fn changes_outside_the_scope_are_kept_apart() {
    let world = PatchWorld::new();
    cases::dirty(&world.ws);
    let access = Access::Scoped { write: vec!["docs/**/*.md".into(), "new/dir/**".into()] };
    let snapshot = overlay(&world, &access, &[], false);
    assert_eq!(snapshot.scoped_dirs().unwrap(), ["docs", "new/dir"].map(PathBuf::from));
    let upper = snapshot.written().unwrap();
    assert!(upper.join("new/dir").is_dir());
    assert!(collect(&snapshot).is_empty());
    write(upper, "docs/a.md", "x\n");
    write(upper, "docs/x.sh", "x\n");
    write(upper, "new/dir/f", "x\n");
    write(upper, "src/main.rs", "x\n");
    let changes = collect(&snapshot);
    assert_eq!(summary(&changes), ["M docs/a.md", "A new/dir/f"]);
    assert_eq!(changes.out_of_scope, ["docs/x.sh", "src/main.rs"].map(PathBuf::from));
}

#[test]
fn a_link_never_widens_the_scope() {
    let world = PatchWorld::new();
    write(&world.ws, "src/x", "x\n");
    link(&world.ws, "docs", "src");
    let access = Access::Scoped { write: vec!["docs/**".into(), "docs/deeper/**".into()] };
    let snapshot = overlay(&world, &access, &[], false);
    assert_eq!(snapshot.scoped_dirs().unwrap(), Vec::<PathBuf>::new());
    assert_eq!(snapshot.base().notes.len(), 1, "{:?}", snapshot.base().notes);
}

#[test]
fn limits_stop_the_scan() {
    let world = PatchWorld::new();
    let snapshot = overlay(&world, &Access::ReadWrite, &[], false);
    let upper = snapshot.written().unwrap();
    let file = fs::File::create(upper.join("sparse")).unwrap();
    file.set_len(1 << 40).unwrap();
    let with = |entries, bytes| {
        let limits = PatchLimits { entries, bytes };
        snapshot.changes(&CollectOptions { git: &GIT, limits }).map(drop)
    };
    assert!(matches!(with(10, 1 << 30), Err(DiffError::TooLarge { .. })));
    for n in 0..10 {
        write(upper, format!("{n}"), "");
    }
    assert!(matches!(with(10, 1 << 50), Err(DiffError::TooMany { limit: 10 })));
}

#[test]
fn what_cannot_be_in_a_patch_is_reported() {
    let world = PatchWorld::new();
    cases::dirty(&world.ws);
    let snapshot = overlay(&world, &Access::ReadWrite, &[], false);
    let upper = snapshot.written().unwrap();
    rustix::fs::mkfifoat(CWD, upper.join("fifo"), Mode::RWXU).unwrap();
    write(upper, "docs/a.md", "x\n");
    // Deeper than any path can name.
    let mut here = fs::File::open(upper).unwrap();
    for _ in 0..10_000 {
        rustix::fs::mkdirat(&here, "d", Mode::RWXU).unwrap();
        here = fs::File::from(
            rustix::fs::openat(&here, "d", rustix::fs::OFlags::DIRECTORY, Mode::empty()).unwrap(),
        );
    }
    let (changes, _) = patch(&snapshot).unwrap();
    assert_eq!(summary(&changes), ["M docs/a.md"]);
    let why: Vec<SkipReason> = changes.skipped.iter().map(|s| s.why).collect();
    assert_eq!(why, [SkipReason::PathTooLong, SkipReason::Special]);
    snapshot.discard().unwrap();
    assert!(!snapshot.dir().exists());
}

#[test]
fn a_new_submodule_becomes_a_pointer() {
    let id = "0123456789012345678901234567890123456789";
    let upper = |head: &'static str, listed: &'static str, target: &'static str| {
        move |u: &Path| {
            write(u, ".gitmodules", format!("[submodule \"lib\"]\n\tpath = {listed}\n\turl = x\n"));
            write(u, "vendor/lib/.git", format!("gitdir: {target}\n"));
            write(u, "vendor/lib/lib.c", "x\n");
            write(u, ".git/modules/lib/HEAD", head);
            write(u, ".git/modules/lib/refs/heads/main", "0123456789012345678901234567890123456789\n");
        }
    };
    let pointer = &["A .gitmodules", "A vendor/lib"];
    let plain = &["A .gitmodules", "A vendor/lib/lib.c"];
    check(false, &upper(id, "vendor/lib", "../../.git/modules/lib"), pointer);
    check(false, &upper("ref: refs/heads/main\n", "vendor/lib", "../../.git/modules/lib"), pointer);
    check(false, &upper(id, "vendor/lib", "/holon/workspace/.git/modules/lib"), pointer);
    check(false, &upper(id, "other", "../../.git/modules/lib"), plain);
    check(false, &upper("rubbish", "vendor/lib", "../../.git/modules/lib"), plain);
    check(false, &upper("ref: ../../../../etc/passwd", "vendor/lib", "../../.git/modules/lib"), plain);
    check(false, &upper(id, "vendor/lib", "../../../../../etc"), plain);
    check(false, &upper(id, "vendor/lib", "/etc"), plain);
}

#[test]
fn a_file_in_place_of_a_directory_that_cannot_be_emptied_is_refused() {
    let world = PatchWorld::new();
    git(&world.ws, &["init", "-q"]);
    write(&world.ws, "d/f", "f\n");
    fs::create_dir(world.ws.join("d/empty")).unwrap();
    let snapshot = overlay(&world, &Access::ReadWrite, &[], false);
    write(snapshot.written().unwrap(), "d", "a file\n");
    assert!(matches!(patch(&snapshot), Err(DiffError::Refused { .. })));

    // Ignored files in it are no obstacle: they go with the directory.
    let world = PatchWorld::new();
    git(&world.ws, &["init", "-q"]);
    write(&world.ws, ".gitignore", "*.o\n");
    write(&world.ws, "d/f", "f\n");
    write(&world.ws, "d/x.o", "x\n");
    let snapshot = overlay(&world, &Access::ReadWrite, &[], false);
    write(snapshot.written().unwrap(), "d", "a file\n");
    let (changes, _) = patch(&snapshot).unwrap();
    assert_eq!(summary(&changes), ["A d", "D d/f", "D d/x.o"]);
}
