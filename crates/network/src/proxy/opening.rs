//! What a client says first, looked at before anything of it goes out.

use std::time::Duration;

use tokio::time::timeout;

use super::prefixed::{ClientStream, Prefixed};
use crate::permit::{HostTarget, TargetHost};
use crate::record::RefusalReason;
use crate::tls::{ClientHello, HelloProgress};

/// What kind of conversation begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Opening {
    /// An encrypted one.
    Encrypted(ClientHello),
    /// Requests in plain HTTP.
    Http,
    /// Something else.
    Other,
    /// An encrypted one that cannot be read in one way only.
    Unclear(&'static str),
    /// Nothing.
    Over,
}

/// A first line that is not over by then is no request.
const LINE_TIME: Duration = Duration::from_secs(2);
/// Nor is a longer one.
const LINE: usize = 16 * 1024;

impl Opening {
    /// Looks at as much as it takes.
    pub(crate) async fn look<S: ClientStream>(client: &mut Prefixed<S>, patience: Duration) -> Self {
        let looked = timeout(patience, async {
            while client.ahead().is_empty() {
                if !client.look().await.unwrap_or(false) {
                    return Self::Over;
                }
            }
            if client.ahead().first() == Some(&crate::tls::HANDSHAKE) {
                return Self::encrypted(client).await;
            }
            timeout(LINE_TIME, Self::plain(client)).await.unwrap_or(Self::Other)
        });
        looked.await.unwrap_or(Self::Over)
    }

    async fn encrypted<S: ClientStream>(client: &mut Prefixed<S>) -> Self {
        loop {
            match ClientHello::read(client.ahead()) {
                HelloProgress::Whole(hello) => return Self::Encrypted(hello),
                HelloProgress::Malformed(what) => return Self::Unclear(what),
                HelloProgress::Incomplete => {
                    if !client.look().await.unwrap_or(false) {
                        return Self::Unclear("its first message is cut off");
                    }
                }
            }
        }
    }

    async fn plain<S: ClientStream>(client: &mut Prefixed<S>) -> Self {
        loop {
            let ahead = client.ahead();
            let text = |byte: &u8| matches!(byte, b' '..=b'~' | b'\r' | b'\n' | b'\t');
            if !ahead.iter().all(text) || ahead.len() > LINE {
                return Self::Other;
            }
            if let Some(end) = ahead.iter().position(|byte| *byte == b'\n') {
                let line = ahead.get(..end).unwrap_or_default();
                let http = line.windows(5).any(|five| five.eq_ignore_ascii_case(b"HTTP/"));
                return if http { Self::Http } else { Self::Other };
            }
            if !client.look().await.unwrap_or(false) {
                return Self::Other;
            }
        }
    }
}

/// Whether an encrypted conversation is for the host the connection was asked for.
pub(crate) fn judge_hello(
    hello: &ClientHello,
    target: &HostTarget,
    read_by_host: bool,
) -> Result<(), RefusalReason> {
    let same = match (&target.host, &hello.server_name) {
        (TargetHost::Name(_), None) => false,
        (TargetHost::Address(_), None) => true,
        (host, Some(named)) => TargetHost::parse(named).is_ok_and(|named| named == *host),
    };
    if !same {
        let named = hello.server_name.as_ref().map(|name| name.chars().take(200).collect());
        return Err(RefusalReason::ServerName { named });
    }
    // Where the host ends the encryption itself, nothing hidden is ever read by anybody.
    if hello.hidden && !read_by_host {
        return Err(RefusalReason::HiddenServerName);
    }
    Ok(())
}
