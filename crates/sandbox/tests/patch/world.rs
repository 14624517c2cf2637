//! A workspace in a temporary directory, a run beside it, and the ways to compare them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use holon_core::Access;
use holon_git::Git;
use holon_sandbox::diff::{CollectOptions, CollectedChanges, DeliveredPatch, DiffError, PatchLimits};
use holon_sandbox::mount::{MountSource, Overlay};
use holon_sandbox::snapshot::{SnapshotRequest, SnapshotStrategyChoice, WorkspaceSnapshot, take};
use tempfile::TempDir;

pub(crate) static GIT: LazyLock<Git> = LazyLock::new(|| Git::find().unwrap());

/// How the agent's side is made in a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentView {
    /// A copy, as `--snapshot copy` makes it.
    Copy,
    /// A real overlay of this kernel; only inside a mount namespace of the test's own.
    Overlay { by_root: bool },
}

pub(crate) struct PatchWorld {
    _temp: TempDir,
    pub(crate) home: PathBuf,
    pub(crate) ws: PathBuf,
    pub(crate) run: PathBuf,
}

impl PatchWorld {
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().canonicalize().unwrap();
        let world = Self { ws: home.join("ws"), run: home.join("run"), home, _temp: temp };
        fs::create_dir(&world.ws).unwrap();
        fs::create_dir(&world.run).unwrap();
        world
    }

    pub(crate) fn request<'a>(&'a self, access: &'a Access) -> SnapshotRequest<'a> {
        SnapshotRequest {
            workspace: &self.ws,
            run_dir: &self.run,
            access,
            hide: &[],
            strategy: SnapshotStrategyChoice::Copy,
            overlay_works: false,
            payload_uid: None,
        }
    }

    /// Takes a snapshot, lets `change` loose on the agent's side of it, and ends the "run".
    pub(crate) fn agent(&self, view: AgentView, change: impl FnOnce(&Path)) -> WorkspaceSnapshot {
        self.agent_with(view, &Access::ReadWrite, &[], change)
    }

    pub(crate) fn agent_with(
        &self,
        view: AgentView,
        access: &Access,
        hide: &[PathBuf],
        change: impl FnOnce(&Path),
    ) -> WorkspaceSnapshot {
        let mut request = SnapshotRequest { hide, ..self.request(access) };
        if let AgentView::Overlay { by_root } = view {
            request.strategy = SnapshotStrategyChoice::Overlay;
            request.overlay_works = true;
            request.payload_uid = by_root.then_some((0, 0));
        }
        let snapshot = take(&request).unwrap();
        match (view, &snapshot.mounts()[0].source) {
            (AgentView::Copy, MountSource::Bind(tree)) => change(tree),
            (AgentView::Overlay { by_root }, MountSource::Overlay(layers)) => {
                let merged = self.run.join("merged");
                fs::create_dir(&merged).unwrap();
                mount(layers, &merged, by_root);
                change(&merged);
                run("umount", &[merged.as_os_str()], &self.home);
            }
            other => panic!("{other:?}"),
        }
        snapshot
    }

    /// A second copy of the workspace as it is now.
    pub(crate) fn twin(&self) -> PathBuf {
        let twin = self.home.join("twin");
        run("cp", &[OsStr::new("-a"), self.ws.as_os_str(), twin.as_os_str()], &self.home);
        twin
    }
}

fn mount(layers: &Overlay, at: &Path, by_root: bool) {
    let mut options = OsString::from("lowerdir=");
    options.push(layers.lowers.iter().map(|p| p.to_str().unwrap()).collect::<Vec<_>>().join(":"));
    options.push(",upperdir=");
    options.push(layers.upper.as_ref().unwrap());
    options.push(",workdir=");
    options.push(layers.work.as_ref().unwrap());
    options.push(if by_root {
        ",redirect_dir=on,metacopy=off,index=off,volatile"
    } else {
        ",userxattr,volatile"
    });
    let args = ["-t", "overlay", "overlay", "-o"].map(OsStr::new);
    run("mount", &[&args[..], &[&options, at.as_os_str()]].concat(), Path::new("/"));
}

pub(crate) fn collect(snapshot: &WorkspaceSnapshot) -> CollectedChanges {
    snapshot.changes(&CollectOptions { git: &GIT, limits: PatchLimits::default() }).unwrap()
}

pub(crate) fn patch(snapshot: &WorkspaceSnapshot) -> Result<(CollectedChanges, DeliveredPatch), DiffError> {
    let changes = collect(snapshot);
    let patch = changes.patch(&GIT, snapshot.dir())?;
    Ok((changes, patch))
}

fn run(program: &str, args: &[&OsStr], dir: &Path) {
    let out = Command::new(program).args(args).current_dir(dir).output().unwrap();
    assert!(out.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&out.stderr));
}

/// The real git, as a user or an agent calls it.
pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let out = git_command(dir, args).output().unwrap();
    assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).trim().to_owned()
}

pub(crate) fn git_command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.args(args).current_dir(dir).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.envs([("HOME", "/nonexistent"), ("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_COUNT", "3")]);
    command.envs([("GIT_CONFIG_KEY_0", "protocol.file.allow"), ("GIT_CONFIG_VALUE_0", "always")]);
    command.envs([("GIT_CONFIG_KEY_1", "safe.directory"), ("GIT_CONFIG_VALUE_1", "*")]);
    command.envs([("GIT_CONFIG_KEY_2", "core.fsync"), ("GIT_CONFIG_VALUE_2", "none")]);
    command.envs([("GIT_AUTHOR_NAME", "t"), ("GIT_AUTHOR_EMAIL", "t@t")]);
    command.envs([("GIT_COMMITTER_NAME", "t"), ("GIT_COMMITTER_EMAIL", "t@t")]);
    command
}

pub(crate) fn write(dir: &Path, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) {
    let path = dir.join(OsStr::from_bytes(path.as_ref()));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

pub(crate) fn mode(dir: &Path, path: &str, mode: u32) {
    fs::set_permissions(dir.join(path), fs::Permissions::from_mode(mode)).unwrap();
}

pub(crate) fn link(dir: &Path, path: &str, target: impl AsRef<[u8]>) {
    symlink(OsStr::from_bytes(target.as_ref()), dir.join(path)).unwrap();
}

/// What a patch can say about a tree: every file and link, with content and exec bit, git's own left out.
pub(crate) fn listing(dir: &Path) -> BTreeMap<Vec<u8>, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![PathBuf::new()];
    while let Some(rel) = dirs.pop() {
        for entry in fs::read_dir(dir.join(&rel)).unwrap() {
            let name = entry.unwrap().file_name();
            if name.as_bytes().eq_ignore_ascii_case(b".git") {
                continue;
            }
            let path = rel.join(name);
            let full = dir.join(&path);
            let meta = fs::symlink_metadata(&full).unwrap();
            let key = path.clone().into_os_string().into_vec();
            if meta.is_dir() {
                dirs.push(path);
            } else if meta.is_symlink() {
                found.insert(key, (0o120_000, fs::read_link(full).unwrap().into_os_string().into_vec()));
            } else if meta.is_file() {
                let exec = meta.mode() & 0o100;
                found.insert(key, (exec, fs::read(full).unwrap()));
            }
        }
    }
    found
}

/// Fails with the first difference only: contents can be large.
pub(crate) fn assert_same(what: &str, left: &Path, right: &Path) {
    let (left, right) = (listing(left), listing(right));
    for key in left.keys().chain(right.keys()) {
        let show = |side: Option<&(u32, Vec<u8>)>| {
            side.map(|(mode, c)| {
                format!("{mode:o} {} {:?}", c.len(), String::from_utf8_lossy(&c[..c.len().min(80)]))
            })
        };
        let (l, r) = (left.get(key), right.get(key));
        assert!(l == r, "{what}: {:?} differs: {:?} / {:?}", String::from_utf8_lossy(key), show(l), show(r));
    }
}
