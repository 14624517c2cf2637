//! A command that is ended when it takes too long, with all that it started.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::BenchFailure;

/// Between two looks at a process.
const LOOK: Duration = Duration::from_millis(20);
/// From asking a process to end to ending it.
const GRACE: Duration = Duration::from_secs(8);
/// Of what a command prints, the end is kept.
const MOST_KEPT: u64 = 512 * 1024;

/// How a command ended.
#[derive(Debug, Clone)]
pub(crate) struct LimitedCommandEnd {
    /// Its exit code; none when it was ended.
    pub(crate) code: Option<i32>,
    /// Whether it took too long.
    pub(crate) late: bool,
    pub(crate) seconds: f64,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl LimitedCommandEnd {
    /// It succeeded in time.
    pub(crate) fn good(&self) -> bool {
        !self.late && self.code == Some(0)
    }

    /// In a word.
    pub(crate) fn word(&self) -> String {
        match self.code {
            _ if self.late => "late".to_owned(),
            Some(code) => code.to_string(),
            None => "killed".to_owned(),
        }
    }
}

/// Runs it to its end, or until the limit.
pub(crate) fn run(command: &mut Command, limit: Duration) -> Result<LimitedCommandEnd, BenchFailure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let cannot = |e: std::io::Error| format!("cannot run {name}: {e}");
    let (mut stdout, mut stderr) =
        (tempfile::tempfile().map_err(cannot)?, tempfile::tempfile().map_err(cannot)?);
    let (out, err) = (stdout.try_clone().map_err(cannot)?, stderr.try_clone().map_err(cannot)?);
    command.stdin(Stdio::null()).stdout(out).stderr(err).process_group(0);
    let began = Instant::now();
    let mut child = command.spawn().map_err(cannot)?;
    let (status, late) = wait(&mut child, began + limit).map_err(cannot)?;
    let seconds = began.elapsed().as_secs_f64();
    Ok(LimitedCommandEnd {
        code: status.code(),
        late,
        seconds,
        stdout: kept(&mut stdout),
        stderr: kept(&mut stderr),
    })
}

fn wait(child: &mut Child, deadline: Instant) -> std::io::Result<(ExitStatus, bool)> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let end = |signal| group.map(|group| kill_process_group(group, signal));
    let mut asked = false;
    loop {
        if let Some(status) = child.try_wait()? {
            // What it left running must not go on while others are measured.
            end(Signal::KILL);
            return Ok((status, asked));
        }
        let now = Instant::now();
        if now >= deadline && !asked {
            end(Signal::TERM);
            asked = true;
        }
        if now >= deadline + GRACE {
            end(Signal::KILL);
        }
        std::thread::sleep(LOOK);
    }
}

fn kept(file: &mut File) -> String {
    let length = file.metadata().map_or(0, |data| data.len());
    let from = std::io::SeekFrom::Start(length.saturating_sub(MOST_KEPT));
    let mut bytes = Vec::new();
    let _ = file.seek(from).and_then(|_| file.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn commands_end_by_themselves_or_are_ended() {
        let shell = |script: &str, limit| run(Command::new("sh").args(["-c", script]), limit).unwrap();
        let ended = shell("echo out; echo err >&2; exit 3", Duration::from_secs(60));
        assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(3), "out\n", "err\n"));
        assert!(!ended.good() && ended.word() == "3");
        let ended = shell("sleep 600 & wait", Duration::from_millis(50));
        assert!(ended.late && !ended.good() && ended.word() == "late");
        assert!(ended.seconds < 60.0);
    }
}
