//! The breaks and the mutations: built together, the mutations tried as soon as that is done.

use std::path::Path;
use std::thread::{self, JoinHandle};

use crate::XtaskFailure;
use crate::breaks::{self, NumberedBreaks};
use crate::mutations::{self, MutationVerdicts, NumberedMutations};
use crate::switched::{SwitchedCopy, TreeCopy, TrialPace};

/// What is tried on one copy of the tree.
pub(crate) struct SwitchedTrial {
    copy: SwitchedCopy,
    breaks: Option<NumberedBreaks>,
    mutations: Option<NumberedMutations>,
}

/// A trial that is being built.
pub(crate) struct TrialUnderway(JoinHandle<BuiltTrial>);

/// A trial whose mutations were tried.
pub(crate) struct BuiltTrial {
    trial: SwitchedTrial,
    built: Result<(), XtaskFailure>,
    mutations: Option<MutationVerdicts>,
}

impl SwitchedTrial {
    /// Copies the tree and changes the copy; nothing is built yet.
    pub(crate) fn new(target: &Path, breaks: bool, mutations: bool) -> Result<Self, XtaskFailure> {
        let mut copy = SwitchedCopy::new(TreeCopy::new()?, target)?;
        let breaks = breaks.then(|| breaks::add_to(&mut copy)).transpose()?;
        let mutations = mutations.then(|| mutations::add_to(&mut copy)).transpose()?;
        Ok(Self { copy, breaks, mutations })
    }

    /// Begins to build, and then to try the mutations.
    pub(crate) fn begin(self, pace: TrialPace) -> TrialUnderway {
        TrialUnderway(thread::spawn(move || self.build(pace)))
    }

    fn build(mut self, pace: TrialPace) -> BuiltTrial {
        let built = self.copy.build(pace);
        let mutations = match (&built, &self.mutations) {
            (Ok(()), Some(mutations)) => Some(mutations.try_all(&self.copy, pace)),
            _ => None,
        };
        BuiltTrial { trial: self, built, mutations }
    }
}

impl TrialUnderway {
    /// Waits until the mutations are tried.
    pub(crate) fn finish(self) -> Result<BuiltTrial, XtaskFailure> {
        self.0.join().map_err(|_| "the build of the breaks and mutations came to nothing".to_owned())
    }
}

impl BuiltTrial {
    /// Tries the breaks, which needs the machine: their tests are those of whole runs.
    pub(crate) fn breaks(&self, closing: &mut Vec<String>) -> Result<(), XtaskFailure> {
        self.built.clone()?;
        self.trial.breaks.as_ref().map_or(Ok(()), |breaks| breaks.try_all(&self.trial.copy, closing))
    }

    /// Tells what became of the mutations.
    pub(crate) fn mutations(&self, closing: &mut Vec<String>) -> Result<(), XtaskFailure> {
        self.built.clone()?;
        let (lines, result) = self.mutations.clone().unwrap_or((Vec::new(), Ok(())));
        closing.extend(lines);
        result
    }
}

impl Drop for BuiltTrial {
    fn drop(&mut self) {
        self.trial.copy.give_back();
    }
}
