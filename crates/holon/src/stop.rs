//! Ctrl-C and its relatives: the first asks the run to stop, the second ends the process at once.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use holon_host::ModelCancel;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::pipe;

use crate::failure::CliFailure;

/// What a shell reports for a process ended by Ctrl-C.
const ENDED_BY_INTERRUPT: i32 = 128 + SIGINT;

/// A request to stop that SIGINT, SIGTERM and SIGHUP make.
pub(crate) fn on_signals() -> Result<ModelCancel, CliFailure> {
    let cancel = ModelCancel::default();
    listen(cancel.clone()).map_err(|e| CliFailure::internal(format!("cannot listen to signals: {e}")))?;
    Ok(cancel)
}

fn listen(cancel: ModelCancel) -> std::io::Result<()> {
    let (mut heard, caught) = UnixStream::pair()?;
    let once: Arc<AtomicBool> = Arc::default();
    // Registered first, so that the first Ctrl-C finds the flag still unset. The walls fall with this process.
    flag::register_conditional_shutdown(SIGINT, ENDED_BY_INTERRUPT, Arc::clone(&once))?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register(signal, Arc::clone(&once))?;
        pipe::register(signal, caught.try_clone()?)?;
    }
    // A handler may do next to nothing; a thread tells those who wait, and goes with the process.
    std::thread::Builder::new().name("signals".into()).stack_size(64 << 10).spawn(move || {
        // The handlers keep the other end, so this ends with a signal and in no other way.
        if heard.read_exact(&mut [0]).is_ok() {
            cancel.cancel();
        }
    })?;
    Ok(())
}
