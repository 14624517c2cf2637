//! INV-06: an upstream that says the key again, in every form and cut we know, tells nobody inside.

mod forms;
mod judge;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use holon_model::{Endpoint, ProviderKey, WireFormat};
use serde_json::json;

use crate::{OpenGateway, TOKEN, body, not_streamed, passing};
use forms::{EchoCase, EchoForm, KEY, forms};

/// What a server says next, and in pieces of which length.
type SharedEcho = Arc<Mutex<Option<(Arc<EchoCase>, usize)>>>;

/// An upstream that answers with whatever bytes it is given.
struct Parrot {
    address: SocketAddr,
    case: SharedEcho,
    over: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Parrot {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let case: SharedEcho = Arc::default();
        let over = Arc::new(AtomicBool::new(false));
        let (now, end) = (Arc::clone(&case), Arc::clone(&over));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if end.load(Ordering::SeqCst) {
                    return;
                }
                let current = now.lock().unwrap().clone();
                if let Some((case, chunk)) = current {
                    let _ = repeat(stream, &case, chunk);
                }
            }
        });
        Self { address, case, over, thread: Some(thread) }
    }

    fn endpoint(&self, wire: WireFormat) -> Endpoint {
        let base = format!("http://{}/v1", self.address);
        Endpoint { wire, ..Endpoint::compatible("parrot", &base, Some(ProviderKey::new(KEY))) }
    }

    fn will_say(&self, case: &Arc<EchoCase>, chunk: usize) {
        *self.case.lock().unwrap() = Some((Arc::clone(case), chunk));
    }
}

impl Drop for Parrot {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        let _ = self.thread.take().map(std::thread::JoinHandle::join);
    }
}

/// Reads one request and answers it; the body in chunks of so many bytes.
fn repeat(stream: TcpStream, case: &EchoCase, chunk: usize) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(size) = line.to_lowercase().strip_prefix("content-length:") {
            length = size.trim().parse().unwrap_or(0);
        }
    }
    reader.read_exact(&mut vec![0; length])?;
    let mut out =
        format!("HTTP/1.1 {} X\r\nconnection: close\r\ntransfer-encoding: chunked\r\n", case.status)
            .into_bytes();
    for (name, value) in &case.headers {
        out.extend(format!("{name}: {value}\r\n").bytes());
    }
    if !case.trailers.is_empty() {
        out.extend(b"trailer: x-key\r\n");
    }
    out.extend(b"\r\n");
    for part in case.body.chunks(chunk) {
        out.extend(format!("{:x}\r\n", part.len()).bytes());
        out.extend(part);
        out.extend(b"\r\n");
    }
    out.extend(b"0\r\n");
    for (name, value) in &case.trailers {
        out.extend(format!("{name}: {value}\r\n").bytes());
    }
    out.extend(b"\r\n");
    reader.into_inner().write_all(&out)
}

/// Who asks: a client of the provider's own wire, or one of Google's that is translated.
#[derive(Debug, Clone, Copy)]
enum EchoClient {
    Own(WireFormat),
    Google(WireFormat),
}

impl EchoClient {
    fn wire(self) -> WireFormat {
        match self {
            Self::Own(wire) | Self::Google(wire) => wire,
        }
    }

    /// What comes back, byte by byte.
    fn hears(self, open: &OpenGateway, whole: bool) -> Vec<u8> {
        let (path, body) = match self {
            Self::Own(wire) => {
                let body = if whole { not_streamed(wire, "hi") } else { body(wire, "hi") };
                (format!("/v1{}", wire.path()), body)
            }
            Self::Google(_) => {
                let method = if whole { "generateContent" } else { "streamGenerateContent?alt=sse" };
                let body = json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]});
                (format!("/v1beta/models/gemini-2.5-pro:{method}"), body)
            }
        };
        let body = body.to_string();
        let mut client = open.client();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: gateway\r\nconnection: close\r\nauthorization: Bearer {TOKEN}\r\n\
             x-goog-api-key: {TOKEN}\r\nte: trailers\r\naccept-encoding: gzip, deflate, br\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        client.send(head.as_bytes());
        let mut bytes = Vec::new();
        let _ = client.0.read_to_end(&mut bytes);
        bytes
    }
}

/// Lets an upstream say all of it to a client, and tells which forms got inside, each with what was read.
fn got_inside(client: EchoClient) -> (usize, Vec<String>) {
    let parrot = Parrot::start();
    let open = OpenGateway::with(passing(parrot.endpoint(client.wire())), |_| {});
    let mut leaks = Vec::new();
    let all = forms(client.wire());
    let count = all.len();
    for EchoForm { name, cases } in all {
        let whole = name.starts_with("whole");
        let few = cases.len() < 10;
        let mut leaked = 0;
        let mut first = None;
        for case in cases {
            let case = Arc::new(case);
            for chunk in if few { &[1_usize, 1 << 20][..] } else { &[1 << 20][..] } {
                parrot.will_say(&case, *chunk);
                let bytes = client.hears(&open, whole);
                let end =
                    bytes.windows(4).position(|four| four == b"\r\n\r\n").map_or(bytes.len(), |at| at + 4);
                let body = crate::client::unchunked(&bytes[end..]);
                let body = if body.is_empty() { bytes[end..].to_vec() } else { body };
                if let Some(read) = judge::readable(&bytes, &String::from_utf8_lossy(&body)) {
                    leaked += 1;
                    first.get_or_insert(read);
                }
            }
        }
        if let Some(first) = first {
            leaks.push(format!("{name}: {leaked} times, e.g. {first}"));
        }
    }
    (count, leaks)
}

#[track_caller]
fn nothing_gets_inside(client: EchoClient) {
    let (count, leaks) = got_inside(client);
    assert!(count >= 60, "{count} forms are too few");
    assert!(
        leaks.is_empty(),
        "{client:?}: {} of {count} forms got inside:\n{}",
        leaks.len(),
        leaks.join("\n")
    );
}

#[test]
fn inv_06_no_echo_of_the_key_gets_inside_as_chat() {
    nothing_gets_inside(EchoClient::Own(WireFormat::Chat));
}

#[test]
fn inv_06_no_echo_of_the_key_gets_inside_as_responses() {
    nothing_gets_inside(EchoClient::Own(WireFormat::Responses));
}

#[test]
fn inv_06_no_echo_of_the_key_gets_inside_as_messages() {
    nothing_gets_inside(EchoClient::Own(WireFormat::Messages));
}

#[test]
fn inv_06_no_echo_of_the_key_gets_inside_as_gemini_from_chat() {
    nothing_gets_inside(EchoClient::Google(WireFormat::Chat));
}

#[test]
fn inv_06_no_echo_of_the_key_gets_inside_as_gemini_from_responses() {
    nothing_gets_inside(EchoClient::Google(WireFormat::Responses));
}

#[test]
fn inv_06_no_echo_of_the_key_gets_inside_as_gemini_from_messages() {
    nothing_gets_inside(EchoClient::Google(WireFormat::Messages));
}
