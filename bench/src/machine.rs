//! Where and when something was measured.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Serialize;

use crate::command;

/// The machine and the programs that take part.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Machine {
    pub(crate) kernel: String,
    pub(crate) architecture: String,
    pub(crate) cores: usize,
    pub(crate) memory_mb: u64,
    /// Load average of 1, 5 and 15 minutes when the bench began.
    pub(crate) load: String,
    /// Program to version; "missing" for one that is not there.
    pub(crate) versions: BTreeMap<String, String>,
}

impl Machine {
    /// Looks around; `holon` is the binary that is measured.
    pub(crate) fn look(holon: &Path) -> Self {
        let system = rustix::system::uname();
        let mut versions = BTreeMap::new();
        versions.insert("holon".to_owned(), version(holon));
        for program in ["unshare", "bwrap", "podman", "runc", "git"] {
            let found = command::find(program).map_or_else(|| "missing".to_owned(), |path| version(&path));
            versions.insert(program.to_owned(), found);
        }
        Self {
            kernel: system.release().to_string_lossy().into_owned(),
            architecture: system.machine().to_string_lossy().into_owned(),
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            memory_mb: memory_mb().unwrap_or(0),
            load: load(),
            versions,
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, architecture, cores, memory_mb, load, versions } = self;
        writeln!(f, "Linux {kernel} on {architecture}, {cores} cores, {memory_mb} MB, load {load}")?;
        let versions: Vec<String> =
            versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
        write!(f, "{}", versions.join(" · "))
    }
}

/// Load average of the last 1, 5 and 15 minutes.
pub(crate) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}

/// Who this process is.
pub(crate) fn user() -> String {
    match rustix::process::geteuid().as_raw() {
        0 => "root".to_owned(),
        uid => format!("an ordinary user (uid {uid})"),
    }
}

/// The first word with a digit and a dot in what `--version` prints.
pub(crate) fn version(program: &Path) -> String {
    let said = command::capture_both(Command::new(program).arg("--version")).unwrap_or_default();
    let word = said
        .split_whitespace()
        .find(|word| word.contains('.') && word.contains(|c: char| c.is_ascii_digit()));
    word.map_or_else(|| "of unknown version".to_owned(), str::to_owned)
}

fn memory_mb() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kb| kb / 1024)
}
