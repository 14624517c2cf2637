//! Jobs in the background, and programs to converse with.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal};

use super::command::deadline;
use super::follow::GroupedProcess;
use super::output::CommandOutput;
use super::output_store::OutputStore;
use super::shell::{ShellStarter, output_pipe};
use crate::stop::{READABLE, StopSignal};
use crate::words::{plain, refused};
use crate::{
    CommandOutcome, CommandRequest, ExecutorError, ExecutorErrorKind, JobId, JobReport, JobState,
    ProgramRequest,
};

/// Most jobs that run at the same time.
const MOST_RUNNING: usize = 64;
/// Most jobs that are remembered.
const MOST_KNOWN: usize = 256;
/// Most bytes of output that wait to be looked at.
const MOST_UNSEEN: usize = 256 << 10;
/// How long a job may take to read what it is fed.
const FEED_TIME: Duration = Duration::from_secs(10);
/// Most bytes heard at once, whatever was asked for.
const MOST_HEARD: u64 = 1 << 20;

/// All jobs of these hands.
#[derive(Default)]
pub(crate) struct BackgroundJobs(Mutex<JobTable>);

#[derive(Default)]
struct JobTable {
    last: u32,
    jobs: BTreeMap<JobId, Arc<BackgroundJob>>,
}

struct BackgroundJob {
    group: Pid,
    stop: StopSignal,
    input: Mutex<Option<File>>,
    /// What a program says; shell lines have none.
    says: Option<Mutex<File>>,
    progress: Mutex<JobProgress>,
    ended: Condvar,
}

struct JobProgress {
    output: CommandOutput,
    outcome: Option<CommandOutcome>,
}

impl BackgroundJobs {
    /// [`crate::ToolRequest::Start`].
    pub(crate) fn start(
        &self,
        shell: &ShellStarter,
        keep: &OutputStore,
        run: &CommandRequest,
    ) -> Result<JobId, ExecutorError> {
        self.check_room()?;
        let started = Instant::now();
        let (process, input) = shell.start_fed(run)?;
        self.follow(process, input, None, keep, deadline(run, started))
    }

    /// [`crate::ToolRequest::Open`]. What the program writes to its standard error is its output for a look.
    pub(crate) fn open(
        &self,
        shell: &ShellStarter,
        keep: &OutputStore,
        program: &ProgramRequest,
    ) -> Result<JobId, ExecutorError> {
        self.check_room()?;
        let Some((name, arguments)) = program.argv.split_first() else {
            return Err(ExecutorError::new(ExecutorErrorKind::Invalid, "there is no program to start"));
        };
        let failed = |error: std::io::Error| match error.kind() {
            // A folder of the search path that may not be entered counts as denied.
            ErrorKind::NotFound | ErrorKind::PermissionDenied if !name.contains('/') => ExecutorError::new(
                ExecutorErrorKind::NotFound,
                format!(
                    "the program {name} is not there inside the walls: install it, or give its whole path"
                ),
            ),
            _ => refused("start", name, &error),
        };
        let (output, errors) = output_pipe().map_err(failed)?;
        let (says, speaks) = output_pipe().map_err(failed)?;
        let mut command = shell.command(name);
        command.args(arguments).envs(&program.env).current_dir(shell.root());
        command.stdin(Stdio::piped()).stdout(Stdio::from(speaks)).stderr(Stdio::from(errors));
        let mut child = command.spawn().map_err(failed)?;
        // The command holds the other ends of the pipes.
        drop(command);
        let input = child.stdin.take().map(OwnedFd::from);
        let process = GroupedProcess::new(child, output, shell.groups());
        let input =
            input.ok_or_else(|| ExecutorError::new(ExecutorErrorKind::Other, "the program has no input"))?;
        self.follow(process, input, Some(says), keep, None)
    }

    fn follow(
        &self,
        process: GroupedProcess,
        input: OwnedFd,
        says: Option<OwnedFd>,
        keep: &OutputStore,
        deadline: Option<Instant>,
    ) -> Result<JobId, ExecutorError> {
        // A job that does not read must not make anybody wait for ever.
        let _ = rustix::fs::fcntl_setfl(&input, OFlags::NONBLOCK);
        let output = CommandOutput::new(MOST_UNSEEN as u64, keep.clone()).keep_all();
        let (group, groups) = process.group();
        let job = Arc::new(BackgroundJob {
            group,
            stop: StopSignal::default(),
            input: Mutex::new(Some(input.into())),
            says: says.map(|says| Mutex::new(says.into())),
            progress: Mutex::new(JobProgress { output, outcome: None }),
            ended: Condvar::new(),
        });
        let id = self.remember(&job);
        let followed = Arc::clone(&job);
        let follow = move || {
            let mut take = |bytes: &[u8]| followed.progress().output.take(bytes, &mut |_| {});
            let outcome = process.follow(deadline, &followed.stop, &mut take);
            let mut progress = followed.progress();
            progress.output.flush(true, &mut |_| {});
            progress.outcome = Some(outcome);
            drop(progress);
            followed.ended.notify_all();
        };
        match std::thread::Builder::new().name("hands-job".to_owned()).spawn(follow) {
            Ok(_) => Ok(id),
            Err(error) => {
                groups.signal(group, Signal::KILL);
                job.progress().outcome = Some(CommandOutcome::Signal(9));
                Err(refused("follow", "the command", &error))
            }
        }
    }

    /// [`crate::ToolRequest::Look`].
    pub(crate) fn look(&self, id: JobId, wait_ms: u64, max_bytes: u64) -> Result<JobReport, ExecutorError> {
        let job = self.find(id)?;
        let wait = Duration::from_millis(wait_ms.min(24 * 60 * 60 * 1000));
        // The model says how long it wants to wait for the end.
        let waited =
            job.ended.wait_timeout_while(job.progress(), wait, |progress| progress.outcome.is_none());
        let (mut progress, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if progress.outcome.is_none() {
            progress.output.flush(false, &mut |_| {});
        }
        let output = progress.output.shown(max_bytes);
        progress.output.forget(MOST_UNSEEN);
        let state = progress.outcome.map_or(JobState::Running, JobState::Ended);
        Ok(JobReport { output, kept: progress.output.kept().unwrap_or_default(), state })
    }

    /// [`crate::ToolRequest::End`].
    pub(crate) fn end(&self, shell: &ShellStarter, id: JobId) -> Result<JobReport, ExecutorError> {
        let job = self.find(id)?;
        job.stop.ask();
        *job.input.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if job.progress().outcome.is_some() {
            // Only what it left behind can still be there.
            shell.groups().signal(job.group, Signal::KILL);
            shell.groups().leader_ended(job.group);
        }
        self.look(id, 10_000, MOST_UNSEEN as u64)
    }

    /// [`crate::ToolRequest::Feed`].
    pub(crate) fn feed(
        &self,
        id: JobId,
        bytes: &[u8],
        end: bool,
        stop: &StopSignal,
    ) -> Result<(), ExecutorError> {
        let job = self.find(id)?;
        let mut slot = job.input.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(input) = slot.as_mut() else {
            return Err(ExecutorError::new(
                ExecutorErrorKind::Invalid,
                format!("the input of job {} is closed", id.0),
            ));
        };
        let fed = write_all(input, bytes, stop);
        if end || fed.is_err() {
            *slot = None;
        }
        fed.map_err(|error| match error.kind() {
            ErrorKind::TimedOut => ExecutorError::new(
                ExecutorErrorKind::Exhausted,
                format!("job {} does not read its input", id.0),
            ),
            ErrorKind::BrokenPipe => ExecutorError::new(
                ExecutorErrorKind::Invalid,
                format!("job {} no longer reads its input", id.0),
            ),
            _ => ExecutorError::new(
                ExecutorErrorKind::Other,
                format!("cannot feed job {}: {}", id.0, plain(&error)),
            ),
        })
    }

    /// [`crate::ToolRequest::Hear`].
    pub(crate) fn hear(
        &self,
        id: JobId,
        max_bytes: u64,
        stop: &StopSignal,
    ) -> Result<Vec<u8>, ExecutorError> {
        let job = self.find(id)?;
        let Some(says) = &job.says else {
            let message = format!("job {} is a shell line: look at its output instead", id.0);
            return Err(ExecutorError::new(ExecutorErrorKind::Invalid, message));
        };
        let mut says = says.lock().unwrap_or_else(PoisonError::into_inner);
        let mut buffer = vec![0; max_bytes.clamp(1, MOST_HEARD) as usize];
        loop {
            if stop.asked() {
                return Err(ExecutorError::new(ExecutorErrorKind::Other, "nobody listens any longer"));
            }
            match says.read(&mut buffer) {
                Ok(count) => {
                    buffer.truncate(count);
                    return Ok(buffer);
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) => return Err(refused("hear", "the program", &error)),
            }
            wait_for(&says, READABLE, stop, None);
        }
    }

    fn check_room(&self) -> Result<(), ExecutorError> {
        let known = self.lock();
        let running = known.jobs.values().filter(|job| job.progress().outcome.is_none()).count();
        match running < MOST_RUNNING {
            true => Ok(()),
            false => Err(ExecutorError::new(
                ExecutorErrorKind::Exhausted,
                format!("{running} background jobs are running already: end some of them first"),
            )),
        }
    }

    fn remember(&self, job: &Arc<BackgroundJob>) -> JobId {
        let mut known = self.lock();
        if known.jobs.len() >= MOST_KNOWN {
            let old = known.jobs.iter().find(|(_, job)| job.progress().outcome.is_some());
            if let Some(old) = old.map(|(id, _)| *id) {
                known.jobs.remove(&old);
            }
        }
        known.last += 1;
        let id = JobId(known.last);
        known.jobs.insert(id, Arc::clone(job));
        id
    }

    fn find(&self, id: JobId) -> Result<Arc<BackgroundJob>, ExecutorError> {
        let known = self.lock();
        known.jobs.get(&id).cloned().ok_or_else(|| {
            let ids: Vec<String> = known.jobs.keys().rev().take(10).map(|id| id.0.to_string()).collect();
            let there = match ids.is_empty() {
                true => "none was started".to_owned(),
                false => format!("there are {}", ids.join(", ")),
            };
            ExecutorError::new(ExecutorErrorKind::NotFound, format!("there is no job {}; {there}", id.0))
        })
    }

    fn lock(&self) -> MutexGuard<'_, JobTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BackgroundJob {
    fn progress(&self) -> MutexGuard<'_, JobProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes to a pipe that does not wait, waiting for a bounded time.
fn write_all(input: &mut File, mut bytes: &[u8], stop: &StopSignal) -> std::io::Result<()> {
    let until = Instant::now() + FEED_TIME;
    while !bytes.is_empty() {
        match input.write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                if Instant::now() >= until || stop.asked() {
                    return Err(ErrorKind::TimedOut.into());
                }
                wait_for(input, PollFlags::OUT, stop, Some(until));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Waits for a descriptor, for a stop, or until then. Whatever happened is seen by trying again.
fn wait_for(fd: &File, flags: PollFlags, stop: &StopSignal, until: Option<Instant>) {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let timeout = left.and_then(|left| Timespec::try_from(left).ok());
    let mut fds = vec![PollFd::new(fd, flags)];
    fds.extend(stop.bell().map(|bell| PollFd::from_borrowed_fd(bell, READABLE)));
    let _ = poll(&mut fds, timeout.as_ref());
}
