//! A shell line run to its end.

use std::time::{Duration, Instant};

use super::keep::Keep;
use super::output::Output;
use super::shell::Shell;
use crate::stop::Stop;
use crate::{HandsError, Ran, Run};

/// [`crate::Deed::Run`].
pub(crate) fn run(
    shell: &Shell,
    keep: &Keep,
    run: &Run,
    stop: &Stop,
    watch: &mut dyn FnMut(&str),
) -> Result<Ran, HandsError> {
    let started = Instant::now();
    let process = shell.start(run)?;
    let mut output = Output::new(run.max_bytes, keep.clone());
    let outcome = process.follow(deadline(run, started), stop, &mut |bytes| output.take(bytes, watch));
    output.flush(true, watch);
    Ok(Ran {
        outcome,
        output: output.shown(run.max_bytes),
        total_bytes: output.total_bytes(),
        kept: if output.complete() { None } else { output.kept() },
        duration_ms: started.elapsed().as_millis() as u64,
    })
}

/// When its time is up, if ever.
pub(super) fn deadline(run: &Run, started: Instant) -> Option<Instant> {
    match run.timeout_ms {
        0 => None,
        // Beyond what the clock can tell is never, too.
        after => started.checked_add(Duration::from_millis(after)),
    }
}
