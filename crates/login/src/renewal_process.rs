//! A renewal in a process of its own, which outlives the one that wanted it.
//!
//! A run can be killed at any moment: by a person, by a CI job's end, by the kernel out of memory. If the token endpoint has
//! just used up the old token, the answer must still find somebody to write it down. So a process that is in no group and no
//! session of the run does it, started as our own binary under another name. It gets a job without a secret on standard
//! input, reads the login itself, and says how it ended, also without one.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::LoginError;
use crate::known_login::known_login;
use crate::renewal::{RenewalJob, RenewalStep, Renewer};

/// What the binary is called when it renews a login.
pub const RENEWAL_NAME: &str = "holon-login-renewal";
/// How long the process may take; it gives up before that by itself.
const PATIENCE: Duration = Duration::from_secs(150);
/// The most bytes of a job, and of its end.
const MOST_BYTES: u64 = 64 << 10;
/// What of the environment a renewal needs: the way out, and whom to trust.
const VARIABLES: [&str; 10] = [
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// Carries renewals out.
pub trait RenewsLogin: Send + Sync {
    /// Renews what the job names, if it needs it; the new tokens are in the file then.
    fn renew(&self, job: &RenewalJob) -> Result<(), LoginError>;
}

/// Renews in a process of its own.
#[derive(Debug, Clone)]
pub struct RenewalProcess {
    program: PathBuf,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
}

impl RenewalProcess {
    /// Our own binary, which has to call [`become_renewer_if_asked`] first of all.
    pub fn of_this_binary() -> Self {
        Self::of("/proc/self/exe".into())
    }

    /// A program that ends in [`serve`].
    pub fn of(program: PathBuf) -> Self {
        Self { program, arguments: Vec::new(), variables: Vec::new() }
    }

    /// The same with arguments.
    #[must_use]
    pub fn with_arguments(mut self, arguments: impl IntoIterator<Item = String>) -> Self {
        self.arguments.extend(arguments);
        self
    }

    /// The same with a variable.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    fn run(&self, job: &RenewalJob) -> io::Result<Vec<u8>> {
        let passed = VARIABLES.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
        let mut child = Command::new(&self.program)
            .arg0(RENEWAL_NAME)
            .args(&self.arguments)
            .env_clear()
            .envs(passed)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let job = serde_json::to_vec(job)?;
        if let Some(mut input) = child.stdin.take() {
            input.write_all(&job)?;
        }
        let (sender, receiver) = channel();
        let output = child.stdout.take();
        std::thread::Builder::new().name("login-renewal".to_owned()).spawn(move || {
            let mut bytes = Vec::new();
            let read = output.map_or(Ok(0), |output| output.take(MOST_BYTES).read_to_end(&mut bytes));
            let _ = child.wait();
            // Whoever waited may have given up.
            let _ = sender.send(read.map(|_| bytes));
        })?;
        let late = |_| io::Error::new(io::ErrorKind::TimedOut, "it takes too long");
        receiver.recv_timeout(PATIENCE).map_err(late)?
    }
}

impl RenewsLogin for RenewalProcess {
    fn renew(&self, job: &RenewalJob) -> Result<(), LoginError> {
        let title = known_login(&job.login)?.title.clone();
        let process = |what: String| LoginError::Process { title: title.clone(), what };
        let output = self.run(job).map_err(|error| process(error.to_string()))?;
        // A test's own harness may have words before it.
        let line = output.split(|byte| *byte == b'\n').rev().find(|line| line.starts_with(b"{"));
        match line.map(serde_json::from_slice) {
            Some(Ok(RenewalEnd { message: None, .. })) => Ok(()),
            Some(Ok(RenewalEnd { message: Some(message), refused })) => {
                Err(LoginError::Told { message, refused })
            }
            _ => Err(process("its process ended without a word".to_owned())),
        }
    }
}

/// Renews in this process, where nobody is expected to kill it.
#[derive(Debug, Clone, Copy, Default)]
pub struct RenewalHere;

impl RenewsLogin for RenewalHere {
    fn renew(&self, job: &RenewalJob) -> Result<(), LoginError> {
        Renewer::new(&Timestamp::now, &|_| {}).renew(job).map(drop)
    }
}

/// How a renewal ended.
#[derive(Debug, Serialize, Deserialize)]
struct RenewalEnd {
    message: Option<String>,
    refused: bool,
}

/// Renews and ends, if this process was started for that; the first thing a binary does.
pub fn become_renewer_if_asked() {
    if std::env::args_os().next().is_some_and(|name| name == RENEWAL_NAME) {
        let served = serve(io::stdin(), io::stdout(), &Timestamp::now, &|_| {});
        std::process::exit(i32::from(served.is_err()));
    }
}

/// Takes a job, carries it out away from whoever asked, and says how it ended.
pub fn serve(
    input: impl Read,
    mut output: impl Write,
    clock: &dyn Fn() -> Timestamp,
    watch: &dyn Fn(RenewalStep),
) -> io::Result<()> {
    // What is sent to the run's group or terminal does not reach a session of its own.
    let _ = rustix::process::setsid();
    let mut bytes = Vec::new();
    input.take(MOST_BYTES).read_to_end(&mut bytes)?;
    let job: RenewalJob = serde_json::from_slice(&bytes)?;
    let end = match Renewer::new(clock, watch).renew(&job) {
        Ok(_) => RenewalEnd { message: None, refused: false },
        Err(error) => RenewalEnd { message: Some(error.to_string()), refused: error.is_refusal() },
    };
    let mut line = serde_json::to_vec(&end)?;
    line.push(b'\n');
    // Nobody may be there to hear it.
    output.write_all(&line).and_then(|()| output.flush())
}
