//! A snapshot that lives over several turns: each turn writes to a layer of its own above what the turns before it left.

use std::path::Path;

use super::{FileTimestamp, SnapshotError, SnapshotRequest, SnapshotStrategyChoice, WorkspaceSnapshot, take};

/// Prepares the snapshot of one turn: the original, above it `frozen` (what earlier turns left, never written to), above
/// that the turn's own writes, which outlive the mount. When the turn is over, [`freeze`](super::freeze) joins the two.
///
/// Only layers can do this cheaply, so where no overlay works it is refused.
pub fn take_turn(
    request: &SnapshotRequest<'_>,
    frozen: Option<&Path>,
) -> Result<WorkspaceSnapshot, SnapshotError> {
    let mut snapshot = take(&SnapshotRequest { strategy: SnapshotStrategyChoice::Overlay, ..*request })?;
    snapshot.layers.frozen = frozen.map(Path::to_owned);
    snapshot.layers.lasting = true;
    Ok(snapshot)
}

/// The snapshot as if all turns had been one that wrote `layer`: for telling what changed, never for mounting. Originals
/// that changed since `since` count as moved.
///
/// Prepares a little below `request.run_dir` too, which [`WorkspaceSnapshot::discard`] takes away again.
pub fn of_layer(
    request: &SnapshotRequest<'_>,
    layer: &Path,
    since: FileTimestamp,
) -> Result<WorkspaceSnapshot, SnapshotError> {
    let mut snapshot = take(&SnapshotRequest { strategy: SnapshotStrategyChoice::Overlay, ..*request })?;
    snapshot.layers.upper = Some(layer.to_owned());
    snapshot.started = since;
    Ok(snapshot)
}
