//! Answers requests: who asks, what for, may it be, and then the exchange.

use std::convert::Infallible;
use std::sync::Arc;

use holon_core::redact::Redactor;
use holon_model::{Cancel, Endpoint, ErrorKind, Provider};
use hyper::body::{Body as _, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, oneshot};

use crate::account::{Limit, tokens_in};
use crate::attend::Attended;
use crate::body::{self, Scale, Weight};
use crate::event::Event;
use crate::exchange::{Exchange, Head, Opener};
use crate::flow::{self, Outflow, StopOnDrop};
use crate::ledger::{Ledger, Wish};
use crate::limits::Limits;
use crate::login::Login;
use crate::pass::{self, Passing};
use crate::refusal::{Refusal, Sort};
use crate::route::{self, Lost, Route};
use crate::serve::{self, Asked, Labels};
use crate::token::Token;
use crate::tongue::Tongue;
use crate::veil::Keys;

/// What all requests share.
pub(crate) struct Door {
    pub(crate) token: Token,
    pub(crate) model: String,
    pub(crate) provider: Arc<dyn Provider>,
    /// Set when requests of this endpoint's wire pass through as bytes.
    pub(crate) endpoint: Option<Endpoint>,
    /// Set when a login stands in for the endpoint's key.
    pub(crate) login: Option<Arc<Login>>,
    pub(crate) limits: Limits,
    pub(crate) ledger: Ledger,
    pub(crate) keys: Keys,
    pub(crate) redactor: Redactor,
    pub(crate) exchanges: Arc<Semaphore>,
    pub(crate) scale: Scale,
    /// Who attends the agent's conversation.
    pub(crate) attended: Option<Arc<Attended>>,
}

type Answer = Response<Outflow>;

impl Door {
    /// Answers a request; never fails.
    pub(crate) async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Result<Answer, Infallible> {
        let wire = route::words_at(request.uri().path());
        // After a body of unclear length nothing more is read from the connection, so nothing can hide behind it.
        let close = request.headers().contains_key(header::TRANSFER_ENCODING);
        let (head, mut body) = request.into_parts();
        let mut answer = match self.serve(&head, &mut body).await {
            Ok(answer) => answer,
            Err(refusal) => {
                if !body.is_end_stream() {
                    tokio::spawn(body::discard(body, self.limits));
                }
                self.refuse(wire, &refusal)
            }
        };
        if close {
            answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(answer)
    }

    async fn serve(self: &Arc<Self>, head: &Parts, body: &mut Incoming) -> Result<Answer, Refusal> {
        if head.method == Method::CONNECT || head.uri.scheme().is_some() || head.uri.authority().is_some() {
            let message = "this is no proxy: ask for a path, such as /v1/messages";
            return Err(Refusal::new(Sort::Malformed, message));
        }
        let path = head.uri.path();
        let route = route::find(&head.method, path).map_err(|lost| match lost {
            Lost::NotFound => Refusal::new(Sort::NotFound, format!("nothing is served at {}", short(path))),
            Lost::Method => {
                Refusal::new(Sort::Method, format!("{} does not go with {}", head.method, short(path)))
            }
        })?;
        if route == Route::Hello {
            return Ok(whole(200, "text/plain; charset=utf-8", "holon gateway\n"));
        }
        if !self.knows(&head.headers, head.uri.query()) {
            let message = "the token is missing or wrong: use the one this run was given";
            return Err(Refusal::new(Sort::Token, message));
        }
        match route {
            Route::Hello => Ok(whole(200, "text/plain; charset=utf-8", "holon gateway\n")),
            Route::Models => Ok(json_answer(&models(&self.model, route::words_at(path)))),
            Route::Model(id) if id == self.model => Ok(json_answer(&model(&id, route::words_at(path)))),
            Route::Model(_) => Err(Refusal::new(Sort::NotFound, format!("the model is {}", self.model))),
            Route::CountTokens(wire) => {
                let mut weight = self.scale.weight();
                let object = self.object(&head.headers, body, &mut weight).await?.0;
                let (keys, told): (&[&str], _) = match wire {
                    Tongue::Gemini => {
                        (&["systemInstruction", "contents", "tools", "generateContentRequest"], "totalTokens")
                    }
                    _ => (&["system", "messages", "tools"], "input_tokens"),
                };
                let counted = keys.iter().filter_map(|key| object.get(*key));
                let bytes: usize = counted.map(|value| value.to_string().len()).sum();
                Ok(json_answer(&json!({told: tokens_in(bytes)})))
            }
            Route::Ask(wire, stream) => {
                let events = head.uri.query().unwrap_or_default().split('&').any(|pair| pair == "alt=sse");
                if stream == Some(true) && !events {
                    let message = "an answer in pieces comes as events only: ask with ?alt=sse";
                    return Err(Refusal::new(Sort::Malformed, message));
                }
                let mut weight = self.scale.weight();
                let (object, bytes) = self.object(&head.headers, body, &mut weight).await?;
                self.attend((wire, stream), object, bytes, &head.headers, weight).await
            }
        }
    }

    /// Whether a request shows the token, in any of the places where clients put keys.
    fn knows(&self, headers: &HeaderMap, query: Option<&str>) -> bool {
        let plain = ["x-api-key", "x-goog-api-key", "api-key"].iter().flat_map(|name| headers.get_all(*name));
        let bearer = headers.get_all(header::AUTHORIZATION).iter().filter_map(|value| {
            let (scheme, token) = value.as_bytes().split_at_checked(7)?;
            scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
        });
        let asked = query.unwrap_or_default().split('&').filter_map(|pair| pair.strip_prefix("key="));
        // All are looked at, so that the time does not tell which one it was.
        let shown = plain.map(HeaderValue::as_bytes).chain(bearer).chain(asked.map(str::as_bytes));
        shown.fold(false, |known, token| self.token.is(token) | known)
    }

    async fn object(
        &self,
        headers: &HeaderMap,
        body: &mut Incoming,
        weight: &mut Weight,
    ) -> Result<(serde_json::Map<String, Value>, usize), Refusal> {
        let encoding = headers.get(header::CONTENT_ENCODING).map(HeaderValue::as_bytes);
        if encoding.is_some_and(|encoding| !encoding.eq_ignore_ascii_case(b"identity")) {
            return Err(Refusal::new(Sort::Encoding, "send the body without an encoding"));
        }
        let bytes = body::read(body, &self.limits, weight).await?;
        Ok((body::object(&bytes, &self.limits)?, bytes.len()))
    }

    /// Lets whoever attends the conversation hear a request, and asks with what belongs into it.
    async fn attend(
        self: &Arc<Self>,
        tongue: (Tongue, Option<bool>),
        object: serde_json::Map<String, Value>,
        bytes: usize,
        headers: &HeaderMap,
        weight: Weight,
    ) -> Result<Answer, Refusal> {
        let malformed = |why| Refusal::new(Sort::Malformed, why);
        let wire = tongue.0;
        let body = Value::Object(object);
        let asked = serve::read(wire, &body).map_err(malformed)?;
        let Some(attended) = &self.attended else {
            return self.ask(tongue, (body, asked), bytes, headers, weight, None).await;
        };
        let mut told = body.clone();
        let passed = attended.hear(wire, &asked.request, &mut told).await;
        let passed = passed.map_err(|why| Refusal::new(Sort::Stopped, why))?;
        let attended = passed.map(|_| Arc::clone(attended));
        let Some(hearer) = attended.as_ref().filter(|_| passed.is_some_and(|passed| passed.carries)) else {
            return self.ask(tongue, (body, asked), bytes, headers, weight, attended).await;
        };
        let with = serve::read(wire, &told).map_err(malformed)?;
        let spare = self.scale.weight();
        let answer = self.ask(tongue, (told, with), bytes, headers, weight, attended.clone()).await;
        match answer {
            // Nothing was sent to the client yet, so it never learns of it.
            Err(Refusal { sort: Sort::Provider(ErrorKind::BadRequest, _), message, .. }) => {
                hearer.declined(&message);
                self.ask(tongue, (body, asked), bytes, headers, spare, attended).await
            }
            answer => answer,
        }
    }

    async fn ask(
        self: &Arc<Self>,
        (wire, stream): (Tongue, Option<bool>),
        (body, mut asked): (Value, Asked),
        bytes: usize,
        headers: &HeaderMap,
        weight: Weight,
        attended: Option<Arc<Attended>>,
    ) -> Result<Answer, Refusal> {
        asked.request.model.clone_from(&self.model);
        asked.stream = stream.unwrap_or(asked.stream);
        let turn = Arc::clone(&self.exchanges).acquire_owned().await;
        let turn = turn.map_err(|_| Refusal::new(Sort::Busy, "the run is ending"))?;
        let wish = Wish { wire, bytes, longest: asked.request.max_output };
        let charge = self.ledger.admit(wish).await.map_err(spent)?;
        let cancel = Cancel::default();
        let (sender, receiver) = oneshot::channel();
        let keys = self.keys_now().await;
        let (inlet, outflow) = flow::pair(self.limits.pending_bytes, &keys, StopOnDrop(cancel.clone()));
        let opener = Opener::new(sender);
        let stream = asked.stream;
        let mut dropped = Vec::new();
        let passing = match (&self.endpoint, body) {
            (Some(endpoint), Value::Object(object)) if wire.wire() == Some(endpoint.wire) => {
                let narrowed = pass::narrow(object, endpoint, &self.model);
                dropped = narrowed.dropped;
                let betas = headers.get("anthropic-beta").and_then(|value| value.to_str().ok());
                let betas = betas.filter(|_| wire == Tongue::Messages).and_then(pass::betas);
                let bytes = Value::Object(narrowed.body).to_string().into();
                Some((bytes, betas))
            }
            _ => None,
        };
        let labels = Labels {
            number: charge.number,
            model: self.model.clone(),
            custom: asked.custom.clone(),
            spaces: asked.spaces.clone(),
        };
        self.ledger.tell(&Event::Started { number: charge.number, wire, bytes, stream, dropped });
        let exchange = Exchange {
            wire,
            asked,
            labels,
            provider: Arc::clone(&self.provider),
            charge,
            opener: Arc::clone(&opener),
            cancel,
            keys,
            redactor: self.redactor.clone(),
            attended,
        };
        tokio::spawn(async move {
            let _held = (turn, weight);
            match passing {
                Some((bytes, betas)) => {
                    exchange.pass(Passing::new(bytes, stream, betas, opener, inlet)).await;
                }
                None => exchange.translate(inlet).await,
            }
        });
        match receiver.await {
            Ok(Head::Stream) => {
                let mut answer = Response::new(outflow);
                set(&mut answer, header::CONTENT_TYPE, "text/event-stream; charset=utf-8");
                set(&mut answer, header::CACHE_CONTROL, "no-cache");
                Ok(answer)
            }
            Ok(Head::Whole(bytes)) => Ok(whole(200, "application/json", bytes)),
            Ok(Head::Failed(error)) => Err(Refusal::from(&error)),
            Err(_) => Err(Refusal::new(Sort::Busy, "the run is ending")),
        }
    }

    /// What must not pass, with the tokens that go on the next request; if there are none, that is told where they are
    /// needed.
    async fn keys_now(&self) -> Keys {
        let Some(login) = &self.login else { return self.keys.clone() };
        let _ = login.credential().await;
        login.keys()
    }

    fn refuse(&self, wire: Option<Tongue>, refusal: &Refusal) -> Answer {
        let status = refusal.status(wire);
        match refusal.sort {
            // Counted where they happen.
            Sort::Spent | Sort::Stopped | Sort::Provider(..) => {}
            Sort::Token => self.ledger.count(|account| account.wrong_token += 1),
            _ => self.ledger.count(|account| account.refused += 1),
        }
        if !matches!(refusal.sort, Sort::Provider(..)) {
            self.ledger.tell_refusal(status, &refusal.message);
        }
        let mut answer = whole(status, "application/json", refusal.body(wire).to_string());
        if let Some(wait) = refusal.retry_after {
            set(&mut answer, HeaderName::from_static("retry-after-ms"), &wait.as_millis().to_string());
            let seconds = wait.as_millis().div_ceil(1000);
            set(&mut answer, header::RETRY_AFTER, &seconds.to_string());
        }
        if !refusal.may_retry() {
            set(&mut answer, HeaderName::from_static("x-should-retry"), "false");
        }
        if let Some(id) = &refusal.request_id {
            set(&mut answer, HeaderName::from_static("request-id"), id);
        }
        answer
    }
}

fn spent(limit: Limit) -> Refusal {
    let message = match limit {
        Limit::Requests => "this run has used up the requests it was given; do not try again",
        Limit::Tokens => "this run has used up the tokens it was given; do not try again",
        Limit::Cost => "this run has used up the money it was given; do not try again",
    };
    Refusal::new(Sort::Spent, message)
}

/// The beginning of a path, for a message.
fn short(path: &str) -> String {
    path.chars().take(80).collect()
}

fn whole(status: u16, kind: &str, bytes: impl Into<bytes::Bytes>) -> Answer {
    let mut answer = Response::new(Outflow::whole(bytes));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    set(&mut answer, header::CONTENT_TYPE, kind);
    answer
}

fn json_answer(value: &Value) -> Answer {
    whole(200, "application/json", value.to_string())
}

/// Sets a header, unless its value cannot be one.
fn set(answer: &mut Answer, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().insert(name, value);
    }
}

/// A model, with what clients look for.
fn model(id: &str, words: Option<Tongue>) -> Value {
    if words == Some(Tongue::Gemini) {
        let can = ["generateContent", "countTokens"];
        return json!({
            "name": format!("models/{id}"), "displayName": id, "version": "", "supportedGenerationMethods": can,
        });
    }
    json!({
        "id": id, "object": "model", "created": 0, "owned_by": "holon", "type": "model", "display_name": id,
        "created_at": "1970-01-01T00:00:00Z",
    })
}

fn models(id: &str, words: Option<Tongue>) -> Value {
    let own = model(id, words);
    if words == Some(Tongue::Gemini) {
        return json!({"models": [own]});
    }
    json!({
        "object": "list", "data": [own], "has_more": false, "first_id": id, "last_id": id,
    })
}
