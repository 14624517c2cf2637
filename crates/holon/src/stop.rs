//! Ctrl-C and its relatives: the first asks the run to stop, the second ends the process at once.

use holon_host::RunCancel;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::CliFailure;

/// What a shell reports for a process ended by Ctrl-C.
const ENDED_BY_INTERRUPT: i32 = 128 + SIGINT;

/// A request to stop that SIGINT, SIGTERM and SIGHUP set.
pub(crate) fn on_signals() -> Result<RunCancel, CliFailure> {
    let cancel = RunCancel::default();
    let listen = || -> std::io::Result<()> {
        // Registered first, so that the first Ctrl-C finds the flag still unset. The walls fall with this process.
        flag::register_conditional_shutdown(SIGINT, ENDED_BY_INTERRUPT, cancel.flag())?;
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            flag::register(signal, cancel.flag())?;
        }
        Ok(())
    };
    listen().map_err(|e| CliFailure::internal(format!("cannot listen to signals: {e}")))?;
    Ok(cancel)
}
