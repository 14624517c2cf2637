//! Carries out one deed on the thread that asks for it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use crate::file::{read, relocate, store};
use crate::find::{grep, list};
use crate::run::command;
use crate::run::group::ProcessGroups;
use crate::run::job::BackgroundJobs;
use crate::run::output_store::OutputStore;
use crate::run::shell::ShellStarter;
use crate::stop::StopSignal;
use crate::workspace_paths::WorkspacePaths;
use crate::{ExecutorError, ToolRequest, ToolResponse};

/// Everything that deeds work with.
pub(crate) struct Workbench {
    place: WorkspacePaths,
    keep: OutputStore,
    shell: ShellStarter,
    jobs: BackgroundJobs,
}

impl Workbench {
    pub(crate) fn new(root: PathBuf, keep: PathBuf, env: Option<Vec<(OsString, OsString)>>) -> Self {
        let place = WorkspacePaths::new(root);
        let shell = ShellStarter::new(place.clone(), env, Arc::<ProcessGroups>::default());
        Self { place, keep: OutputStore::in_folder(keep), shell, jobs: BackgroundJobs::default() }
    }

    /// Carries out a deed to its end.
    pub(crate) fn perform(
        &self,
        deed: &ToolRequest,
        stop: &StopSignal,
        watch: &mut dyn FnMut(&str),
    ) -> Result<ToolResponse, ExecutorError> {
        let place = &self.place;
        Ok(match deed {
            ToolRequest::Read { path, from_line, lines, max_bytes } => {
                ToolResponse::Text(read::lines(place, path, (*from_line, *lines), *max_bytes, stop)?)
            }
            ToolRequest::Load { path, max_bytes } => {
                ToolResponse::Bytes(read::whole(place, path, *max_bytes)?)
            }
            ToolRequest::Store { path, bytes, expect, executable } => {
                ToolResponse::Stored(store::store(place, path, bytes, expect, *executable)?)
            }
            ToolRequest::Remove { path, recursive } => {
                relocate::remove(place, path, *recursive)?;
                ToolResponse::Nothing
            }
            ToolRequest::Rename { from, to } => {
                relocate::rename(place, from, to)?;
                ToolResponse::Nothing
            }
            ToolRequest::List { path, depth, limit, all } => {
                ToolResponse::Listing(list::list(place, path, *depth, *limit, *all, stop)?)
            }
            ToolRequest::Glob { pattern, path, limit, all } => {
                ToolResponse::Listing(list::glob(place, pattern, path, *limit, *all, stop)?)
            }
            ToolRequest::Grep(search) => ToolResponse::Found(grep::grep(place, search, stop)?),
            ToolRequest::Run(run) => {
                ToolResponse::Ran(command::run(&self.shell, &self.keep, run, stop, watch)?)
            }
            ToolRequest::Start(run) => {
                ToolResponse::Started(self.jobs.start(&self.shell, &self.keep, run)?)
            }
            ToolRequest::Open(program) => {
                ToolResponse::Started(self.jobs.open(&self.shell, &self.keep, program)?)
            }
            ToolRequest::Look { job, wait_ms, max_bytes } => {
                ToolResponse::Look(self.jobs.look(*job, *wait_ms, *max_bytes)?)
            }
            ToolRequest::Feed { job, bytes, end } => {
                self.jobs.feed(*job, bytes, *end, stop)?;
                ToolResponse::Nothing
            }
            ToolRequest::End { job } => ToolResponse::Look(self.jobs.end(&self.shell, *job)?),
            ToolRequest::Hear { job, max_bytes } => {
                ToolResponse::Heard(self.jobs.hear(*job, *max_bytes, stop)?)
            }
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
