//! The endpoint that is measured with, and the way to it.

use std::fmt;
use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::http::{self, HttpMessage};
use crate::{BenchFailure, command};

/// The variable that says where the endpoint is, with the version at the end.
pub(crate) const URL: &str = "HOLON_TEST_MODEL_URL";
/// The variable that names the model.
pub(crate) const MODEL: &str = "HOLON_TEST_MODEL";
/// The variable with the key, if the endpoint wants one. Only the endpoint is told.
pub(crate) const KEY: &str = "HOLON_TEST_MODEL_KEY";

/// A small model on a busy machine thinks long before its first word.
const PATIENCE: Duration = Duration::from_secs(1800);

/// Where replies come from.
#[derive(Clone)]
pub(crate) struct MeasuredEndpoint {
    secure: bool,
    /// Host and port.
    authority: String,
    /// What stands before `/chat/completions`.
    prefix: String,
    key: Option<String>,
}

impl fmt::Debug for MeasuredEndpoint {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({}{})", self.authority, self.prefix)
    }
}

impl MeasuredEndpoint {
    /// Reads a URL such as `http://127.0.0.1:8080/v1`.
    pub(crate) fn new(url: &str, key: Option<String>) -> Result<Self, BenchFailure> {
        let (scheme, rest) = url
            .split_once("://")
            .ok_or_else(|| format!("{URL} must be a URL such as http://127.0.0.1:8080/v1, not `{url}`"))?;
        let secure = match scheme {
            "http" => false,
            "https" => true,
            other => return Err(format!("{URL}: only http and https are spoken, not {other}")),
        };
        let (authority, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let authority = authority.rsplit('@').next().unwrap_or_default();
        let port = if authority.contains(':') {
            ""
        } else if secure {
            ":443"
        } else {
            ":80"
        };
        let prefix = prefix.trim_matches('/');
        let prefix = if prefix.is_empty() { String::new() } else { format!("/{prefix}") };
        Ok(Self { secure, authority: format!("{authority}{port}"), prefix, key })
    }

    /// From the environment; says in a sentence what to set when it is not there.
    pub(crate) fn from_environment() -> Result<Self, BenchFailure> {
        let text = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
        let url = text(URL).ok_or_else(|| {
            format!(
                "set {URL} to an endpoint that speaks OpenAI's chat, such as http://127.0.0.1:8080/v1, and {MODEL} to its model; \
                 or give --replay FOLDER to play recorded replies"
            )
        })?;
        Self::new(&url, text(KEY))
    }

    /// A path of the proxy as a path of the endpoint: what agents ask below `/v1` is asked below its own prefix.
    fn path(&self, path: &str) -> String {
        match path.strip_prefix("/v1") {
            Some(rest) if rest.is_empty() || rest.starts_with(['/', '?']) => format!("{}{rest}", self.prefix),
            _ => format!("{}{path}", self.prefix.strip_suffix("/v1").unwrap_or(&self.prefix)),
        }
    }

    /// Sends a request on, with the endpoint's own key; gives the answer's head and the way to its body.
    pub(crate) fn ask(&self, request: &HttpMessage) -> io::Result<(HttpMessage, EndpointReply)> {
        let path = self.path(request.word(1));
        let headers = self.headers(request);
        let source = if self.secure {
            ReplyStream::Child(self.by_curl(request, &path, &headers)?)
        } else {
            ReplyStream::Plain(self.plainly(request, &path, &headers)?)
        };
        let mut reply = EndpointReply(BufReader::new(source));
        let head = http::head(&mut reply.0)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok((head, reply))
    }

    fn headers(&self, request: &HttpMessage) -> Vec<(String, String)> {
        let own = ["host", "connection", "content-length", "transfer-encoding", "accept-encoding", "expect"];
        let secret = ["authorization", "x-api-key"];
        let given = request.headers.iter().filter(|(name, _)| !own.contains(&name.as_str()));
        let mut headers: Vec<(String, String)> =
            given.filter(|(name, _)| !secret.contains(&name.as_str())).cloned().collect();
        if let Some(key) = &self.key {
            headers.push(("authorization".to_owned(), format!("Bearer {key}")));
            headers.push(("x-api-key".to_owned(), key.clone()));
        }
        headers.push(("accept-encoding".to_owned(), "identity".to_owned()));
        headers
    }

    fn plainly(
        &self,
        request: &HttpMessage,
        path: &str,
        headers: &[(String, String)],
    ) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect(&self.authority)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut text = format!(
            "{} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n",
            request.word(0),
            self.authority
        );
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("content-length: {}\r\n\r\n", request.body.len());
        stream.write_all(text.as_bytes())?;
        stream.write_all(&request.body)?;
        Ok(stream)
    }

    /// TLS is curl's; key and body go to it through pipes and files, never on its command line.
    fn by_curl(
        &self,
        request: &HttpMessage,
        path: &str,
        headers: &[(String, String)],
    ) -> io::Result<CurlReply> {
        let curl = command::find("curl")
            .ok_or_else(|| io::Error::other("https needs curl, which is not installed"))?;
        let mut body = tempfile::NamedTempFile::new()?;
        body.write_all(&request.body)?;
        let quote = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        let mut config = format!("url = \"https://{}{}\"\n", quote(&self.authority), quote(path));
        config += &format!("request = \"{}\"\n", quote(request.word(0)));
        for (name, value) in headers {
            config += &format!("header = \"{}: {}\"\n", quote(name), quote(value));
        }
        config += "header = \"Expect:\"\n";
        if !request.body.is_empty() {
            config += &format!("data-binary = \"@{}\"\n", quote(&body.path().to_string_lossy()));
        }
        let mut child = Command::new(curl)
            .args([
                "--silent",
                "--http1.1",
                "--raw",
                "--include",
                "--no-buffer",
                "--suppress-connect-headers",
            ])
            .args(["--config", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        if let Some(mut pipe) = child.stdin.take() {
            pipe.write_all(config.as_bytes())?;
        }
        Ok(CurlReply { child, _body: body })
    }

    /// The model to ask: the one named, else the first the endpoint has.
    pub(crate) fn model(&self) -> Result<String, BenchFailure> {
        if let Some(name) = std::env::var(MODEL).ok().filter(|name| !name.is_empty()) {
            return Ok(name);
        }
        let first = ["GET", "/v1/models", "HTTP/1.1"].map(str::to_owned).to_vec();
        let request = HttpMessage { first, ..HttpMessage::default() };
        let lost = |e: io::Error| format!("{}: {e}; {MODEL} can name the model instead", self.authority);
        let (head, mut reply) = self.ask(&request).map_err(lost)?;
        let mut text = Vec::new();
        http::body(&mut reply.0, &head, |piece| {
            text.extend_from_slice(piece);
            Ok(())
        })
        .map_err(lost)?;
        let list: Value = serde_json::from_slice(&text).unwrap_or_default();
        let name = list["data"][0]["id"].as_str().map(str::to_owned);
        name.ok_or_else(|| format!("{} names no model; set {MODEL}", self.authority))
    }
}

/// An answer on its way.
pub(crate) struct EndpointReply(pub(crate) BufReader<ReplyStream>);

/// Where it comes from.
pub(crate) enum ReplyStream {
    Plain(TcpStream),
    Child(CurlReply),
}

/// curl at work.
pub(crate) struct CurlReply {
    child: Child,
    _body: tempfile::NamedTempFile,
}

impl Read for ReplyStream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(bytes),
            Self::Child(piped) => piped.child.stdout.as_mut().map_or(Ok(0), |stdout| stdout.read(bytes)),
        }
    }
}

impl Drop for CurlReply {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn paths_of_agents_become_paths_of_the_endpoint() {
        for (url, asked, expect) in [
            ("http://127.0.0.1:8080/v1", "/v1/chat/completions", "/v1/chat/completions"),
            ("http://127.0.0.1:8080/v1/", "/v1/models?x=1", "/v1/models?x=1"),
            ("http://h/openai/v1", "/v1/messages", "/openai/v1/messages"),
            ("http://h/openai/v1", "/props", "/openai/props"),
            ("http://h:1", "/v1/models", "/models"),
            ("http://127.0.0.1:8080/v1", "/v1beta/x", "/v1beta/x"),
        ] {
            assert_eq!(MeasuredEndpoint::new(url, None).unwrap().path(asked), expect, "{url} {asked}");
        }
        assert_eq!(MeasuredEndpoint::new("https://h/v1", None).unwrap().authority, "h:443");
        assert!(MeasuredEndpoint::new("localhost:80", None).unwrap_err().contains("URL such as"));
        assert!(MeasuredEndpoint::new("ftp://h", None).unwrap_err().contains("ftp"));
    }

    #[test]
    fn only_the_endpoint_gets_the_key() {
        let request = HttpMessage {
            headers: vec![
                ("authorization".to_owned(), "Bearer of-nobody".to_owned()),
                ("accept-encoding".to_owned(), "gzip".to_owned()),
                ("content-type".to_owned(), "application/json".to_owned()),
            ],
            ..HttpMessage::default()
        };
        let with = |key: Option<&str>| {
            let endpoint = MeasuredEndpoint::new("http://h/v1", key.map(str::to_owned)).unwrap();
            format!("{:?}", endpoint.headers(&request))
        };
        assert!(
            !with(None).contains("Bearer") && !with(None).contains("gzip") && with(None).contains("json")
        );
        assert!(with(Some("k")).contains("Bearer k") && !with(Some("k")).contains("nobody"));
    }
}
