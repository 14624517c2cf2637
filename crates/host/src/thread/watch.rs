//! Watching the walls of a turn: limits, and their end.

use std::io::Read;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use holon_core::mode::RunLimits;
use holon_sandbox::backend::RunningPayload;
use holon_sandbox::disk::{DiskLimit, DiskLimits, DiskWatch, measure};

/// How often limits are looked at.
const TICK: Duration = Duration::from_millis(50);

/// Walls that stand, and the thread that watches them.
pub(super) struct WatchedSandbox {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// Why the walls were taken down before their time.
pub(super) type SandboxEndReason = Arc<Mutex<Option<String>>>;

impl WatchedSandbox {
    pub(super) fn start(
        mut payload: Box<dyn RunningPayload>,
        folders: Vec<PathBuf>,
        limits: &RunLimits,
        why: SandboxEndReason,
    ) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (asked, deadline) = (Arc::clone(&stop), Instant::now() + limits.timeout.get());
        let allowed = DiskLimits { bytes: limits.disk_mb << 20, files: limits.files };
        // Nothing is said there that anyone needs, but a full pipe would block whoever writes.
        let noise = payload.take_output();
        let thread =
            std::thread::Builder::new().name("turn-watch".into()).stack_size(256 << 10).spawn(move || {
                let drain = noise.map(|(_, err)| std::thread::spawn(move || drain(err)));
                let already =
                    folders.iter().map(|f| measure(f)).fold(DiskLimits { bytes: 0, files: 0 }, |a, b| {
                        DiskLimits { bytes: a.bytes + b.bytes, files: a.files + b.files }
                    });
                let mut disk = DiskWatch::start(folders, allowed);
                loop {
                    if !matches!(payload.wait(TICK), Ok(None)) || asked.load(Ordering::SeqCst) {
                        break;
                    }
                    let broken = if Instant::now() >= deadline {
                        Some("its time is over".to_owned())
                    } else {
                        disk.broken(already, || payload.processes()).map(|limit| match limit {
                            DiskLimit::Bytes => "it wrote more than it may".to_owned(),
                            DiskLimit::Files => "it made more files than it may".to_owned(),
                            DiskLimit::Full => "the disk is nearly full".to_owned(),
                        })
                    };
                    if let Some(broken) = broken {
                        why.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(broken);
                        break;
                    }
                }
                payload.kill();
                payload.finish();
                if let Some(drain) = drain {
                    let _ = drain.join();
                }
            })?;
        Ok(Self { stop, thread })
    }

    /// Takes the walls down and waits until the last process is gone.
    pub(super) fn end(self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = self.thread.join();
    }
}

fn drain(mut from: Box<dyn Read + Send>) {
    let mut buffer = [0; 4096];
    while matches!(from.read(&mut buffer), Ok(n) if n > 0) {}
}
