//! What is assessed.

/// A goal and what was made for it; the caller gathers it, nothing here reads a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AssessmentInput {
    /// The request, for the report.
    pub request_id: Option<String>,
    /// The goal or task, for the report.
    pub goal_id: Option<String>,
    /// What was asked for, in the person's words.
    pub goal: String,
    /// The change as a unified diff, as git writes it.
    pub patch: Vec<u8>,
    /// Files with their content: at least the dependency manifests the patch touches, and artifacts outside of it.
    pub files: Vec<AssessedFile>,
    /// The project's licence as an SPDX expression, when it is known; see [`crate::project_licence`].
    pub project_licence: Option<String>,
    /// Licences, as SPDX identifiers, that a person takes besides those that fit the project's.
    pub allowed_licences: Vec<String>,
    /// What earlier assessments of this repository said, for the report.
    pub history: Option<String>,
    /// The project's own guidelines, as `(path, text)`.
    pub guidelines: Vec<(String, String)>,
}

/// One file before and after.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AssessedFile {
    /// Relative to the workspace.
    pub path: String,
    /// Its content before, `None` when it did not exist.
    pub before: Option<Vec<u8>>,
    /// Its content after, `None` when it is gone.
    pub after: Option<Vec<u8>>,
}

impl AssessmentInput {
    /// Size of everything that is looked at, in bytes.
    pub fn bytes(&self) -> usize {
        let files = self.files.iter().map(|file| file.after.as_ref().map_or(0, Vec::len));
        self.goal.len() + self.patch.len() + files.sum::<usize>()
    }
}
