//! No picture of this process's memory on a disk: it holds keys, and the folder it works in is often a workspace.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// One byte is too little for any core file, and the only value that keeps a core handler of the machine from starting.
const TOO_LITTLE: u64 = 1;

/// Leaves the hard limit, so that whoever is started from here may ask for more.
pub(crate) fn forbid() {
    let maximum = getrlimit(Resource::Core).maximum;
    let current = Some(maximum.map_or(TOO_LITTLE, |maximum| maximum.min(TOO_LITTLE)));
    // Where it is refused nothing is lost that was there before.
    let _ = setrlimit(Resource::Core, Rlimit { current, maximum });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_and_no_handler_started() {
        forbid();
        assert!(getrlimit(Resource::Core).current.is_some_and(|limit| limit <= TOO_LITTLE));
    }
}
