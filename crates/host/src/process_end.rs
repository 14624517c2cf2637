//! The end of a program that the host started itself, waited for and not looked for.

use std::io;
use std::process::{Child, ExitStatus};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// How a program ended; one that is still there at the deadline is killed, and nothing is said of it.
pub(crate) fn ended_by(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    let ended = Pid::from_raw(i32::try_from(child.id()).unwrap_or_default());
    let ended = pidfd_open(ended.ok_or(Errno::SRCH)?, PidfdFlags::empty())?;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let limit = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&ended, PollFlags::IN)], Some(&limit)) {
            Ok(0) => {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            Ok(_) => return child.wait().map(Some),
            Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::process::Command;
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_end_is_told_and_one_that_does_not_come_is_made() {
        let far = Instant::now() + Duration::from_secs(600);
        let mut quick = Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap();
        assert_eq!(ended_by(&mut quick, far).unwrap().and_then(|status| status.code()), Some(7));
        let mut slow = Command::new("sleep").arg("600").spawn().unwrap();
        assert_eq!(ended_by(&mut slow, Instant::now()).unwrap(), None);
        assert!(slow.try_wait().unwrap().is_some(), "it was killed");
    }
}
