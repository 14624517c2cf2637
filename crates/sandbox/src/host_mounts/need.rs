//! Which toolchains a workspace needs: a short look at names, never at contents.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use super::names::matches;
use super::table::{Toolchain, ToolchainTable};
use super::{HostMountError, HostMountRequest};

/// Names looked at in one folder.
const NAMES: usize = 2000;
/// Folders below the root that are looked into.
const FOLDERS: usize = 32;
/// Folders that hold other people's projects.
const FOREIGN: &[&str] = &["node_modules", "target", "vendor", "third_party", "dist", "build"];

/// The toolchains to show, in the order of the table.
pub(super) fn needed<'t>(
    table: &'t ToolchainTable,
    request: &HostMountRequest<'_>,
) -> Result<Vec<&'t Toolchain>, HostMountError> {
    for name in request.wanted {
        if !table.toolchain.iter().any(|t| t.name == *name) {
            let known: Vec<_> = table.toolchain.iter().map(|t| t.name.as_str()).collect();
            return Err(HostMountError::UnknownToolchain {
                name: (*name).to_owned(),
                known: known.join(", "),
            });
        }
    }
    let mut found: BTreeSet<&str> = request.wanted.iter().copied().collect();
    if request.toolchains || request.caches {
        look(table, request.workspace, &mut found);
    }
    Ok(table.toolchain.iter().filter(|t| found.contains(t.name.as_str())).collect())
}

fn look<'t>(table: &'t ToolchainTable, workspace: &Path, found: &mut BTreeSet<&'t str>) {
    let mut note = |names: &[(OsString, bool)]| {
        for toolchain in &table.toolchain {
            let marked = |(name, is_dir): &(OsString, bool)| {
                !is_dir && toolchain.markers.iter().any(|m| matches(m, name))
            };
            if names.iter().any(marked) {
                found.insert(&toolchain.name);
            }
        }
    };
    let top = list(workspace);
    note(&top);
    let folders = top.iter().filter(|(name, is_dir)| {
        *is_dir && !name.to_string_lossy().starts_with('.') && !FOREIGN.iter().any(|f| name == f)
    });
    for (name, _) in folders.take(FOLDERS) {
        note(&list(&workspace.join(name)));
    }
}

/// Names in a folder and whether each is a folder itself, sorted so that the bounds cut the same way everywhere.
fn list(folder: &Path) -> Vec<(OsString, bool)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(NAMES);
    let mut names: Vec<_> =
        entries.map(|e| (e.file_name(), e.file_type().is_ok_and(|kind| kind.is_dir()))).collect();
    names.sort();
    names
}
