//! Which run is meant.

use std::path::PathBuf;

use holon_publish::VerifiedOutput;

use crate::command::runs;
use crate::failure::CliFailure;
use crate::session::Session;

/// The finished run.
#[derive(Debug, clap::Args)]
pub(super) struct RunSourceArgs {
    /// The run: its id, the beginning or end of it, or `last` [default: last]
    #[arg(long, value_name = "RUN", conflicts_with = "from", help_heading = "Which run")]
    run: Option<String>,
    /// An output folder (what `holon run --out` wrote) instead of a run
    #[arg(long, value_name = "DIR", help_heading = "Which run")]
    from: Option<PathBuf>,
    /// The folder whose runs are meant [default: the current one]
    #[arg(long, value_name = "DIR", help_heading = "Which run")]
    workspace: Option<PathBuf>,
    /// The digest the manifest must have, as an earlier job told it
    #[arg(long, value_name = "SHA256", help_heading = "Which run")]
    manifest_sha256: Option<String>,
}

impl RunSourceArgs {
    /// Opens the output after checking every digest in it.
    pub(super) fn open(&self, session: &Session) -> Result<VerifiedOutput, CliFailure> {
        let folder = match &self.from {
            Some(folder) => folder.clone(),
            None => {
                let store = session.store(self.workspace.as_deref())?;
                runs::find(&store, self.run.as_deref().unwrap_or("last"))?.output()
            }
        };
        Ok(VerifiedOutput::open(&folder, self.manifest_sha256.as_deref())?)
    }
}
