//! Memory and process limits for the whole run through control groups: version 2 where one is delegated to us,
//! version 1 where we are root. Without either there is no such limit, and the record says so.

use std::fs;
use std::path::{Path, PathBuf};

use super::job::PayloadLimits;

/// Prefix of every group Holon makes.
const PREFIX: &str = "holon-";

/// The groups of one run; left and removed when dropped.
#[derive(Debug, Default)]
pub(super) struct Cgroup {
    groups: Vec<PathBuf>,
    /// How memory is limited, if it is.
    pub memory: Option<String>,
    /// How processes are counted, if they are.
    pub pids: Option<String>,
}

impl Cgroup {
    /// Makes what this machine allows and moves the calling process in; never an error, since the limits are an
    /// additional layer.
    pub(super) fn enter(name: &str, limits: &PayloadLimits) -> Self {
        let mut made = Self::default();
        let membership = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let memory = (limits.memory_mb << 20).to_string();
        let pids = limits.processes.to_string();
        for line in membership.lines() {
            let mut fields = line.splitn(3, ':');
            let (_, Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
                continue;
            };
            let base = |root: &str| Path::new(root).join(path.trim_start_matches('/'));
            match controllers {
                "" => made.version_2(&base("/sys/fs/cgroup"), name, &memory, &pids),
                "memory" => {
                    let files = [("memory.limit_in_bytes", memory.as_str())];
                    let held = made.version_1(&base("/sys/fs/cgroup/memory"), name, &files);
                    made.memory = held.then(|| "cgroup v1".into());
                }
                "pids" => {
                    let held =
                        made.version_1(&base("/sys/fs/cgroup/pids"), name, &[("pids.max", pids.as_str())]);
                    made.pids = held.then(|| "cgroup v1".into());
                }
                _ => {}
            }
        }
        made.join();
        made
    }

    fn version_1(&mut self, base: &Path, name: &str, files: &[(&str, &str)]) -> bool {
        let group = base.join(format!("{PREFIX}{name}"));
        if !base.join("cgroup.procs").exists() || fs::create_dir(&group).is_err() {
            return false;
        }
        let held = files.iter().all(|(file, value)| fs::write(group.join(file), value).is_ok());
        self.groups.push(group);
        held
    }

    fn version_2(&mut self, base: &Path, name: &str, memory: &str, pids: &str) {
        let group = base.join(format!("{PREFIX}{name}"));
        if !base.join("cgroup.controllers").exists() || fs::create_dir(&group).is_err() {
            return;
        }
        if fs::write(group.join("memory.max"), memory).is_ok() {
            let _ = fs::write(group.join("memory.swap.max"), "0");
            self.memory = Some("cgroup v2".into());
        }
        if fs::write(group.join("pids.max"), pids).is_ok() {
            self.pids = Some("cgroup v2".into());
        }
        self.groups.push(group);
    }

    /// Takes the calling process out again, once what it started is in: when memory runs out, the kernel must not choose
    /// the process that cleans up.
    pub(super) fn step_out(&self) {
        for parent in self.groups.iter().filter_map(|g| g.parent()) {
            let _ = move_self(parent);
        }
    }

    /// Whether the kernel had to end a process of the run for want of memory.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        self.memory.is_some()
            && self.groups.iter().any(|group| {
                ["memory.oom_control", "memory.events"].iter().any(|file| {
                    let text = fs::read_to_string(group.join(file)).unwrap_or_default();
                    text.lines().any(|l| l.strip_prefix("oom_kill ").is_some_and(|n| n.trim() != "0"))
                })
            })
    }

    /// Moves the calling process (and so everything it will start) into the groups.
    fn join(&mut self) {
        for group in &self.groups {
            if move_self(group).is_err() {
                let v2 = group.join("cgroup.controllers").exists();
                let is = |name: &str| group.to_string_lossy().contains(&format!("/{name}/"));
                if v2 || is("memory") {
                    self.memory = None;
                }
                if v2 || is("pids") {
                    self.pids = None;
                }
            }
        }
    }
}

/// Version 1 moves a single thread without the grace period (some milliseconds) a whole process costs; the launcher has
/// only one thread.
fn move_self(group: &Path) -> std::io::Result<()> {
    let tasks = group.join("tasks");
    fs::write(if tasks.exists() { tasks } else { group.join("cgroup.procs") }, "0")
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        self.step_out();
        for group in &self.groups {
            let _ = fs::remove_dir(group);
        }
    }
}
