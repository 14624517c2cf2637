//! What can be asked of the hands, and what they answer. Paths are relative to the workspace or absolute inside the walls.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Names a background job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobId(pub u32);

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolRequest {
    /// Lines of a text file, for reading. Answer: [`ToolResponse::Text`].
    Read {
        /// The file.
        path: String,
        /// First line wanted, from 1.
        from_line: u64,
        /// Most lines wanted.
        lines: u64,
        /// Most bytes given back; longer lines are cut at a character.
        max_bytes: u64,
    },
    /// A whole file, for editing. Answer: [`ToolResponse::Bytes`].
    Load {
        /// The file.
        path: String,
        /// Larger ones are refused.
        max_bytes: u64,
    },
    /// Writes a whole file in one step; missing folders are made, mode bits of an existing file stay. Answer: [`ToolResponse::Stored`].
    Store {
        /// The file.
        path: String,
        /// Its new content.
        bytes: Vec<u8>,
        /// What must be there before.
        expect: FileExpectation,
        /// Sets or clears the executable bits; `None` leaves them.
        executable: Option<bool>,
    },
    /// Removes a file or, with `recursive`, a folder. Answer: [`ToolResponse::Nothing`].
    Remove {
        /// What to remove.
        path: String,
        /// Whether folders may go, with everything in them.
        recursive: bool,
    },
    /// Moves a file or folder; refuses to replace anything. Answer: [`ToolResponse::Nothing`].
    Rename {
        /// From where.
        from: String,
        /// To where.
        to: String,
    },
    /// What is in a folder, sorted by path, ignore rules respected unless `all`. Answer: [`ToolResponse::Listing`].
    List {
        /// The folder.
        path: String,
        /// How many levels deep; 1 is the folder itself.
        depth: u32,
        /// Most entries.
        limit: u64,
        /// Whether ignored and hidden entries are told too.
        all: bool,
    },
    /// Files whose path matches a glob, sorted by path. Answer: [`ToolResponse::Listing`].
    Glob {
        /// The pattern, relative to `path`: `*` stays within one folder, `**` does not.
        pattern: String,
        /// Where to look.
        path: String,
        /// Most entries.
        limit: u64,
        /// Whether ignored and hidden files count too.
        all: bool,
    },
    /// Lines that match. Answer: [`ToolResponse::Found`].
    Grep(SearchRequest),
    /// Runs a shell line to its end. Answer: [`ToolResponse::Ran`].
    Run(CommandRequest),
    /// Starts a shell line in the background. Answer: [`ToolResponse::Started`].
    Start(CommandRequest),
    /// What a background job printed since the last look, waiting at most this long for it to end. Answer: [`ToolResponse::Look`].
    Look {
        /// Which job.
        job: JobId,
        /// How long to wait.
        wait_ms: u64,
        /// Most bytes given back.
        max_bytes: u64,
    },
    /// Writes to a background job's standard input. Answer: [`ToolResponse::Nothing`].
    Feed {
        /// Which job.
        job: JobId,
        /// What it reads.
        bytes: Vec<u8>,
        /// Whether this was the last of it.
        end: bool,
    },
    /// Ends a background job and everything it started. Answer: [`ToolResponse::Look`].
    End {
        /// Which job.
        job: JobId,
    },
    /// Starts a program whose standard input and output are a conversation (a tool server). Answer: [`ToolResponse::Started`];
    /// then [`ToolRequest::Feed`] writes to it and [`ToolRequest::Hear`] reads from it. Its standard error is for [`ToolRequest::Look`].
    Open(ProgramRequest),
    /// The next bytes of a program's standard output; empty at its end. Answer: [`ToolResponse::Heard`].
    Hear {
        /// Which program.
        job: JobId,
        /// Most bytes at once.
        max_bytes: u64,
    },
}

/// What a file must be before it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileExpectation {
    /// Whatever is there.
    Any,
    /// Nothing.
    Absent,
    /// A file with this content.
    Sha256(String),
}

/// A search in files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchRequest {
    /// A regular expression, or plain text if `literal`.
    pub pattern: String,
    /// File or folder to look in; empty for the workspace.
    pub path: String,
    /// Only files whose path matches this glob; without a slash it is about names in any folder.
    pub glob: Option<String>,
    /// Whether the pattern is plain text.
    pub literal: bool,
    /// Whether letter case counts not.
    pub ignore_case: bool,
    /// Lines shown around each hit.
    pub context: u32,
    /// Whether only the files' names are wanted.
    pub names_only: bool,
    /// Whether ignored and hidden files are searched too.
    pub all: bool,
    /// Most hits.
    pub limit: u64,
}

/// A shell line to run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRequest {
    /// The line, as for `bash -c` (or `sh -c` where there is no bash).
    pub line: String,
    /// Working folder; empty for the workspace.
    pub cwd: String,
    /// Further environment.
    pub env: BTreeMap<String, String>,
    /// It is ended, with everything it started, after this time; 0 for never.
    pub timeout_ms: u64,
    /// Most bytes of output given back: half from its beginning, half from its end, and a line between them that is not
    /// counted. All of it is kept in a file.
    pub max_bytes: u64,
}

/// A program to converse with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramRequest {
    /// Program and arguments, no shell.
    pub argv: Vec<String>,
    /// Further environment.
    pub env: BTreeMap<String, String>,
}

/// What a deed gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolResponse {
    /// It is done, and there is nothing to say.
    Nothing,
    /// Of [`ToolRequest::Read`].
    Text(FileText),
    /// Of [`ToolRequest::Load`].
    Bytes(FileBytes),
    /// Of [`ToolRequest::Store`].
    Stored(StoredFile),
    /// Of [`ToolRequest::List`] and [`ToolRequest::Glob`].
    Listing(FolderListing),
    /// Of [`ToolRequest::Grep`].
    Found(SearchMatches),
    /// Of [`ToolRequest::Run`].
    Ran(CommandResult),
    /// Of [`ToolRequest::Start`] and [`ToolRequest::Open`].
    Started(JobId),
    /// Of [`ToolRequest::Look`] and [`ToolRequest::End`].
    Look(JobReport),
    /// Of [`ToolRequest::Hear`].
    Heard(Vec<u8>),
}

/// Lines of a text file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileText {
    /// The lines with their ends, invalid UTF-8 replaced.
    pub text: String,
    /// Number of the first line.
    pub from_line: u64,
    /// How many lines the file has; `None` when counting stopped early.
    pub total_lines: Option<u64>,
    /// Size of the file.
    pub bytes: u64,
    /// Digest of the whole file; `None` when it is too large to be hashed on the way.
    pub sha256: Option<String>,
    /// Whether it looks like no text at all; `text` is empty then.
    pub binary: bool,
    /// Whether a limit cut the answer.
    pub cut: bool,
}

/// A whole file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileBytes {
    /// Its content.
    pub bytes: Vec<u8>,
    /// Its digest.
    pub sha256: String,
    /// Whether its owner may execute it.
    pub executable: bool,
}

/// A written file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredFile {
    /// Digest of what was there before, if anything was.
    pub before: Option<String>,
    /// Digest of the new content.
    pub after: String,
}

/// Entries of folders.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderListing {
    /// The entries, sorted by path.
    pub entries: Vec<FolderEntry>,
    /// Whether there are more than the limit.
    pub cut: bool,
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderEntry {
    /// Its path, as the folder's was given.
    pub path: String,
    /// What it is.
    pub kind: EntryKind,
    /// Its size, of files.
    pub bytes: u64,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A plain file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A socket, device or FIFO.
    Other,
}

/// Results of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchMatches {
    /// Hits by path, then line; with `names_only` one per file.
    pub hits: Vec<SearchHit>,
    /// Whether there are more than the limit.
    pub cut: bool,
    /// How many files were looked at.
    pub searched: u64,
}

/// A line that matched, or one shown around it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchHit {
    /// The file.
    pub path: String,
    /// The line's number; 0 with `names_only`.
    pub line: u64,
    /// The line without its end, cut when very long.
    pub text: String,
    /// Whether it is only context.
    pub around: bool,
}

/// A command that ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandResult {
    /// How it ended.
    pub outcome: CommandOutcome,
    /// Its output, standard output and error as they came, beginning and end when it is long.
    pub output: String,
    /// Bytes of all its output.
    pub total_bytes: u64,
    /// Where all of it is kept, when not all is in `output`.
    pub kept: Option<String>,
    /// Its wall time.
    pub duration_ms: u64,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandOutcome {
    /// By itself.
    Exit(i32),
    /// By a signal.
    Signal(i32),
    /// Its time was up.
    TimedOut,
}

/// A background job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobReport {
    /// What it printed since the last look, cut as for [`CommandResult`].
    pub output: String,
    /// Where all of its output is kept.
    pub kept: String,
    /// What it is doing.
    pub state: JobState,
}

/// What a background job is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Still running.
    Running,
    /// Over.
    Ended(CommandOutcome),
}
