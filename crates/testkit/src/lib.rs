//! The hermetic environment that integration tests of the `holon` binary run in.
//!
//! ```no_run
//! use holon_testkit::TestEnv;
//!
//! let env = TestEnv::new("target/debug/holon"); // in tests: env!("CARGO_BIN_EXE_holon")
//! let repo = env.repo().file("a.txt", "one\n").commit("first").file("a.txt", "dirty\n");
//! let agent = env.agent("writes", "#!/bin/sh\necho hi > new.txt\n");
//! let before = holon_testkit::tree_state(repo.path());
//! let output = env.holon(["run", "--mode", "plan", "--goal", "x"]).arg("--agent").arg(&agent).cwd(repo.path()).run();
//! output.assert_code(1);
//! holon_testkit::assert_unchanged(&before, repo.path());
//! env.assert_nothing_left();
//! ```
//!
//! Everything a test touches lives in one temporary folder with its own HOME and XDG folders, commands see no variable
//! of the caller but PATH, and nothing waits without a deadline. This crate is for tests: it panics with a readable
//! message instead of returning errors.
#![allow(clippy::print_stdout, clippy::print_stderr)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod chat;
pub mod collector;
mod env;
pub mod fuzz;
mod git;
pub mod github;
mod identity;
mod invocation;
mod leaks;
pub mod lost;
pub mod model;
mod output;
mod reach;
mod skip;
mod tree;
mod truth;
mod wait;
mod workspace;

pub use chat::{ChatStage, SLOWLY};
pub use env::TestEnv;
pub use git::{apply_patch_plain, git_command, run_git};
pub use identity::{ORDINARY_UID, TestIdentity, for_each_identity};
pub use invocation::{Invocation, RunningCommand};
pub use leaks::{
    HostProcess, files_containing, mounts, mounts_mentioning, open_fds, open_fds_of, processes_with_marker,
    processes_with_markers,
};
pub use output::CommandEnd;
pub use skip::{SKIPPED_TESTS, current_test, skip_security};
pub use tree::{
    TreeDifference, TreePathKind, TreePathState, TreeState, assert_same_trees, assert_unchanged, copy_tree,
    same_trees, tree_state,
};
pub use wait::{wait_for_content, wait_for_file, wait_until};
pub use workspace::TestWorkspace;
