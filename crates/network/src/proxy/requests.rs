//! Serves requests in plain HTTP: those for any host, and those on a connection to one.

use std::convert::Infallible;
use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hyper::body::{Body as _, Incoming};
use hyper::header;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};

use super::carried_body::CarriedBody;
use super::carry::RequestCarrier;
use super::prefixed::ClientStream;
use super::refusal_answer::reads_json;
use super::run_network::{JudgedWay, RunNetwork};
use crate::permit::HostTarget;
use crate::record::RefusalReason;

/// What the requests of a connection are for.
#[derive(Debug, Clone)]
pub(crate) enum RequestsFor {
    /// Each names its host in its address.
    Anywhere,
    /// All are for one host.
    One {
        /// The host, as it was judged.
        way: Box<JudgedWay>,
        /// Whether the conversation is encrypted.
        encrypted: bool,
    },
    /// None is answered but with this refusal.
    Nowhere(HostTarget, super::refusal_answer::RefusalAnswer),
}

/// The smallest buffer the HTTP implementation accepts.
const SMALLEST_BUFFER: usize = 8192;

/// Serves until the client is done.
pub(crate) async fn serve<S: ClientStream>(client: S, network: Arc<RunNetwork>, served: RequestsFor) {
    let limits = network.limits;
    let carrier = Arc::new(RequestCarrier::new(Arc::clone(&network)));
    let count = AtomicUsize::new(0);
    let target = match &served {
        RequestsFor::Anywhere => None,
        RequestsFor::One { way, .. } => Some(way.target.clone()),
        RequestsFor::Nowhere(target, _) => Some(target.clone()),
    };
    let service = service_fn(|request: Request<Incoming>| {
        let first = count.fetch_add(1, Ordering::Relaxed) == 0;
        let (network, carrier, served) = (Arc::clone(&network), Arc::clone(&carrier), served.clone());
        async move { Ok::<_, Infallible>(answer(&network, &carrier, served, first, request).await) }
    });
    let ended = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_headers(limits.headers)
        .max_buf_size(limits.head_bytes.max(SMALLEST_BUFFER))
        .half_close(true)
        .auto_date_header(false)
        .serve_connection(TokioIo::new(client), service)
        .await;
    if let Err(error) = ended
        && (error.is_parse() || error.is_parse_too_large())
    {
        let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        network.refuse(target.as_ref(), RefusalReason::Malformed { what: why });
    }
}

async fn answer(
    network: &RunNetwork,
    carrier: &RequestCarrier,
    served: RequestsFor,
    first: bool,
    request: Request<Incoming>,
) -> Response<CarriedBody> {
    let json = reads_json(request.headers());
    let has_body = !request.body().is_end_stream();
    // Behind a body of unclear length nothing more is read, so nothing can hide behind it.
    let close = has_body || request.headers().contains_key(header::TRANSFER_ENCODING);
    let mut target = None;
    let carried = match served {
        RequestsFor::Nowhere(_, refusal) => return refusal.response(json, true),
        RequestsFor::One { way, encrypted } => {
            target = Some(way.target.clone());
            carry_to_one(carrier, &way, encrypted, request).await
        }
        RequestsFor::Anywhere => carry_anywhere(network, carrier, &mut target, first, request).await,
    };
    match carried {
        Ok(mut answer) => {
            if close {
                answer.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
            }
            answer
        }
        Err(reason) => network.refuse(target.as_ref(), reason).response(json, close),
    }
}

async fn carry_to_one(
    carrier: &RequestCarrier,
    way: &JudgedWay,
    encrypted: bool,
    request: Request<Incoming>,
) -> Result<Response<CarriedBody>, RefusalReason> {
    let own = request.uri().authority().is_none() && request.uri().path().starts_with('/');
    if !own {
        return Err(RefusalReason::Malformed {
            what: "it names a host where only a path belongs".to_owned(),
        });
    }
    let way = carrier.judge_again(way)?;
    carrier.carry(&way, encrypted, request).await
}

async fn carry_anywhere(
    network: &RunNetwork,
    carrier: &RequestCarrier,
    target: &mut Option<HostTarget>,
    first: bool,
    request: Request<Incoming>,
) -> Result<Response<CarriedBody>, RefusalReason> {
    let malformed = |what: &str| RefusalReason::Malformed { what: what.to_owned() };
    let named = absolute(request.uri())?;
    *target = Some(named.clone());
    // The head of the first request was read as strictly as it can be; of later ones some of what was said is lost by now.
    if !first && request.headers().contains_key(header::TRANSFER_ENCODING) {
        return Err(malformed("a body of unknown length has to come on a connection of its own"));
    }
    let way = network.judge(&named)?;
    if named.port == 443 {
        return Err(RefusalReason::NotEncrypted);
    }
    carrier.carry(&way, false, request).await
}

/// The host of a whole address.
fn absolute(uri: &Uri) -> Result<HostTarget, RefusalReason> {
    let malformed = |what: &str| RefusalReason::Malformed { what: what.to_owned() };
    let Some(authority) = uri.authority() else {
        return Err(malformed("this is a proxy: ask for a whole address, or for a connection with CONNECT"));
    };
    if uri.scheme_str() != Some("http") {
        return Err(malformed("only http:// is asked for in one request: use CONNECT for the rest"));
    }
    HostTarget::parse(authority.as_str(), Some(80)).map_err(|error| malformed(&error.to_string()))
}
