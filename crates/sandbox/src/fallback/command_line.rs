//! The command line that starts a container with all its walls.

use std::path::Path;

use super::engine::{ContainerUser, EngineDialect};
use super::oci::{OciSandbox, container_name};
use super::staged::{ENV_FILE, EngineCommandLine, StagedFile, env_file};
use super::{oci_filter, plan};
use crate::isolation::{
    DetachedNetns, LaunchRefusal, LaunchStep, PayloadIdentity, PayloadLimits, PayloadStreams, SandboxJob,
};
use crate::mount::{Mount, MountSource};

pub(super) const PID_FILE: &str = "pid";
/// Space that every payload has, whoever brings the root.
const TEMPORARY: &str = "/tmp";
const SHARED_MEMORY: &str = "/dev/shm";
/// Processes of one user, all of its containers together.
const MANY_PROCESSES: u64 = 4096;
/// Variables docker would add from its own settings, possibly with a password inside; named without a value they stay out.
const PROXIES: &[&str] = &[
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "FTP_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "ftp_proxy",
    "no_proxy",
    "all_proxy",
];

impl OciSandbox {
    /// The whole command line after the program's name, and the files it refers to.
    pub(super) fn arguments(
        &self,
        job: &SandboxJob,
        stage: &Path,
        apart: Option<&DetachedNetns>,
    ) -> Result<EngineCommandLine, LaunchRefusal> {
        let mut made = EngineCommandLine { env: env_file(&job.env)?, ..EngineCommandLine::default() };
        made.words(self.globals.iter());
        let talks =
            if job.streams == PayloadStreams::Channel { "--interactive=true" } else { "--interactive=false" };
        made.words(["run", "--rm", talks, "--name", &container_name(&job.name)]);
        made.words(self.walls(job, apart));
        let filter = oci_filter::profile().ok_or_else(|| {
            plan::refusal(LaunchStep::Seccomp, "the policy cannot be told to an engine", Path::new("seccomp"))
        })?;
        let filter = made.staged(stage, StagedFile::File(filter.into_bytes()));
        made.words(["--security-opt", &format!("seccomp={}", filter.display())]);
        made.words(limits(&job.limits));
        made.words(self.form.runtime.into_iter().flat_map(|runtime| ["--runtime", runtime]));
        made.words(["--user", &self.user(&job.identity), "--hostname", "holon"]);
        if self.form.user == ContainerUser::KeptId {
            made.words(["--userns", "keep-id"]);
        }
        made.option("--workdir", job.cwd.clone());
        made.option("--env-file", stage.join(ENV_FILE));
        if self.dialect == EngineDialect::Podman {
            made.option("--pidfile", stage.join(PID_FILE));
        }
        let mut job = job.clone();
        job.mounts.retain(|mount| self.hands_in(mount));
        for mount in plan::mounts(&job)? {
            self.mount(&mount, &job.identity, stage, &mut made)?;
        }
        made.words(self.extra_args.iter());
        if let Some(program) = job.argv.first() {
            made.option("--entrypoint", program.clone());
        }
        made.words([&self.image]);
        made.argv.extend(job.argv.iter().skip(1).cloned());
        Ok(made)
    }

    fn walls(&self, job: &SandboxJob, apart: Option<&DetachedNetns>) -> Vec<String> {
        let network = match apart {
            Some(apart) => format!("ns:{}", apart.path().display()),
            None if job.network.is_private() => "none".to_owned(),
            None => "host".to_owned(),
        };
        let mut words = vec!["--pull", "never", "--network", &network, "--read-only", "--cap-drop", "all"];
        words.extend(["--security-opt", "no-new-privileges", "--ipc", "private", "--cgroupns", "private"]);
        words.extend(["--log-driver", "none", "--no-healthcheck"]);
        if apart.is_some() {
            // The names of the host's network are none of its business.
            words.extend(["--no-hosts", "--dns", "none"]);
        }
        match self.dialect {
            EngineDialect::Podman => {
                words.extend(["--pid", "private", "--uts", "private", "--read-only-tmpfs=false"]);
                words.extend(["--http-proxy=false", "--image-volume", "ignore", "--systemd=false"]);
            }
            EngineDialect::Docker => words.extend(PROXIES.iter().flat_map(|name| ["--env", name])),
        }
        words.into_iter().map(str::to_owned).collect()
    }

    fn user(&self, identity: &PayloadIdentity) -> String {
        match self.form.user {
            ContainerUser::Same | ContainerUser::KeptId => format!("{}:{}", identity.uid, identity.gid),
            ContainerUser::Mapped => "0:0".to_owned(),
        }
    }

    /// The rest is the image's.
    fn hands_in(&self, mount: &Mount) -> bool {
        let space = matches!(mount.source, MountSource::Tmpfs { .. });
        let known = space && [TEMPORARY, SHARED_MEMORY].iter().any(|place| mount.at == Path::new(place));
        known || mount.at.starts_with(plan::HOLON) || self.also.iter().any(|path| mount.at.starts_with(path))
    }

    fn mount(
        &self,
        mount: &Mount,
        who: &PayloadIdentity,
        stage: &Path,
        made: &mut EngineCommandLine,
    ) -> Result<(), LaunchRefusal> {
        let refuse = |message: &str| plan::refusal(LaunchStep::Bind, message, &mount.at);
        let at = &mount.at;
        if let MountSource::Tmpfs { mb, .. } = &mount.source
            && at == Path::new(SHARED_MEMORY)
        {
            made.words(["--shm-size", &format!("{mb}m")]);
            return Ok(());
        }
        let target = at.to_str().filter(|text| !text.contains([':', ',', '\n']));
        let target = target.ok_or_else(|| refuse("a container cannot have a folder of this name"))?;
        let source = match &mount.source {
            MountSource::Tmpfs { mb, .. } => {
                // The engine would give it to its root, or with the mode the image has there.
                let owner = match self.dialect {
                    EngineDialect::Podman => "U".to_owned(),
                    EngineDialect::Docker => format!("uid={},gid={}", who.uid, who.gid),
                };
                made.words([
                    "--tmpfs",
                    &format!("{target}:rw,exec,nosuid,nodev,size={mb}m,mode=1777,{owner}"),
                ]);
                return Ok(());
            }
            MountSource::Bind(path) if !path.exists() => return Err(refuse("its source does not exist")),
            // What root made for the payload's eyes only, such as its input: no mount can show it to another user.
            MountSource::Bind(path)
                if !mount.writable && at != Path::new(plan::WORKSPACE) && needs_own(path, who) =>
            {
                made.staged(stage, StagedFile::Copy(path.clone(), (who.uid, who.gid)))
            }
            // The engine separates with colons, so a path with one is named through a link.
            MountSource::Bind(path) => match path.to_str().filter(|text| !text.contains([':', ',', '\n'])) {
                Some(_) => path.clone(),
                None => made.staged(stage, StagedFile::Link(path.clone())),
            },
            MountSource::File(bytes) => made.staged(stage, StagedFile::File(bytes.clone())),
            MountSource::EmptyDir => made.staged(stage, StagedFile::Folder),
            MountSource::Symlink(_) => return Err(refuse("a link cannot be put into a container")),
            MountSource::Overlay(_) => return Err(refuse("a merged view cannot be put into a container")),
        };
        let mut volume = source.into_os_string();
        volume.push(format!(":{target}{}", if mount.writable { "" } else { ":ro" }));
        made.option("--volume", volume);
        Ok(())
    }
}

/// Whether root's file or folder has to become the payload's own to be read for certain.
fn needs_own(path: &Path, who: &PayloadIdentity) -> bool {
    use std::os::unix::fs::MetadataExt;
    who.by_root && path.metadata().is_ok_and(|meta| meta.uid() != who.uid)
}

/// Never more than this process may have: an engine that may not raise limits would fail.
fn limits(limits: &PayloadLimits) -> Vec<String> {
    use rustix::process::{Resource, getrlimit};
    let own = |resource| getrlimit(resource).maximum;
    let files = own(Resource::Nofile).map_or(limits.files, |hard| hard.min(limits.files));
    let bytes = limits.file_mb.saturating_mul(1 << 20).min(i64::MAX as u64);
    let bytes = own(Resource::Fsize).map_or(bytes, |hard| hard.min(bytes));
    // Counted per user, so only a bound on the worst; without one the engine would ask for more than it may have.
    let processes = limits.processes.max(MANY_PROCESSES);
    let processes = own(Resource::Nproc).map_or(processes, |hard| hard.min(processes));
    [
        ("--pids-limit", limits.processes.to_string()),
        ("--memory", format!("{}m", limits.memory_mb)),
        ("--ulimit", format!("nofile={files}:{files}")),
        ("--ulimit", format!("fsize={bytes}:{bytes}")),
        ("--ulimit", format!("nproc={processes}:{processes}")),
        // One byte, as behind the other walls: with 0 a core handler of the host would still be started.
        ("--ulimit", "core=1:1".to_owned()),
    ]
    .into_iter()
    .flat_map(|(option, value)| [option.to_owned(), value])
    .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::engine::EngineForm;
    use super::super::testing::job;
    use super::*;
    use crate::isolation::Launcher;

    fn engine(dialect: EngineDialect, user: ContainerUser) -> OciSandbox {
        OciSandbox {
            command: "/usr/bin/podman".into(),
            dialect,
            image: "localhost/agent:1".into(),
            globals: vec!["--root".into(), "/store".into()],
            extra_args: vec!["--cpus=2".into()],
            form: EngineForm { user, runtime: None },
            env: Vec::new(),
            also: vec!["/etc/gitconfig".into()],
            stage: None,
            launcher: Launcher::default(),
        }
    }

    fn typical() -> SandboxJob {
        let mut job = job(&["/bin/agent", "--goal", "a b"]);
        job.name = "2026 x:1".into();
        job.identity = PayloadIdentity { uid: 7, gid: 8, inside_uid: 1000, inside_gid: 1000, by_root: true };
        job.env = vec![("TOKEN".into(), "s3cret # = '\"".into())];
        job.cwd = "/holon/workspace".into();
        let file =
            |at: &str| Mount { at: at.into(), source: MountSource::File(b"x".to_vec()), writable: false };
        job.mounts = vec![
            Mount::same_path("/usr"),
            Mount::writable("/var", "/holon/workspace"),
            Mount::read_only("/etc", "/holon/input"),
            Mount { at: "/holon/workspace/hidden".into(), source: MountSource::EmptyDir, writable: false },
            Mount { at: "/tmp".into(), source: MountSource::Tmpfs { mb: 64, inodes: 9 }, writable: true },
            Mount { at: "/dev/shm".into(), source: MountSource::Tmpfs { mb: 32, inodes: 9 }, writable: true },
            file("/etc/passwd"),
            file("/etc/gitconfig"),
        ];
        job
    }

    fn words(oci: &OciSandbox, job: &SandboxJob) -> Vec<String> {
        let made = oci.arguments(job, Path::new("/stage"), None).unwrap();
        made.argv.into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    fn values<'a>(words: &'a [String], option: &str) -> Vec<&'a str> {
        words.windows(2).filter(|pair| pair[0] == option).map(|pair| pair[1].as_str()).collect()
    }

    #[test]
    fn a_podman_command_line_has_every_wall() {
        let words = words(&engine(EngineDialect::Podman, ContainerUser::Same), &typical());
        assert_eq!(words[..5], ["--root", "/store", "run", "--rm", "--interactive=false"]);
        for (option, expect) in [
            ("--name", vec!["holon-2026-x-1"]),
            ("--pull", vec!["never"]),
            ("--network", vec!["none"]),
            ("--cap-drop", vec!["all"]),
            ("--security-opt", vec!["no-new-privileges", "seccomp=/stage/0"]),
            ("--pid", vec!["private"]),
            ("--ipc", vec!["private"]),
            ("--user", vec!["7:8"]),
            ("--pids-limit", vec!["128"]),
            ("--memory", vec!["512m"]),
            ("--workdir", vec!["/holon/workspace"]),
            ("--env-file", vec!["/stage/env"]),
            ("--pidfile", vec!["/stage/pid"]),
            ("--shm-size", vec!["32m"]),
            ("--tmpfs", vec!["/tmp:rw,exec,nosuid,nodev,size=64m,mode=1777,U"]),
            (
                "--volume",
                vec![
                    "/stage/2:/etc/gitconfig:ro",
                    "/var:/holon/workspace",
                    "/stage/1:/holon/input:ro",
                    "/stage/3:/holon/workspace/hidden:ro",
                ],
            ),
            ("--entrypoint", vec!["/bin/agent"]),
            ("--userns", vec![]),
        ] {
            let mut found = values(&words, option);
            let mut expect = expect;
            found.sort_unstable();
            expect.sort_unstable();
            assert_eq!(found, expect, "{option}");
        }
        for flag in ["--read-only", "--read-only-tmpfs=false", "--http-proxy=false", "--cpus=2"] {
            assert!(words.iter().any(|word| word == flag), "{flag}");
        }
        assert!(words.ends_with(&["localhost/agent:1".into(), "--goal".into(), "a b".into()]));
        assert!(!words.iter().any(|word| word.contains("s3cret")), "values are not on the command line");
    }

    #[test]
    fn dialects_and_users_differ_where_they_must() {
        let mut job = typical();
        job.network = crate::isolation::PayloadNetwork::Host;
        let docker = words(&engine(EngineDialect::Docker, ContainerUser::Same), &job);
        assert_eq!(values(&docker, "--network"), ["host"]);
        assert_eq!(values(&docker, "--pid"), Vec::<&str>::new());
        assert!(values(&docker, "--env").contains(&"https_proxy"));
        assert!(values(&docker, "--tmpfs")[0].ends_with("uid=7,gid=8"));
        let kept = words(&engine(EngineDialect::Podman, ContainerUser::KeptId), &job);
        assert_eq!((values(&kept, "--user"), values(&kept, "--userns")), (vec!["7:8"], vec!["keep-id"]));
        let mapped = words(&engine(EngineDialect::Podman, ContainerUser::Mapped), &job);
        assert_eq!(values(&mapped, "--user"), ["0:0"]);
    }

    #[test]
    fn without_a_command_the_image_speaks_for_itself() {
        let mut job = typical();
        job.argv.clear();
        let words = words(&engine(EngineDialect::Podman, ContainerUser::Same), &job);
        assert_eq!(values(&words, "--entrypoint"), Vec::<&str>::new());
        assert_eq!(words.last().map(String::as_str), Some("localhost/agent:1"));
    }

    #[test]
    fn odd_paths_go_through_a_link_and_impossible_ones_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let odd = dir.path().join("a:b,c");
        std::fs::create_dir(&odd).unwrap();
        let mut job = typical();
        job.mounts = vec![Mount::read_only(&odd, "/holon/input")];
        let oci = engine(EngineDialect::Podman, ContainerUser::Same);
        let made = oci.arguments(&job, Path::new("/stage"), None).unwrap();
        assert_eq!(
            made.files[1..],
            [StagedFile::Copy(odd.clone(), (7, 8))],
            "root's folder becomes the payload's"
        );
        job.identity.by_root = false;
        let made = oci.arguments(&job, Path::new("/stage"), None).unwrap();
        assert_eq!(made.files[1..], [StagedFile::Link(odd.clone())]);
        let link = MountSource::Symlink("/etc".into());
        for mount in [
            Mount::read_only(&odd, "/holon/a:b"),
            Mount::read_only("/does/not/exist", "/holon/input"),
            Mount { at: "/holon/link".into(), source: link, writable: false },
        ] {
            job.mounts = vec![mount.clone()];
            assert!(oci.arguments(&job, Path::new("/stage"), None).is_err(), "{mount:?}");
        }
    }
}
