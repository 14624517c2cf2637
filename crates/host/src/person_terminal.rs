//! The terminal of a person, as a run needs it: somebody who carries what an agent draws and what a person types.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::Path;

use holon_sandbox::isolation::TerminalSize;

/// Carries bytes between an agent's terminal, inside the walls, and a person. A run only tells it when to begin and to end;
/// what passes is never looked at by the run.
pub trait PersonTerminal: Send {
    /// How large the terminal inside is to be when the agent starts.
    fn size(&self) -> TerminalSize;
    /// Begins. `inside` is the host's end of the agent's terminal, `folder` the run's, and what is shown is also written to
    /// `record`.
    fn begin(&mut self, folder: &Path, inside: OwnedFd, record: Box<dyn Write + Send>);
    /// The agent stopped, as a job does that is put aside.
    fn agent_stopped(&mut self);
    /// Whether somebody wants an agent that stopped to go on, since this was asked last.
    fn wants_to_go_on(&mut self) -> bool;
    /// The agent has ended; returns when everything that it drew has been carried.
    fn end(&mut self);
}
