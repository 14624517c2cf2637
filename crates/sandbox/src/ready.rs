//! Waiting for a descriptor, whatever signals this process gets meanwhile.

use std::os::fd::AsFd;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Whether something can be read from `source` before the deadline.
///
/// A signal in between (Ctrl-C, a resized window, the end of a child) is for whoever handles it. It is never taken for
/// silence: the walls would count as refused, and weaker ones be built.
pub(crate) fn readable(source: &impl AsFd, deadline: Instant) -> bool {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let limit = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(source, PollFlags::IN)], Some(&limit)) {
            Err(Errno::INTR) => {}
            answer => return answer.is_ok_and(|count| count > 0),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    static CAUGHT: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn count(_: libc::c_int) {
        CAUGHT.fetch_add(1, Ordering::SeqCst);
    }

    #[test]
    fn a_signal_is_not_taken_for_silence() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let handler = libc::sigaction {
            sa_sigaction: count as extern "C" fn(libc::c_int) as usize,
            // SAFETY: a mask of zeros is the empty one.
            sa_mask: unsafe { std::mem::zeroed() },
            sa_flags: 0,
            sa_restorer: None,
        };
        // SAFETY: the handler only counts, which is allowed at any moment.
        assert_eq!(unsafe { libc::sigaction(libc::SIGUSR2, &handler, std::ptr::null_mut()) }, 0);
        // SAFETY: asking for one's own number has no conditions.
        let (process, thread) = unsafe { (libc::getpid(), libc::gettid()) };
        std::thread::spawn(move || {
            while CAUGHT.load(Ordering::SeqCst) < 50 {
                // SAFETY: the signal has a handler, and the thread lives until it has read the byte below.
                unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGUSR2) };
                std::thread::yield_now();
            }
            theirs.write_all(&[1]).unwrap();
        });
        let deadline = Instant::now() + Duration::from_secs(60);
        assert!(readable(&ours, deadline), "after {} signals", CAUGHT.load(Ordering::SeqCst));
        assert!(CAUGHT.load(Ordering::SeqCst) >= 50);
    }

    #[test]
    fn silence_ends_with_the_deadline() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        assert!(!readable(&ours, Instant::now()));
    }
}
