//! A shell line run to its end.

use std::time::{Duration, Instant};

use super::output::CommandOutput;
use super::output_store::OutputStore;
use super::shell::{ShellStarter, TAKEN};
use crate::stop::StopSignal;
use crate::{CommandOutcome, CommandRequest, CommandResult, ExecutorError};

/// [`crate::ToolRequest::Run`].
pub(crate) fn run(
    shell: &ShellStarter,
    keep: &OutputStore,
    run: &CommandRequest,
    stop: &StopSignal,
    watch: &mut dyn FnMut(&str),
) -> Result<CommandResult, ExecutorError> {
    let started = Instant::now();
    let mut output = CommandOutput::new(run.max_bytes, keep.clone());
    let deadline = deadline(run, started);
    let mut ended = None;
    if let Some(process) = shell.start_ready(run)? {
        let mut taken = false;
        let outcome = process.follow(deadline, stop, &mut |bytes| {
            let sign = if taken { None } else { bytes.iter().position(|byte| *byte == TAKEN) };
            let (before, after) = bytes.split_at(sign.unwrap_or(0));
            taken |= sign.is_some();
            output.take(before, watch);
            output.take(&after[usize::from(sign.is_some())..], watch);
        });
        // Somebody ended the shell while it waited, for example a command that ends every shell: nothing was run.
        let never_run = matches!(outcome, CommandOutcome::Signal(_)) && !taken && !stop.asked();
        ended = (!never_run).then_some(outcome);
    }
    let outcome = match ended {
        Some(outcome) => outcome,
        None => shell.start(run)?.follow(deadline, stop, &mut |bytes| output.take(bytes, watch)),
    };
    output.flush(true, watch);
    Ok(CommandResult {
        outcome,
        output: output.shown(run.max_bytes),
        total_bytes: output.total_bytes(),
        kept: if output.complete() { None } else { output.kept() },
        duration_ms: started.elapsed().as_millis() as u64,
    })
}

/// When its time is up, if ever.
pub(super) fn deadline(run: &CommandRequest, started: Instant) -> Option<Instant> {
    match run.timeout_ms {
        0 => None,
        // Beyond what the clock can tell is never, too.
        after => started.checked_add(Duration::from_millis(after)),
    }
}
