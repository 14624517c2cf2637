//! Carries out one deed on the thread that asks for it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use crate::file::{read, relocate, store};
use crate::find::{grep, list};
use crate::place::Place;
use crate::run::command;
use crate::run::group::Groups;
use crate::run::job::Jobs;
use crate::run::keep::Keep;
use crate::run::shell::Shell;
use crate::stop::Stop;
use crate::{Deed, Done, HandsError};

/// Everything that deeds work with.
pub(crate) struct Workbench {
    place: Place,
    keep: Keep,
    shell: Shell,
    jobs: Jobs,
}

impl Workbench {
    pub(crate) fn new(root: PathBuf, keep: PathBuf, env: Option<Vec<(OsString, OsString)>>) -> Self {
        let place = Place::new(root);
        let shell = Shell::new(place.clone(), env, Arc::<Groups>::default());
        Self { place, keep: Keep::in_folder(keep), shell, jobs: Jobs::default() }
    }

    /// Carries out a deed to its end.
    pub(crate) fn perform(
        &self,
        deed: &Deed,
        stop: &Stop,
        watch: &mut dyn FnMut(&str),
    ) -> Result<Done, HandsError> {
        let place = &self.place;
        Ok(match deed {
            Deed::Read { path, from_line, lines, max_bytes } => {
                Done::Text(read::lines(place, path, (*from_line, *lines), *max_bytes, stop)?)
            }
            Deed::Load { path, max_bytes } => Done::Bytes(read::whole(place, path, *max_bytes)?),
            Deed::Store { path, bytes, expect, executable } => {
                Done::Stored(store::store(place, path, bytes, expect, *executable)?)
            }
            Deed::Remove { path, recursive } => {
                relocate::remove(place, path, *recursive)?;
                Done::Nothing
            }
            Deed::Rename { from, to } => {
                relocate::rename(place, from, to)?;
                Done::Nothing
            }
            Deed::List { path, depth, limit, all } => {
                Done::Listing(list::list(place, path, *depth, *limit, *all, stop)?)
            }
            Deed::Glob { pattern, path, limit, all } => {
                Done::Listing(list::glob(place, pattern, path, *limit, *all, stop)?)
            }
            Deed::Grep(search) => Done::Found(grep::grep(place, search, stop)?),
            Deed::Run(run) => Done::Ran(command::run(&self.shell, &self.keep, run, stop, watch)?),
            Deed::Start(run) => Done::Started(self.jobs.start(&self.shell, &self.keep, run)?),
            Deed::Open(program) => Done::Started(self.jobs.open(&self.shell, &self.keep, program)?),
            Deed::Look { job, wait_ms, max_bytes } => Done::Look(self.jobs.look(*job, *wait_ms, *max_bytes)?),
            Deed::Feed { job, bytes, end } => {
                self.jobs.feed(*job, bytes, *end, stop)?;
                Done::Nothing
            }
            Deed::End { job } => Done::Look(self.jobs.end(&self.shell, *job)?),
            Deed::Hear { job, max_bytes } => Done::Heard(self.jobs.hear(*job, *max_bytes, stop)?),
        })
    }

    /// Prepares for the next command; to be done while nobody waits.
    pub(crate) fn make_ready(&self) {
        self.shell.make_ready();
    }

    /// Ends every command and job.
    pub(crate) fn close(&self) {
        self.shell.close();
        self.shell.groups().end_all();
    }
}
