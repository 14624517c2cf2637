//! What should be seen, before it is known what covers what: see `settle` for the rest.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::guard::ExposureGuard;
use super::names::expand;
use super::resolve::resolve;
use super::secrets;
use super::table::{SecretPath, ToolchainPlace, ToolchainTable};
use super::{HOME, HostMountRequest, HostMounts, WORKSPACE};

/// How a path is seen.
#[derive(Debug)]
pub(super) enum HostMountKind {
    /// As it is.
    ReadOnly,
    /// With a private layer that takes writes.
    Cache,
    /// As a fresh folder with these files and whatever else is planned below it.
    Private(Vec<(PathBuf, Vec<u8>)>),
}

/// A path of the host that should be seen inside, nearly always at the same path.
#[derive(Debug)]
pub(super) struct HostMountEntry {
    pub(super) at: PathBuf,
    pub(super) real: PathBuf,
    pub(super) kind: HostMountKind,
    pub(super) is_dir: bool,
    pub(super) mode: u32,
}

/// A path that must not be seen, or only as something else.
#[derive(Debug)]
pub(super) struct HiddenPath {
    pub(super) real: PathBuf,
    pub(super) instead: Vec<u8>,
}

/// A program that should be on PATH, and the folders it may come from.
#[derive(Debug)]
pub(super) struct PathProgram {
    pub(super) name: String,
    pub(super) folders: Vec<PathBuf>,
}

/// Which parts of a place are shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShownParts {
    pub(super) programs: bool,
    pub(super) caches: bool,
}

/// Everything that was found, in the order of the table.
#[derive(Debug)]
pub(super) struct HostMountPlan<'a> {
    pub(super) request: &'a HostMountRequest<'a>,
    pub(super) table: &'a ToolchainTable,
    pub(super) guard: ExposureGuard,
    pub(super) entries: Vec<HostMountEntry>,
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    pub(super) hidden: Vec<HiddenPath>,
    /// Folders that exist inside, though perhaps not all of their children do.
    pub(super) roots: Vec<PathBuf>,
    /// Folders that are seen with everything below them, and their names inside.
    pub(super) seen: Vec<(PathBuf, PathBuf)>,
    pub(super) programs: Vec<PathProgram>,
    pub(super) out: HostMounts,
}

impl<'a> HostMountPlan<'a> {
    pub(super) fn new(request: &'a HostMountRequest<'a>, table: &'a ToolchainTable) -> Self {
        let mut plan = Self {
            request,
            table,
            guard: ExposureGuard::new(table, request),
            entries: Vec::new(),
            links: Vec::new(),
            hidden: Vec::new(),
            roots: Vec::new(),
            seen: Vec::new(),
            programs: Vec::new(),
            out: HostMounts::default(),
        };
        for path in &table.system_secrets {
            plan.hide(path, Vec::new());
        }
        plan
    }

    /// Plans one place of a toolchain, found at `root`.
    pub(super) fn place(&mut self, toolchain: &str, place: &ToolchainPlace, root: &Path, parts: ShownParts) {
        let Some(real) = resolve(root, self.guard.workspace()) else { return };
        if let Some(inside) = self.in_workspace(&real) {
            self.set_variables(toolchain, place, &inside);
            self.seen.push((real, inside));
            return;
        }
        if let Some(objection) = self.guard.objection(&real).filter(|_| place.private) {
            self.note(toolchain, root, objection);
            return;
        }
        let before = self.entries.len();
        let read_only = place.read_only.iter().filter(|_| parts.programs).map(|child| (child, false));
        let caches = place.cache.iter().filter(|_| parts.caches).map(|child| (child, true));
        for (child, cache) in read_only.chain(caches) {
            for path in expand(&real, child) {
                self.child(toolchain, &path, cache);
            }
        }
        for (name, child) in place.home.iter().filter(|_| parts.caches) {
            for path in expand(&real, child) {
                self.at_home(toolchain, name, &path);
            }
        }
        self.hide_all(place, &real);
        if self.entries[before..].iter().all(|entry| entry.at != entry.real) {
            return;
        }
        if place.private {
            let kind = HostMountKind::Private(self.files(place, &real));
            self.entries.push(HostMountEntry {
                at: real.clone(),
                real: real.clone(),
                kind,
                is_dir: true,
                mode: 0o755,
            });
        }
        self.rename(root, &real);
        self.set_variables(toolchain, place, &real);
        if let Some(name) = place.provides.as_ref().filter(|_| parts.programs) {
            let folders = place.path.iter().flat_map(|folder| expand(&real, folder)).collect();
            self.programs.push(PathProgram { name: name.clone(), folders });
        }
        self.roots.push(real);
    }

    /// Plans a path the person asked for; the error says why not.
    pub(super) fn extra(&mut self, path: &Path) -> Result<(), String> {
        let Some(real) = resolve(path, self.guard.workspace()) else {
            self.out.notes.push(format!("{} does not exist and is left out", path.display()));
            return Ok(());
        };
        if let Some(objection) = self.guard.objection(&real) {
            return Err(objection.to_owned());
        }
        if !self.show(&real, HostMountKind::ReadOnly) {
            return Err("it is neither a folder nor a file".to_owned());
        }
        self.rename(path, &real);
        let below: Vec<PathBuf> = self.guard.never_below(&real).cloned().collect();
        let named: Vec<PathBuf> = self.table.credential_names.iter().map(|name| real.join(name)).collect();
        for secret in below.iter().chain(&named) {
            self.hide(secret, Vec::new());
        }
        Ok(())
    }

    /// The name inside of something that is part of the workspace.
    fn in_workspace(&self, real: &Path) -> Option<PathBuf> {
        let below = real.strip_prefix(self.guard.workspace()).ok()?;
        Some(Path::new(WORKSPACE).join(below).components().collect())
    }

    fn child(&mut self, toolchain: &str, path: &Path, cache: bool) {
        let Some(real) = self.allowed(toolchain, path) else { return };
        if self.show(&real, if cache { HostMountKind::Cache } else { HostMountKind::ReadOnly }) {
            self.rename(path, &real);
        }
    }

    /// A cache under a name below the home inside.
    fn at_home(&mut self, toolchain: &str, name: &Path, path: &Path) {
        let Some(real) = self.allowed(toolchain, path).filter(|real| real.is_dir()) else { return };
        let at = Path::new(HOME).join(name);
        self.entries.push(HostMountEntry { at, real, kind: HostMountKind::Cache, is_dir: true, mode: 0o755 });
    }

    /// The path without links, unless it must not be seen.
    fn allowed(&mut self, toolchain: &str, path: &Path) -> Option<PathBuf> {
        let real = resolve(path, self.guard.workspace())?;
        if let Some(objection) = self.guard.objection(&real) {
            self.note(toolchain, path, objection);
            return None;
        }
        Some(real)
    }

    /// Only folders and regular files: a socket or a device would be a door.
    fn show(&mut self, real: &Path, kind: HostMountKind) -> bool {
        let Ok(meta) = real.symlink_metadata() else { return false };
        let fits = meta.is_dir() || (meta.is_file() && matches!(kind, HostMountKind::ReadOnly));
        if fits {
            let (at, is_dir, mode) = (real.to_owned(), meta.is_dir(), meta.mode());
            self.entries.push(HostMountEntry { real: at.clone(), at, kind, is_dir, mode });
        }
        fits
    }

    fn rename(&mut self, name: &Path, real: &Path) {
        if name != real {
            self.links.push((name.to_owned(), real.to_owned()));
        }
    }

    /// Files of a private place: settings without their secrets, and what the table adds.
    fn files(&mut self, place: &ToolchainPlace, real: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        for name in &place.copied {
            let path = real.join(name);
            if resolve(&path, self.guard.workspace()).is_none_or(|real| !real.is_file()) {
                continue;
            }
            match secrets::read_small(&path).as_deref().and_then(secrets::without_secrets) {
                Some((text, changed)) => {
                    files.push((name.clone(), text.into_bytes()));
                    self.out.masked.extend(changed.then_some(path));
                }
                None => self.out.masked.push(path),
            }
        }
        let offline = place.files_offline.iter().filter(|_| self.request.offline);
        let written = place.files.iter().chain(offline);
        files.extend(written.map(|(name, text)| (name.clone(), text.clone().into_bytes())));
        files
    }

    fn hide_all(&mut self, place: &ToolchainPlace, real: &Path) {
        for secret in &place.secrets {
            match secret {
                SecretPath::Always(pattern) => {
                    expand(real, pattern).iter().for_each(|path| self.hide(path, Vec::new()));
                }
                SecretPath::Sometimes { file, when, instead } => {
                    for path in expand(real, file).iter().filter(|path| secrets::holds(path, when)) {
                        self.hide(path, instead.clone().into_bytes());
                    }
                }
            }
        }
    }

    /// Remembers to hide what `path` leads to; a link that leads nowhere shows nothing.
    fn hide(&mut self, path: &Path, instead: Vec<u8>) {
        let Ok(real) = path.canonicalize() else { return };
        if !self.hidden.iter().any(|hidden| hidden.real == real) {
            self.hidden.push(HiddenPath { real, instead });
        }
    }

    fn set_variables(&mut self, toolchain: &str, place: &ToolchainPlace, inside: &Path) {
        if place.env.is_empty() {
            return;
        }
        let Some(text) = inside.to_str() else {
            self.note(toolchain, inside, "its name is not UTF-8");
            return;
        };
        self.out.env.extend(place.env.iter().map(|(name, value)| (name.clone(), value.replace("{}", text))));
    }

    fn note(&mut self, toolchain: &str, path: &Path, why: &str) {
        self.out.notes.push(format!("{toolchain}: {} is not shown: {why}", path.display()));
    }
}
