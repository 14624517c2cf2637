//! This test binary as the processes of a run: one that wants a credential, and the one that renews for it.
#![allow(clippy::print_stdout)]

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use holon_login::{CredentialProvider as _, FileLogin, RenewalProcess, RenewalStep, known_login, serve};
use jiff::Timestamp;
use rustix::process::{Signal, getpid, kill_process};
use serde::{Deserialize, Serialize};

use crate::login_world::LoginWorld;

/// Says that this process is a run, and how.
const RUN: &str = "HOLON_LOGIN_TEST_RUN";
/// Says that this process renews for one, and how.
const RENEWER: &str = "HOLON_LOGIN_TEST_RENEWER";

/// A run, and where it ends.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RunRole {
    file: PathBuf,
    own: PathBuf,
    endpoint: String,
    now: i64,
    /// The step at which the process that renews is killed.
    pub(crate) renewer_dies_at: Option<RenewalStep>,
    /// How many times the run yields before it is killed.
    pub(crate) dies_after: Option<u32>,
}

#[derive(Serialize, Deserialize)]
struct RenewerRole {
    now: i64,
    dies_at: Option<RenewalStep>,
}

impl RunRole {
    pub(crate) fn of(world: &LoginWorld) -> Self {
        let (file, own, endpoint) = (world.file(), world.own(), world.server.endpoint());
        Self { file, own, endpoint, now: world.now(), renewer_dies_at: None, dies_after: None }
    }

    /// The same, and whoever renews for it is killed at a step.
    pub(crate) fn renewer_dies_at(self, step: RenewalStep) -> Self {
        Self { renewer_dies_at: Some(step), ..self }
    }

    /// Starts it, in a group of its own as a terminal does.
    pub(crate) fn start(&self) -> Child {
        use std::os::unix::process::CommandExt as _;
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "process::run", "--nocapture"])
            .env(RUN, serde_json::to_string(self).unwrap())
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }
}

fn die() {
    kill_process(getpid(), Signal::KILL).unwrap();
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// The process of a run, when this binary is started as one.
#[test]
fn run() {
    let Ok(role) = std::env::var(RUN) else { return };
    let role: RunRole = serde_json::from_str(&role).unwrap();
    let renewer = RenewerRole { now: role.now, dies_at: role.renewer_dies_at };
    let renewal = RenewalProcess::of(std::env::current_exe().unwrap())
        .with_arguments(["--exact", "process::renewer", "--nocapture"].map(str::to_owned))
        .with_variable(RENEWER, serde_json::to_string(&renewer).unwrap());
    let now = role.now;
    let login = FileLogin::new(known_login("claude").unwrap(), role.file, role.own)
        .with_endpoint(Some(role.endpoint))
        .with_clock(Arc::new(move || at(now)))
        .with_renewal(Arc::new(renewal));
    if let Some(turns) = role.dies_after {
        std::thread::spawn(move || {
            (0..turns).for_each(|_| std::thread::yield_now());
            die();
        });
    }
    match login.credential() {
        Ok(credential) => println!("\n{}", serde_json::to_string(&credential.mark()).unwrap()),
        Err(error) => println!("\nno credential: {error} {error:?}"),
    }
}

/// The process that renews, when this binary is started as one.
#[test]
fn renewer() {
    let Ok(role) = std::env::var(RENEWER) else { return };
    let role: RenewerRole = serde_json::from_str(&role).unwrap();
    println!();
    let watch = |step| {
        if role.dies_at == Some(step) {
            die();
        }
    };
    serve(std::io::stdin(), std::io::stdout(), &|| at(role.now), &watch).unwrap();
}
