//! Hands that keep files in memory and know the commands they are told.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use holon_core::digest::sha256;
use holon_hands::{
    Deed, Doing, Done, Entry, EntryKind, Expectation, FileBytes, FileText, Found, Hands, HandsError, Hit,
    JobId, Listing, Look, Outcome, Ran, Run, State, Stored, Trouble, Watch,
};

#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) files: Mutex<BTreeMap<String, Vec<u8>>>,
    pub(crate) commands: BTreeMap<String, (i32, String)>,
    pub(crate) log: Mutex<Vec<Deed>>,
    /// Nothing works after so many deeds.
    pub(crate) gone_after: Option<usize>,
    /// Only the output folder can be written to.
    pub(crate) read_only: bool,
    pub(crate) running: AtomicUsize,
    pub(crate) most_running: AtomicUsize,
}

impl Memory {
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

    pub(crate) fn deeds(&self) -> Vec<Deed> {
        self.log.lock().unwrap().clone()
    }

    pub(crate) fn most_running(&self) -> usize {
        self.most_running.load(Ordering::SeqCst)
    }

    fn perform(&self, deed: Deed, watch: Option<Watch<'_>>) -> Result<Done, HandsError> {
        let missing =
            |path: &str| HandsError::new(Trouble::NotFound, format!("{path}: there is no such file"));
        let mut files = self.files.lock().unwrap();
        let guard = |path: &str| match self.read_only && !path.starts_with("/holon/output/") {
            true => Err(HandsError::new(Trouble::ReadOnly, format!("{path}: the workspace is read-only"))),
            false => Ok(()),
        };
        Ok(match deed {
            Deed::Read { path, from_line, lines, .. } => {
                let bytes = files.get(&path).ok_or_else(|| missing(&path))?;
                let text = String::from_utf8_lossy(bytes).into_owned();
                let all: Vec<&str> = text.split_inclusive('\n').collect();
                let from = usize::try_from(from_line).unwrap() - 1;
                let shown: Vec<&str> =
                    all.iter().skip(from).take(usize::try_from(lines).unwrap()).copied().collect();
                Done::Text(FileText {
                    text: shown.concat(),
                    from_line,
                    total_lines: Some(all.len() as u64),
                    bytes: bytes.len() as u64,
                    sha256: Some(sha256(bytes)),
                    binary: bytes.contains(&0),
                    cut: false,
                })
            }
            Deed::Load { path, .. } => {
                let bytes = files.get(&path).ok_or_else(|| missing(&path))?.clone();
                Done::Bytes(FileBytes { sha256: sha256(&bytes), bytes, executable: false })
            }
            Deed::Store { path, bytes, expect, .. } => {
                guard(&path)?;
                let before = files.get(&path).map(|bytes| sha256(bytes));
                let fits = match &expect {
                    Expectation::Any => true,
                    Expectation::Absent => before.is_none(),
                    Expectation::Sha256(digest) => before.as_ref() == Some(digest),
                };
                if !fits {
                    return Err(HandsError::new(
                        Trouble::Changed,
                        format!("{path}: changed meanwhile; read it again"),
                    ));
                }
                let after = sha256(&bytes);
                files.insert(path, bytes);
                Done::Stored(Stored { before, after })
            }
            Deed::Remove { path, .. } => {
                guard(&path)?;
                files.remove(&path).ok_or_else(|| missing(&path))?;
                Done::Nothing
            }
            Deed::Rename { .. } | Deed::Open(_) | Deed::Hear { .. } => Done::Nothing,
            Deed::List { .. } | Deed::Glob { .. } => {
                let entry = |(path, bytes): (&String, &Vec<u8>)| Entry {
                    path: path.clone(),
                    kind: EntryKind::File,
                    bytes: bytes.len() as u64,
                };
                Done::Listing(Listing { entries: files.iter().map(entry).collect(), cut: false })
            }
            Deed::Grep(search) => {
                let mut hits = Vec::new();
                for (path, bytes) in files.iter() {
                    let text = String::from_utf8_lossy(bytes);
                    let found = text.lines().enumerate().filter(|(_, line)| line.contains(&search.pattern));
                    hits.extend(found.map(|(at, line)| Hit {
                        path: path.clone(),
                        line: at as u64 + 1,
                        text: line.to_owned(),
                        around: false,
                    }));
                }
                Done::Found(Found { hits, cut: false, searched: files.len() as u64 })
            }
            Deed::Run(Run { line, .. }) => {
                let (exit, output) =
                    self.commands.get(&line).cloned().unwrap_or((127, format!("{line}: command not found")));
                if let Some(watch) = watch {
                    watch(&output);
                }
                let total_bytes = output.len() as u64;
                Done::Ran(Ran {
                    outcome: Outcome::Exit(exit),
                    output,
                    total_bytes,
                    kept: None,
                    duration_ms: 1,
                })
            }
            Deed::Start(_) => Done::Started(JobId(1)),
            Deed::Look { .. } => Done::Look(Look {
                output: "listening\n".into(),
                kept: "/tmp/jobs/1".into(),
                state: State::Running,
            }),
            Deed::Feed { .. } => Done::Nothing,
            Deed::End { .. } => Done::Look(Look {
                output: String::new(),
                kept: "/tmp/jobs/1".into(),
                state: State::Ended(Outcome::Signal(15)),
            }),
        })
    }
}

impl Hands for Memory {
    fn carry_out<'a>(&'a self, deed: Deed, watch: Option<Watch<'a>>) -> Doing<'a> {
        Box::pin(async move {
            let done = {
                let mut log = self.log.lock().unwrap();
                log.push(deed.clone());
                log.len()
            };
            if self.gone_after.is_some_and(|most| done > most) {
                return Err(HandsError::new(Trouble::Gone, "the hands are gone"));
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
