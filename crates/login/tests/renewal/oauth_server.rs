//! A token endpoint with refresh tokens that can be used once.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

/// What happens when a renewal arrives and before it is answered.
type BeforeAnswer = Box<dyn FnOnce() + Send>;

pub(crate) struct OauthServer {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<OauthState>>,
}

#[derive(Default)]
pub(crate) struct OauthState {
    /// How many tokens were made so far; the last ones are good.
    pub(crate) made: u64,
    /// Posts of the token that was good.
    pub(crate) renewed: u64,
    /// Posts of a token that was not.
    pub(crate) refused: u64,
    /// Bodies as they came.
    pub(crate) bodies: Vec<Value>,
    /// Whether everything is refused.
    pub(crate) is_closed: bool,
    before_answer: Option<BeforeAnswer>,
}

impl OauthState {
    pub(crate) fn access(&self) -> String {
        format!("sk-ant-oat01-canary-{}", self.made)
    }

    pub(crate) fn refresh(&self) -> String {
        format!("sk-ant-ort01-canary-{}", self.made)
    }

    fn answer(&mut self, body: &Value) -> (u16, Value) {
        self.bodies.push(body.clone());
        if self.is_closed || body["refresh_token"] != json!(self.refresh()) {
            self.refused += 1;
            return (400, json!({"error": "invalid_grant", "error_description": "canary"}));
        }
        self.renewed += 1;
        self.made += 1;
        (200, json!({"access_token": self.access(), "refresh_token": self.refresh(), "expires_in": 3600}))
    }
}

impl OauthServer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let state: Arc<Mutex<OauthState>> = Arc::default();
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(stream), shared) = (stream, Arc::clone(&shared)) else { return };
                // A client that was killed is no reason to fail.
                std::thread::spawn(move || serve(stream, &shared).ok());
            }
        });
        Self { address, state }
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}/oauth/token", self.address)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, OauthState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many renewals were made, and how many refused.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let state = self.state();
        (state.renewed, state.refused)
    }

    pub(crate) fn before_next_answer(&self, act: impl FnOnce() + Send + 'static) {
        self.state().before_answer = Some(Box::new(act));
    }

    /// Forgets what should have happened, when nobody came.
    pub(crate) fn forget_before_answer(&self) {
        self.state().before_answer = None;
    }
}

fn serve(stream: TcpStream, state: &Mutex<OauthState>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or_default();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    let (status, answer) = state.answer(&body);
    let before = state.before_answer.take();
    drop(state);
    if let Some(act) = before {
        act();
    }
    let answer = answer.to_string();
    write!(
        &stream,
        "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
        answer.len()
    )
}

/// Posts a token as an agent does, and gives the answer's body if it was a good one.
pub(crate) fn post(server: SocketAddr, refresh: &str) -> Option<Value> {
    let body = json!({"grant_type": "refresh_token", "refresh_token": refresh}).to_string();
    let mut stream = TcpStream::connect(server).unwrap();
    let head = format!("POST /oauth/token HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    head.starts_with("HTTP/1.1 200").then(|| serde_json::from_str(body).unwrap())
}
