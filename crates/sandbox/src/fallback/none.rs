//! No walls: a plain process in a session of its own, for people who asked for exactly that.

use holon_core::sandbox::Level;

use crate::backend::{Backend, Payload};
use crate::walls::bare::Bare;
use crate::walls::{Job, Launcher, Refusal};

/// Runs the job as it is. Limits hold, everything it starts is ended with it, and that is all.
///
/// Started by root, the payload becomes its own user if that user can enter the working directory; otherwise it stays
/// root, and what it reports as held says so.
#[derive(Debug, Clone, Default)]
pub struct Unwalled {
    /// How the launcher is started.
    pub launcher: Launcher,
}

impl Backend for Unwalled {
    fn name(&self) -> &'static str {
        "none"
    }

    fn level(&self) -> Level {
        Level::None
    }

    fn overlays(&self) -> bool {
        false
    }

    fn private_root(&self) -> bool {
        false
    }

    fn start(&self, job: &Job) -> Result<Box<dyn Payload>, Refusal> {
        let bare = Bare { or_stay: true, ..Bare::of(job) };
        Ok(Box::new(self.launcher.spawn_bare(&job.name, job.limits, &bare, false)?))
    }
}
