//! Calls that failed: what proves that one is futile, and what an agent uses as a check where none is known.

use serde::{Deserialize, Serialize};

use super::EvidenceMemory;
use crate::key::{clip, key, push_bounded};
use crate::words::{is_called_check, is_looking};

const TRIES: usize = 16;
const LABEL: usize = 120;
/// A call that failed so often in the same way on the same state fails again.
const PROVEN: u32 = 2;

/// How a call ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallEnding<'a> {
    /// The call itself.
    pub call: u64,
    /// The command line, or the tool.
    pub label: &'a str,
    /// Whether it is a command.
    pub command: bool,
    /// Whether it changed files.
    pub wrote: bool,
    pub ok: bool,
    pub exit: Option<i32>,
    pub result: Option<&'a str>,
    /// The line that tells what went wrong.
    pub says: &'a str,
    /// Whether it may end otherwise just because time has passed.
    pub waits: bool,
}

/// A call that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedCall {
    call: u64,
    /// The command line, or the tool.
    pub label: String,
    /// Its exit code.
    pub exit: Option<i32>,
    /// The line that tells what went wrong.
    pub says: String,
    result: u64,
    version: u64,
    doings: u64,
    /// How often it ended like that on this very state.
    pub count: u32,
    /// Whether it was denied for that.
    denied: bool,
    command: bool,
    waits: bool,
    ok: bool,
    /// Failures on how many versions.
    versions: u32,
    /// Whether it failed before anything was changed.
    before: bool,
}

impl FailedCall {
    /// Whether it is what the agent itself goes by: it failed before a change and after it, or it is called a check.
    fn is_check(&self) -> bool {
        let looking = is_looking(&self.label);
        let called = is_called_check(&self.label);
        // What is not there cannot be run, and says nothing about the work.
        let there = !matches!(self.exit, Some(126 | 127));
        self.command && there && !looking && (self.versions > 1 || called)
    }

    /// Whether it failed before anything was changed.
    pub(crate) const fn failed_before(&self) -> bool {
        self.before
    }
}

/// A command without what only says where its output goes.
fn plain(line: &str) -> String {
    let line = line.split('|').next().unwrap_or(line);
    let words = line.split_whitespace().filter(|word| !word.contains('>'));
    words.map(|word| word.trim_start_matches("./")).collect::<Vec<_>>().join(" ")
}

impl EvidenceMemory {
    /// Remembers how a call ended.
    pub(crate) fn ended(&mut self, how: &CallEnding<'_>) {
        if how.command && !how.wrote {
            self.ran = Some(self.version);
        }
        let at = self.tries.iter().position(|old| old.call == how.call);
        if how.ok {
            // Whoever ran it with more around it is answered, too; what hides how it ended answers nobody.
            let line = plain(how.label);
            let tells = how.command && !line.is_empty() && !how.label.contains(['|', ';']);
            let same = |one: &FailedCall| {
                tells && one.command && one.label.split([';', '&']).any(|part| plain(part) == line)
            };
            for one in self.tries.iter_mut().filter(|one| one.call == how.call || same(one)) {
                one.ok = true;
                one.count = 0;
            }
            return;
        }
        let result = key([how.result.unwrap_or_default()]);
        let old = at.map(|at| self.tries.remove(at));
        // The call itself counts as one doing.
        let state = (self.version, self.doings);
        let same = old.as_ref().is_some_and(|old| {
            let own = u64::from(how.command && how.exit.is_some());
            !old.ok && old.result == result && old.version == state.0 && state.1 <= old.doings + own
        });
        let moved = old.as_ref().is_none_or(|old| old.version != self.version);
        let one = FailedCall {
            call: how.call,
            label: clip(how.label, LABEL),
            exit: how.exit,
            says: clip(how.says, LABEL),
            result,
            version: state.0,
            doings: state.1,
            count: old.as_ref().filter(|_| same).map_or(0, |old| old.count).saturating_add(1),
            denied: same && old.as_ref().is_some_and(|old| old.denied),
            command: how.command,
            waits: how.waits,
            ok: false,
            versions: old.as_ref().map_or(0, |old| old.versions).saturating_add(u32::from(moved)),
            before: old.as_ref().map_or(self.version == 0, |old| old.before),
        };
        push_bounded(&mut self.tries, one, TRIES);
    }

    /// The proof that a call is futile, given once.
    pub(crate) fn futile(&mut self, call: u64) -> Option<FailedCall> {
        let (version, doings) = (self.version, self.doings);
        let proven = |old: &&mut FailedCall| {
            old.call == call
                && !old.ok
                && !old.waits
                && !old.denied
                && old.count >= PROVEN
                && (old.version, old.doings) == (version, doings)
        };
        let found = self.tries.iter_mut().find(proven)?;
        found.denied = true;
        Some(found.clone())
    }

    /// Where no check is known: the last thing that the agent itself goes by and that fails.
    pub(crate) fn trial(&self) -> Option<&FailedCall> {
        self.tries.iter().rev().find(|one| !one.ok && one.is_check())
    }

    /// Command lines that failed as checks of the agent's own, whether they pass since or not.
    pub(crate) fn tried_checks(&self) -> impl Iterator<Item = &str> {
        self.tries.iter().filter(|one| one.is_check()).map(|one| one.label.as_str())
    }

    /// What failed more than once in the same way on the same state, the last first.
    pub fn in_vain(&self) -> impl Iterator<Item = &FailedCall> {
        let here = |one: &&FailedCall| one.version == self.version;
        self.tries.iter().rev().filter(here).filter(|one| !one.ok && one.count >= PROVEN)
    }
}
