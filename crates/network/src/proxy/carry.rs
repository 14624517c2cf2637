//! Carries judged requests to their host and the answers back.

use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use http_body::Body as _;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex;
use tokio_rustls::TlsConnector;

use super::carried_body::{CarriedBody, WhenArrived};
use super::limits::NetworkLimits;
use super::meter::{ConnectionMeter, Metered};
use super::request::{self, RequestRules};
use super::run_network::{JudgedWay, RunNetwork};
use crate::arrival::{PackageArrival, PackageVersion, recognise};
use crate::git_request::{judge_upload_pack, unpacked};
use crate::permit::{ReadingScope, TargetHost};
use crate::record::{ConnectionManner, NetworkEvent, RefusalReason};

/// The requests of one client connection; it keeps at most one connection to the outside.
pub(crate) struct RequestCarrier {
    network: Arc<RunNetwork>,
    open: Mutex<Option<OpenHost>>,
}

struct OpenHost {
    way: JudgedWay,
    encrypted: bool,
    sender: SendRequest<CarriedBody>,
}

/// The longest head of an answer.
const ANSWER_HEAD: usize = 128 * 1024;

impl RequestCarrier {
    pub(crate) fn new(network: Arc<RunNetwork>) -> Self {
        Self { network, open: Mutex::new(None) }
    }

    /// Judges a request for a host and carries it there.
    pub(crate) async fn carry(
        &self,
        way: &JudgedWay,
        encrypted: bool,
        request: Request<Incoming>,
    ) -> Result<Response<CarriedBody>, RefusalReason> {
        let (head, body) = request.into_parts();
        let scope = way.reading.map(|_| ReadingScope::of(&way.book, &way.permit, &way.target));
        let credential = way.credential.as_ref().filter(|_| encrypted);
        let rules = RequestRules {
            target: &way.target,
            usual_port: if encrypted { 443 } else { 80 },
            reading: scope.as_ref(),
            with_credential: credential.is_some(),
            limits: &self.network.limits,
        };
        rules.judge(&head)?;
        let family = scope.as_ref().and_then(ReadingScope::registry);
        let package = family.and_then(|family| recognise(family, head.uri.path()));
        if let Some(package) = &package {
            self.network.arrivals.judge_name(package)?;
        }
        let mut headers = rules.outgoing(&head.headers);
        // What is looked through has to be readable, and a digest is that of the file itself.
        if credential.is_some() || package.is_some() {
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        if package.is_some() {
            // A part would come in without a digest; whoever asks for one has to take the whole.
            headers.remove(header::RANGE);
            headers.remove(header::IF_RANGE);
        }
        if let Some((name, value)) = credential.map(crate::credential::HostCredential::header) {
            headers.insert(name, value);
        }
        let body = match scope {
            Some(_) if head.method == Method::POST => {
                // What goes out is what was read, and not in its wrapping.
                headers.remove(header::CONTENT_ENCODING);
                let packed = head.headers.get(header::CONTENT_ENCODING);
                Some(fetch_request(body, packed, &self.network.limits).await?)
            }
            Some(_) => None,
            None => Some(CarriedBody::incoming(body, u64::MAX)).filter(|body| !body.is_end_stream()),
        };
        let answer = self.ask(way, encrypted, &head, headers, body).await?;
        self.answer(way, &head, package, credential.is_some(), answer)
    }

    async fn ask(
        &self,
        way: &JudgedWay,
        encrypted: bool,
        head: &Parts,
        headers: HeaderMap,
        mut body: Option<CarriedBody>,
    ) -> Result<Response<Incoming>, RefusalReason> {
        let without_body = body.is_none();
        let mut open = self.open.lock().await;
        for second in [false, true] {
            let fits = |host: &OpenHost| {
                host.way.target == way.target && host.way.permit == way.permit && host.encrypted == encrypted
            };
            let mut kept = open.take().filter(fits);
            if let Some(host) = &mut kept
                && host.sender.ready().await.is_err()
            {
                kept = None;
            }
            let was_kept = kept.is_some();
            let mut host = match kept {
                Some(host) => host,
                None => self.connect(way, encrypted).await?,
            };
            let request = outgoing(way, encrypted, head, headers.clone(), body.take())?;
            match host.sender.send_request(request).await {
                Ok(answer) => {
                    *open = Some(host);
                    return Ok(answer);
                }
                // A connection that was kept may end just then; what can be asked again is asked once more.
                Err(_) if was_kept && !second && without_body => {}
                Err(error) => return Err(unreachable(&error)),
            }
        }
        Err(RefusalReason::Unreachable { what: "the connection ended twice".to_owned() })
    }

    async fn connect(&self, way: &JudgedWay, encrypted: bool) -> Result<OpenHost, RefusalReason> {
        let network = &self.network;
        let meter = network.meter(way)?;
        let reached = network.open(way, encrypted).await?;
        let stream = Metered::new(reached.stream, Arc::clone(&meter));
        let manner = if encrypted { ConnectionManner::Read } else { ConnectionManner::Plain };
        let number = network.allow(way, manner, reached.address);
        let sender = if encrypted {
            let name = match &way.target.host {
                TargetHost::Name(name) => ServerName::try_from(name.as_str().to_owned()).ok(),
                TargetHost::Address(address) => Some(ServerName::IpAddress((*address).into())),
            };
            let name = name.ok_or(RefusalReason::Unresolved)?;
            let connector = TlsConnector::from(network.trust.config());
            let shaken = tokio::time::timeout(network.limits.connect, connector.connect(name, stream)).await;
            let stream = match shaken {
                Ok(Ok(stream)) => stream,
                Ok(Err(error)) => return Err(certificate(&error)),
                Err(_) => return Err(RefusalReason::Unreachable { what: "no answer in time".to_owned() }),
            };
            self.speak(way, number, meter, stream).await?
        } else {
            self.speak(way, number, meter, stream).await?
        };
        Ok(OpenHost { way: way.clone(), encrypted, sender })
    }

    async fn speak<S>(
        &self,
        way: &JudgedWay,
        number: u64,
        meter: Arc<ConnectionMeter>,
        stream: S,
    ) -> Result<SendRequest<CarriedBody>, RefusalReason>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, connection) = http1::Builder::new()
            .max_buf_size(ANSWER_HEAD)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| unreachable(&error))?;
        let (network, way) = (Arc::clone(&self.network), way.clone());
        tokio::spawn(async move {
            let idle = network.limits.idle;
            super::race::first(connection, meter.idle(idle)).await;
            network.finished(&way, number, &meter);
        });
        Ok(sender)
    }

    /// Makes of an answer what goes inside.
    fn answer(
        &self,
        way: &JudgedWay,
        head: &Parts,
        package: Option<PackageVersion>,
        with_credential: bool,
        answer: Response<Incoming>,
    ) -> Result<Response<CarriedBody>, RefusalReason> {
        let (came, body) = answer.into_parts();
        if came.status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(RefusalReason::Upgrade);
        }
        let encoded =
            came.headers.get(header::CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity");
        if with_credential && encoded && head.method != Method::HEAD {
            return Err(RefusalReason::EncodedAnswer);
        }
        if let (Some(package), true) = (&package, came.status.is_success()) {
            let published = came.headers.get(header::LAST_MODIFIED).and_then(seconds);
            self.network.arrivals.judge_age(package, published, RunNetwork::now())?;
        }
        let mut body = CarriedBody::incoming(body, u64::MAX);
        let scrub = &self.network.scrub;
        let mut headers = request::incoming(&came.headers, with_credential);
        if !scrub.is_empty() {
            for value in headers.values_mut() {
                let mut bytes = value.as_bytes().to_vec();
                if scrub.cover(&mut bytes) {
                    *value = HeaderValue::from_bytes(&bytes).unwrap_or_else(|_| HeaderValue::from_static(""));
                }
            }
            body = body.scrubbed(scrub.stream());
        }
        let whole = head.method == Method::GET && came.status == StatusCode::OK;
        if let Some(package) = package.filter(|_| whole) {
            body = body.counted(self.when_arrived(way, package));
        }
        let mut out = Response::new(body);
        *out.status_mut() = came.status;
        *out.headers_mut() = headers;
        Ok(out)
    }

    fn when_arrived(&self, way: &JudgedWay, package: PackageVersion) -> WhenArrived {
        let (network, host) = (Arc::clone(&self.network), way.target.to_string());
        Box::new(move |sha256, bytes| {
            let package = PackageArrival { package, host, sha256, bytes };
            network.recorder.tell(&NetworkEvent::Arrived { package });
        })
    }

    /// A permit that was given since a connection began counts for its next request.
    pub(crate) fn judge_again(&self, way: &JudgedWay) -> Result<JudgedWay, RefusalReason> {
        let same = *self.network.book.read().unwrap_or_else(PoisonError::into_inner) == way.book;
        if same { Ok(way.clone()) } else { self.network.judge(&way.target) }
    }
}

/// Reads all of what a client says to fetch, and gives it back as it stands.
async fn fetch_request(
    body: Incoming,
    packed: Option<&HeaderValue>,
    limits: &NetworkLimits,
) -> Result<CarriedBody, RefusalReason> {
    let wrong = |what: &str| RefusalReason::NotFetching { what: what.to_owned() };
    let most = limits.git_request;
    let read = Limited::new(body, most).collect();
    let all = tokio::time::timeout(limits.head_time, read).await;
    let bytes =
        all.map_err(|_| wrong("it does not end"))?.map_err(|_| wrong("it is longer, or cut off"))?.to_bytes();
    let bytes = match packed.map(HeaderValue::as_bytes) {
        None | Some(b"identity") => bytes,
        Some(b"gzip" | b"x-gzip") => {
            unpacked(&bytes, most).map(Bytes::from).ok_or_else(|| wrong("it cannot be unpacked"))?
        }
        Some(_) => return Err(wrong("it is packed in another way than git's")),
    };
    judge_upload_pack(&bytes).map_err(wrong)?;
    Ok(CarriedBody::whole(bytes))
}

fn outgoing(
    way: &JudgedWay,
    encrypted: bool,
    head: &Parts,
    headers: HeaderMap,
    body: Option<CarriedBody>,
) -> Result<Request<CarriedBody>, RefusalReason> {
    let malformed = |_| RefusalReason::Malformed { what: "its address is none".to_owned() };
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let usual = if encrypted { 443 } else { 80 };
    let named = match way.target.port {
        port if port == usual => way.target.host.to_string(),
        _ => way.target.to_string(),
    };
    let mut request = Request::new(body.unwrap_or_else(CarriedBody::empty));
    *request.method_mut() = head.method.clone();
    *request.uri_mut() = Uri::try_from(path).map_err(malformed)?;
    *request.headers_mut() = headers;
    if let Ok(host) = HeaderValue::try_from(named) {
        request.headers_mut().insert(header::HOST, host);
    }
    Ok(request)
}

/// Why a host could not be asked, without its address.
fn unreachable(error: &hyper::Error) -> RefusalReason {
    let what = match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    };
    RefusalReason::Unreachable { what }
}

fn certificate(error: &std::io::Error) -> RefusalReason {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(what)) => {
            RefusalReason::Certificate { what: what.to_string() }
        }
        Some(other) => RefusalReason::Unreachable { what: other.to_string() },
        None => RefusalReason::Unreachable { what: error.kind().to_string() },
    }
}

/// A date of HTTP in seconds since the epoch.
fn seconds(value: &HeaderValue) -> Option<i64> {
    let text = value.to_str().ok()?;
    jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok().map(jiff::Timestamp::as_second)
}
