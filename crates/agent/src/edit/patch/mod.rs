//! Patches over several files, in the language that models trained on it write:
//!
//! ```text
//! *** Begin Patch
//! *** Add File: notes.txt
//! +every line of a new file
//! *** Update File: src/main.rs
//! *** Move to: src/start.rs
//! @@ fn main() {
//!  a line that stays
//! -a line that goes
//! +a line that comes
//! *** End of File
//! *** Delete File: old.txt
//! *** End Patch
//! ```
//!
//! [`parse`] reads it, forgiving what models really send; [`plan`] checks all of it against the files and says what each
//! becomes, so that either everything can be written or nothing is.

mod error;
mod hunk;
mod hunk_position;
mod parse;
mod plan;
mod unified;
mod wrapping;

pub use error::{PatchError, PatchProblem};
pub use hunk::{EnvelopeHunk, HunkLine};
pub use parse::parse;
pub use plan::{PatchedFileChange, plan};

/// A patch that was understood.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PatchEnvelope {
    /// What happens to files, in the order given; one file may come up several times.
    pub files: Vec<FilePatch>,
}

impl PatchEnvelope {
    /// Every path the patch reads or writes, in order and without repetition.
    pub fn paths(&self) -> Vec<&str> {
        let mut paths = Vec::new();
        for file in &self.files {
            let (path, to) = match file {
                FilePatch::Add { path, .. } | FilePatch::Delete { path } => (path, None),
                FilePatch::Update { path, move_to, .. } => (path, move_to.as_deref()),
            };
            for path in std::iter::once(path.as_str()).chain(to) {
                if !paths.contains(&path) {
                    paths.push(path);
                }
            }
        }
        paths
    }
}

/// What happens to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilePatch {
    /// It comes into being.
    Add {
        /// The file.
        path: String,
        /// All of it.
        text: String,
    },
    /// It goes away.
    Delete {
        /// The file.
        path: String,
    },
    /// Parts of it change, or its name.
    Update {
        /// The file.
        path: String,
        /// Its new name.
        move_to: Option<String>,
        /// The parts.
        hunks: Vec<EnvelopeHunk>,
    },
}
