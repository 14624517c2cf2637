//! A patch on its way to a branch: applied in a repository of our own, pushed over nobody's work.

mod conflict;
mod git_workbench;
mod remote;
mod stamp;

pub use conflict::PatchConflict;
pub use git_workbench::{CommitDraft, GitWorkbench};
pub use remote::GitRemote;
pub use stamp::{BranchStatus, CommitStamp, ExistingCommit, standing};
