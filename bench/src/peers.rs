//! Other ways to start a command behind walls, for comparison.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Failure;
use crate::command::{self, capture, time};
use crate::race::Contender;

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
pub(crate) fn plain<'a>() -> Contender<'a> {
    Contender::new(PLAIN, || time(&mut Command::new(PAYLOAD)))
}

/// util-linux.
pub(crate) fn unshare<'a>() -> Contender<'a> {
    Contender::new(UNSHARE, || time(Command::new(command::need("unshare")?).args(["-Urmpfn", PAYLOAD])))
}

/// Bubblewrap with all namespaces and a root much like Holon's; it has no overlay, Landlock, seccomp or limits here.
pub(crate) fn bubblewrap<'a>() -> Contender<'a> {
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
    Contender::new(BUBBLEWRAP, move || time(Command::new(command::need("bwrap")?).args(&arguments)))
}

/// Podman with an image of nothing but a static busybox, in a store of its own below `folder`.
pub(crate) fn podman<'a>(folder: &Path) -> Contender<'a> {
    let folder = folder.to_owned();
    let mut ready: Option<Podman> = None;
    Contender::new(PODMAN, move || {
        let podman = match &ready {
            Some(podman) => podman,
            None => ready.insert(Podman::prepare(&folder)?),
        };
        time(&mut podman.run())
    })
}

/// A store with the image, and the options that work on this machine.
struct Podman {
    program: PathBuf,
    store: Vec<PathBuf>,
    options: Vec<&'static str>,
}

impl Podman {
    fn prepare(folder: &Path) -> Result<Self, Failure> {
        let program = command::need("podman")?;
        let root = folder.join("image");
        let refuse = |e: std::io::Error| format!("cannot make an image in {}: {e}", root.display());
        fs::create_dir_all(root.join("bin")).map_err(refuse)?;
        let busybox = command::need("busybox").map_err(|e| format!("no image can be made: {e}"))?;
        fs::copy(busybox, root.join("bin/busybox")).map_err(refuse)?;
        std::os::unix::fs::symlink("busybox", root.join("bin/true")).map_err(refuse)?;
        let archive = folder.join("image.tar");
        capture(Command::new("tar").arg("-C").arg(&root).arg("-cf").arg(&archive).arg("."))?;
        let store = vec!["--root".into(), folder.join("storage"), "--runroot".into(), folder.join("running")];
        let mut podman = Self { program, store, options: Vec::new() };
        capture(podman.command(&[]).arg("import").arg(&archive).arg(IMAGE))?;
        podman.choose_options()?;
        Ok(podman)
    }

    /// The plainest set of options with which a container starts here: some machines need another runtime, or may not
    /// raise limits.
    fn choose_options(&mut self) -> Result<(), Failure> {
        let limits = ["--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024"];
        let runtime = ["--runtime=runc", "--cgroup-manager=cgroupfs"];
        let mut failure = String::new();
        for (global, own) in
            [(&[][..], &[][..]), (&runtime[..], &[][..]), (&[][..], &limits[..]), (&runtime[..], &limits[..])]
        {
            self.store.retain(|option| !runtime.iter().any(|r| option == Path::new(r)));
            self.store.extend(global.iter().map(PathBuf::from));
            self.options = own.to_vec();
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
        let mut command = Command::new(&self.program);
        command.args(&self.store).args(arguments);
        command
    }
}

impl Drop for Podman {
    fn drop(&mut self) {
        // Layers are mounted and belong to other ids; only podman itself can take its store away.
        let _ = capture(self.command(&["system", "reset"]).arg("--force"));
    }
}
