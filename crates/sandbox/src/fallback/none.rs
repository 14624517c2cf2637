//! No walls: a plain process in a session of its own, for people who asked for exactly that.

use holon_core::sandbox::IsolationLevel;

use crate::backend::{RunningPayload, SandboxBackend};
use crate::isolation::bare::BareCommand;
use crate::isolation::{LaunchRefusal, Launcher, SandboxJob};

/// Runs the job as it is. Limits hold, everything it starts is ended with it, and that is all.
///
/// Started by root, the payload becomes its own user if that user can enter the working directory; otherwise it stays
/// root, and what it reports as held says so.
#[derive(Debug, Clone, Default)]
pub struct UnsandboxedBackend {
    /// How the launcher is started.
    pub launcher: Launcher,
}

impl SandboxBackend for UnsandboxedBackend {
    fn name(&self) -> &'static str {
        "none"
    }

    fn level(&self) -> IsolationLevel {
        IsolationLevel::None
    }

    fn overlays(&self) -> bool {
        false
    }

    fn private_root(&self) -> bool {
        false
    }

    fn start(&self, job: &SandboxJob) -> Result<Box<dyn RunningPayload>, LaunchRefusal> {
        let bare = BareCommand { or_stay: true, ..BareCommand::of(job) };
        Ok(Box::new(self.launcher.spawn_bare(&job.name, job.limits, &bare, false)?))
    }
}
