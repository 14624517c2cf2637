//! Git over HTTP, spoken by git itself.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::http::{IncomingRequest, OutgoingResponse};

/// Lets `git http-backend` answer; `user` is who may push.
pub(super) fn answer(root: &Path, incoming: &IncomingRequest, user: Option<&str>) -> OutgoingResponse {
    let mut command = Command::new("git");
    command
        .env_clear()
        .arg("http-backend")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_COUNT", "2")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*")
        .env("GIT_CONFIG_KEY_1", "gc.auto")
        .env("GIT_CONFIG_VALUE_1", "0")
        .env("REQUEST_METHOD", &incoming.method)
        .env("PATH_INFO", &incoming.path)
        .env("QUERY_STRING", &incoming.query)
        .env("REMOTE_ADDR", "127.0.0.1")
        .env("CONTENT_LENGTH", incoming.body.len().to_string());
    for (name, header) in [
        ("CONTENT_TYPE", "content-type"),
        ("HTTP_CONTENT_ENCODING", "content-encoding"),
        ("GIT_PROTOCOL", "git-protocol"),
    ] {
        if let Some(value) = incoming.header(header) {
            command.env(name, value);
        }
    }
    if let Some(user) = user {
        command.env("REMOTE_USER", user);
    }
    let mut child = command.spawn().expect("git http-backend starts");
    let mut stdin = child.stdin.take().expect("its input is a pipe");
    let body = incoming.body.clone();
    // It may begin to answer before it has read everything.
    let feeder = std::thread::spawn(move || stdin.write_all(&body));
    let output = child.wait_with_output().expect("git http-backend ends");
    let _ = feeder.join();
    parse(&output.stdout)
}

/// What a CGI program says: headers, a blank line, the body.
fn parse(said: &[u8]) -> OutgoingResponse {
    let end = said.windows(4).position(|part| part == b"\r\n\r\n").unwrap_or(said.len());
    let head = String::from_utf8_lossy(&said[..end]).into_owned();
    let mut answer = OutgoingResponse {
        status: 200,
        headers: Vec::new(),
        body: said.get(end + 4..).unwrap_or_default().to_vec(),
    };
    for line in head.lines() {
        match line.split_once(':') {
            Some(("Status", value)) => {
                answer.status =
                    value.split_whitespace().next().and_then(|code| code.parse().ok()).unwrap_or(500);
            }
            Some((name, value)) => answer.headers.push((name.to_ascii_lowercase(), value.trim().to_owned())),
            None => {}
        }
    }
    answer
}
