//! The folder of one thread: layers, home and uploads, safe after a kill at any moment.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, chown};
use std::path::{Path, PathBuf};

use holon_core::Access;
use holon_core::ids::ThreadId;
use holon_sandbox::isolation::PayloadIdentity;
use holon_sandbox::snapshot::{
    self, FileTimestamp, LayerLikeness, SnapshotRequest, SnapshotStrategyChoice, WorkspaceSnapshot, freeze,
    prune, remove_tree,
};

use super::ledger::{LayerLedger, RollbackRefusal};
use crate::error::HostError;
use crate::holon_folders::HolonFolders;
use crate::store::write_durable;

/// The file with the model that answered last.
const MODEL: &str = "model";

/// A thread's files. Whoever holds it sees to it that only one thing at a time is done with it.
#[derive(Debug, Clone)]
pub struct ThreadFolder {
    path: PathBuf,
    workspace: PathBuf,
    identity: PayloadIdentity,
}

impl ThreadFolder {
    /// The folder of a thread about this workspace (given by its canonical path), made when there is none.
    pub fn open(places: &HolonFolders, id: &ThreadId, workspace: &Path) -> Result<Self, HostError> {
        let path = places.threads_of(workspace).join(id.as_str());
        if places.state.starts_with(workspace) {
            return Err(HostError::usage(
                format!("Holon's state folder {} lies inside the workspace", places.state.display()),
                "set XDG_STATE_HOME to a folder outside the workspace",
            ));
        }
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(&path).map_err(HostError::io("create", &path))?;
        Ok(Self { path, workspace: workspace.to_owned(), identity: PayloadIdentity::for_run(id.as_str()) })
    }

    /// The folder of the thread.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The original.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The model that answered last, as it was kept.
    pub fn model(&self) -> Option<String> {
        let text = fs::read_to_string(self.path.join(MODEL)).ok()?;
        let text = text.trim();
        (!text.is_empty() && text.len() < 400).then(|| text.to_owned())
    }

    /// Keeps the model that answers from now on.
    pub fn keep_model(&self, id: &str) -> Result<(), HostError> {
        if self.model().as_deref() == Some(id) {
            return Ok(());
        }
        let path = self.path.join(MODEL);
        write_durable(&path, id.as_bytes())
    }

    pub(super) fn identity(&self) -> PayloadIdentity {
        self.identity
    }

    /// Where uploads are put to be seen inside as `/holon/input/context/uploads`.
    pub fn uploads(&self) -> Result<PathBuf, HostError> {
        let uploads = self.path.join("input/context/uploads");
        fs::create_dir_all(&uploads).map_err(HostError::io("create", &uploads))?;
        Ok(uploads)
    }

    /// What is seen as `/holon/input`.
    pub(super) fn input(&self) -> Result<PathBuf, HostError> {
        self.uploads().map(|_| self.path.join("input"))
    }

    /// The private home, the payload's own.
    pub(super) fn home(&self) -> Result<PathBuf, HostError> {
        let home = self.path.join("home");
        if !home.exists() {
            fs::create_dir(&home).map_err(HostError::io("create", &home))?;
            if let Some((uid, gid)) = self.identity.owner() {
                chown(&home, Some(uid), Some(gid)).map_err(HostError::io("give away", &home))?;
            }
        }
        Ok(home)
    }

    /// What is known of the layers, after taking in what a killed process left.
    pub(super) fn ledger(&self) -> Result<LayerLedger, HostError> {
        let ledger = self.stored()?;
        match ledger.open {
            Some(turn) => Ok(self.take_in(ledger, turn)?.0),
            None => Ok(ledger),
        }
    }

    fn stored(&self) -> Result<LayerLedger, HostError> {
        let path = self.path.join("layers.json");
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| HostError::io("read", &path)(e.into())),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(LayerLedger::default()),
            Err(e) => Err(HostError::io("read", &path)(e)),
        }
    }

    /// Whether a turn that a killed process left has written anything; nothing is taken in for that.
    pub fn was_written_by(&self, turn: u64) -> Result<bool, HostError> {
        let ledger = self.stored()?;
        let left = || {
            WorkspaceSnapshot::load(&self.turn_dir(turn)).is_ok_and(|s| s.written().is_some_and(has_entries))
        };
        Ok(ledger.has_changes_of(turn) || ledger.open == Some(turn) && left())
    }

    pub(super) fn save(&self, ledger: &LayerLedger) -> Result<(), HostError> {
        let bytes = serde_json::to_vec_pretty(ledger).unwrap_or_default();
        write_durable(&self.path.join("layers.json"), &bytes)
    }

    pub(super) fn layer(&self, number: u64) -> PathBuf {
        self.path.join("layers").join(number.to_string())
    }

    /// Where the turn under way writes.
    pub(super) fn turn_dir(&self, turn: u64) -> PathBuf {
        self.path.join(format!("turn-{turn}"))
    }

    /// Prepares the snapshot of a turn; from here on a kill leaves something to take in.
    pub(super) fn begin(
        &self,
        turn: u64,
        access: &Access,
        hide: &[PathBuf],
    ) -> Result<WorkspaceSnapshot, HostError> {
        let mut ledger = self.ledger()?;
        let dir = self.turn_dir(turn);
        remove_tree(&dir).map_err(HostError::io("remove", &dir))?;
        fs::create_dir(&dir).map_err(HostError::io("create", &dir))?;
        let frozen = ledger.current.map(|layer| self.layer(layer));
        let snapshot = snapshot::take_turn(&self.request(&dir, access, hide), frozen.as_deref())?;
        snapshot.store(&dir)?;
        ledger.open = Some(turn);
        self.save(&ledger)?;
        Ok(snapshot)
    }

    /// Takes a turn's writes in, when nothing of it runs any more; says whether there were any.
    pub(super) fn end(&self, turn: u64) -> Result<bool, HostError> {
        let path = self.path.join("layers.json");
        let bytes = fs::read(&path).map_err(HostError::io("read", &path))?;
        let ledger: LayerLedger =
            serde_json::from_slice(&bytes).map_err(|e| HostError::io("read", &path)(e.into()))?;
        Ok(self.take_in(ledger, turn)?.1)
    }

    /// Any step of this can be the last one of a process; then all of it is done again.
    fn take_in(&self, mut ledger: LayerLedger, turn: u64) -> Result<(LayerLedger, bool), HostError> {
        let dir = self.turn_dir(turn);
        let snapshot = WorkspaceSnapshot::load(&dir).ok();
        let written = snapshot.as_ref().and_then(WorkspaceSnapshot::written).filter(|path| has_entries(path));
        let changed = match (written, &snapshot) {
            (Some(written), Some(snapshot)) => {
                let below = ledger.current.map(|layer| self.layer(layer));
                let to = self.layer(ledger.next);
                remove_tree(&to).map_err(HostError::io("remove", &to))?;
                fs::create_dir_all(self.path.join("layers")).map_err(HostError::io("create", &to))?;
                freeze(below.as_deref(), written, &self.workspace, &to, self.identity.owner())?;
                self.prune(&to, LayerLikeness::Wholly);
                ledger.advance(turn);
                self.note_originals(&mut ledger, turn, snapshot.started())?;
                true
            }
            _ => false,
        };
        ledger.open = None;
        self.save(&ledger)?;
        remove_tree(&dir).map_err(HostError::io("remove", &dir))?;
        Ok((ledger, changed))
    }

    /// Leaves in a layer only what differs from the original: what people write there later is theirs, and is seen. Where
    /// that fails, the layer says the same at greater length.
    pub(super) fn prune(&self, layer: &Path, alike: LayerLikeness) {
        let _ = prune(layer, &self.workspace, self.identity.owner(), alike);
    }

    pub(super) fn request<'a>(
        &'a self,
        dir: &'a Path,
        access: &'a Access,
        hide: &'a [PathBuf],
    ) -> SnapshotRequest<'a> {
        SnapshotRequest {
            workspace: &self.workspace,
            run_dir: dir,
            access,
            hide,
            strategy: SnapshotStrategyChoice::Overlay,
            overlay_works: true,
            payload_uid: self.identity.owner(),
        }
    }

    /// Goes back to before a turn; says whether files changed by that.
    pub fn undo(&self, turn: u64) -> Result<bool, HostError> {
        let mut ledger = self.ledger()?;
        let changed = ledger.undo(turn).map_err(|RollbackRefusal::Applied| {
            HostError::run(
                format!("turn {turn} is in the workspace already"),
                "take it back there, with git or by asking for it in a new turn",
            )
        })?;
        self.save(&ledger)?;
        self.tidy(&ledger);
        Ok(changed)
    }

    /// Fills the folder of a new thread with what another one about the same workspace had before a turn: its layers, the
    /// files that were sent, and who answered.
    pub fn branch_from(&self, other: &Self, turn: u64) -> Result<(), HostError> {
        let ledger = other.ledger()?.branched(turn);
        let layers = self.path.join("layers");
        fs::create_dir_all(&layers).map_err(HostError::io("create", &layers))?;
        for number in ledger.needed() {
            freeze(None, &other.layer(number), &self.workspace, &self.layer(number), self.identity.owner())?;
        }
        let (from, to) = (other.uploads()?, self.uploads()?);
        for entry in fs::read_dir(&from).map_err(HostError::io("read", &from))?.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_file()) {
                let path = entry.path();
                fs::copy(&path, to.join(entry.file_name())).map_err(HostError::io("copy", &path))?;
            }
        }
        if let Some(model) = other.model() {
            self.keep_model(&model)?;
        }
        // The last step: until then there is nothing that counts.
        self.save(&ledger)
    }

    /// Removes layers nobody needs; what cannot be removed now is tried again next time.
    fn tidy(&self, ledger: &LayerLedger) {
        let needed = ledger.needed();
        for entry in fs::read_dir(self.path.join("layers")).into_iter().flatten().flatten() {
            let number = entry.file_name().to_str().and_then(|name| name.parse::<u64>().ok());
            if number.is_some_and(|number| !needed.contains(&number)) {
                let _ = remove_tree(&entry.path());
            }
        }
    }

    /// Takes the thread's files away.
    pub fn remove(&self) -> Result<(), HostError> {
        remove_tree(&self.path).map_err(HostError::io("remove", &self.path))
    }

    /// When the snapshot of the turn under way was taken.
    pub(super) fn never() -> FileTimestamp {
        // Later than everything: no original counts as changed.
        FileTimestamp { sec: i64::MAX, nsec: 0 }
    }
}

fn has_entries(path: &Path) -> bool {
    fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some())
}
