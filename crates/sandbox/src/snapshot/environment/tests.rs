#![allow(clippy::unwrap_used)]
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use holon_core::Access;
use holon_git::Git;

use super::*;
use crate::diff::{CollectOptions, PatchLimits};
use crate::snapshot::{SnapshotRequest, SnapshotStrategyChoice, take};

/// A repository, and a place for runs and layers.
struct LayerWorld {
    dir: tempfile::TempDir,
    git: Git,
}

impl LayerWorld {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let world = Self { dir, git: Git::find().unwrap() };
        for folder in ["w", "layers"] {
            fs::create_dir(world.at(folder)).unwrap();
        }
        world.put("w/.git/HEAD", "ref: refs/heads/main\n");
        for folder in ["w/.git/objects", "w/.git/refs"] {
            fs::create_dir_all(world.at(folder)).unwrap();
        }
        for (path, text) in files {
            world.put(&format!("w/{path}"), text);
        }
        world
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A copy of the workspace in a folder of its own.
    fn snapshot(&self, name: &str, hide: &[PathBuf]) -> WorkspaceSnapshot {
        fs::create_dir(self.at(name)).unwrap();
        take(&SnapshotRequest {
            workspace: &self.at("w"),
            run_dir: &self.at(name),
            access: &Access::ReadWrite,
            hide,
            strategy: SnapshotStrategyChoice::Copy,
            overlay_works: false,
            payload_uid: None,
        })
        .unwrap()
    }

    fn keep(&self, snapshot: &WorkspaceSnapshot, name: &str) -> (EnvironmentLayer, KeptIgnored) {
        let shared = SharedFiles::open(&self.at("shared")).unwrap();
        let folder = self.at("layers").join(name);
        fs::create_dir(&folder).unwrap();
        let time_counts = |path: &str| path.ends_with(".py");
        let keeper = LayerKeeper { shared: &shared, time_counts: &time_counts, by_root: false };
        let kept = keeper.ignored(snapshot, &self.git, &folder).unwrap();
        (EnvironmentLayer { folder, roots: kept.roots.clone() }, kept)
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn what_a_setup_leaves_in_ignored_paths_is_kept_and_stood_on() {
    let world = LayerWorld::new(&[
        (".gitignore", "node_modules/\n*.cache\n/built\n"),
        ("src/a.js", "a"),
        ("packages/one/package.json", "{}"),
        ("node_modules/old/index.js", "the user's own"),
    ]);
    let hide = ignored_paths(&world.at("w")).unwrap();
    assert_eq!(hide, [PathBuf::from("node_modules")]);
    let setup = world.snapshot("setup", &hide);
    let tree = setup.written().unwrap().to_owned();
    assert!(!tree.join("node_modules").exists(), "a setup begins without what was installed before");
    let put = |path: &str, text: &str| {
        let path = tree.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put("node_modules/new/index.js", "new");
    put("packages/one/node_modules/x/x.js", "x");
    put("built", "b");
    put("src/a.js", "changed");
    put("left.txt", "not ignored");
    symlink("../new/index.js", tree.join("node_modules/.bin")).unwrap();
    fs::set_permissions(tree.join("node_modules/new/index.js"), fs::Permissions::from_mode(0o4755)).unwrap();
    let (layer, kept) = world.keep(&setup, "one");
    assert_eq!(kept.roots, ["built", "node_modules", "packages/one/node_modules"].map(PathBuf::from));
    assert_eq!((kept.size.files, kept.left_out), (4, Vec::new()));
    assert!(!layer.folder.join("src").exists() && !layer.folder.join("left.txt").exists());
    let program = fs::metadata(layer.folder.join("node_modules/new/index.js")).unwrap();
    assert_eq!(program.mode() & 0o7777, 0o755, "no bit lends rights");

    let mut run = world.snapshot("run", &[]);
    run.stand_on(&layer).unwrap();
    let tree = run.written().unwrap();
    assert_eq!(read(&tree.join("node_modules/new/index.js")), "new");
    assert!(!tree.join("node_modules/old").exists(), "what is brought is not mixed with what was there");
    assert_eq!(read(&tree.join("packages/one/node_modules/x/x.js")), "x");
    assert_eq!(read(&tree.join("src/a.js")), "a");
    assert_eq!(fs::read_link(tree.join("node_modules/.bin")).unwrap(), Path::new("../new/index.js"));
    // A copy is written to, so it must not be the shared file.
    fs::write(tree.join("node_modules/new/index.js"), "written").unwrap();
    assert_eq!(read(&layer.folder.join("node_modules/new/index.js")), "new");
    // Nothing of it is a change.
    let options = CollectOptions { git: &world.git, limits: PatchLimits::default() };
    let changes = run.changes(&options).unwrap();
    assert_eq!(changes.entries, Vec::new());
    assert_eq!(read(&world.at("w/node_modules/old/index.js")), "the user's own");
}

#[test]
fn inv_16_a_layer_hides_no_file_of_the_workspace_but_at_the_paths_it_brings() {
    let world = LayerWorld::new(&[(".gitignore", "deps/\n"), ("part/x", "x")]);
    let setup = world.snapshot("setup", &[]);
    let deps = setup.written().unwrap().join("part/deps");
    fs::create_dir(&deps).unwrap();
    fs::write(deps.join("d"), "d").unwrap();
    let (layer, _) = world.keep(&setup, "one");
    fs::remove_dir_all(world.at("w/part")).unwrap();
    let mut gone = world.snapshot("gone", &[]);
    gone.stand_on(&layer).unwrap();
    assert_eq!(read(&gone.written().unwrap().join("part/deps/d")), "d");
    world.put("w/part", "a file now, which somebody wrote");
    let mut run = world.snapshot("run", &[]);
    let error = run.stand_on(&layer).unwrap_err();
    assert!(
        matches!(&error, SnapshotError::EnvironmentMisfit { path } if path == Path::new("part/deps")),
        "{error}"
    );
}

#[test]
fn layers_share_files_and_a_sweep_takes_what_no_layer_has() {
    let world = LayerWorld::new(&[(".gitignore", "m/\n")]);
    let layer = |name: &str, own: &str| {
        let snapshot = world.snapshot(name, &[]);
        let tree = snapshot.written().unwrap();
        fs::create_dir(tree.join("m")).unwrap();
        for (path, text) in [("m/same.js", "same in all"), ("m/twice.js", "same in all"), ("m/own.js", own)] {
            fs::write(tree.join(path), text).unwrap();
        }
        fs::write(tree.join("m/timed.py"), "timed").unwrap();
        let at = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(own.len() as u64);
        fs::File::options().write(true).open(tree.join("m/timed.py")).unwrap().set_modified(at).unwrap();
        world.keep(&snapshot, &format!("layer-{name}")).0.folder.join("m")
    };
    let (one, two) = (layer("a", "1"), layer("b", "22"));
    let inode = |path: &Path| fs::metadata(path).unwrap().ino();
    assert_eq!(inode(&one.join("same.js")), inode(&two.join("same.js")));
    assert_eq!(inode(&one.join("same.js")), inode(&one.join("twice.js")));
    assert_ne!(inode(&one.join("own.js")), inode(&two.join("own.js")));
    assert_ne!(
        inode(&one.join("timed.py")),
        inode(&two.join("timed.py")),
        "its time is part of what it says"
    );
    let shared = SharedFiles::open(&world.at("shared")).unwrap();
    assert_eq!(shared.sweep().unwrap().files, 0);
    remove_tree(one.parent().unwrap()).unwrap();
    assert_eq!(shared.sweep().unwrap().files, 2, "its own file and the timed one");
    assert_eq!(read(&two.join("same.js")), "same in all");
    remove_tree(two.parent().unwrap()).unwrap();
    assert_eq!(shared.sweep().unwrap().files, 3);
    assert_eq!(fs::read_dir(world.at("shared")).unwrap().count(), 0);
}

#[test]
fn special_files_and_what_is_closed_do_not_stop_it() {
    let world = LayerWorld::new(&[(".gitignore", "m/\n")]);
    let snapshot = world.snapshot("s", &[]);
    let m = snapshot.written().unwrap().join("m");
    fs::create_dir_all(m.join("closed")).unwrap();
    fs::write(m.join("closed/x"), "x").unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        m.join("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    fs::set_permissions(m.join("closed/x"), fs::Permissions::from_mode(0)).unwrap();
    fs::set_permissions(m.join("closed"), fs::Permissions::from_mode(0)).unwrap();
    let (layer, kept) = world.keep(&snapshot, "one");
    assert_eq!(kept.size.files, 1);
    assert_eq!(read(&layer.folder.join("m/closed/x")), "x");
    assert!(!layer.folder.join("m/fifo").exists());
}
