//! Whether a request may pass, decided by its head alone.

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Version};

use super::account_path::is_account;
use super::limits::NetworkLimits;
use crate::outside::decoded;
use crate::permit::{HostTarget, ReadingScope, ReadingSubject, RepositoryRequest};
use crate::record::RefusalReason;

/// What a request is held against.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestRules<'a> {
    /// The host the connection is for.
    pub(crate) target: &'a HostTarget,
    /// The port that need not be said.
    pub(crate) usual_port: u16,
    /// What of it may be read, where it may only be read.
    pub(crate) reading: Option<&'a ReadingScope>,
    /// Whether a credential is put on the request.
    pub(crate) with_credential: bool,
    pub(crate) limits: &'a NetworkLimits,
}

/// Headers that reading needs; no other goes out to a host that is only read.
const READING: [&str; 16] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "cargo-protocol",
    "content-encoding",
    "content-type",
    "disable-module-fetch",
    "git-protocol",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "range",
    "user-agent",
];
/// A header that is longer than this is not needed for reading.
const READING_BYTES: usize = 512;

impl RequestRules<'_> {
    /// Judges a request, whose address names no host any more.
    pub(crate) fn judge(&self, head: &Parts) -> Result<(), RefusalReason> {
        let malformed = |what: &str| Err(RefusalReason::Malformed { what: what.to_owned() });
        if !matches!(head.version, Version::HTTP_11 | Version::HTTP_10) {
            return malformed("it speaks another HTTP than 1.1");
        }
        if matches!(head.method, Method::CONNECT | Method::TRACE) {
            return Err(RefusalReason::Method { method: head.method.to_string() });
        }
        self.judge_host(&head.headers, head.version)?;
        judge_framing(&head.headers)?;
        if asks_for_upgrade(&head.headers) {
            return Err(RefusalReason::Upgrade);
        }
        match self.reading {
            Some(scope) => self.judge_reading(head, scope),
            None => Ok(()),
        }
    }

    fn judge_host(&self, headers: &HeaderMap, version: Version) -> Result<(), RefusalReason> {
        let mut all = headers.get_all(header::HOST).iter();
        let (first, second) = (all.next(), all.next());
        let Some(named) = first else {
            if version == Version::HTTP_10 {
                return Ok(());
            }
            return Err(RefusalReason::Malformed { what: "it names no host".to_owned() });
        };
        let text = String::from_utf8_lossy(named.as_bytes());
        let same = HostTarget::parse(&text, Some(self.usual_port)).is_ok_and(|named| named == *self.target);
        if same && second.is_none() {
            return Ok(());
        }
        Err(RefusalReason::OtherHost { named: text.chars().take(200).collect() })
    }

    fn judge_reading(&self, head: &Parts, scope: &ReadingScope) -> Result<(), RefusalReason> {
        let url = head.uri.path_and_query().map_or(0, |all| all.as_str().len());
        if url > self.limits.url_bytes {
            return Err(RefusalReason::LongUrl { bytes: url });
        }
        let path = plain(head.uri.path());
        let query = head.uri.query().map(plain);
        let publishes = |text: &str| text.contains("git-receive-pack");
        if path.ends_with("/git-receive-pack") || query.as_deref().is_some_and(publishes) {
            return Err(RefusalReason::Publishing);
        }
        let subject = scope.subject(head.uri.path());
        let fetches = fetches(head, subject, &path);
        if !fetches && !matches!(head.method, Method::GET | Method::HEAD) {
            return Err(RefusalReason::Method { method: head.method.to_string().chars().take(40).collect() });
        }
        let body = head.headers.contains_key(header::TRANSFER_ENCODING)
            || head.headers.get(header::CONTENT_LENGTH).is_some_and(|length| length != "0")
            || head.headers.contains_key(header::EXPECT);
        if body && !fetches {
            return Err(RefusalReason::Body);
        }
        let family = match subject {
            ReadingSubject::Elsewhere => return Err(RefusalReason::OtherRepository),
            ReadingSubject::Repository(request) => return judge_repository(request, head.uri.query()),
            ReadingSubject::Registry(family) => Some(family),
            ReadingSubject::Host => None,
        };
        if is_account(family, &path, query.as_deref(), self.with_credential) {
            return Err(RefusalReason::Account);
        }
        Ok(())
    }

    /// The headers that go out.
    pub(crate) fn outgoing(&self, headers: &HeaderMap) -> HeaderMap {
        let named = named_by_connection(headers);
        let mut out = HeaderMap::new();
        for (name, value) in headers {
            let passes = match self.reading {
                Some(_) => is_for_reading(name, value),
                None => !is_of_connection(name) && !named.contains(name),
            };
            if passes && *name != header::HOST && *name != header::EXPECT {
                out.append(name.clone(), value.clone());
            }
        }
        out
    }
}

/// Whether a request is one for the objects of a repository; its body is read before it passes.
fn fetches(head: &Parts, subject: ReadingSubject, path: &str) -> bool {
    let at = match subject {
        ReadingSubject::Repository(request) => request == RepositoryRequest::UploadPack,
        ReadingSubject::Host => path.ends_with("/git-upload-pack"),
        ReadingSubject::Registry(_) | ReadingSubject::Elsewhere => false,
    };
    let kind = head.headers.get(header::CONTENT_TYPE);
    head.method == Method::POST
        && at
        && head.uri.query().is_none()
        && kind.is_some_and(|kind| kind == "application/x-git-upload-pack-request")
}

/// What may be asked of a repository besides its path.
fn judge_repository(request: RepositoryRequest, query: Option<&str>) -> Result<(), RefusalReason> {
    match (request, query) {
        (_, None) | (RepositoryRequest::Refs, Some("service=git-upload-pack")) => Ok(()),
        _ => Err(RefusalReason::OtherRepository),
    }
}

/// The headers of an answer that go in.
pub(crate) fn incoming(headers: &HeaderMap, with_credential: bool) -> HeaderMap {
    let named = named_by_connection(headers);
    let mut out = HeaderMap::new();
    for (name, value) in headers {
        // What an answer gives to keep may be as good as the credential that was shown for it.
        let kept_from = with_credential
            && (*name == header::SET_COOKIE || *name == HeaderName::from_static("authentication-info"));
        let elsewhere = *name == header::ALT_SVC;
        let length = *name == header::CONTENT_LENGTH;
        if length || !(is_of_connection(name) || named.contains(name) || kept_from || elsewhere) {
            out.append(name.clone(), value.clone());
        }
    }
    out
}

fn judge_framing(headers: &HeaderMap) -> Result<(), RefusalReason> {
    let encodings: Vec<&HeaderValue> = headers.get_all(header::TRANSFER_ENCODING).iter().collect();
    let lengths = headers.get_all(header::CONTENT_LENGTH).iter().count();
    let clear = match encodings.as_slice() {
        [] => lengths <= 1,
        [one] => one.as_bytes().eq_ignore_ascii_case(b"chunked") && lengths == 0,
        _ => false,
    };
    if clear {
        Ok(())
    } else {
        Err(RefusalReason::Malformed { what: "its length is said in several ways".to_owned() })
    }
}

fn asks_for_upgrade(headers: &HeaderMap) -> bool {
    headers.contains_key(header::UPGRADE)
        || headers.contains_key("http2-settings")
        || headers.contains_key(header::SEC_WEBSOCKET_KEY)
        || named_by_connection(headers).contains(&header::UPGRADE)
}

fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let values = headers.get_all(header::CONNECTION).iter().chain(headers.get_all("proxy-connection"));
    let words = values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    words.filter_map(|word| HeaderName::try_from(word.trim()).ok()).collect()
}

/// Whether a header says only what reading needs.
fn is_for_reading(name: &HeaderName, value: &HeaderValue) -> bool {
    match name.as_str() {
        "git-protocol" => matches!(value.as_bytes(), b"version=0" | b"version=1" | b"version=2"),
        name => READING.contains(&name) && value.len() <= READING_BYTES,
    }
}

/// Headers that are about one connection and not about the message.
fn is_of_connection(name: &HeaderName) -> bool {
    const OWN: [&str; 11] = [
        "connection",
        "content-length",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "http2-settings",
    ];
    OWN.contains(&name.as_str())
}

/// A path or query as a server may read it: percent signs taken off twice, in lower case.
fn plain(text: &str) -> String {
    let once = decoded(text);
    let twice = decoded(&String::from_utf8_lossy(&once));
    String::from_utf8_lossy(&twice).to_lowercase()
}

#[cfg(test)]
mod tests;
