//! Lines that match, in the order of paths, with as many threads as there are cores and the same answer every time.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use globset::GlobMatcher;
use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use rustix::fs::OFlags;

use super::excerpt::excerpt;
use super::list;
use super::walk::{FolderWalk, WalkItem, WalkScope};
use crate::file::open;
use crate::stop::StopSignal;
use crate::workspace_paths::WorkspacePaths;
use crate::{EntryKind, ExecutorError, ExecutorErrorKind, SearchHit, SearchMatches, SearchRequest};

/// Most hits in one answer, whatever was asked for.
const MOST_HITS: u64 = 10_000;
/// Most lines around a hit, whatever was asked for.
const MOST_AROUND: u32 = 50;
/// Files taken at once by a thread.
const BATCH: usize = 64;
const MOST_THREADS: usize = 8;
/// A file with a longer line than this is passed over.
const LONGEST_LINE: usize = 32 << 20;

/// [`crate::ToolRequest::Grep`].
pub(crate) fn grep(
    place: &WorkspacePaths,
    search: &SearchRequest,
    stop: &StopSignal,
) -> Result<SearchMatches, ExecutorError> {
    let hunt = GrepRun {
        matcher: matcher(search)?,
        glob: search.glob.as_deref().map(file_glob).transpose()?,
        search,
        limit: search.limit.min(MOST_HITS),
        around: if search.names_only { 0 } else { search.context.min(MOST_AROUND) },
        hits: AtomicU64::new(0),
        stop,
    };
    let path = place.resolve(&search.path)?;
    if std::fs::metadata(&path).is_ok_and(|metadata| !metadata.is_dir()) {
        let (file, _) = open::plain(place, &search.path)?;
        let hits = hunt.in_file(&mut hunt.searcher(), &file, &search.path);
        return Ok(hunt.answer(vec![(0, vec![hits])]));
    }
    let walk = list::start(place, &search.path, WalkScope { all: search.all, depth: u32::MAX })?;
    Ok(hunt.answer(hunt.in_tree(walk)))
}

/// A search under way.
struct GrepRun<'a> {
    search: &'a SearchRequest,
    matcher: RegexMatcher,
    glob: Option<GlobMatcher>,
    limit: u64,
    around: u32,
    /// Hits in all batches that were taken so far.
    hits: AtomicU64,
    stop: &'a StopSignal,
}

/// The hits of the files of one batch, by the batch's number.
type HitBatch = (usize, Vec<Vec<SearchHit>>);

impl GrepRun<'_> {
    fn in_tree(&self, walk: FolderWalk) -> Vec<HitBatch> {
        let source = Mutex::new(BatchSource { walk, taken: 0 });
        let found = Mutex::new(Vec::new());
        let work = |most: usize| {
            let mut searcher = self.searcher();
            for _ in 0..most {
                let Some((number, items)) = self.next_batch(&source) else { return };
                let hits = items.iter().map(|item| self.in_item(&mut searcher, item)).collect();
                found.lock().unwrap_or_else(PoisonError::into_inner).push((number, hits));
            }
        };
        // A small tree is done before a second thread would have started.
        work(1);
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        std::thread::scope(|scope| {
            for _ in 1..threads {
                // Without threads to be had it takes longer, that is all.
                let _ = std::thread::Builder::new().spawn_scoped(scope, || work(usize::MAX));
            }
            work(usize::MAX);
        });
        let mut batches = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        batches.sort_unstable_by_key(|(number, _): &HitBatch| *number);
        batches
    }

    /// The next files in the order of paths. As batches are taken in order, those taken before enough hits were found
    /// hold the first hits there are.
    fn next_batch(&self, source: &Mutex<BatchSource>) -> Option<(usize, Vec<WalkItem>)> {
        let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
        if self.hits.load(Ordering::SeqCst) > self.limit || self.stop.asked() {
            return None;
        }
        let wanted = |item: &WalkItem| {
            item.kind == EntryKind::File
                && self.glob.as_ref().is_none_or(|glob| glob.is_match(item.relative.as_path()))
        };
        let items: Vec<WalkItem> = source.walk.by_ref().filter(wanted).take(BATCH).collect();
        let number = source.taken;
        source.taken += 1;
        (!items.is_empty()).then_some((number, items))
    }

    fn in_item(&self, searcher: &mut Searcher, item: &WalkItem) -> Vec<SearchHit> {
        if self.stop.asked() {
            return Vec::new();
        }
        let Ok(file) = plain_file(&item.path) else { return Vec::new() };
        self.in_file(searcher, &file, &WorkspacePaths::below(&self.search.path, &item.relative))
    }

    /// The hits of one file; none if it turns out to be no text or cannot be read.
    fn in_file(&self, searcher: &mut Searcher, file: &File, path: &str) -> Vec<SearchHit> {
        let mut lines = LineCollector { hunt: self, path, hits: Vec::new(), matched: 0, binary: false };
        let read = searcher.search_file(&self.matcher, file, &mut lines);
        if read.is_err() || lines.binary {
            return Vec::new();
        }
        self.hits.fetch_add(lines.matched, Ordering::SeqCst);
        lines.hits
    }

    fn searcher(&self) -> Searcher {
        SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(LONGEST_LINE))
            .before_context(self.around as usize)
            .after_context(self.around as usize)
            .build()
    }

    /// The first hits up to the limit, and what is shown around them.
    fn answer(&self, batches: Vec<HitBatch>) -> SearchMatches {
        let mut found = SearchMatches::default();
        let mut matched = 0;
        for hits in batches.into_iter().flat_map(|(_, files)| files) {
            found.searched += 1;
            let mut last = None;
            let mut waiting = Vec::new();
            for hit in hits {
                if !hit.around && matched == self.limit {
                    found.cut = true;
                    break;
                }
                match hit.around {
                    true => waiting.push(hit),
                    false => {
                        matched += 1;
                        last = Some(hit.line);
                        found.hits.append(&mut waiting);
                        found.hits.push(hit);
                    }
                }
            }
            // What is behind the last hit belongs to it, as far as it reaches.
            let reach = last.map_or(0, |line| line + u64::from(self.around));
            found.hits.extend(waiting.into_iter().filter(|hit| hit.line <= reach));
            if found.cut {
                break;
            }
        }
        found
    }
}

struct BatchSource {
    walk: FolderWalk,
    taken: usize,
}

/// Gathers the lines of one file.
struct LineCollector<'a> {
    hunt: &'a GrepRun<'a>,
    path: &'a str,
    hits: Vec<SearchHit>,
    matched: u64,
    binary: bool,
}

impl LineCollector<'_> {
    fn push(&mut self, line: u64, text: String, around: bool) {
        self.hits.push(SearchHit { path: self.path.to_owned(), line, text, around });
    }
}

impl Sink for LineCollector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, line: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.matched += 1;
        if self.hunt.search.names_only {
            self.push(0, String::new(), false);
            return Ok(false);
        }
        let place = self.hunt.matcher.find(line.bytes()).ok().flatten();
        let text = excerpt(line.bytes(), place.map(|place| place.start()..place.end()));
        self.push(line.line_number().unwrap_or_default(), text, false);
        // One more than the limit tells that there are more.
        Ok(self.matched <= self.hunt.limit && !self.hunt.stop.asked())
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> Result<bool, io::Error> {
        self.push(line.line_number().unwrap_or_default(), excerpt(line.bytes(), None), true);
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.binary = true;
        Ok(false)
    }
}

fn plain_file(path: &Path) -> io::Result<File> {
    let file = open::nonblocking(path, OFlags::RDONLY | OFlags::NOFOLLOW)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn matcher(search: &SearchRequest) -> Result<RegexMatcher, ExecutorError> {
    if search.pattern.is_empty() {
        return Err(ExecutorError::new(ExecutorErrorKind::Invalid, "the pattern is empty"));
    }
    if search.pattern.contains('\n') {
        let message =
            "the pattern has a line break, but lines are searched one by one: search for one line of it";
        return Err(ExecutorError::new(ExecutorErrorKind::Invalid, message));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(search.ignore_case).fixed_strings(search.literal).line_terminator(Some(b'\n'));
    builder.build(&search.pattern).map_err(|error| {
        let error = error.to_string();
        // The error shows the pattern with a caret below it first; its last line says what is wrong.
        let short = error.lines().next_back().unwrap_or_default().trim();
        let short = short.strip_prefix("error: ").unwrap_or(short);
        let message = format!(
            "`{}` is no regular expression: {short}. Set literal to search for plain text.",
            search.pattern
        );
        ExecutorError::new(ExecutorErrorKind::Invalid, message)
    })
}

/// A glob for files to search: without a slash it is a name in any folder.
fn file_glob(pattern: &str) -> Result<GlobMatcher, ExecutorError> {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    match pattern.strip_prefix('/') {
        Some(rooted) => list::matcher(rooted),
        None if pattern.contains('/') => list::matcher(pattern),
        None => list::matcher(&format!("**/{pattern}")),
    }
}
