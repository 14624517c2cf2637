//! Checks a patch against the files and says what each becomes; nothing is written here.

use std::collections::BTreeMap;

use super::error::{PatchError, PatchProblem};
use super::hunk::{EnvelopeHunk, HunkLine};
use super::hunk_position::{PlacedHunk, PlacementFault, place};
use super::{FilePatch, PatchEnvelope};
use crate::edit::lines::{self, TerminatedLine};
use crate::edit::rewrite::{LineOp, rewrite};
use crate::edit::tolerance::Tolerance;

/// What one file becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchedFileChange {
    /// It is new.
    Create {
        /// The file.
        path: String,
        /// All of it.
        text: String,
    },
    /// It has other content.
    Update {
        /// The file.
        path: String,
        /// All of it.
        text: String,
        /// What had to be tolerated; worth telling the model.
        tolerances: Vec<Tolerance>,
    },
    /// It is somewhere else, perhaps with other content.
    Move {
        /// Where it was.
        from: String,
        /// Where it is.
        to: String,
        /// All of it.
        text: String,
        /// What had to be tolerated; worth telling the model.
        tolerances: Vec<Tolerance>,
    },
    /// It is gone.
    Delete {
        /// The file.
        path: String,
    },
}

/// What every file becomes, in the order they come up, or everything that is wrong; `read` gives a file's text if it is there.
pub fn plan(
    patch: &PatchEnvelope,
    mut read: impl FnMut(&str) -> Option<String>,
) -> Result<Vec<PatchedFileChange>, PatchError> {
    let mut files = PatchedFiles { read: &mut read, known: BTreeMap::new(), order: Vec::new() };
    let mut problems = Vec::new();
    for file in &patch.files {
        match file {
            FilePatch::Add { path, text } => files.add(path, text, &mut problems),
            FilePatch::Delete { path } => files.delete(path, &mut problems),
            FilePatch::Update { path, move_to, hunks } => {
                files.update(path, move_to.as_deref(), hunks, &mut problems)
            }
        }
    }
    if problems.is_empty() { Ok(files.changes()) } else { Err(PatchError { problems }) }
}

/// Files as they are while the patch is gone through.
struct PatchedFiles<'r> {
    read: &'r mut dyn FnMut(&str) -> Option<String>,
    known: BTreeMap<String, PatchedFileState>,
    order: Vec<String>,
}

#[derive(Clone, Default)]
struct PatchedFileState {
    before: Option<String>,
    now: Option<String>,
    /// Under which name its content was before the patch.
    origin: Option<String>,
    tolerances: Vec<Tolerance>,
}

impl PatchedFiles<'_> {
    fn state(&mut self, path: &str) -> &mut PatchedFileState {
        if !self.known.contains_key(path) {
            self.order.push(path.to_owned());
        }
        self.known.entry(path.to_owned()).or_insert_with(|| {
            let text = (self.read)(path);
            PatchedFileState {
                before: text.clone(),
                origin: text.is_some().then(|| path.to_owned()),
                now: text,
                ..PatchedFileState::default()
            }
        })
    }

    fn add(&mut self, path: &str, text: &str, problems: &mut Vec<PatchProblem>) {
        let state = self.state(path);
        match &state.now {
            Some(there) if !there.is_empty() => problems.push(PatchProblem::Exists { path: path.to_owned() }),
            _ => state.now = Some(text.to_owned()),
        }
    }

    fn delete(&mut self, path: &str, problems: &mut Vec<PatchProblem>) {
        if self.state(path).now.take().is_none() {
            problems.push(PatchProblem::Missing { path: path.to_owned() });
        }
    }

    fn update(
        &mut self,
        path: &str,
        move_to: Option<&str>,
        hunks: &[EnvelopeHunk],
        problems: &mut Vec<PatchProblem>,
    ) {
        let Some(text) = self.state(path).now.clone() else {
            problems.push(PatchProblem::Missing { path: path.to_owned() });
            return;
        };
        let move_to = move_to.filter(|to| *to != path);
        let (text, tolerances) = match apply(path, &text, hunks) {
            Ok((after, _)) if after == text && move_to.is_none() => {
                problems.push(PatchProblem::NoChange { path: path.to_owned() });
                return;
            }
            Ok(applied) => applied,
            Err(wrong) => {
                problems.extend(wrong);
                return;
            }
        };
        if let Some(to) = move_to
            && self.state(to).now.is_some()
        {
            problems.push(PatchProblem::Exists { path: to.to_owned() });
            return;
        }
        let state = self.state(path);
        state.tolerances.extend(tolerances);
        match move_to {
            None => state.now = Some(text),
            Some(to) => {
                state.now = None;
                let (origin, tolerances) = (state.origin.clone(), std::mem::take(&mut state.tolerances));
                let target = self.state(to);
                (target.now, target.origin, target.tolerances) = (Some(text), origin, tolerances);
            }
        }
    }

    fn changes(self) -> Vec<PatchedFileChange> {
        let moved = |from: &str, to: &str| {
            let state = |path: &str| self.known.get(path);
            from != to
                && state(from).is_some_and(|state| state.before.is_some() && state.now.is_none())
                && state(to).is_some_and(|state| state.before.is_none() && state.now.is_some())
        };
        // A file whose content went elsewhere is not deleted besides.
        let origin = |to: &str| self.known.get(to).and_then(|state| state.origin.clone());
        let sources: Vec<(String, String)> = self
            .order
            .iter()
            .filter_map(|to| origin(to).filter(|from| moved(from, to)).map(|from| (from, to.clone())))
            .collect();
        let mut changes = Vec::new();
        for path in &self.order {
            let Some(state) = self.known.get(path) else { continue };
            let (path, tolerances) = (path.clone(), state.tolerances.clone());
            if let Some((from, _)) = sources.iter().find(|(_, to)| *to == path) {
                let (from, text) = (from.clone(), state.now.clone().unwrap_or_default());
                changes.push(PatchedFileChange::Move { from, to: path, text, tolerances });
                continue;
            }
            match (&state.before, &state.now) {
                (None, Some(text)) => changes.push(PatchedFileChange::Create { path, text: text.clone() }),
                (Some(before), Some(text)) if before != text => {
                    changes.push(PatchedFileChange::Update { path, text: text.clone(), tolerances });
                }
                (Some(_), None) if !sources.iter().any(|(from, _)| *from == path) => {
                    changes.push(PatchedFileChange::Delete { path });
                }
                _ => {}
            }
        }
        changes
    }
}

/// One file's hunks applied to its text.
fn apply(
    path: &str,
    text: &str,
    hunks: &[EnvelopeHunk],
) -> Result<(String, Vec<Tolerance>), Vec<PatchProblem>> {
    let file = lines::split(text);
    let style = lines::style(text);
    let mut placed: Vec<PlacedHunk> = Vec::new();
    let mut taken: Vec<(usize, usize)> = Vec::new();
    let mut problems = Vec::new();
    for (index, hunk) in hunks.iter().enumerate().filter(|(_, hunk)| hunk.changes()) {
        let after = taken.last().map_or(0, |(_, end)| *end);
        match place(&file, hunk, &taken, after) {
            Ok(found) => {
                taken.push((found.block.start, found.block.start + found.length));
                placed.push(found);
            }
            Err(fault) => {
                let (path, hunk, of) = (path.to_owned(), index + 1, hunks.len());
                problems.push(match fault {
                    PlacementFault::Mismatch(mismatch) => PatchProblem::Hunk { path, hunk, of, mismatch },
                    PlacementFault::Taken => PatchProblem::Overlap { path, hunk, of },
                });
            }
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    // Stable: of lines that come in at the same place, the patch's first come first.
    placed.sort_by_key(|found| (found.block.start, found.length > 0));
    let mut result: Vec<TerminatedLine<'_>> = Vec::with_capacity(file.len());
    let mut done = 0;
    for found in &placed {
        result.extend_from_slice(file.get(done..found.block.start).unwrap_or_default());
        result.extend(rewrite(&file, &found.block, &ops(&found.hunk), style));
        done = done.max(found.block.start + found.length);
    }
    result.extend_from_slice(file.get(done..).unwrap_or_default());
    let ended = text.is_empty() || text.ends_with('\n');
    let mut tolerances: Vec<Tolerance> = placed.iter().filter_map(|found| found.tolerance).collect();
    tolerances.sort_unstable();
    tolerances.dedup();
    Ok((lines::join(&result, style, ended), tolerances))
}

fn ops(hunk: &EnvelopeHunk) -> Vec<LineOp<'_>> {
    fn op(line: &HunkLine) -> LineOp<'_> {
        match line {
            HunkLine::Keep(_) | HunkLine::Bare(_) => LineOp::Keep,
            HunkLine::Remove(_) => LineOp::Remove,
            HunkLine::Add(text) => LineOp::Add(text),
        }
    }
    hunk.lines.iter().map(op).collect()
}
