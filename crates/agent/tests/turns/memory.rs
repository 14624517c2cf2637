//! Hands that keep files in memory and know the commands they are told.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use holon_core::digest::sha256;
use holon_hands::{
    CommandOutcome, CommandRequest, CommandResult, EntryKind, ExecutorError, ExecutorErrorKind, FileBytes,
    FileExpectation, FileText, FolderEntry, FolderListing, InFlightRequest, JobId, JobReport, JobState,
    OutputWatch, SearchHit, SearchMatches, StoredFile, ToolExecutor, ToolRequest, ToolResponse,
};

#[derive(Default)]
pub(crate) struct InMemoryExecutor {
    pub(crate) files: Mutex<BTreeMap<String, Vec<u8>>>,
    pub(crate) commands: BTreeMap<String, (i32, String)>,
    pub(crate) log: Mutex<Vec<ToolRequest>>,
    /// Nothing works after so many deeds.
    pub(crate) gone_after: Option<usize>,
    /// Only the output folder can be written to.
    pub(crate) read_only: bool,
    pub(crate) running: AtomicUsize,
    pub(crate) most_running: AtomicUsize,
}

impl InMemoryExecutor {
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
        Self { files: Mutex::new(files.collect()), ..Self::default() }
    }

    pub(crate) fn knowing(mut self, line: &str, exit: i32, output: &str) -> Self {
        self.commands.insert(line.to_owned(), (exit, output.to_owned()));
        self
    }

    pub(crate) fn file(&self, path: &str) -> Option<String> {
        let bytes = self.files.lock().unwrap().get(path).cloned();
        bytes.map(|bytes| String::from_utf8(bytes).unwrap())
    }

    pub(crate) fn deeds(&self) -> Vec<ToolRequest> {
        self.log.lock().unwrap().clone()
    }

    pub(crate) fn most_running(&self) -> usize {
        self.most_running.load(Ordering::SeqCst)
    }

    fn perform(
        &self,
        deed: ToolRequest,
        watch: Option<OutputWatch<'_>>,
    ) -> Result<ToolResponse, ExecutorError> {
        let missing = |path: &str| {
            ExecutorError::new(ExecutorErrorKind::NotFound, format!("{path}: there is no such file"))
        };
        let mut files = self.files.lock().unwrap();
        let guard = |path: &str| match self.read_only && !path.starts_with("/holon/output/") {
            true => Err(ExecutorError::new(
                ExecutorErrorKind::ReadOnly,
                format!("{path}: the workspace is read-only"),
            )),
            false => Ok(()),
        };
        Ok(match deed {
            ToolRequest::Read { path, from_line, lines, .. } => {
                let bytes = files.get(&path).ok_or_else(|| missing(&path))?;
                let text = String::from_utf8_lossy(bytes).into_owned();
                let all: Vec<&str> = text.split_inclusive('\n').collect();
                let from = usize::try_from(from_line).unwrap() - 1;
                let shown: Vec<&str> =
                    all.iter().skip(from).take(usize::try_from(lines).unwrap()).copied().collect();
                ToolResponse::Text(FileText {
                    text: shown.concat(),
                    from_line,
                    total_lines: Some(all.len() as u64),
                    bytes: bytes.len() as u64,
                    sha256: Some(sha256(bytes)),
                    binary: bytes.contains(&0),
                    cut: false,
                })
            }
            ToolRequest::Load { path, .. } => {
                let bytes = files.get(&path).ok_or_else(|| missing(&path))?.clone();
                ToolResponse::Bytes(FileBytes { sha256: sha256(&bytes), bytes, executable: false })
            }
            ToolRequest::Store { path, bytes, expect, .. } => {
                guard(&path)?;
                let before = files.get(&path).map(|bytes| sha256(bytes));
                let fits = match &expect {
                    FileExpectation::Any => true,
                    FileExpectation::Absent => before.is_none(),
                    FileExpectation::Sha256(digest) => before.as_ref() == Some(digest),
                };
                if !fits {
                    return Err(ExecutorError::new(
                        ExecutorErrorKind::Changed,
                        format!("{path}: changed meanwhile; read it again"),
                    ));
                }
                let after = sha256(&bytes);
                files.insert(path, bytes);
                ToolResponse::Stored(StoredFile { before, after })
            }
            ToolRequest::Remove { path, .. } => {
                guard(&path)?;
                files.remove(&path).ok_or_else(|| missing(&path))?;
                ToolResponse::Nothing
            }
            ToolRequest::Rename { .. } | ToolRequest::Open(_) | ToolRequest::Hear { .. } => {
                ToolResponse::Nothing
            }
            ToolRequest::List { .. } | ToolRequest::Glob { .. } => {
                let entry = |(path, bytes): (&String, &Vec<u8>)| FolderEntry {
                    path: path.clone(),
                    kind: EntryKind::File,
                    bytes: bytes.len() as u64,
                };
                ToolResponse::Listing(FolderListing {
                    entries: files.iter().map(entry).collect(),
                    cut: false,
                })
            }
            ToolRequest::Grep(search) => {
                let mut hits = Vec::new();
                for (path, bytes) in files.iter() {
                    let text = String::from_utf8_lossy(bytes);
                    let found = text.lines().enumerate().filter(|(_, line)| line.contains(&search.pattern));
                    hits.extend(found.map(|(at, line)| SearchHit {
                        path: path.clone(),
                        line: at as u64 + 1,
                        text: line.to_owned(),
                        around: false,
                    }));
                }
                ToolResponse::Found(SearchMatches { hits, cut: false, searched: files.len() as u64 })
            }
            ToolRequest::Run(CommandRequest { line, .. }) => {
                let (exit, output) =
                    self.commands.get(&line).cloned().unwrap_or((127, format!("{line}: command not found")));
                if let Some(watch) = watch {
                    watch(&output);
                }
                let total_bytes = output.len() as u64;
                ToolResponse::Ran(CommandResult {
                    outcome: CommandOutcome::Exit(exit),
                    output,
                    total_bytes,
                    kept: None,
                    duration_ms: 1,
                })
            }
            ToolRequest::Start(_) => ToolResponse::Started(JobId(1)),
            ToolRequest::Look { .. } => ToolResponse::Look(JobReport {
                output: "listening\n".into(),
                kept: "/tmp/jobs/1".into(),
                state: JobState::Running,
            }),
            ToolRequest::Feed { .. } => ToolResponse::Nothing,
            ToolRequest::End { .. } => ToolResponse::Look(JobReport {
                output: String::new(),
                kept: "/tmp/jobs/1".into(),
                state: JobState::Ended(CommandOutcome::Signal(15)),
            }),
        })
    }
}

impl ToolExecutor for InMemoryExecutor {
    fn carry_out<'a>(&'a self, deed: ToolRequest, watch: Option<OutputWatch<'a>>) -> InFlightRequest<'a> {
        Box::pin(async move {
            let done = {
                let mut log = self.log.lock().unwrap();
                log.push(deed.clone());
                log.len()
            };
            if self.gone_after.is_some_and(|most| done > most) {
                return Err(ExecutorError::new(ExecutorErrorKind::Gone, "the hands are gone"));
            }
            let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.most_running.fetch_max(running, Ordering::SeqCst);
            // Lets deeds that may run at the same time overlap.
            tokio::task::yield_now().await;
            self.running.fetch_sub(1, Ordering::SeqCst);
            self.perform(deed, watch)
        })
    }
}
