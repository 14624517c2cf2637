//! The body of a request, within bounds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout, timeout_at};

use crate::limits::GatewayLimits;
use crate::refusal::{GatewayRefusal, RefusalKind};

/// Deeper values than this are refused; no client of a model needs so many levels.
const DEEPEST: usize = 100;

/// The bytes of all bodies together.
#[derive(Debug, Clone, Default)]
pub(crate) struct BodyScale(Arc<AtomicUsize>);

/// What one body weighs, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct BodyWeight {
    scale: BodyScale,
    bytes: usize,
}

impl BodyScale {
    pub(crate) fn weight(&self) -> BodyWeight {
        BodyWeight { scale: self.clone(), bytes: 0 }
    }
}

impl BodyWeight {
    /// Adds bytes and gives the sum of all weights.
    fn add(&mut self, bytes: usize) -> usize {
        self.bytes += bytes;
        self.scale.0.fetch_add(bytes, Ordering::SeqCst) + bytes
    }
}

impl Drop for BodyWeight {
    fn drop(&mut self) {
        self.scale.0.fetch_sub(self.bytes, Ordering::SeqCst);
    }
}

/// Reads a whole body.
pub(crate) async fn read(
    body: &mut Incoming,
    limits: &GatewayLimits,
    weight: &mut BodyWeight,
) -> Result<Bytes, GatewayRefusal> {
    let too_large = || {
        GatewayRefusal::new(
            RefusalKind::TooLarge,
            format!("the body is larger than {} bytes", limits.body_bytes),
        )
    };
    let told = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if told > limits.body_bytes {
        return Err(too_large());
    }
    let slow = |_| GatewayRefusal::new(RefusalKind::TooSlow, "the body did not come in time");
    let deadline = Instant::now() + limits.body_time;
    let mut all = Vec::new();
    while let Some(frame) =
        timeout_at(deadline, timeout(limits.body_idle, body.frame())).await.map_err(slow)?.map_err(slow)?
    {
        let frame = frame.map_err(|error| {
            GatewayRefusal::new(RefusalKind::Malformed, format!("the body is broken: {error}"))
        })?;
        let Ok(piece) = frame.into_data() else { continue };
        if all.len() + piece.len() > limits.body_bytes {
            return Err(too_large());
        }
        if weight.add(piece.len()) > limits.bodies_bytes {
            let mut busy = GatewayRefusal::new(RefusalKind::Busy, "too many large requests at a time");
            busy.retry_after = Some(std::time::Duration::from_secs(1));
            return Err(busy);
        }
        all.extend_from_slice(&piece);
    }
    Ok(all.into())
}

/// Takes in what is left of a refused body and throws it away. A connection that is closed with something unread is reset,
/// and then the client may never see the answer.
pub(crate) async fn discard(mut body: Incoming, limits: GatewayLimits) {
    let deadline = Instant::now() + limits.body_time;
    let mut left = limits.body_bytes;
    while let Ok(Ok(Some(Ok(frame)))) = timeout_at(deadline, timeout(limits.linger, body.frame())).await {
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        left = match left.checked_sub(bytes) {
            Some(left) => left,
            None => return,
        };
    }
}

/// The JSON object in a body.
pub(crate) fn object(bytes: &[u8], limits: &GatewayLimits) -> Result<Map<String, Value>, GatewayRefusal> {
    let refuse = |message: String| GatewayRefusal::new(RefusalKind::Malformed, message);
    scan(bytes, limits.json_values).map_err(|message| refuse(message.to_owned()))?;
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(refuse("the body must be a JSON object".to_owned())),
        Err(error) => Err(refuse(format!("the body is not valid JSON: {error}"))),
    }
}

/// Counts values and levels before anything is built: an array of zeros takes sixteen times its bytes in memory.
fn scan(bytes: &[u8], most: usize) -> Result<(), &'static str> {
    let (mut values, mut depth, mut in_text, mut escaped) = (0usize, 0usize, false, false);
    for byte in bytes {
        if in_text {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_text = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_text = true,
            b'[' | b'{' => (values, depth) = (values + 1, depth + 1),
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => values += 1,
            _ => {}
        }
        if depth > DEEPEST {
            return Err("the body is nested too deeply");
        }
        if values > most {
            return Err("the body holds too many values");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What is counted before anything is built is never less than what is built.
    #[test]
    fn fuzz_gateway_body() {
        fn values(value: &Value) -> usize {
            1 + match value {
                Value::Array(all) => all.iter().map(values).sum(),
                Value::Object(all) => all.values().map(values).sum(),
                _ => 0,
            }
        }
        let words = &["{\"", "\":", "[", "]", "{}", ",", "\\\"", "1e5", "null", "\\u00"];
        let limits = GatewayLimits { json_values: 40, ..GatewayLimits::default() };
        holon_testkit::fuzz::fuzz(env!("CARGO_MANIFEST_DIR"), "gateway_body", words, |bytes| {
            match object(bytes, &limits) {
                Ok(object) => {
                    let built = values(&Value::Object(object));
                    assert!(built <= 41, "{built} values were built");
                    format!("ok {built}")
                }
                Err(refusal) => {
                    format!("{refusal:?}").chars().filter(char::is_ascii_alphabetic).take(60).collect()
                }
            }
        });
    }

    fn check(text: &str, expect: Result<(), &str>) {
        let limits = GatewayLimits { json_values: 10, ..GatewayLimits::default() };
        match (object(text.as_bytes(), &limits), expect) {
            (Ok(_), Ok(())) => {}
            (Err(refusal), Err(words)) => assert!(refusal.message.contains(words), "{text}: {refusal:?}"),
            (got, _) => assert_eq!(got.map(|_| ()).map_err(|r| r.message), Err(String::new()), "{text}"),
        }
    }

    #[test]
    fn bodies_are_bounded_before_they_are_built() {
        check(r#"{"a": [1, "],],],],],],],],],]", "\"[[["]}"#, Ok(()));
        check("[1]", Err("must be a JSON object"));
        check("{", Err("not valid JSON"));
        check("", Err("not valid JSON"));
        check(&"[".repeat(1000), Err("too many values"));
        check(&format!("{{\"a\":[{}]}}", "0,".repeat(100)), Err("too many values"));
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(500), "]".repeat(500));
        let limits = GatewayLimits::default();
        let refused = object(deep.as_bytes(), &limits).map_err(|refusal| refusal.message);
        assert_eq!(refused, Err("the body is nested too deeply".to_owned()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = object(&bytes, &GatewayLimits::default());
        }
    }
}
