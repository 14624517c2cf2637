//! A short run behind one rung, with attempts to get out of it: what `holon doctor --probe` goes by.
//!
//! The attempts are a shell script, so they need nothing that a run does not need. Each says whether it got through; what
//! could have changed something is looked at from outside as well.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::backend::SandboxBackend;
use crate::isolation::layout::system_root;
use crate::isolation::{
    LaunchRefusal, LaunchStep, PayloadEnding, PayloadIdentity, PayloadLimits, PayloadNetwork, PayloadStreams,
    SandboxEnforcement, SandboxJob,
};
use crate::mount::Mount;

const PATIENCE: Duration = Duration::from_secs(30);
/// Enough of what a script says.
const MAX_WORDS: u64 = 64 << 10;

/// What may be written must be: else nothing that follows means anything.
const WORK: &str = "echo new > \"$WORK/made\" && mv \"$WORK/made\" \"$WORK/moved\" && chmod 750 \"$WORK/moved\" \
                    && echo new > \"$OUT/made\" && echo worked";

/// What is tried: a name, a command that succeeds when it got through, and what that would mean. Nothing is written
/// anywhere but in the folder of the trial.
const ATTEMPTS: &[(&str, &str, &str)] = &[
    ("read-secret", "cat \"$SECRET\"", "your files can be read"),
    ("write-outside", "echo x > \"$OUTSIDE/made\"", "your files can be written"),
    ("mode-outside", "chmod 777 \"$SECRET\"", "modes of your files can be changed"),
    ("time-outside", "touch -d 2001-01-01 \"$SECRET\"", "times of your files can be changed"),
    ("write-read-only", "echo x > \"$READ_ONLY/file\"", "what is read-only can be written"),
    ("make-read-only", "echo x > \"$READ_ONLY/made\"", "files can be made where all is read-only"),
    ("mode-read-only", "chmod 777 \"$READ_ONLY/file\"", "modes can be changed where all is read-only"),
    ("remove-read-only", "rm -f \"$READ_ONLY/file\"", "files can be removed where all is read-only"),
    ("write-system", ": >> /usr/.holon-probe", "the system's folders can be written"),
    ("switches", ": >> /proc/sys/kernel/core_pattern", "switches of the kernel can be opened for writing"),
    ("host-environment", "cat \"/proc/$HOST/environ\"", "the environment of other programs can be read"),
    ("host-memory", ": < \"/proc/$HOST/mem\"", "the memory of other programs can be opened"),
    (
        "host-command-line",
        "grep -q . \"/proc/$HOST/cmdline\"",
        "the command lines of other programs can be read",
    ),
    ("host-signal", "kill -0 \"$HOST\"", "other programs can be signalled"),
    ("init-environment", "grep -q . /proc/1/environ", "the environment of the first process can be read"),
    ("init-descriptors", "ls /proc/1/fd/0", "the descriptors of the first process can be seen"),
    ("user-namespace", "unshare -U true", "user namespaces can be made"),
    ("mount", "unshare -Um mount -t tmpfs none /mnt", "file systems can be mounted"),
];

/// One attempt and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EscapeAttempt {
    /// Its name.
    pub id: &'static str,
    /// Whether the walls held against it.
    pub held: bool,
    /// What it means when they did not.
    pub means: &'static str,
}

/// What a rung did with a short run.
#[derive(Debug, Clone)]
pub struct RungTrial {
    /// Which layers stood.
    pub held: SandboxEnforcement,
    /// All attempts, in order.
    pub attempts: Vec<EscapeAttempt>,
}

impl RungTrial {
    /// What got through.
    pub fn got_through(&self) -> impl Iterator<Item = &EscapeAttempt> {
        self.attempts.iter().filter(|attempt| !attempt.held)
    }
}

/// Folders of one trial, removed with it.
struct TrialFolders {
    top: tempfile::TempDir,
}

impl TrialFolders {
    fn new(below: &Path, identity: &PayloadIdentity) -> std::io::Result<Self> {
        let top = tempfile::Builder::new().prefix("probe-").tempdir_in(below)?;
        // Whoever is inside has to get to its own part, as in a run.
        fs::set_permissions(top.path(), fs::Permissions::from_mode(0o711))?;
        let made = Self { top };
        for name in ["work", "out", "read-only"] {
            fs::create_dir(made.path(name))?;
            fs::write(made.path(name).join("file"), "old\n")?;
            fs::set_permissions(made.path(name), fs::Permissions::from_mode(0o755))?;
            fs::set_permissions(made.path(name).join("file"), fs::Permissions::from_mode(0o644))?;
            // As in a run: what may be written is given to the payload, what is only read stays whose it is.
            if let Some((uid, gid)) = identity.owner().filter(|_| name != "read-only") {
                chown(made.path(name), Some(uid), Some(gid))?;
                chown(made.path(name).join("file"), Some(uid), Some(gid))?;
            }
        }
        fs::create_dir(made.path("outside"))?;
        fs::write(made.path("secret"), "secret\n")?;
        fs::set_permissions(made.path("secret"), fs::Permissions::from_mode(0o600))?;
        Ok(made)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.top.path().join(name)
    }

    /// What must be the same afterwards.
    fn state(&self) -> Vec<(&'static str, u32, i64, u64)> {
        ["secret", "read-only", "read-only/file", "outside"]
            .into_iter()
            .filter_map(|name| {
                let meta = self.path(name).symlink_metadata().ok()?;
                Some((name, meta.mode(), meta.mtime(), meta.size()))
            })
            .collect()
    }
}

/// Runs the script behind `backend`, in a folder of its own below `below`. Blocks for as long as a start takes.
pub fn try_rung(backend: &dyn SandboxBackend, below: &Path) -> Result<RungTrial, LaunchRefusal> {
    let refuse = |e: std::io::Error| LaunchRefusal::new(LaunchStep::Job, e, "a short run");
    let name = format!("trial-{}-{}", backend.name(), std::process::id());
    let identity = PayloadIdentity::for_run(&name);
    let folders = TrialFolders::new(below, &identity).map_err(refuse)?;
    let before = folders.state();
    let mut payload = backend.start(&job(backend, name, identity, &folders))?;
    let held = payload.held().clone();
    let Some((mut out, _errors)) = payload.take_output() else {
        return Err(refuse(std::io::Error::other("it has no output")));
    };
    let mut said = String::new();
    out.by_ref().take(MAX_WORDS).read_to_string(&mut said).map_err(refuse)?;
    let ending = payload.wait(PATIENCE)?;
    payload.finish();
    if ending != Some(PayloadEnding::Code(0)) || !said.lines().any(|line| line == "worked") {
        let message = format!("a short run could not do its work and ended with {ending:?}");
        return Err(LaunchRefusal {
            step: LaunchStep::Exec,
            errno: 0,
            message,
            detail: backend.name().to_owned(),
        });
    }
    let mut attempts = judged(&said);
    attempts.push(EscapeAttempt {
        id: "seen-from-outside",
        held: folders.state() == before,
        means: "something outside of what may be written is not as it was",
    });
    Ok(RungTrial { held, attempts })
}

/// An attempt that says nothing did not fail, it was not made: that is not called held.
fn judged(said: &str) -> Vec<EscapeAttempt> {
    let held = |id: &str| said.lines().any(|line| line == format!("{id} closed"));
    ATTEMPTS.iter().map(|&(id, _, means)| EscapeAttempt { id, held: held(id), means }).collect()
}

fn script() -> String {
    let attempt = |(id, command, _): &(&str, &str, &str)| {
        format!("if ({command}) > /dev/null 2>&1; then echo '{id} open'; else echo '{id} closed'; fi\n")
    };
    let attempts: String = ATTEMPTS.iter().map(attempt).collect();
    format!("{WORK}\n{attempts}exit 0\n")
}

fn job(
    backend: &dyn SandboxBackend,
    name: String,
    identity: PayloadIdentity,
    folders: &TrialFolders,
) -> SandboxJob {
    let inside = backend.private_root();
    let mut mounts = if inside { system_root(&identity) } else { Vec::new() };
    let mut env = vec![("PATH".to_owned(), "/usr/sbin:/usr/bin:/sbin:/bin".to_owned())];
    let text = |path: &Path| path.to_string_lossy().into_owned();
    for (folder, variable, at, writable) in [
        ("work", "WORK", "/holon/workspace", true),
        ("out", "OUT", "/holon/output", true),
        ("read-only", "READ_ONLY", "/holon/input", false),
    ] {
        let source = folders.path(folder);
        let seen = if inside { PathBuf::from(at) } else { source.clone() };
        env.push((variable.to_owned(), text(&seen)));
        mounts.push(Mount { writable, ..Mount::read_only(source, at) });
    }
    env.push(("SECRET".to_owned(), text(&folders.path("secret"))));
    env.push(("OUTSIDE".to_owned(), text(&folders.path("outside"))));
    env.push(("HOST".to_owned(), std::process::id().to_string()));
    SandboxJob {
        name,
        identity,
        mounts,
        writable_below: Vec::new(),
        argv: ["/bin/sh", "-c", &script()].map(Into::into).to_vec(),
        env,
        cwd: if inside { "/holon/workspace".into() } else { folders.path("work") },
        limits: PayloadLimits { processes: 128, files: 256, file_mb: 64, memory_mb: 256 },
        network: PayloadNetwork::None,
        streams: PayloadStreams::Watched,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::super::testing::{as_every_user, as_root_of, in_user_namespace, is_root};
    use super::*;
    use crate::backend::NativeSandbox;
    use crate::fallback::{Bubblewrap, LandlockOnly, UnsandboxedBackend};
    use crate::isolation::Launcher;

    fn place() -> tempfile::TempDir {
        let dir = tempfile::Builder::new().prefix("holon-trial-").tempdir_in("/tmp").unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        dir
    }

    fn open(backend: &dyn SandboxBackend) -> Vec<&'static str> {
        let place = place();
        let trial = try_rung(backend, place.path()).unwrap_or_else(|refusal| panic!("{refusal}"));
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "the trial leaves nothing");
        trial.got_through().map(|attempt| attempt.id).collect()
    }

    #[test]
    fn walls_hold_and_their_absence_shows() {
        as_every_user("fallback::trial::tests::walls_hold_and_their_absence_shows", || {
            assert_eq!(open(&NativeSandbox::new(Launcher::default())), [""; 0]);
            // Landlock has no processes of its own: that is what docs/sandbox.md says of it.
            assert_eq!(open(&LandlockOnly::default()), ["host-command-line"]);
            assert_eq!(open(&Bubblewrap::default()), [""; 0]);
            // The control: what is tried gets through where nothing is in its way.
            let free = open(&UnsandboxedBackend::default());
            let expect: &[&str] = if is_root() {
                &["host-command-line"]
            } else {
                &[
                    "read-secret",
                    "write-outside",
                    "mode-outside",
                    "time-outside",
                    "write-read-only",
                    "make-read-only",
                    "mode-read-only",
                    "remove-read-only",
                    "host-environment",
                    "host-command-line",
                    "host-signal",
                    "seen-from-outside",
                ]
            };
            for id in expect {
                assert!(free.contains(id), "{id} is not open without walls: {free:?}");
            }
        });
    }

    /// As in containers: 65,536 ids, those that rootless podman gives, and a single one.
    #[test]
    fn all_walls_stand_where_few_ids_exist() {
        if in_user_namespace() {
            assert_eq!(open(&NativeSandbox::new(Launcher::default())), [""; 0]);
            assert_eq!(open(&Bubblewrap::default()), [""; 0]);
            assert_eq!(open(&LandlockOnly::default()), ["host-command-line"]);
            return;
        }
        if !is_root() {
            return;
        }
        for map in ["0 100000 65536", "0 23456 1\n1 100000 65536", "0 23456 1"] {
            as_root_of(map, "fallback::trial::tests::all_walls_stand_where_few_ids_exist");
        }
    }

    #[test]
    fn what_was_not_tried_did_not_hold() {
        assert!(judged("").iter().all(|attempt| !attempt.held));
        let found = judged("worked\nmount closed\nread-secret open\n");
        let held: Vec<_> = found.iter().filter(|attempt| attempt.held).map(|attempt| attempt.id).collect();
        assert_eq!(held, ["mount"]);
    }

    #[test]
    fn a_folder_that_is_closed_to_the_payload_is_told() {
        if !is_root() {
            return;
        }
        let closed = tempfile::tempdir().unwrap();
        fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let refusal = try_rung(&LandlockOnly::default(), closed.path()).unwrap_err();
        assert!(refusal.message.contains("run as an ordinary user"), "{refusal}");
        assert!(try_rung(&NativeSandbox::new(Launcher::default()), closed.path()).is_ok());
    }
}
