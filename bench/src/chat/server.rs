//! The server under measurement, with a model beside it that says a word now and then.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use holon_model::cassette::{CassetteStep, CassetteTurn};
use holon_testkit::model::{ModelServer, ReceivedRequest, ScriptedResponse};

use crate::BenchFailure;
use crate::holon_run::hermetic;
use crate::native_run::MODEL;
use crate::scratch::BenchContext;

/// Users, each with a token: what a single one may ask in a second is limited.
pub(crate) const USERS: usize = 64;
/// Between two words of an answer that takes its time.
pub(crate) const BEAT: Duration = Duration::from_millis(1000);

/// It is at rest when it got no processor time for so long.
const LULL: Duration = Duration::from_secs(3);
/// It is waited for so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server; ended when dropped.
pub(crate) struct MeasuredServer {
    child: Child,
    pub(crate) port: u16,
    pub(crate) workspace: PathBuf,
    folder: PathBuf,
    _model: ModelServer,
}

impl MeasuredServer {
    /// Starts it on a folder of its own.
    pub(crate) fn start(bench: &BenchContext) -> Result<Self, BenchFailure> {
        let folder = bench.new_folder("server")?;
        let workspace = bench.tree(500)?.path;
        let model = ModelServer::improvise(|_, seen| answer(seen));
        let tokens = folder.join("tokens");
        let lines: String = (0..USERS).map(|user| format!("user{user} {}\n", token(user))).collect();
        let mine = fs::Permissions::from_mode(0o600);
        let written = fs::write(&tokens, lines).and_then(|()| fs::set_permissions(&tokens, mine));
        written.map_err(|e| format!("cannot write the tokens: {e}"))?;
        let mut command = Command::new(&bench.holon);
        command.args(["serve", "--listen", "127.0.0.1:0", "--plain-titles"]);
        command.arg("--root").arg(&workspace).arg("--tokens").arg(&tokens);
        hermetic(&mut command, &folder);
        command.env("HOLON_BASE_URL", model.base()).env("OPENROUTER_API_KEY", "bench-key-of-nobody");
        command.env("HOLON_PROVIDER", "openrouter").env("HOLON_MODEL", MODEL);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().map_err(|e| format!("cannot start the server: {e}"))?;
        let port = child.stdout.take().and_then(|out| port(BufReader::new(out)));
        let Some(port) = port else {
            let _ = child.kill();
            return Err("the server did not say where it listens".to_owned());
        };
        Ok(Self { child, port, workspace, folder, _model: model })
    }

    /// Memory it has now, in KB.
    pub(crate) fn memory_kb(&self) -> Result<f64, BenchFailure> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        number.ok_or_else(|| "the server is gone".to_owned())
    }

    /// Waits until it does nothing.
    pub(crate) fn settle(&self) -> Result<(), BenchFailure> {
        let deadline = Instant::now() + PATIENCE;
        let mut before = None;
        while Instant::now() < deadline {
            let ticks = self.ticks()?;
            if before.replace(ticks) == Some(ticks) {
                return Ok(());
            }
            std::thread::sleep(LULL);
        }
        Err("the server does not come to rest".to_owned())
    }

    /// Processor time it has had, in the kernel's ticks.
    fn ticks(&self) -> Result<u64, BenchFailure> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        let fields: Vec<&str> = after_name.split_whitespace().collect();
        let number = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
        number(11)
            .zip(number(12))
            .map(|(user, system)| user + system)
            .ok_or_else(|| "the server is gone".to_owned())
    }

    /// Bytes of its database.
    pub(crate) fn database(&self) -> u64 {
        size(&self.folder)
    }
}

/// The database and what belongs to it, wherever it is below the folder.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            match entry.metadata() {
                Ok(meta) if meta.is_dir() => size(&path),
                Ok(meta) if name.contains(".db") || name.contains(".sqlite") => meta.len(),
                _ => 0,
            }
        })
        .sum()
}

impl Drop for MeasuredServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A user's token.
pub(crate) fn token(user: usize) -> String {
    format!("token-of-user-{:04}", user % USERS)
}

fn port(out: impl BufRead) -> Option<u16> {
    let line = out.lines().map_while(Result::ok).find(|line| line.contains("http://"))?;
    line.split("http://127.0.0.1:").nth(1)?.split('/').next()?.parse().ok()
}

/// The last word of the message says how many words there shall be, and whether they come slowly.
fn answer(seen: &ReceivedRequest) -> ScriptedResponse {
    let messages = seen.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let asked = messages.iter().rev().find(|message| message["role"] == "user");
    let text = asked.and_then(|message| message["content"].as_str()).unwrap_or_default();
    let number = |name: &str| text.split(name).nth(1)?.split_whitespace().next()?.parse::<usize>().ok();
    let mut steps = Vec::new();
    for word in 0..number("beats:").unwrap_or(0) {
        steps.extend([CassetteStep::Text(format!("word {word} ")), CassetteStep::Delay(BEAT)]);
    }
    if let Some(bytes) = number("bytes:") {
        steps.extend((0..bytes / 1000).map(|_| CassetteStep::Text("x".repeat(1000))));
    }
    steps.push(CassetteStep::Text("done".to_owned()));
    ScriptedResponse::from(CassetteTurn { steps, ..CassetteTurn::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_what_is_answered() {
        let seen = |text: &str| ReceivedRequest {
            connection: 0,
            method: "POST".into(),
            path: "/v1/chat/completions".into(),
            headers: Vec::new(),
            body: serde_json::json!({"messages": [{"role": "user", "content": text}]}),
            bytes: 0,
        };
        let told = |text: &str| format!("{:?}", answer(&seen(text)));
        assert_eq!(told("go beats:3 now").matches("Delay").count(), 3);
        assert!(told("go bytes:5000").contains("xxxx"));
        assert!(!told("hello").contains("Delay"));
    }
}
