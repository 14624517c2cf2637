//! A made-up host with a made-up home: what is seen of it, and what never is.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod hidden;
mod shown;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::*;
use crate::mount::{MountSource, Overlay};

/// A host in a temporary folder. The defaults are those of an execute run of an ordinary user.
struct FakeHost {
    root: PathBuf,
    variables: BTreeMap<String, OsString>,
    writable: bool,
    toolchains: bool,
    caches: bool,
    offline: bool,
    overlays: bool,
    owner: Option<(u32, u32)>,
    _temp: tempfile::TempDir,
}

impl FakeHost {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        for folder in ["home", "ws", "run"] {
            fs::create_dir(root.join(folder)).unwrap();
        }
        let variables = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".into())]);
        Self {
            root,
            variables,
            writable: true,
            toolchains: true,
            caches: true,
            offline: true,
            overlays: true,
            owner: None,
            _temp: temp,
        }
    }

    /// Writes files below the root; a name that ends in `/` is a folder.
    fn with(self, names: &[&str]) -> Self {
        for name in names {
            let path = self.root.join(name);
            if name.ends_with('/') {
                fs::create_dir_all(path).unwrap();
            } else {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "canary\n").unwrap();
            }
        }
        self
    }

    fn file(self, name: &str, text: &str) -> Self {
        let this = self.with(&[name]);
        fs::write(this.root.join(name), text).unwrap();
        this
    }

    fn link(self, name: &str, target: impl AsRef<Path>) -> Self {
        fs::create_dir_all(self.root.join(name).parent().unwrap()).unwrap();
        symlink(target, self.root.join(name)).unwrap();
        self
    }

    /// Sets a variable; `@` is the root of the made-up host.
    fn variable(mut self, name: &str, value: &str) -> Self {
        let value = value.replace('@', self.root.to_str().unwrap());
        self.variables.insert(name.to_owned(), value.into());
        self
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn try_find(&self, wanted: &[&str], extra: &[PathBuf]) -> Result<HostMounts, HostMountError> {
        let home = self.at("home");
        let request = HostMountRequest {
            workspace: &self.at("ws"),
            workspace_writable: self.writable,
            home: Some(&home),
            env: &|name| self.variables.get(name).cloned(),
            toolchains: self.toolchains,
            caches: self.caches,
            extra_paths: extra,
            run_dir: &self.at("run"),
            owner: self.owner,
            wanted,
            offline: self.offline,
            overlays: self.overlays,
        };
        find(&request)
    }

    fn find(&self) -> HostMounts {
        self.try_find(&[], &[]).unwrap()
    }

    /// One line per mount, sorted, with the root of the made-up host left out.
    #[track_caller]
    fn check(&self, exposed: &HostMounts, expect: &[&str]) {
        let root = format!("{}/", self.root.display());
        let short = |path: &Path| path.display().to_string().replace(&root, "");
        let mut lines: Vec<String> = exposed
            .mounts
            .iter()
            .map(|mount| {
                let what = match &mount.source {
                    MountSource::Bind(path) if *path == mount.at => "bind".to_owned(),
                    MountSource::Bind(_) => "private".to_owned(),
                    MountSource::Overlay(layers) if layers.upper.is_some() => "cache".to_owned(),
                    MountSource::Overlay(_) => "mapped".to_owned(),
                    MountSource::Symlink(target) => format!("link {}", short(target)),
                    MountSource::File(bytes) => format!("file {:?}", String::from_utf8_lossy(bytes)),
                    other => format!("{other:?}"),
                };
                let writable = matches!(what.as_str(), "cache" | "private");
                assert_eq!(mount.writable, writable, "{mount:?}");
                format!("{} {what}", short(&mount.at))
            })
            // What this machine has outside the made-up host.
            .filter(|line| !line.starts_with("/etc/") && !line.starts_with("/usr/"))
            .collect();
        lines.sort();
        assert_eq!(lines, expect);
    }

    fn names(&self, paths: &[PathBuf]) -> Vec<String> {
        let short = |path: &PathBuf| path.strip_prefix(&self.root).ok().map(|p| p.display().to_string());
        paths.iter().filter_map(short).collect()
    }

    /// Whether anything that is mounted, or was made to be mounted, holds the canary.
    fn shows(&self, exposed: &HostMounts, path: &str) -> bool {
        let path = self.at(path);
        let deepest =
            exposed.mounts.iter().filter(|m| path.starts_with(&m.at)).max_by_key(|m| m.at.as_os_str().len());
        let Some(mount) = deepest else { return false };
        let below = path.strip_prefix(&mount.at).unwrap();
        let seen = |layer: &Path| fs::read(layer.join(below)).is_ok_and(|bytes| bytes == b"canary\n");
        match &mount.source {
            MountSource::Bind(source) if below.as_os_str().is_empty() => fs::read(source).is_ok(),
            MountSource::Bind(source) => seen(source),
            MountSource::Overlay(layers) => {
                let veiled = |layer: &PathBuf| {
                    below.ancestors().any(|part| {
                        layer
                            .join(part)
                            .symlink_metadata()
                            .is_ok_and(|meta| meta.file_type().is_char_device())
                    })
                };
                !layers.lowers.iter().any(veiled) && layers.lowers.iter().any(|layer| seen(layer))
            }
            _ => false,
        }
    }
}

fn variable<'e>(exposed: &'e HostMounts, name: &str) -> Option<&'e str> {
    exposed.env.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

fn layers<'e>(exposed: &'e HostMounts, at: &Path) -> &'e Overlay {
    let mount = exposed.mounts.iter().find(|mount| mount.at == at).expect("a mount");
    match &mount.source {
        MountSource::Overlay(layers) => layers,
        other => panic!("{other:?}"),
    }
}

const RUST: &[&str] = &[
    "ws/Cargo.toml",
    "home/.rustup/settings.toml",
    "home/.rustup/toolchains/stable/bin/cargo",
    "home/.rustup/downloads/",
    "home/.cargo/bin/cargo",
    "home/.cargo/registry/cache/x.crate",
    "home/.cargo/git/db/",
    "home/.cargo/credentials.toml",
    "home/.cargo/notes.txt",
    "home/.ssh/id_rsa",
];
