//! Finding git and running it so that nothing but its arguments decides what it does.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::{GitError, GitVersion};

/// Settings passed with `-c` on every call. A repository's own configuration is read by git whatever we do,
/// so each key through which it could start a program or rewrite bytes is overridden here.
const OVERRIDES: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.untrackedCache=false",
    "core.sshCommand=false",
    "core.gitProxy=none",
    "core.alternateRefsCommand=false",
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=false",
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.fileMode=true",
    "core.symlinks=true",
    "core.fsync=none",
    "credential.helper=",
    "diff.external=",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
    "uploadpack.packObjectsHook=",
];

/// Git's own variables that close the doors `-c` does not reach.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("LC_ALL", "C"),
    ("HOME", "/nonexistent"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_ADVICE", "0"),
];

const STDERR_TAIL: usize = 2048;

/// A git that was found and is new enough; cheap to clone.
#[derive(Debug, Clone)]
pub struct Git {
    path: PathBuf,
    version: GitVersion,
    search_path: OsString,
}

impl Git {
    /// The first `git` in an absolute directory of this process's PATH.
    pub fn find() -> Result<Self, GitError> {
        let search_path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
        Self::find_in(&search_path)
    }

    /// Like [`Git::find`] with an explicit search path; relative entries are skipped, because they would let
    /// the directory one happens to be in choose the program.
    pub fn find_in(search_path: &OsStr) -> Result<Self, GitError> {
        let runnable = |path: &PathBuf| {
            fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        };
        let path = std::env::split_paths(search_path)
            .filter(|dir| dir.is_absolute())
            .map(|dir| dir.join("git"))
            .find(runnable)
            .ok_or(GitError::NotInstalled)?;
        let mut git = Self { path, version: GitVersion::OLDEST, search_path: search_path.to_owned() };
        let answer = git.call(["--version"]).within(Duration::from_secs(30)).output()?;
        let text = String::from_utf8_lossy(&answer);
        let first = text.lines().next().unwrap_or_default();
        git.version = GitVersion::parse(first).ok_or_else(|| GitError::NotGit {
            path: git.path.clone(),
            answer: first.chars().take(80).collect(),
        })?;
        if git.version < GitVersion::OLDEST {
            return Err(GitError::TooOld { path: git.path, found: git.version });
        }
        Ok(git)
    }

    /// The binary.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its version.
    pub fn version(&self) -> GitVersion {
        self.version
    }

    /// A call with these arguments, hermetic, in `/`, outside any repository until told otherwise.
    pub fn call<I, S>(&self, args: I) -> GitCall<'_>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        GitCall {
            git: self,
            args: args.into_iter().map(|arg| arg.as_ref().to_owned()).collect(),
            dir: PathBuf::from("/"),
            env: vec![("GIT_DIR", OUTSIDE.into())],
            limit: Duration::from_secs(300),
            hermetic: true,
            stdin: None,
        }
    }
}

/// A GIT_DIR that cannot exist: commands that can work outside a repository then do, instead of walking up
/// and finding one.
const OUTSIDE: &str = "/dev/null/outside";

/// One call of git being put together.
#[derive(Debug)]
pub struct GitCall<'g> {
    git: &'g Git,
    args: Vec<OsString>,
    dir: PathBuf,
    env: Vec<(&'static str, OsString)>,
    limit: Duration,
    hermetic: bool,
    stdin: Option<fs::File>,
}

impl GitCall<'_> {
    /// Runs in this directory.
    pub fn dir(mut self, dir: &Path) -> Self {
        self.dir = dir.to_owned();
        self
    }

    /// Works on this repository. Naming it also spares git the question whose directory it is, which it
    /// would answer with a refusal when root looks at someone else's repository.
    pub fn git_dir(self, git_dir: &Path) -> Self {
        self.env("GIT_DIR", git_dir.as_os_str())
    }

    /// Works on this tree of files.
    pub fn work_tree(self, work_tree: &Path) -> Self {
        self.env("GIT_WORK_TREE", work_tree.as_os_str())
    }

    /// Sets one variable, replacing an earlier value.
    pub fn env(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.env.retain(|(known, _)| *known != name);
        self.env.push((name, value.into()));
        self
    }

    /// Reads the user's own configuration, found by these variables of theirs; only for asking what it says.
    pub fn as_user(mut self, variables: &[(&'static str, OsString)]) -> Self {
        self.hermetic = false;
        variables.iter().fold(self, |call, &(name, ref value)| call.env(name, value))
    }

    /// Kills the process after this long.
    pub fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Reads this file, from where it stands, instead of what it is fed: all of it is there, also when this process dies.
    pub fn reading(mut self, file: fs::File) -> Self {
        self.stdin = Some(file);
        self
    }

    /// Runs to the end with nothing on stdin; success or an error.
    pub fn output(self) -> Result<Vec<u8>, GitError> {
        self.feed(|_| Ok(()))
    }

    /// Runs to the end while `feed` writes to stdin; success or an error.
    pub fn feed(self, feed: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<Vec<u8>, GitError> {
        let command = self.shown();
        let done = self.run(feed)?;
        match done.exit {
            Some(0) => Ok(done.stdout),
            exit => Err(GitError::Failed { command, exit, stderr: tail(&done.stderr) }),
        }
    }

    /// Runs to the end whatever the exit code; an error only if it could not run or did not end.
    pub fn run(mut self, feed: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<GitOutput, GitError> {
        let shown = self.shown();
        let failed = |source| GitError::Run { command: shown.clone(), source };
        tracing::debug!(command = %shown, "starts git");
        let mut child = self.build().spawn().map_err(failed)?;
        let watch = pidfd_open(pid_of(&child), PidfdFlags::empty()).ok();
        let stdin = child.stdin.take();
        let (Some(mut stdout), Some(mut stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(failed(io::Error::other("its pipes are missing")));
        };
        let late = AtomicBool::new(false);
        let (fed, out, err) = thread::scope(|scope| {
            let out = scope.spawn(move || read_all(&mut stdout));
            let err = scope.spawn(move || read_all(&mut stderr));
            if let Some(pidfd) = &watch {
                scope.spawn(|| late.store(!ends_within(pidfd, self.limit), Ordering::Relaxed));
            }
            let fed = stdin.map_or(Ok(()), |mut stdin| feed(&mut stdin));
            (fed, joined(out), joined(err))
        });
        let status = child.wait().map_err(failed)?;
        if late.load(Ordering::Relaxed) {
            return Err(GitError::TimedOut { command: shown, seconds: self.limit.as_secs() });
        }
        let finished =
            GitOutput { exit: status.code(), stdout: out.map_err(failed)?, stderr: err.map_err(failed)? };
        tracing::trace!(command = %shown, exit = ?finished.exit, bytes = finished.stdout.len(), "git ended");
        match fed {
            // Git stopped reading: what it said about it explains more than the broken pipe.
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe && finished.exit != Some(0) => Ok(finished),
            Err(e) => Err(failed(e)),
            Ok(()) => Ok(finished),
        }
    }

    fn build(&mut self) -> Command {
        let mut command = Command::new(&self.git.path);
        command.env_clear().env("PATH", &self.git.search_path);
        let own = |name: &str| name == "HOME" || name.starts_with("GIT_CONFIG_");
        command.envs(ENVIRONMENT.iter().filter(|(name, _)| self.hermetic || !own(name)).copied());
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        for setting in OVERRIDES {
            command.arg("-c").arg(setting);
        }
        command.args(&self.args).current_dir(&self.dir);
        let stdin = self.stdin.take().map_or_else(Stdio::piped, Stdio::from);
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The command as a person would type it: long lists of arguments shortened.
    fn shown(&self) -> String {
        let mut text = String::from("git");
        for arg in self.args.iter().take(12) {
            text.push(' ');
            text.push_str(&arg.to_string_lossy());
        }
        if self.args.len() > 12 {
            text.push_str(" …");
        }
        text
    }
}

/// What a call left behind.
#[derive(Debug)]
pub struct GitOutput {
    /// Exit code; `None` when a signal ended it.
    pub exit: Option<i32>,
    /// Everything it wrote to stdout.
    pub stdout: Vec<u8>,
    /// Everything it wrote to stderr.
    pub stderr: Vec<u8>,
}

/// The end of what a program said on stderr, as text.
pub(crate) fn tail(stderr: &[u8]) -> String {
    let start = stderr.len().saturating_sub(STDERR_TAIL);
    String::from_utf8_lossy(&stderr[start..]).trim().to_owned()
}

fn pid_of(child: &Child) -> Pid {
    Pid::from_child(child)
}

fn read_all(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn joined(handle: thread::ScopedJoinHandle<'_, io::Result<Vec<u8>>>) -> io::Result<Vec<u8>> {
    handle.join().unwrap_or_else(|_| Err(io::Error::other("the reader stopped")))
}

/// Waits for the process to end; kills it when the time is up, and says which of the two it was.
fn ends_within(pidfd: &impl std::os::fd::AsFd, limit: Duration) -> bool {
    let timeout = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos().into() };
    let mut fds = [PollFd::new(pidfd, PollFlags::IN)];
    loop {
        match poll(&mut fds, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => continue,
            Ok(0) => {
                let _ = pidfd_send_signal(pidfd, Signal::KILL);
                return false;
            }
            _ => return true,
        }
    }
}
