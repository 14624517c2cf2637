//! This binary as the process inside the walls.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::LocalExecutor;
use crate::wire::serve::serve;

/// The name this binary is started under to become the hands.
pub const HANDS_NAME: &str = "holon-hands";

/// Becomes the hands if this process was started under their name, and then never returns: orders come on standard
/// input, answers go to standard output, the workspace is the current folder. Call it early in `main`.
pub fn become_hands_if_asked() {
    let Some(name) = std::env::args_os().next() else { return };
    let asked = Path::new(&name).file_name().is_some_and(|name| name.as_bytes() == HANDS_NAME.as_bytes());
    if asked {
        let code = match obey() {
            Ok(()) => 0,
            Err(error) => {
                use std::io::Write;
                let _ = writeln!(io::stderr(), "{HANDS_NAME}: {error}");
                70
            }
        };
        std::process::exit(code);
    }
}

fn obey() -> io::Result<()> {
    // Commands run as the same user: they must reach neither the memory nor the descriptors of this process.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    // The channel moves to descriptors that no command inherits.
    let input = File::from(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 10)?);
    let output = File::from(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 10)?);
    rustix::stdio::dup2_stdin(File::open("/dev/null")?.as_fd())?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    let root = std::env::current_dir()?;
    serve(input, output, LocalExecutor::new(root))
}
