//! Other ways to start a command behind walls, for comparison.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::mount::UnmountFlags;
use rustix::process::{Pid, Signal};

use crate::BenchFailure;
use crate::command::{self, capture, time};
use crate::race::RaceContender;

/// What everybody starts.
pub(crate) const PAYLOAD: &str = "/bin/true";
/// Name of the image made for podman.
const IMAGE: &str = "localhost/holon-bench";

/// No walls at all: the floor.
pub(crate) const PLAIN: &str = "fork and exec, no walls";
/// Namespaces only, and no private root.
pub(crate) const UNSHARE: &str = "unshare -Urmpfn";
/// Namespaces and a private root.
pub(crate) const BUBBLEWRAP: &str = "bubblewrap";
/// A container.
pub(crate) const PODMAN: &str = "podman run";

/// Just the command.
pub(crate) fn plain<'a>() -> RaceContender<'a> {
    RaceContender::new(PLAIN, || time(&mut Command::new(PAYLOAD)))
}

/// util-linux.
pub(crate) fn unshare<'a>() -> RaceContender<'a> {
    RaceContender::new(UNSHARE, || time(Command::new(command::need("unshare")?).args(["-Urmpfn", PAYLOAD])))
}

/// Bubblewrap with all namespaces and a root much like Holon's; it has no overlay, Landlock, seccomp or limits here.
pub(crate) fn bubblewrap<'a>() -> RaceContender<'a> {
    let mut arguments: Vec<PathBuf> =
        ["--unshare-all", "--new-session", "--die-with-parent", "--cap-drop", "ALL"]
            .map(PathBuf::from)
            .to_vec();
    let system = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache"];
    for path in system.map(Path::new).into_iter().filter(|path| path.exists()) {
        match fs::read_link(path) {
            Ok(target) => arguments.extend(["--symlink".into(), target, path.to_owned()]),
            Err(_) => arguments.extend(["--ro-bind".into(), path.to_owned(), path.to_owned()]),
        }
    }
    arguments.extend(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", PAYLOAD].map(PathBuf::from));
    RaceContender::new(BUBBLEWRAP, move || time(Command::new(command::need("bwrap")?).args(&arguments)))
}

/// Podman with an image of nothing but a static busybox, in a store of its own.
pub(crate) fn podman<'a>() -> RaceContender<'a> {
    let mut ready: Option<Podman> = None;
    RaceContender::new(PODMAN, move || {
        let podman = match &ready {
            Some(podman) => podman,
            None => ready.insert(Podman::prepare()?),
        };
        time(&mut podman.run())
    })
}

/// A store with the image, and the options that work on this machine.
struct Podman {
    program: PathBuf,
    global: Vec<&'static str>,
    options: Vec<&'static str>,
    folder: tempfile::TempDir,
}

impl Podman {
    fn prepare() -> Result<Self, BenchFailure> {
        let program = command::need("podman")?;
        let busybox = command::need("busybox").map_err(|e| format!("no image can be made: {e}"))?;
        let refuse = |e: std::io::Error| format!("cannot make an image: {e}");
        // Podman refuses paths of more than 50 characters, whatever TMPDIR says.
        let folder = tempfile::Builder::new().prefix("hb-").tempdir_in("/tmp").map_err(refuse)?;
        let root = folder.path().join("image");
        fs::create_dir_all(root.join("bin")).map_err(refuse)?;
        fs::copy(busybox, root.join("bin/busybox")).map_err(refuse)?;
        std::os::unix::fs::symlink("busybox", root.join("bin/true")).map_err(refuse)?;
        let archive = folder.path().join("image.tar");
        // Owned by root inside, whoever makes it: an ordinary user may have no other id to give away.
        let owner = ["--owner=0", "--group=0", "--numeric-owner"];
        capture(Command::new("tar").args(owner).arg("-C").arg(&root).arg("-cf").arg(&archive).arg("."))?;
        let mut podman = Self { program, global: Vec::new(), options: Vec::new(), folder };
        capture(podman.command(&["import"]).arg(&archive).arg(IMAGE))?;
        podman.choose_options()?;
        Ok(podman)
    }

    /// The plainest set of options with which a container starts here: some machines need another runtime, or may not
    /// raise limits.
    fn choose_options(&mut self) -> Result<(), BenchFailure> {
        let runtime = vec!["--runtime=runc", "--cgroup-manager=cgroupfs"];
        let limits = vec!["--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024"];
        let mut failure = String::new();
        for (global, options) in
            [(vec![], vec![]), (runtime.clone(), vec![]), (vec![], limits.clone()), (runtime, limits)]
        {
            (self.global, self.options) = (global, options);
            match capture(&mut self.run()) {
                Ok(_) => return Ok(()),
                Err(said) => failure = said,
            }
        }
        Err(format!("starts no container here: {failure}"))
    }

    fn run(&self) -> Command {
        let mut command = self.command(&["run", "--rm", "--network=none"]);
        command.args(&self.options).arg(IMAGE).arg(PAYLOAD);
        command
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let folder = self.folder.path();
        let mut command = Command::new(&self.program);
        command.arg("--root").arg(folder.join("store")).arg("--runroot").arg(folder.join("run"));
        command.args(&self.global).args(arguments).env("XDG_RUNTIME_DIR", folder);
        command
    }
}

impl Drop for Podman {
    fn drop(&mut self) {
        // Layers may belong to ids that only podman can act as.
        let _ = capture(&mut self.command(&["rmi", "--all", "--force"]));
        // For an ordinary user it leaves a process behind that keeps the namespaces; its id is in our own folder.
        let pause = fs::read_to_string(self.folder.path().join("libpod/tmp/pause.pid")).unwrap_or_default();
        if let Some(pid) = pause.trim().parse().ok().and_then(Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        // Inside the bench's own mount namespace, and only there when there is anything to unmount.
        let _ = rustix::mount::unmount(self.folder.path().join("store/overlay"), UnmountFlags::DETACH);
    }
}
