//! What every database behind the store must do. A further backend adds one line to `on_every_backend`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "conformance/audit.rs"]
mod audit;
#[path = "conformance/branches.rs"]
mod branches;
#[path = "conformance/lists.rs"]
mod lists;
#[path = "conformance/marks.rs"]
mod marks;
#[path = "conformance/stage.rs"]
mod stage;
#[path = "conformance/threads.rs"]
mod threads;
#[path = "conformance/tool_outputs.rs"]
mod tool_outputs;
#[path = "conformance/uploads.rs"]
mod uploads;

use holon_store::sqlite::Sqlite;
use stage::StoreStage;

/// Runs a check on a fresh database of every kind.
fn on_every_backend(check: impl Fn(&mut StoreStage)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    check(&mut StoreStage::new(Box::new(move || Box::new(Sqlite::open(&path).unwrap()))));
}
