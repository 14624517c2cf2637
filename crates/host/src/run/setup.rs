//! A setup: its commands run one after the other behind walls, and what they leave in ignored folders, in the private home and
//! in private folders of toolchains becomes an environment.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use holon_core::manifest::{ErrorInfo, RunPhase};
use holon_core::outcome::RunStatus;
use holon_environment::{EnvironmentRecord, KeptPlace, LeftOutPath, time_counts};
use holon_git::Git;
use holon_sandbox::diff::{CollectOptions, DiffError, PatchLimits};
use holon_sandbox::isolation::PayloadEnding;
use holon_sandbox::mount::MountSource;
use holon_sandbox::snapshot::environment::{KeptSize, LayerKeeper, LeftOut};

use super::output::{AttendedOutput, PayloadStopCause};
use super::snapshot::RunStage;
use super::verdict::RunVerdict;
use super::{ActiveRun, isolation_levels};
use crate::environment::{EnvironmentStore, current_digest};
use crate::error::HostError;
use crate::plan::PlannedEnvironment;
use crate::record::now;

/// What such a run is called where others have the name of their mode.
pub(super) const NAME: &str = "setup";
/// How much of what a command printed is read for its last lines.
const READ: u64 = 64 << 10;
/// Lines of a command that failed that are told.
const LAST_LINES: usize = 5;

/// A private folder of a toolchain, and the files the host had put there.
struct PreparedPlace {
    at: PathBuf,
    folder: PathBuf,
    files: BTreeSet<PathBuf>,
}

impl ActiveRun<'_> {
    /// Runs the commands of a setup and keeps what they leave. Whoever calls this holds the lock of the environment.
    pub(super) fn set_up(&mut self, environment: &PlannedEnvironment) -> Result<RunVerdict, HostError> {
        self.manifest.metadata.mode = NAME.to_owned();
        self.manifest.no_changes = true;
        self.open_network()?;
        let git = Git::find()?;
        let backend = isolation_levels::first(self.host, &self.plan, self.ground())?;
        self.phase(RunPhase::Prepare, Self::prepare)?;
        let mut stage = self.phase(RunPhase::Snapshot, |run| run.take_snapshot(backend, None))?;
        let places = prepared(&stage)?;
        let mut verdict = self.phase(RunPhase::Execute, |run| run.each_command(&mut stage, environment))?;
        if verdict.is_deliverable() {
            let changed =
                current_digest(self.host, &environment.setup, &self.plan.workspace) != environment.digest;
            if changed {
                let message = "the files that the setup goes by were changed while it ran";
                verdict.ended(RunStatus::Failed, ErrorInfo::new("changed", message).with_hint("run again"));
            } else {
                self.phase(RunPhase::Collect, |run| {
                    run.keep_environment(&stage, &places, environment, &git)
                })?;
            }
        }
        Ok(verdict)
    }

    fn each_command(
        &mut self,
        stage: &mut RunStage,
        environment: &PlannedEnvironment,
    ) -> Result<RunVerdict, HostError> {
        let mut verdict = RunVerdict::good();
        for (at, command) in environment.setup.commands.iter().enumerate() {
            if at > 0 {
                stage.snapshot.renew()?;
                stage.renew_caches()?;
            }
            let log = self.folder.evidence().join(format!("setup-{}.log", at + 1));
            let attended = self.one_command(stage, command, &log)?;
            if let Some(error) = self.trouble(&attended, command, &log) {
                let status = match attended.stopped {
                    Some(PayloadStopCause::Cancelled) => RunStatus::Cancelled,
                    Some(PayloadStopCause::Timeout(_) | PayloadStopCause::Idle(_)) => RunStatus::Timeout,
                    _ => RunStatus::Failed,
                };
                verdict.ended(status, error);
                break;
            }
        }
        Ok(verdict)
    }

    fn one_command(
        &mut self,
        stage: &mut RunStage,
        command: &str,
        log: &Path,
    ) -> Result<AttendedOutput, HostError> {
        let argv = ["/bin/sh", "-c", command].map(Into::into).to_vec();
        let mut payload = self.build_walls(stage, argv)?;
        self.answer_network(payload.as_mut())?;
        stage.attempts += 1;
        self.note_walls(stage.backend.as_ref(), payload.held(), stage);
        let allowance = self.allowance(stage, stage.deadline);
        let watched = vec![self.folder.layers()];
        let attended = self.attend(payload, None, &allowance, &watched, log, true);
        self.close_network();
        attended
    }

    /// Why a command did not do its work, if it did not.
    fn trouble(&self, attended: &AttendedOutput, command: &str, log: &Path) -> Option<ErrorInfo> {
        let how = match (attended.stopped, &attended.finished.ending) {
            (Some(PayloadStopCause::Cancelled), _) => {
                return Some(ErrorInfo::new("cancelled", "cancelled by request"));
            }
            (Some(cause), _) => {
                let (limit, value) = cause.limit();
                format!("was stopped at its limit ({limit}: {value})")
            }
            (None, PayloadEnding::Code(0)) => return None,
            (None, PayloadEnding::Code(code)) => format!("ended with {code}"),
            (None, PayloadEnding::Signal(signal)) => format!("was ended by signal {signal}"),
            (None, PayloadEnding::Killed) => "was killed".to_owned(),
        };
        let said = last_lines(log);
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        let error = ErrorInfo::new(NAME, format!("the setup command `{command}` {how}{said}"));
        let refused = self.manifest.metadata.network.as_ref().and_then(|network| {
            let host = network.hosts.values().find(|host| host.refused > 0)?;
            let flag = host.flag.as_ref()?.strip_prefix("--allow-net ")?.to_owned();
            Some(format!("it was refused a host: `{flag}` in `allow` of [environment] permits it"))
        });
        let nothing = || {
            let closed = self.plan.permits.is_empty();
            closed.then(|| "it has no network: `allow` of [environment] says what it may reach".to_owned())
        };
        Some(match refused.or_else(nothing) {
            Some(hint) => error.with_hint(hint),
            None => error,
        })
    }

    /// Keeps what was left: made beside, on the disk, then under its name.
    fn keep_environment(
        &mut self,
        stage: &RunStage,
        prepared: &[PreparedPlace],
        environment: &PlannedEnvironment,
        git: &Git,
    ) -> Result<(), HostError> {
        let store = EnvironmentStore::of(&self.host.places);
        let (folder, _shared_lock) = store.start(&environment.digest)?;
        let shared = store.shared()?;
        let by_root = rustix::process::geteuid().is_root();
        let keeper = LayerKeeper { shared: &shared, time_counts: &time_counts, by_root };
        let made = |name: &str| -> Result<PathBuf, HostError> {
            let path = folder.join(name);
            fs::create_dir_all(&path).map_err(HostError::io("create", &path))?;
            Ok(path)
        };
        let ignored = keeper.ignored(&stage.snapshot, git, &made("workspace")?)?;
        let mut size = ignored.size;
        size.add(keeper.folder(&stage.home, &made("home")?, "home")?);
        let mut places = Vec::new();
        for (number, place) in prepared.iter().enumerate() {
            let name = format!("places/{number}");
            let target = made(&name)?;
            let at = place.at.to_string_lossy().into_owned();
            let kept: KeptSize = keeper.folder(&place.folder, &target, &at)?;
            // What the host put there is put there each time, as it is then.
            for file in &place.files {
                let file = target.join(file);
                fs::remove_file(&file).map_err(HostError::io("remove", &file))?;
            }
            size.add(kept);
            places.push(KeptPlace { at, folder: name });
        }
        let mut left_out: Vec<LeftOutPath> = self.changed_besides(stage, git)?;
        left_out.extend(ignored.left_out.iter().map(|(path, why)| LeftOutPath {
            path: path.to_string_lossy().into_owned(),
            why: reason(*why).into(),
        }));
        for one in left_out.iter().take(LAST_LINES) {
            self.warn(format!("the setup changed {}, which is not kept: {}", one.path, one.why));
        }
        let network = self.manifest.metadata.network.as_ref();
        let record = EnvironmentRecord {
            digest: environment.digest.clone(),
            setup: environment.setup.clone(),
            made_at: now(),
            run: self.record.id.as_str().to_owned(),
            workspace: self.plan.workspace.to_string_lossy().into_owned(),
            roots: ignored.roots.iter().map(|root| root.to_string_lossy().into_owned()).collect(),
            places,
            left_out,
            packages: network.map(|network| network.packages.clone()).unwrap_or_default(),
            files: size.files,
            bytes: size.bytes,
        };
        store.finish(&record)
    }

    /// What a patch would hold, had an agent done this.
    fn changed_besides(&self, stage: &RunStage, git: &Git) -> Result<Vec<LeftOutPath>, HostError> {
        let limits = PatchLimits::default();
        let changes = match stage.snapshot.changes(&CollectOptions { git, limits }) {
            Err(DiffError::TooMany { limit }) => {
                let why = format!("more than {limit} files that are not ignored");
                return Ok(vec![LeftOutPath { path: ".".into(), why }]);
            }
            changes => changes?,
        };
        let one = |change: &holon_sandbox::diff::PathChange| LeftOutPath {
            path: change.path.to_string_lossy().into_owned(),
            why: match change.base {
                Some(_) => "the workspace has it, and it is not ignored".into(),
                None => "it is not ignored".into(),
            },
        };
        Ok(changes.entries.iter().map(one).collect())
    }
}

fn reason(why: LeftOut) -> &'static str {
    match why {
        LeftOut::HoldsTracked => "the repository has files in it",
        LeftOut::NoText => "its name is no text",
        LeftOut::NoRoom => "above it the workspace has something that is no folder",
    }
}

/// The private folders of toolchains before anything ran.
fn prepared(stage: &RunStage) -> Result<Vec<PreparedPlace>, HostError> {
    let mut places = Vec::new();
    for mount in stage.exposed.mounts.iter().filter(|mount| mount.writable) {
        let MountSource::Bind(folder) = &mount.source else { continue };
        let mut files = BTreeSet::new();
        let mut todo = vec![PathBuf::new()];
        while let Some(below) = todo.pop() {
            let at = folder.join(&below);
            for entry in fs::read_dir(&at).map_err(HostError::io("read", &at))? {
                let entry = entry.map_err(HostError::io("read", &at))?;
                let path = below.join(entry.file_name());
                match entry.file_type().map_err(HostError::io("read", &at))?.is_dir() {
                    true => todo.push(path),
                    false => drop(files.insert(path)),
                }
            }
        }
        places.push(PreparedPlace { at: mount.at.clone(), folder: folder.clone(), files });
    }
    Ok(places)
}

/// The last lines that a command printed, in one.
fn last_lines(log: &Path) -> String {
    let read = || -> std::io::Result<String> {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(READ)))?;
        let mut bytes = Vec::new();
        file.take(READ).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = read().unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let from = lines.len().saturating_sub(LAST_LINES);
    lines[from..].join(" / ").chars().take(600).collect()
}
