//! How clients are asked, behind a trait so that tests script them.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use holon_http::ClientSettings as HttpSettings;

/// Asks clients and reads their files; bounded in time and size.
pub trait ClientQueries {
    /// What a program prints. It runs in a folder without a project.
    fn ask(&self, program: &str, arguments: &[&str]) -> Result<String, ClientQueryError>;

    /// The text of a file, if it is there and not too large.
    fn read(&self, path: &Path) -> Option<String>;

    /// The names in a folder.
    fn list(&self, folder: &Path) -> Vec<String>;

    /// What an index of the user's says at an address, over the host's own connection; redirections are not followed.
    fn fetch(&self, url: &str, accept: &str) -> Result<IndexAnswer, ClientQueryError>;

    /// A variable of the user's environment.
    fn variable(&self, name: &str) -> Option<String>;

    /// A folder below the user's own, or one that a variable names instead.
    fn home(&self, variable: &str, folder: &str) -> Option<PathBuf> {
        let named = self.variable(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        named.or_else(|| Some(Path::new(&self.variable("HOME")?).join(folder)))
    }
}

/// What an index says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexAnswer {
    /// The form of it, in lower case and without parameters.
    pub form: String,
    /// The text.
    pub text: String,
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
    /// An index was asked and said nothing of use.
    #[error("{host} could not be asked: {what}")]
    Index {
        /// The index.
        host: String,
        /// What happened.
        what: String,
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
/// How long an index may take.
const ASKING: Duration = Duration::from_secs(5);
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

    fn fetch(&self, url: &str, accept: &str) -> Result<IndexAnswer, ClientQueryError> {
        // On a thread of its own: whoever asks may stand in the middle of other things that wait.
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| fetched(url, accept)).join();
            asked.unwrap_or_else(|_| Err(of_index(url, "asking failed".to_owned())))
        })
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}

/// Why an index could not be asked, by its host alone.
fn of_index(url: &str, what: String) -> ClientQueryError {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest).split('/').next().unwrap_or_default();
    ClientQueryError::Index { host: host.to_owned(), what }
}

fn fetched(url: &str, accept: &str) -> Result<IndexAnswer, ClientQueryError> {
    let failed = |what: String| of_index(url, what);
    let (connect, whole) = (ASKING, Some(ASKING));
    let settings = HttpSettings { encrypted: url.starts_with("https://"), loopback: false, connect, whole };
    let client = settings.client().map_err(failed)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed(error.to_string()))?;
    runtime.block_on(async {
        let asked = client.get(url).header("accept", accept).send().await;
        let mut answer = asked.map_err(|error| failed(holon_http::innermost(&error)))?;
        if !answer.status().is_success() {
            return Err(failed(format!("it answers {}", answer.status().as_u16())));
        }
        let form = answer.headers().get("content-type").and_then(|value| value.to_str().ok());
        let form = form.and_then(|value| value.split(';').next()).unwrap_or_default();
        let form = form.trim().to_ascii_lowercase();
        let mut bytes = Vec::new();
        let most = usize::try_from(MOST).unwrap_or(usize::MAX);
        while let Some(piece) = answer.chunk().await.map_err(|error| failed(holon_http::innermost(&error)))? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > most {
                return Err(failed("its answer is too large".to_owned()));
            }
        }
        Ok(IndexAnswer { form, text: String::from_utf8_lossy(&bytes).into_owned() })
    })
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
