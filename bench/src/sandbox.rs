//! Holon's own walls around a command, through the library.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use holon_sandbox::isolation::{
    BaseMounts, Launcher, PayloadEnding, PayloadIdentity, PayloadLimits, PayloadNetwork, PayloadStreams,
    SandboxJob, SandboxedProcess, layout,
};
use holon_sandbox::mount::{Mount, MountSource, Overlay};
use holon_sandbox::snapshot::{WORKSPACE_INSIDE, remove_tree};

use crate::BenchFailure;

/// As in a run of the execute mode.
pub(crate) const LIMITS: PayloadLimits =
    PayloadLimits { processes: 512, files: 4096, file_mb: 1024, memory_mb: 4096 };
/// No payload here needs longer.
const PATIENCE: Duration = Duration::from_secs(60);
/// After this a launcher has surely entered its control groups and waits for its job.
const WARM_UP: Duration = Duration::from_millis(20);

/// When the launcher process is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LauncherStart {
    /// Inside the measured time.
    Cold,
    /// Before it, as a run does while it prepares.
    Warmed,
}

/// Starts payloads one after the other.
pub(crate) struct SandboxStarts {
    launcher: Launcher,
    workspace: PathBuf,
    folder: PathBuf,
    count: u32,
}

impl SandboxStarts {
    /// `holon` becomes the launcher; `workspace` is what the payload sees; `folder` is for the run's files.
    pub(crate) fn new(holon: &Path, workspace: &Path, folder: &Path) -> Self {
        Self {
            launcher: Launcher::at(holon),
            workspace: workspace.to_owned(),
            folder: folder.to_owned(),
            count: 0,
        }
    }

    /// From the request to the end of the last process.
    pub(crate) fn time(&mut self, argv: &[&str], start: LauncherStart) -> Result<Duration, BenchFailure> {
        self.count += 1;
        let name = format!("bench{}-{}", std::process::id(), self.count);
        let run = StartFolder::prepare(&self.folder.join(&name), &PayloadIdentity::for_run(&name))?;
        let warm = match start {
            LauncherStart::Cold => None,
            LauncherStart::Warmed => Some(self.launcher.warm(&run.ground(&name)).map_err(|e| e.to_string())?),
        };
        if warm.is_some() {
            std::thread::sleep(WARM_UP);
        }
        let begin = Instant::now();
        let job = run.job(&name, run.overlay(&self.workspace), argv);
        let running = match warm {
            None => self.launcher.spawn(&job),
            Some(warm) => warm.start(&job),
        };
        finish(running.map_err(|e| e.to_string())?)?;
        let time = begin.elapsed();
        settle();
        Ok(time)
    }

    /// Starts a payload, shows its process tree to `look`, and ends it.
    pub(crate) fn observe<T>(
        &mut self,
        argv: &[&str],
        look: impl FnOnce() -> Result<T, BenchFailure>,
    ) -> Result<T, BenchFailure> {
        self.count += 1;
        let name = format!("bench{}-{}", std::process::id(), self.count);
        let run = StartFolder::prepare(&self.folder.join(&name), &PayloadIdentity::for_run(&name))?;
        let job = run.job(&name, run.overlay(&self.workspace), argv);
        let running = self.launcher.spawn(&job).map_err(|e| e.to_string())?;
        let seen = look();
        running.finish();
        settle();
        seen
    }
}

/// Waits for the end of a payload that must succeed.
pub(crate) fn finish(mut running: SandboxedProcess) -> Result<(), BenchFailure> {
    let ending = running.wait(PATIENCE).map_err(|e| e.to_string())?;
    running.finish();
    if ending == Some(PayloadEnding::Code(0)) {
        Ok(())
    } else {
        Err(format!("the payload ended with {ending:?}"))
    }
}

/// Lets launchers that still tidy up come to their end, so that they do not cost the next contender.
pub(crate) fn settle() {
    let deadline = Instant::now() + Duration::from_secs(1);
    while Instant::now() < deadline && !children("self").is_empty() {
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// The processes a process started.
pub(crate) fn children(pid: &str) -> Vec<String> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists =
        threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// The files of one start.
pub(crate) struct StartFolder {
    /// Where they are.
    pub(crate) folder: PathBuf,
    /// Who the payload is.
    pub(crate) identity: PayloadIdentity,
}

impl StartFolder {
    /// Makes the folders that a run has.
    pub(crate) fn prepare(folder: &Path, identity: &PayloadIdentity) -> Result<Self, BenchFailure> {
        for name in ["upper", "work", "output", "home"] {
            let path = folder.join(name);
            let made = fs::create_dir_all(&path).and_then(|()| match identity.owner() {
                Some((uid, gid)) => chown(&path, Some(uid), Some(gid)),
                None => Ok(()),
            });
            made.map_err(|e| format!("cannot make {}: {e}", path.display()))?;
        }
        Ok(Self { folder: folder.to_owned(), identity: *identity })
    }

    /// A workspace over which the payload may write.
    fn overlay(&self, workspace: &Path) -> Vec<Mount> {
        let layers = Overlay {
            lowers: vec![workspace.to_owned()],
            upper: Some(self.folder.join("upper")),
            work: Some(self.folder.join("work")),
            lasting: false,
        };
        vec![Mount { at: WORKSPACE_INSIDE.into(), source: MountSource::Overlay(layers), writable: true }]
    }

    /// What a launcher can know before it gets the job.
    pub(crate) fn ground(&self, name: &str) -> BaseMounts {
        use std::os::unix::fs::MetadataExt;
        let mut ground = self.job(name, Vec::new(), &[]).ground();
        // As in a run, whose workspace is known before its job is.
        ground.owner = std::fs::metadata(&self.folder).ok().map(|m| (m.uid(), m.gid()));
        ground
    }

    /// A job with everything a run has; `workspace` is what it sees of the user's files.
    pub(crate) fn job(&self, name: &str, workspace: Vec<Mount>, argv: &[&str]) -> SandboxJob {
        let mut mounts = layout::system_root(&self.identity);
        mounts.extend(workspace);
        mounts.push(Mount::writable(self.folder.join("output"), "/holon/output"));
        mounts.push(Mount::writable(self.folder.join("home"), "/holon/home"));
        SandboxJob {
            name: name.to_owned(),
            identity: self.identity,
            mounts,
            writable_below: Vec::new(),
            argv: argv.iter().map(Into::into).collect(),
            env: Vec::new(),
            cwd: WORKSPACE_INSIDE.into(),
            limits: LIMITS,
            network: PayloadNetwork::None,
            streams: PayloadStreams::Watched,
        }
    }
}

impl Drop for StartFolder {
    fn drop(&mut self) {
        let _ = remove_tree(&self.folder);
    }
}
