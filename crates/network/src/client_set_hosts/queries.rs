//! How clients are asked, behind a trait so that tests script them.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Asks clients and reads their files; bounded in time and size.
pub trait ClientQueries {
    /// What a program prints. It runs in a folder without a project.
    fn ask(&self, program: &str, arguments: &[&str]) -> Result<String, ClientQueryError>;

    /// The text of a file, if it is there and not too large.
    fn read(&self, path: &Path) -> Option<String>;

    /// The names in a folder.
    fn list(&self, folder: &Path) -> Vec<String>;

    /// A variable of the user's environment.
    fn variable(&self, name: &str) -> Option<String>;

    /// A folder below the user's own, or one that a variable names instead.
    fn home(&self, variable: &str, folder: &str) -> Option<PathBuf> {
        let named = self.variable(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        named.or_else(|| Some(Path::new(&self.variable("HOME")?).join(folder)))
    }
}

/// Why a client gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientQueryError {
    /// There is no such program.
    #[error("{program} is not installed here")]
    Missing {
        /// The program.
        program: String,
    },
    /// It took too long.
    #[error("{program} gave no answer within {seconds} s")]
    Late {
        /// The program.
        program: String,
        /// How long it had.
        seconds: u64,
    },
    /// It failed.
    #[error("{program} failed: {said}")]
    Failed {
        /// The program.
        program: String,
        /// The first line of what it said.
        said: String,
    },
}

/// The clients of this machine.
#[derive(Debug, Clone)]
pub struct SystemQueries {
    /// How long each may take.
    pub patience: Duration,
}

impl Default for SystemQueries {
    fn default() -> Self {
        Self { patience: Duration::from_secs(10) }
    }
}

/// No answer and no file is longer.
const MOST: u64 = 4 * 1024 * 1024;
const PAUSE: Duration = Duration::from_millis(5);

impl ClientQueries for SystemQueries {
    fn ask(&self, program: &str, arguments: &[&str]) -> Result<String, ClientQueryError> {
        let failed = |said: String| ClientQueryError::Failed { program: program.to_owned(), said };
        let child = Command::new(program)
            .args(arguments)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => ClientQueryError::Missing { program: program.to_owned() },
            kind => failed(kind.to_string()),
        })?;
        let (said, complaint) = (collect(child.stdout.take()), collect(child.stderr.take()));
        let Some(fine) = wait(&mut child, self.patience) else {
            let seconds = self.patience.as_secs();
            return Err(ClientQueryError::Late { program: program.to_owned(), seconds });
        };
        let text = |thread: std::thread::JoinHandle<String>| thread.join().unwrap_or_default();
        let (said, complaint) = (text(said), text(complaint));
        if fine {
            return Ok(said);
        }
        // A complaint may quote a configuration, and what stands there may be secret.
        let line = complaint.lines().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        Err(failed(if line.contains("://") {
            "it complains of an address".into()
        } else {
            line.chars().take(120).collect()
        }))
    }

    fn read(&self, path: &Path) -> Option<String> {
        let file = File::open(path).ok()?;
        let whole = file.metadata().ok().is_some_and(|data| data.is_file() && data.len() <= MOST);
        let mut text = String::new();
        whole.then(|| file.take(MOST).read_to_string(&mut text).ok()).flatten()?;
        Some(text)
    }

    fn list(&self, folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(1000);
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}

/// Reads to the end on a thread of its own, so that a full pipe never stops the program.
fn collect(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.by_ref().take(MOST).read_to_end(&mut bytes);
            let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for a program and says whether it succeeded; one that takes too long is ended.
fn wait(child: &mut Child, patience: Duration) -> Option<bool> {
    let end = Instant::now() + patience;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status.success()),
            Ok(None) if Instant::now() < end => std::thread::sleep(PAUSE),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
}
