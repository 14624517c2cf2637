//! What is verified: a statement in a file, a folder, a run or a text, and what lies beside it.

use std::fs;
use std::path::{Path, PathBuf};

use holon_attest::{DsseEnvelope, RunStatement};
use holon_host::store::RunFolder;

use crate::command::attest::FILE;
use crate::command::runs::{RunsWorkspaceArgs, place_of};
use crate::failure::CliFailure;
use crate::session::Session;

/// A statement and what lies beside it.
pub(super) struct StatementSource {
    said: StatementForm,
    /// The patch beside it.
    pub(super) patch: Option<PathBuf>,
    /// The workspace of the run, where that is known.
    pub(super) workspace: Option<PathBuf>,
}

enum StatementForm {
    Signed(DsseEnvelope),
    /// The manifest of a run, which nobody signed.
    Unsigned {
        manifest: Vec<u8>,
        folder: PathBuf,
    },
}

impl StatementSource {
    /// The signed statement.
    pub(super) fn envelope(&self) -> Result<&DsseEnvelope, CliFailure> {
        match &self.said {
            StatementForm::Signed(envelope) => Ok(envelope),
            StatementForm::Unsigned { folder, .. } => {
                Err(CliFailure::config(format!("there is no {FILE} in {}", folder.display()))
                    .hint("sign it with `holon attest`, or leave --policy out"))
            }
        }
    }

    /// What is stated, signed or not.
    pub(super) fn statement(&self) -> Result<RunStatement, CliFailure> {
        match &self.said {
            StatementForm::Unsigned { manifest, .. } => Ok(RunStatement::about(manifest)?),
            StatementForm::Signed(envelope) => {
                let read = envelope.payload().and_then(|payload| serde_json::from_slice(&payload).ok());
                read.ok_or_else(|| {
                    CliFailure::config("the payload is no statement of ours")
                        .hint("give what `holon attest` wrote")
                })
            }
        }
    }
}

/// Finds what is meant. Runs and folders without a statement are taken only where `unsigned` ones do.
pub(super) fn find(
    given: &Path,
    unsigned: bool,
    workspace: Option<&Path>,
    session: &Session,
) -> Result<StatementSource, CliFailure> {
    if given == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut bytes)
            .map_err(CliFailure::io("read", given))?;
        return Ok(StatementSource {
            said: StatementForm::Signed(DsseEnvelope::find_in(&bytes)?),
            patch: None,
            workspace: None,
        });
    }
    if given.is_file() || !unsigned {
        let folder = given.is_dir();
        let path = if folder { given.join(FILE) } else { given.to_owned() };
        let bytes = fs::read(&path).map_err(CliFailure::io("read", &path))?;
        let patch = folder.then(|| given.join("diff.patch")).filter(|patch| patch.is_file());
        return Ok(StatementSource {
            said: StatementForm::Signed(DsseEnvelope::find_in(&bytes)?),
            patch,
            workspace: None,
        });
    }
    let whose = RunsWorkspaceArgs::of(workspace);
    let folder = place_of(&given.to_string_lossy(), &whose, session, &session.places()?)?;
    let stored = folder.join("run.json").is_file();
    let output = if stored { folder.join("output") } else { folder.clone() };
    let said = match fs::read(folder.join(FILE)) {
        Ok(bytes) => StatementForm::Signed(DsseEnvelope::find_in(&bytes)?),
        Err(_) => {
            let path = output.join("manifest.json");
            let manifest = fs::read(&path).map_err(CliFailure::io("read", &path))?;
            StatementForm::Unsigned { manifest, folder: folder.clone() }
        }
    };
    let workspace = if stored { Some(RunFolder::open(folder).record()?.workspace) } else { None };
    Ok(StatementSource {
        said,
        patch: Some(output.join("diff.patch")).filter(|patch| patch.is_file()),
        workspace,
    })
}
