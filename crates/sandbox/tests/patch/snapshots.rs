//! Taking snapshots: what is prepared, what is preserved, what is refused.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use holon_core::Access;
use holon_sandbox::diff::tree_digest;
use holon_sandbox::mount::MountSource;
use holon_sandbox::snapshot::{
    SkipReason, SnapshotError, SnapshotRequest, SnapshotStrategy, SnapshotStrategyChoice, WorkspaceSnapshot,
    remove_tree, take,
};
use rustix::fs::{CWD, Mode, OFlags};

use crate::cases;
use crate::world::{AgentView, PatchWorld, collect, git, link, mode, patch, write};

#[test]
fn the_strategy_follows_from_what_is_needed_and_possible() {
    let scoped = Access::Scoped { write: vec!["docs/**".into()] };
    let check = |access: &Access, choice, overlay_works, hide: &[&str], expect: Option<SnapshotStrategy>| {
        let world = PatchWorld::new();
        write(&world.ws, ".env", "x");
        let hide: Vec<PathBuf> = hide.iter().map(PathBuf::from).collect();
        let request =
            SnapshotRequest { strategy: choice, overlay_works, hide: &hide, ..world.request(access) };
        let got = take(&request);
        match expect {
            Some(expect) => assert_eq!(got.unwrap().strategy(), expect),
            None => {
                assert!(matches!(got, Err(SnapshotError::NoOverlay)), "{got:?}");
                assert_eq!(fs::read_dir(&world.run).unwrap().count(), 0);
            }
        }
    };
    use SnapshotStrategyChoice;
    check(&Access::ReadOnly, SnapshotStrategyChoice::Auto, true, &[], Some(SnapshotStrategy::ReadOnly));
    check(&Access::ReadOnly, SnapshotStrategyChoice::Auto, false, &[], Some(SnapshotStrategy::Copy));
    check(&Access::ReadOnly, SnapshotStrategyChoice::Overlay, false, &[], None);
    check(&Access::ReadOnly, SnapshotStrategyChoice::Auto, true, &[".env"], Some(SnapshotStrategy::Overlay));
    check(
        &Access::ReadOnly,
        SnapshotStrategyChoice::Auto,
        true,
        &["absent"],
        Some(SnapshotStrategy::ReadOnly),
    );
    check(&Access::ReadOnly, SnapshotStrategyChoice::Copy, true, &[], Some(SnapshotStrategy::Copy));
    check(&Access::ReadWrite, SnapshotStrategyChoice::Auto, true, &[], Some(SnapshotStrategy::Overlay));
    check(&Access::Scratch, SnapshotStrategyChoice::Auto, true, &[], Some(SnapshotStrategy::Overlay));
    check(&scoped, SnapshotStrategyChoice::Auto, true, &[], Some(SnapshotStrategy::Overlay));
    check(&Access::ReadWrite, SnapshotStrategyChoice::Copy, true, &[], Some(SnapshotStrategy::Copy));
    check(&Access::ReadWrite, SnapshotStrategyChoice::Overlay, false, &[], None);
}

#[test]
fn an_overlay_costs_directories_and_nothing_else() {
    let world = PatchWorld::new();
    cases::dirty(&world.ws);
    mode(&world.ws, ".", 0o750);
    let before = tree_digest(&world.ws, &[]).unwrap();
    let request = SnapshotRequest {
        strategy: SnapshotStrategyChoice::Overlay,
        overlay_works: true,
        ..world.request(&Access::ReadWrite)
    };
    let mut snapshot = take(&request).unwrap();
    let upper = snapshot.written().unwrap().to_owned();
    assert_eq!(fs::metadata(&upper).unwrap().mode() & 0o777, 0o750);
    assert_eq!(fs::read_dir(&upper).unwrap().count(), 0);
    let mounts = snapshot.mounts();
    assert_eq!((mounts.len(), mounts[0].at.as_path()), (1, Path::new("/holon/workspace")));
    assert!(mounts[0].writable);
    let MountSource::Overlay(layers) = &mounts[0].source else { panic!("{mounts:?}") };
    assert_eq!(layers.lowers, std::slice::from_ref(&world.ws));
    let first = layers.work.clone().unwrap();
    fs::create_dir(first.join("work")).unwrap();
    mode(&first, "work", 0o000);
    snapshot.renew().unwrap();
    let MountSource::Overlay(layers) = &snapshot.mounts()[0].source else { panic!() };
    let second = layers.work.clone().unwrap();
    assert!(second != first && second.is_dir() && !first.exists());
    assert_eq!(tree_digest(&world.ws, &[]).unwrap(), before);
}

/// Whoever saves a file while it is copied may find it in the copy or not: nothing that is newer than the first copied file
/// can count as its original.
#[test]
fn a_copy_began_before_its_first_file() {
    let world = PatchWorld::new();
    write(&world.ws, "a", "x");
    let request =
        SnapshotRequest { strategy: SnapshotStrategyChoice::Copy, ..world.request(&Access::ReadWrite) };
    let snapshot = take(&request).unwrap();
    let began = snapshot.started();
    let copied = fs::metadata(snapshot.written().unwrap().join("a")).unwrap();
    assert!((copied.ctime(), copied.ctime_nsec()) >= (began.sec, i64::from(began.nsec)));
    let original = fs::metadata(world.ws.join("a")).unwrap();
    assert!((original.ctime(), original.ctime_nsec()) < (began.sec, i64::from(began.nsec)));
}

#[test]
fn a_copy_is_faithful() {
    let world = PatchWorld::new();
    cases::dirty(&world.ws);
    mode(&world.ws, "docs/a.md", 0o640);
    mode(&world.ws, "docs", 0o711);
    rustix::fs::mkfifoat(CWD, world.ws.join("fifo"), Mode::RWXU).unwrap();
    let snapshot = take(&world.request(&Access::ReadWrite)).unwrap();
    let skipped: Vec<_> = snapshot.skipped().iter().map(|s| (s.path.as_path(), s.why)).collect();
    assert_eq!(skipped, [(Path::new("fifo"), SkipReason::Special)]);
    let tree = snapshot.written().unwrap();
    let except = [PathBuf::from("fifo")];
    assert_eq!(tree_digest(tree, &[]).unwrap(), tree_digest(&world.ws, &except).unwrap());
    assert!(git(tree, &["status", "--porcelain"]).contains("README.md"));
    assert!(collect(&snapshot).is_empty());
}

#[test]
fn stored_and_loaded_again() {
    let world = PatchWorld::new();
    cases::dirty(&world.ws);
    let snapshot = world.agent(AgentView::Copy, |dir| write(dir, "new", "n\n"));
    snapshot.store(&world.run).unwrap();
    let loaded = WorkspaceSnapshot::load(&world.run).unwrap();
    assert_eq!(loaded, snapshot);
    assert_eq!(patch(&loaded).unwrap().1, patch(&snapshot).unwrap().1);
    fs::write(world.run.join("snapshot.json"), "{").unwrap();
    assert!(matches!(WorkspaceSnapshot::load(&world.run), Err(SnapshotError::Stored { .. })));
}

#[test]
fn bad_requests_are_refused_and_leave_nothing() {
    let world = PatchWorld::new();
    let check = |request: &SnapshotRequest<'_>, expect: fn(&SnapshotError) -> bool| {
        let error = take(request).unwrap_err();
        assert!(expect(&error), "{error}");
        assert_eq!(fs::read_dir(&world.run).unwrap().count(), 0, "{error}");
    };
    let request = world.request(&Access::ReadWrite);
    let (missing, file) = (world.home.join("missing"), world.home.join("file"));
    fs::write(&file, "").unwrap();
    check(&SnapshotRequest { workspace: &missing, ..request }, |e| {
        matches!(e, SnapshotError::Unreadable { .. })
    });
    check(&SnapshotRequest { workspace: &file, ..request }, |e| {
        matches!(e, SnapshotError::Unreadable { .. })
    });
    for path in ["../other", "/etc/passwd", "a/../../b", ""] {
        check(&SnapshotRequest { hide: &[PathBuf::from(path)], ..request }, |e| {
            matches!(e, SnapshotError::BadPath { .. })
        });
    }
    let scoped = Access::Scoped { write: vec!["../x/**".into()] };
    check(&SnapshotRequest { access: &scoped, ..request }, |e| matches!(e, SnapshotError::Scope(_)));
}

#[test]
fn ten_thousand_levels_deep() {
    let world = PatchWorld::new();
    let mut here = fs::File::open(&world.ws).unwrap();
    for _ in 0..10_000 {
        rustix::fs::mkdirat(&here, "d", Mode::RWXU).unwrap();
        here = fs::File::from(rustix::fs::openat(&here, "d", OFlags::DIRECTORY, Mode::empty()).unwrap());
    }
    let flags = OFlags::CREATE | OFlags::WRONLY;
    rustix::fs::openat(&here, "bottom", flags, Mode::RUSR | Mode::WUSR).unwrap();
    let snapshot = take(&world.request(&Access::ReadWrite)).unwrap();
    assert_eq!(tree_digest(snapshot.written().unwrap(), &[]).unwrap(), tree_digest(&world.ws, &[]).unwrap());
    write(snapshot.written().unwrap(), "new", "n\n");
    assert_eq!(patch(&snapshot).unwrap().0.entries.len(), 1);
    snapshot.discard().unwrap();
    remove_tree(&world.ws).unwrap();
    assert!(!world.ws.exists());
}

#[test]
fn a_worktree_brings_its_repository() {
    let world = PatchWorld::new();
    let main = world.home.join("main");
    fs::create_dir(&main).unwrap();
    cases::dirty(&main);
    fs::remove_dir(&world.ws).unwrap();
    git(&main, &["worktree", "add", "-q", world.ws.to_str().unwrap()]);
    let access = [Access::ReadOnly, Access::ReadWrite];
    for (access, choice) in
        access.iter().flat_map(|a| [(a, SnapshotStrategyChoice::Overlay), (a, SnapshotStrategyChoice::Copy)])
    {
        let request = SnapshotRequest { strategy: choice, overlay_works: true, ..world.request(access) };
        let snapshot = take(&request).unwrap();
        let mounts = snapshot.mounts();
        assert_eq!((mounts.len(), mounts[1].at.as_path()), (2, Path::new("/holon/git")));
        assert_eq!(mounts[1].writable, access.writable());
        let top = match &mounts[0].source {
            MountSource::Overlay(layers) => layers.lowers[0].clone(),
            MountSource::Bind(path) => path.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(fs::read_to_string(top.join(".git")).unwrap(), "gitdir: /holon/git/worktrees/ws\n");
        match &mounts[1].source {
            MountSource::Overlay(layers) => assert_eq!(layers.lowers.last().unwrap(), &main.join(".git")),
            MountSource::Bind(path) => assert!(path.join("worktrees/ws/HEAD").exists()),
            other => panic!("{other:?}"),
        }
        snapshot.discard().unwrap();
    }
    assert_eq!(snapshot_base(&world).commit, Some(git(&world.ws, &["rev-parse", "HEAD"])));
}

fn snapshot_base(world: &PatchWorld) -> holon_sandbox::snapshot::SnapshotBase {
    let snapshot = take(&world.request(&Access::ReadOnly)).unwrap();
    snapshot.discard().unwrap();
    snapshot.base().clone()
}

#[test]
fn a_linked_dot_git_gains_nothing() {
    let world = PatchWorld::new();
    let victim = world.home.join("victim");
    fs::create_dir(&victim).unwrap();
    cases::dirty(&victim);
    write(&world.ws, "f", "f\n");
    link(&world.ws, ".git", victim.join(".git").to_str().unwrap());
    let base = snapshot_base(&world);
    assert!(!base.is_git && base.commit.is_none());
    assert_eq!(base.notes.len(), 1);
    let snapshot = world.agent(AgentView::Copy, |dir| write(dir, "f", "g\n"));
    assert_eq!(snapshot.mounts().len(), 1);
    assert!(patch(&snapshot).is_ok());
}

#[test]
fn a_part_of_a_repository_follows_its_rules() {
    let world = PatchWorld::new();
    cases::dirty(&world.ws);
    let part = world.ws.join("src");
    let access = Access::ReadWrite;
    let snapshot = take(&SnapshotRequest { workspace: &part, ..world.request(&access) }).unwrap();
    assert!(snapshot.base().is_git && snapshot.base().commit.is_some());
    let tree = snapshot.written().unwrap();
    write(tree, "target/x", "ignored by the rules above\n");
    write(tree, "main.rs", "// changed\n");
    let (changes, _) = patch(&snapshot).unwrap();
    assert_eq!(changes.entries.len(), 1);
    assert_eq!(changes.ignored, 1);
}

/// Called in a mount namespace: a small file system fills up in the middle of a copy.
pub(crate) fn a_full_disk_leaves_nothing() {
    let world = PatchWorld::new();
    write(&world.ws, "a", cases::noise(100_000));
    write(&world.ws, "b/large", cases::noise(3 << 20));
    let out = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"])
        .arg(&world.run)
        .output()
        .unwrap();
    assert!(out.status.success());
    let error = take(&world.request(&Access::ReadWrite)).unwrap_err();
    assert!(matches!(error, SnapshotError::DiskFull { .. }), "{error}");
    assert_eq!(fs::read_dir(&world.run).unwrap().count(), 0);
    assert!(std::process::Command::new("umount").arg(&world.run).status().unwrap().success());
}
