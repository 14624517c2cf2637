//! The contract between whoever asks, the agent and whoever reads what came of it: nothing asked for is dropped, what an
//! agent may leave is taken, and what is told is true.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod every_flag;
mod executor;
mod former;
mod leftovers;
mod plan;
mod reach;
mod reported;

const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// Leaves a summary, and nothing else.
const SUMMARY: &str = "#!/bin/sh\necho '# Done' > \"$HOLON_OUTPUT_DIR/summary.md\"\n";
