//! One temporary world per test.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use crate::identity::{ORDINARY_UID, TestIdentity};
use crate::leaks::HostProcess;
use crate::reach::{open_to_others, shared_temp_dir};
use crate::truth::false_claims;
use crate::{Invocation, TestWorkspace, mounts_mentioning, processes_with_markers, wait_until};

const NAME_PREFIX: &str = "holon-test-";
/// How long the kernel may take to finish tearing down what a killed run leaves.
const TEARDOWN: Duration = Duration::from_secs(20);

/// A temporary folder with its own HOME, XDG folders and binary, removed when dropped.
///
/// Set `HOLON_KEEP_TEST_ENV=1` to keep the folder and print where it is.
pub struct TestEnv {
    root: PathBuf,
    identity: TestIdentity,
    /// The user and group to become, when they are not the caller's.
    become_user: Option<(u32, u32)>,
    binary: PathBuf,
    /// Why the runs of this environment are not verified at the end, if they are not.
    unverified: OnceLock<&'static str>,
}

impl TestEnv {
    /// An environment whose commands run as the caller; `bin` is `env!("CARGO_BIN_EXE_holon")`, and the variable
    /// `HOLON_BIN` beats it.
    pub fn new(bin: impl AsRef<Path>) -> Self {
        Self::build(bin.as_ref(), TestIdentity::current(), None)
    }

    /// An environment whose commands run as an ordinary user, whoever runs the tests.
    pub fn as_ordinary(bin: impl AsRef<Path>) -> Self {
        let become_user =
            (TestIdentity::current() == TestIdentity::Root).then_some((ORDINARY_UID, ORDINARY_UID));
        Self::build(bin.as_ref(), TestIdentity::Ordinary, become_user)
    }

    /// An environment whose commands run as root, or nothing when the tests do not run as root.
    pub fn as_root(bin: impl AsRef<Path>) -> Option<Self> {
        (TestIdentity::current() == TestIdentity::Root).then(|| Self::new(bin))
    }

    fn build(bin: &Path, identity: TestIdentity, become_user: Option<(u32, u32)>) -> Self {
        let place = if become_user.is_some() { shared_temp_dir() } else { std::env::temp_dir() };
        let place = place.canonicalize().expect("the folder for temporary files exists");
        let root = tempfile::Builder::new()
            .prefix(NAME_PREFIX)
            .permissions(Permissions::from_mode(0o755))
            .tempdir_in(&place)
            .unwrap_or_else(|error| panic!("cannot make a folder in {}: {error}", place.display()))
            .keep();
        // Built early so that a panic below still removes the folder.
        let mut env =
            Self { root, identity, become_user, binary: PathBuf::new(), unverified: OnceLock::new() };
        fs::set_permissions(&env.root, Permissions::from_mode(0o755))
            .expect("opening the environment's folder");
        env.own(&env.root);
        for (name, mode) in [
            ("home", 0o700),
            ("state", 0o700),
            ("cache", 0o700),
            ("config", 0o700),
            ("tmp", 0o700),
            ("work", 0o755),
        ] {
            env.make_folder(&env.root.join(name), mode);
        }
        for name in ["bin", "agents", "logs"] {
            let folder = env.root.join(name);
            fs::create_dir(&folder).expect("making a folder of the environment");
            fs::set_permissions(&folder, Permissions::from_mode(0o755)).expect("opening it");
        }
        env.binary = env.place_binary(bin);
        env
    }

    fn place_binary(&self, bin: &Path) -> PathBuf {
        // Only a `holon` is replaced: the kit's own tests play with other programs.
        let replacement =
            std::env::var_os("HOLON_BIN").filter(|_| bin.file_name() == Some(OsStr::new("holon")));
        let bin = replacement.map_or_else(|| bin.to_owned(), PathBuf::from);
        let bin =
            bin.canonicalize().unwrap_or_else(|error| panic!("no binary at {}: {error}", bin.display()));
        if self.become_user.is_none() || open_to_others(&bin, 0o005) {
            return bin;
        }
        let near = self.root.join("bin").join(bin.file_name().expect("a binary has a name"));
        let linked = open_mode(&bin) && fs::hard_link(&bin, &near).is_ok();
        if !linked {
            fs::copy(&bin, &near).unwrap_or_else(|error| panic!("copying {}: {error}", bin.display()));
            fs::set_permissions(&near, Permissions::from_mode(0o755)).expect("opening the binary");
        }
        near
    }

    /// Leaves out what happens at the end of every test: that all finished runs are verified. For tests that make
    /// manifests lie on purpose, or damage the store.
    pub fn leave_unverified(&self, why: &'static str) {
        let _ = self.unverified.set(why);
    }

    /// Who the commands run as.
    pub fn identity(&self) -> TestIdentity {
        self.identity
    }

    /// The user id the commands run with.
    pub fn uid(&self) -> u32 {
        self.become_user.map_or_else(|| rustix::process::geteuid().as_raw(), |(uid, _)| uid)
    }

    /// The folder that holds everything of this test.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The private HOME.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// `$XDG_STATE_HOME`.
    pub fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// `$XDG_CACHE_HOME`.
    pub fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// `$XDG_CONFIG_HOME`.
    pub fn config(&self) -> PathBuf {
        self.root.join("config")
    }

    /// The folder that holds workspaces and anything else a test makes; commands start here unless told otherwise.
    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// The `holon` binary that commands use.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// A string that is in no other environment: put it into arguments to find processes again.
    pub fn marker(&self) -> String {
        self.root.file_name().expect("the root has a name").to_string_lossy().into_owned()
    }

    /// The folders of all runs in the run store, oldest name first.
    pub fn runs(&self) -> Vec<PathBuf> {
        let list = |folder: &Path| -> Vec<PathBuf> {
            fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
        };
        let workspaces = list(&self.state().join("holon"));
        let mut runs: Vec<_> =
            workspaces.iter().flat_map(|workspace| list(&workspace.join("runs"))).collect();
        runs.retain(|run| run.is_dir());
        runs.sort();
        runs
    }

    /// `holon` with these arguments, ready to be adjusted and run.
    pub fn holon<I, S>(&self, args: I) -> Invocation
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.program(&self.binary).args(args)
    }

    /// Any other program under the same conditions and identity.
    pub fn program(&self, program: impl AsRef<OsStr>) -> Invocation {
        Invocation::new(program.as_ref(), self)
    }

    /// The variables every command of this environment gets, and no others.
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        let pair = |name: &str, value: &OsStr| (OsString::from(name), value.to_owned());
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
        vec![
            pair("PATH", &path),
            pair("HOME", self.home().as_os_str()),
            pair("XDG_STATE_HOME", self.state().as_os_str()),
            pair("XDG_CACHE_HOME", self.cache().as_os_str()),
            pair("XDG_CONFIG_HOME", self.config().as_os_str()),
            pair("TMPDIR", self.root.join("tmp").as_os_str()),
            pair("LANG", OsStr::new("C.UTF-8")),
            pair("TZ", OsStr::new("UTC")),
        ]
    }

    /// An empty git repository in `work/repo`.
    pub fn repo(&self) -> TestWorkspace {
        self.repo_named("repo")
    }

    /// An empty git repository in `work/NAME`.
    pub fn repo_named(&self, name: &str) -> TestWorkspace {
        let workspace = self.folder(name);
        workspace.git(["init", "--quiet", "--initial-branch=main", "--template="]);
        workspace
    }

    /// An empty folder `work/NAME` that is no git repository.
    pub fn folder(&self, name: &str) -> TestWorkspace {
        let path = self.work().join(name);
        self.make_folder(&path, 0o755);
        TestWorkspace::new(path, self.become_user, self.variables())
    }

    /// Writes an executable script that plays the agent and returns its path.
    pub fn agent(&self, name: &str, script: &str) -> PathBuf {
        assert!(script.starts_with("#!"), "an agent script starts with its interpreter, as in #!/bin/sh");
        let path = self.root.join("agents").join(name);
        fs::write(&path, script).expect("writing an agent");
        fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("making an agent executable");
        path
    }

    /// Writes a file that belongs to the environment's user, folders above included, and returns its path.
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root.join(path);
        let parent = path.parent().expect("a file has a folder");
        let missing: Vec<_> = parent.ancestors().take_while(|folder| !folder.exists()).collect();
        for folder in missing.iter().rev() {
            self.make_folder(folder, 0o755);
        }
        fs::write(&path, content).unwrap_or_else(|error| panic!("writing {}: {error}", path.display()));
        self.own(&path);
        path
    }

    /// Gives `path` (not what is below it) to the user the commands run as.
    pub fn own(&self, path: &Path) {
        if let Some((uid, gid)) = self.become_user {
            std::os::unix::fs::lchown(path, Some(uid), Some(gid))
                .unwrap_or_else(|error| panic!("giving {} away: {error}", path.display()));
        }
    }

    /// Ends what rootless podman leaves running to hold its namespace, for a store whose `--tmpdir` is this folder.
    pub fn end_podman(&self, tmpdir: &Path) {
        wait_until(TEARDOWN, || {
            let pid = std::fs::read_to_string(tmpdir.join("pause.pid"));
            let pid =
                pid.ok().and_then(|pid| pid.trim().parse().ok()).and_then(rustix::process::Pid::from_raw);
            if let Some(pid) = pid {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
            self.leftover_processes().is_empty()
        });
    }

    /// Processes of the host that belong to this environment: they name it in arguments, variables or mounts.
    pub fn leftover_processes(&self) -> Vec<HostProcess> {
        processes_with_markers(&[&self.marker()])
    }

    /// Panics when a process or a mount of this environment is still there after the kernel had time to finish.
    pub fn assert_nothing_left(&self) {
        let marker = self.marker();
        let gone = wait_until(TEARDOWN, || {
            self.leftover_processes().is_empty() && mounts_mentioning(&marker).is_empty()
        });
        assert!(
            gone,
            "left behind: processes {:#?}, mounts {:#?}",
            self.leftover_processes(),
            mounts_mentioning(&marker)
        );
    }

    pub(crate) fn become_user(&self) -> Option<(u32, u32)> {
        self.become_user
    }

    fn make_folder(&self, path: &Path, mode: u32) {
        fs::create_dir(path).unwrap_or_else(|error| panic!("making {}: {error}", path.display()));
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("setting a folder's mode");
        self.own(path);
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        // A test that fails already has something better to say.
        let looks = !std::thread::panicking() && self.unverified.get().is_none() && !is_long();
        let lies = looks.then(|| false_claims(self)).flatten();
        if std::env::var_os("HOLON_KEEP_TEST_ENV").is_some() {
            eprintln!("kept the test environment in {}", self.root.display());
        } else {
            remove_tree(&self.root);
        }
        assert!(lies.is_none(), "a run's manifest says what is false\n{}", lies.unwrap_or_default());
    }
}

/// Whether this is one of the long tests: they make runs by the hundred, kill them, and run agents of all kinds.
fn is_long() -> bool {
    let program = std::env::current_exe().ok();
    let name = program.as_ref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
    name.is_some_and(|name| name.starts_with("battery_"))
}

/// Removes a tree however deep it is and whatever modes its folders have, without leaving its filesystem.
fn remove_tree(root: &Path) {
    let run = |program: &str, args: &[&str]| {
        Command::new(program)
            .args(args)
            .arg(root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    // std's remove_dir_all keeps one descriptor open per level, and hostile trees are deeper than that allows.
    let remove = ["-rf", "--one-file-system", "--"];
    if !run("rm", &remove) {
        run("chmod", &["-R", "u+rwX", "--"]);
        run("rm", &remove);
    }
}

fn open_mode(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o005 == 0o005)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::for_each_identity;

    #[test]
    fn commands_run_as_the_identity_with_nothing_inherited() {
        for_each_identity("/bin/sh", |env| {
            let output = env.holon(["-c", "id -u; id -G; env; touch \"$HOME/mine\"; pwd"]).run();
            output.assert_code(0);
            let lines: Vec<_> = output.stdout.lines().collect();
            assert_eq!(lines[0], env.uid().to_string());
            if env.identity() == TestIdentity::Ordinary && TestIdentity::current() == TestIdentity::Root {
                assert_eq!(lines[1], ORDINARY_UID.to_string(), "groups of root are gone");
            }
            assert!(!output.stdout.contains("CARGO"), "{}", output.stdout);
            assert_eq!(*lines.last().unwrap(), env.work().to_str().unwrap());
            assert_eq!(env.home().join("mine").metadata().unwrap().uid(), env.uid());
        });
    }

    #[test]
    fn a_hidden_binary_is_brought_within_reach() {
        let hidden = tempfile::tempdir().unwrap();
        fs::set_permissions(hidden.path(), Permissions::from_mode(0o700)).unwrap();
        let binary = hidden.path().join("true");
        fs::copy("/bin/true", &binary).unwrap();
        let env = TestEnv::as_ordinary(&binary);
        env.holon([""; 0]).run().assert_code(0);
    }

    #[test]
    fn the_folder_goes_away_with_locked_parts_in_it() {
        let env = TestEnv::new("/bin/true");
        let locked = env.work().join("locked");
        fs::create_dir_all(locked.join("inner")).unwrap();
        fs::set_permissions(&locked, Permissions::from_mode(0o000)).unwrap();
        let root = env.root().to_owned();
        drop(env);
        assert!(!root.exists());
    }

    #[test]
    fn files_written_for_the_user_belong_to_the_user() {
        let env = TestEnv::as_ordinary("/bin/true");
        let file = env.write("config/holon/config.toml", "x = 1\n");
        assert_eq!(file.metadata().unwrap().uid(), env.uid());
        assert_eq!(env.config().join("holon").metadata().unwrap().uid(), env.uid());
    }
}
