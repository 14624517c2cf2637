//! The Rust toolchain of this machine, made reachable for whoever a test plays.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use holon_testkit::{TestEnv, TestIdentity};

/// Shows folders of root's to another user, in a mount namespace that ends with the command, then becomes that user.
const SHOW_AND_RUN: &str = r#"
set -e
while [ "$1" != -- ]; do
    mount --bind "$1" "$2"
    mount -o remount,bind,ro "$2"
    shift 2
done
shift
exec "$@"
"#;

/// How long one run may take, in seconds.
const PATIENCE: &str = "300";

/// A machine as the environment's user finds it.
pub(crate) struct ToolchainMachine<'e> {
    env: &'e TestEnv,
    /// Folders of the machine and the names under which this user reaches them.
    shown: Vec<(PathBuf, PathBuf)>,
    variables: Vec<(String, OsString)>,
}

/// How a run ended and all it said.
pub(crate) struct MachineRun {
    pub(crate) code: i32,
    pub(crate) said: String,
}

impl<'e> ToolchainMachine<'e> {
    /// The machine with its Rust toolchain; the user's packages are not there yet.
    pub(crate) fn with_rust(env: &'e TestEnv) -> Self {
        let mut machine = Self { env, shown: Vec::new(), variables: Vec::new() };
        if let Some(rustup_home) = rustup_home() {
            let seen = machine.reach(&rustup_home, "rustup");
            machine.set("RUSTUP_HOME", seen);
        }
        machine
    }

    /// Uses the package cache these tests were built with.
    pub(crate) fn with_own_packages(mut self) -> Self {
        let seen = self.reach(&cargo_home(), "cargo");
        self.set("CARGO_HOME", seen);
        self
    }

    fn set(&mut self, name: &str, value: PathBuf) {
        self.variables.push((name.to_owned(), value.into_os_string()));
    }

    /// A name by which the environment's user can get at a folder of the one who runs the tests.
    fn reach(&mut self, folder: &Path, name: &str) -> PathBuf {
        if self.is_own_user() {
            return folder.to_owned();
        }
        let seen = self.env.root().join("seen").join(name);
        fs::create_dir_all(&seen).unwrap();
        self.shown.push((folder.to_owned(), seen.clone()));
        seen
    }

    fn is_own_user(&self) -> bool {
        self.env.identity() == TestIdentity::current()
    }

    /// `holon` with these arguments in `folder`, as the environment's user.
    pub(crate) fn holon(&self, folder: &Path, args: &[&str]) -> MachineRun {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", PATIENCE]);
        if !self.is_own_user() {
            command.args(["unshare", "--mount", "--propagation=private", "sh", "-c", SHOW_AND_RUN, "sh"]);
            command.args(self.shown.iter().flat_map(|(from, to)| [from, to]));
            let uid = self.env.uid();
            command.args(["--", "setpriv", "--clear-groups"]);
            command.args([format!("--reuid={uid}"), format!("--regid={uid}")]);
        }
        command.arg(self.env.binary()).args(args).current_dir(folder).stdin(Stdio::null());
        command.env_clear().envs(self.env.variables()).envs(self.variables.iter().cloned());
        let output = command.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        MachineRun {
            code: output.status.code().unwrap_or(-1),
            said: String::from_utf8_lossy(&said).into_owned(),
        }
    }
}

/// The folder of toolchains, or nothing where Rust is part of the system.
pub(crate) fn rustup_home() -> Option<PathBuf> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().expect("rustc is installed");
    let sysroot = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    let toolchains = sysroot.parent().filter(|parent| parent.ends_with("toolchains"));
    let system = sysroot.starts_with("/usr");
    assert!(toolchains.is_some() || system, "Rust is neither part of the system nor installed with rustup");
    toolchains.and_then(Path::parent).map(Path::to_owned)
}

/// The `rustup` that stands in for cargo and rustc.
pub(crate) fn rustup() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&path).map(|folder| folder.join("rustup")).find(|file| file.is_file());
    found.expect("rustup is on PATH")
}

fn cargo_home() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cargo");
    std::env::var_os("CARGO_HOME").map_or_else(home, PathBuf::from)
}

/// The version of a package these tests were built with, so that it is in the cache.
pub(crate) fn built_with(name: &str) -> String {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    let lock = fs::read_to_string(lock).unwrap();
    let entry = lock.split("[[package]]").find(|entry| entry.contains(&format!("name = \"{name}\"\n")));
    let version = entry.and_then(|entry| entry.split("version = \"").nth(1)?.split('"').next());
    version.unwrap_or_else(|| panic!("{name} is not in Cargo.lock")).to_owned()
}
