//! User namespaces that only carry a map: used to show a directory's owner as the payload.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;

use super::identity::PayloadIdentity;
use super::step::{LaunchRefusal, LaunchStep};
use super::sys::{self, ForkSide};

/// One namespace per owner met; a launch rarely meets more than one.
#[derive(Default)]
pub(super) struct Idmaps {
    known: BTreeMap<(u32, u32), OwnedFd>,
}

impl Idmaps {
    /// A namespace in which files of (`uid`, `gid`) belong to the payload and everybody else stays who they are.
    pub(super) fn for_owner(
        &mut self,
        uid: u32,
        gid: u32,
        to: &PayloadIdentity,
    ) -> Result<&OwnedFd, LaunchRefusal> {
        use std::collections::btree_map::Entry;
        Ok(match self.known.entry((uid, gid)) {
            Entry::Occupied(found) => found.into_mut(),
            Entry::Vacant(free) => {
                let made = namespace(&map_lines(uid, to.uid), &map_lines(gid, to.gid)).map_err(|e| {
                    LaunchRefusal::new(LaunchStep::IdmappedMount, e, format!("owner {uid}:{gid}"))
                })?;
                free.insert(made)
            }
        })
    }
}

/// Lines of a uid map: identity for all accounts, but `owner` becomes `payload`.
fn map_lines(owner: u32, payload: u32) -> String {
    let mut lines = String::new();
    if owner > 0 {
        lines += &format!("0 0 {owner}\n");
    }
    lines += &format!("{owner} {payload} 1\n");
    let rest = payload.saturating_sub(owner + 1);
    if rest > 0 {
        let next = owner + 1;
        lines += &format!("{next} {next} {rest}\n");
    }
    lines
}

/// A user namespace held open by nothing but the returned descriptor.
fn namespace(uids: &str, gids: &str) -> io::Result<OwnedFd> {
    let (mut release, mut hold) = {
        let (r, w) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        (File::from(w), File::from(r))
    };
    // SAFETY: the launcher is single-threaded.
    match unsafe { sys::fork_into(libc::CLONE_NEWUSER as u64) }? {
        ForkSide::Child => {
            drop(release);
            let _ = hold.read(&mut [0]);
            sys::exit_now(0)
        }
        ForkSide::Parent(pid) => {
            drop(hold);
            let result = (|| {
                fs::write(format!("/proc/{pid}/uid_map"), uids)?;
                fs::write(format!("/proc/{pid}/gid_map"), gids)?;
                File::open(format!("/proc/{pid}/ns/user")).map(OwnedFd::from)
            })();
            let _ = release.write_all(b"x");
            drop(release);
            let _ = rustix::process::waitpid(
                rustix::process::Pid::from_raw(pid),
                rustix::process::WaitOptions::empty(),
            );
            result
        }
    }
}

#[cfg(test)]
mod tests {
    use super::map_lines;

    #[test]
    fn maps_cover_everyone_once() {
        assert_eq!(map_lines(0, 5000), "0 5000 1\n1 1 4999\n");
        assert_eq!(map_lines(1000, 5000), "0 0 1000\n1000 5000 1\n1001 1001 3999\n");
    }
}
