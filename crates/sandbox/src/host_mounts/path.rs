//! PATH inside: what the person has on PATH outside, as far as it is seen, then what the table adds.

use std::path::{Path, PathBuf};

use super::locate::ToolchainHost;
use super::plan::HostMountPlan;

/// Where programs of the system are.
const SYSTEM: &[&str] = &["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin"];

/// Entries for PATH, first ones first; those of the system itself are the caller's.
pub(super) fn entries(plan: &HostMountPlan<'_>, host: &ToolchainHost<'_>) -> Vec<PathBuf> {
    let mut entries: Vec<(PathBuf, PathBuf)> = Vec::new();
    let add = |entries: &mut Vec<(PathBuf, PathBuf)>, real: &Path| {
        let found = inside(plan, real).filter(|inside| !entries.iter().any(|(_, known)| known == inside));
        entries.extend(found.map(|inside| (real.to_owned(), inside)));
    };
    for (_, real) in &host.path {
        if !SYSTEM.iter().any(|system| real == Path::new(system)) {
            add(&mut entries, real);
        }
    }
    for program in &plan.programs {
        let has = |folder: &Path| folder.join(&program.name).exists();
        if SYSTEM.iter().any(|folder| has(folder.as_ref())) || entries.iter().any(|(real, _)| has(real)) {
            continue;
        }
        let mut folders = program.folders.iter().filter_map(|folder| folder.canonicalize().ok());
        if let Some(folder) = folders.find(|folder| has(folder)) {
            add(&mut entries, &folder);
        }
    }
    entries.into_iter().map(|(_, inside)| inside).collect()
}

/// The name inside of a folder that is seen.
fn inside(plan: &HostMountPlan<'_>, real: &Path) -> Option<PathBuf> {
    if plan.roots.iter().any(|root| root == real) {
        return Some(real.to_owned());
    }
    let (root, name) = plan.seen.iter().find(|(root, _)| real.starts_with(root))?;
    let below = real.strip_prefix(root).ok()?;
    Some(name.join(below).components().collect())
}
