//! What every kind of wall offers the host: start a job, watch it, end it.

use std::cell::RefCell;
use std::io::Read;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use holon_core::sandbox::IsolationLevel;

use crate::isolation::{
    BaseMounts, FinishedPayload, LaunchRefusal, Launcher, PayloadEnding, PayloadIdentity, SandboxEnforcement,
    SandboxJob, SandboxedProcess, WarmLauncher,
};

/// Output of a payload, standard output first.
pub type PayloadOutput = (Box<dyn Read + Send>, Box<dyn Read + Send>);

/// A way of isolating a payload.
pub trait SandboxBackend {
    /// The name in manifests: `native`, `oci`, `bubblewrap`, `landlock`, `none`.
    fn name(&self) -> &'static str;
    /// The rung of the ladder it stands on.
    fn level(&self) -> IsolationLevel;
    /// Whether it can mount merged views; if not, the host copies the workspace first.
    fn overlays(&self) -> bool;
    /// Whether paths inside are those of the contract (`/holon/…`); if not, the job names host paths.
    fn private_root(&self) -> bool;
    /// Whether programs and settings inside are its own (an image's) instead of the host's.
    fn brings_its_system(&self) -> bool {
        false
    }
    /// Builds the walls and starts the job; returns when the walls stand.
    fn start(&self, job: &SandboxJob) -> Result<Box<dyn RunningPayload>, LaunchRefusal>;
}

/// A started payload.
pub trait RunningPayload: Send {
    /// Which walls really stand.
    fn held(&self) -> &SandboxEnforcement;
    /// Its output; `None` the second time.
    fn take_output(&mut self) -> Option<PayloadOutput>;
    /// The host's end of its standard input and output, for a job with [`PayloadStreams::Channel`](crate::isolation::PayloadStreams); once.
    fn take_channel(&mut self) -> Option<UnixStream>;
    /// The next listener in its network, that for a gateway first, then that for a proxy; each once, and only where walls can
    /// offer one.
    fn take_listener(&mut self) -> Option<TcpListener> {
        None
    }
    /// The host's end of its terminal, for a job with
    /// [`PayloadStreams::Terminal`](crate::isolation::PayloadStreams); once, and only where walls can offer one.
    fn take_terminal(&mut self) -> Option<OwnedFd> {
        None
    }
    /// Whether it stopped on its terminal since this was asked last.
    fn take_stop(&mut self) -> bool {
        false
    }
    /// Lets it go on after it stopped on its terminal.
    fn go_on(&self) {}
    /// Waits at most `limit` for it to end.
    fn wait(&mut self, limit: Duration) -> Result<Option<PayloadEnding>, LaunchRefusal>;
    /// Asks everything inside to end.
    fn terminate(&self);
    /// Ends everything inside at once.
    fn kill(&mut self);
    /// Ends what is left and waits until the last process is gone.
    fn finish(self: Box<Self>) -> FinishedPayload;
    /// Its processes, as the host numbers them; empty where that cannot be told.
    fn processes(&self) -> Vec<u32> {
        Vec::new()
    }
}

/// Namespaces, private root, Landlock and seccomp, without any helper program.
#[derive(Debug, Default)]
pub struct NativeSandbox {
    /// How the launcher is started.
    pub launcher: Launcher,
    /// A launcher that is up already, for a job on this ground.
    warm: RefCell<Option<(BaseMounts, WarmLauncher)>>,
}

impl NativeSandbox {
    /// Walls whose launcher is started when the job is.
    pub fn new(launcher: Launcher) -> Self {
        Self { launcher, warm: RefCell::default() }
    }

    /// Starts the launcher now, so that it is up by the time the job is worked out. A failure shows at the start.
    pub fn warm_up(&self, ground: BaseMounts) {
        *self.warm.borrow_mut() = self.launcher.warm(&ground).ok().map(|warm| (ground, warm));
    }
}

impl SandboxBackend for NativeSandbox {
    fn name(&self) -> &'static str {
        "native"
    }

    fn level(&self) -> IsolationLevel {
        if PayloadIdentity::for_run("").by_root { IsolationLevel::L1 } else { IsolationLevel::L0 }
    }

    fn overlays(&self) -> bool {
        true
    }

    fn private_root(&self) -> bool {
        true
    }

    fn start(&self, job: &SandboxJob) -> Result<Box<dyn RunningPayload>, LaunchRefusal> {
        let ready = self.warm.borrow_mut().take().filter(|(ground, _)| ground.carries(job));
        Ok(Box::new(match ready {
            Some((_, warm)) => warm.start(job)?,
            None => self.launcher.spawn(job)?,
        }))
    }
}

impl RunningPayload for SandboxedProcess {
    fn held(&self) -> &SandboxEnforcement {
        SandboxedProcess::held(self)
    }

    fn take_output(&mut self) -> Option<PayloadOutput> {
        let (out, err) = SandboxedProcess::take_output(self)?;
        Some((
            out.map_or_else(|| Box::new(std::io::empty()) as Box<dyn Read + Send>, |o| Box::new(o)),
            Box::new(err),
        ))
    }

    fn take_channel(&mut self) -> Option<UnixStream> {
        SandboxedProcess::take_channel(self)
    }

    fn take_listener(&mut self) -> Option<TcpListener> {
        SandboxedProcess::take_listener(self)
    }

    fn take_terminal(&mut self) -> Option<OwnedFd> {
        SandboxedProcess::take_terminal(self)
    }

    fn take_stop(&mut self) -> bool {
        SandboxedProcess::take_stop(self)
    }

    fn go_on(&self) {
        SandboxedProcess::go_on(self);
    }

    fn wait(&mut self, limit: Duration) -> Result<Option<PayloadEnding>, LaunchRefusal> {
        SandboxedProcess::wait(self, limit)
    }

    fn terminate(&self) {
        SandboxedProcess::terminate(self);
    }

    fn kill(&mut self) {
        SandboxedProcess::kill(self);
    }

    fn finish(self: Box<Self>) -> FinishedPayload {
        SandboxedProcess::finish(*self)
    }

    fn processes(&self) -> Vec<u32> {
        SandboxedProcess::processes(self)
    }
}
