//! Answers requests: who asks, what for, may it be, and then the exchange.

use std::convert::Infallible;
use std::sync::Arc;

use holon_core::redact::Redactor;
use holon_model::{Endpoint, ModelCancel, ModelErrorKind, Provider};
use hyper::body::{Body as _, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, oneshot};

use crate::account::{BudgetLimit, tokens_in};
use crate::attend::AttendedSession;
use crate::body::{self, BodyScale, BodyWeight};
use crate::client_wire::ClientWire;
use crate::event::GatewayEvent;
use crate::exchange::{Exchange, ResponseHead, ResponseOpener};
use crate::flow::{self, ResponseOutflow, StopOnDrop};
use crate::key_redactor::HiddenKeys;
use crate::ledger::{AdmissionRequest, SpendingLedger};
use crate::limits::GatewayLimits;
use crate::login::GatewayLogin;
use crate::pass::{self, PassingRequest};
use crate::refusal::{GatewayRefusal, RefusalKind};
use crate::route::{self, GatewayRoute, RouteError};
use crate::serve::{self, ClientRequest, ReplyLabels};
use crate::token::GatewayToken;

/// What all requests share.
pub(crate) struct GatewayRequestHandler {
    pub(crate) token: GatewayToken,
    pub(crate) model: String,
    pub(crate) provider: Arc<dyn Provider>,
    /// Set when requests of this endpoint's wire pass through as bytes.
    pub(crate) endpoint: Option<Endpoint>,
    /// Set when a login stands in for the endpoint's key.
    pub(crate) login: Option<Arc<GatewayLogin>>,
    pub(crate) limits: GatewayLimits,
    pub(crate) ledger: SpendingLedger,
    pub(crate) keys: HiddenKeys,
    pub(crate) redactor: Redactor,
    pub(crate) exchanges: Arc<Semaphore>,
    pub(crate) scale: BodyScale,
    /// Who attends the agent's conversation.
    pub(crate) attended: Option<Arc<AttendedSession>>,
}

type GatewayResponse = Response<ResponseOutflow>;

impl GatewayRequestHandler {
    /// Answers a request; never fails.
    pub(crate) async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<GatewayResponse, Infallible> {
        let wire = route::words_at(request.uri().path());
        // After a body of unclear length nothing more is read from the connection, so nothing can hide behind it.
        let close = request.headers().contains_key(header::TRANSFER_ENCODING);
        let (head, mut body) = request.into_parts();
        let path = short(head.uri.path());
        tracing::debug!(method = %head.method, path, "takes a request");
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

    async fn serve(
        self: &Arc<Self>,
        head: &Parts,
        body: &mut Incoming,
    ) -> Result<GatewayResponse, GatewayRefusal> {
        if head.method == Method::CONNECT || head.uri.scheme().is_some() || head.uri.authority().is_some() {
            let message = "this is no proxy: ask for a path, such as /v1/messages";
            return Err(GatewayRefusal::new(RefusalKind::Malformed, message));
        }
        let path = head.uri.path();
        let route = route::find(&head.method, path).map_err(|lost| match lost {
            RouteError::NotFound => {
                GatewayRefusal::new(RefusalKind::NotFound, format!("nothing is served at {}", short(path)))
            }
            RouteError::Method => GatewayRefusal::new(
                RefusalKind::Method,
                format!("{} does not go with {}", head.method, short(path)),
            ),
        })?;
        if route == GatewayRoute::Hello {
            return Ok(whole(200, "text/plain; charset=utf-8", "holon gateway\n"));
        }
        if !self.knows(&head.headers, head.uri.query()) {
            let message = "the token is missing or wrong: use the one this run was given";
            return Err(GatewayRefusal::new(RefusalKind::Token, message));
        }
        match route {
            GatewayRoute::Hello => Ok(whole(200, "text/plain; charset=utf-8", "holon gateway\n")),
            GatewayRoute::Models => Ok(json_answer(&models(&self.model, route::words_at(path)))),
            GatewayRoute::Model(id) if id == self.model => {
                Ok(json_answer(&model(&id, route::words_at(path))))
            }
            GatewayRoute::Model(_) => {
                Err(GatewayRefusal::new(RefusalKind::NotFound, format!("the model is {}", self.model)))
            }
            GatewayRoute::CountTokens(wire) => {
                let mut weight = self.scale.weight();
                let object = self.object(&head.headers, body, &mut weight).await?.0;
                let (keys, told): (&[&str], _) = match wire {
                    ClientWire::Gemini => {
                        (&["systemInstruction", "contents", "tools", "generateContentRequest"], "totalTokens")
                    }
                    _ => (&["system", "messages", "tools"], "input_tokens"),
                };
                let counted = keys.iter().filter_map(|key| object.get(*key));
                let bytes: usize = counted.map(|value| value.to_string().len()).sum();
                Ok(json_answer(&json!({told: tokens_in(bytes)})))
            }
            GatewayRoute::Ask(wire, stream) => {
                let events = head.uri.query().unwrap_or_default().split('&').any(|pair| pair == "alt=sse");
                if stream == Some(true) && !events {
                    let message = "an answer in pieces comes as events only: ask with ?alt=sse";
                    return Err(GatewayRefusal::new(RefusalKind::Malformed, message));
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
        weight: &mut BodyWeight,
    ) -> Result<(serde_json::Map<String, Value>, usize), GatewayRefusal> {
        let encoding = headers.get(header::CONTENT_ENCODING).map(HeaderValue::as_bytes);
        if encoding.is_some_and(|encoding| !encoding.eq_ignore_ascii_case(b"identity")) {
            return Err(GatewayRefusal::new(RefusalKind::Encoding, "send the body without an encoding"));
        }
        let bytes = body::read(body, &self.limits, weight).await?;
        Ok((body::object(&bytes, &self.limits)?, bytes.len()))
    }

    /// Lets whoever attends the conversation hear a request, and asks with what belongs into it.
    async fn attend(
        self: &Arc<Self>,
        tongue: (ClientWire, Option<bool>),
        object: serde_json::Map<String, Value>,
        bytes: usize,
        headers: &HeaderMap,
        weight: BodyWeight,
    ) -> Result<GatewayResponse, GatewayRefusal> {
        let malformed = |why| GatewayRefusal::new(RefusalKind::Malformed, why);
        let wire = tongue.0;
        let body = Value::Object(object);
        let asked = serve::read(wire, &body).map_err(malformed)?;
        let Some(attended) = &self.attended else {
            return self.ask(tongue, (body, asked), bytes, headers, weight, None).await;
        };
        let mut told = body.clone();
        let passed = attended.hear(wire, &asked.request, &mut told).await;
        let passed = passed.map_err(|why| GatewayRefusal::new(RefusalKind::Stopped, why))?;
        let attended = passed.map(|_| Arc::clone(attended));
        let Some(hearer) = attended.as_ref().filter(|_| passed.is_some_and(|passed| passed.carries)) else {
            return self.ask(tongue, (body, asked), bytes, headers, weight, attended).await;
        };
        let with = serve::read(wire, &told).map_err(malformed)?;
        let spare = self.scale.weight();
        let answer = self.ask(tongue, (told, with), bytes, headers, weight, attended.clone()).await;
        match answer {
            // Nothing was sent to the client yet, so it never learns of it.
            Err(GatewayRefusal {
                sort: RefusalKind::Provider(ModelErrorKind::BadRequest, _),
                message,
                ..
            }) => {
                hearer.declined(&message);
                self.ask(tongue, (body, asked), bytes, headers, spare, attended).await
            }
            answer => answer,
        }
    }

    async fn ask(
        self: &Arc<Self>,
        (wire, stream): (ClientWire, Option<bool>),
        (body, mut asked): (Value, ClientRequest),
        bytes: usize,
        headers: &HeaderMap,
        weight: BodyWeight,
        attended: Option<Arc<AttendedSession>>,
    ) -> Result<GatewayResponse, GatewayRefusal> {
        asked.request.model.clone_from(&self.model);
        asked.stream = stream.unwrap_or(asked.stream);
        let turn = Arc::clone(&self.exchanges).acquire_owned().await;
        let turn = turn.map_err(|_| GatewayRefusal::new(RefusalKind::Busy, "the run is ending"))?;
        let wish = AdmissionRequest { wire, bytes, longest: asked.request.max_output };
        let charge = self.ledger.admit(wish).await.map_err(spent)?;
        let cancel = ModelCancel::default();
        let (sender, receiver) = oneshot::channel();
        let keys = self.keys_now().await;
        let (inlet, outflow) = flow::pair(self.limits.pending_bytes, &keys, StopOnDrop(cancel.clone()));
        let opener = ResponseOpener::new(sender);
        let stream = asked.stream;
        let mut dropped = Vec::new();
        let passing = match (&self.endpoint, body) {
            (Some(endpoint), Value::Object(object)) if wire.wire() == Some(endpoint.wire) => {
                let narrowed = pass::narrow(object, endpoint, &self.model);
                dropped = narrowed.dropped;
                let betas = headers.get("anthropic-beta").and_then(|value| value.to_str().ok());
                let betas = betas.filter(|_| wire == ClientWire::Messages).and_then(pass::betas);
                let bytes = Value::Object(narrowed.body).to_string().into();
                Some((bytes, betas))
            }
            _ => None,
        };
        let labels = ReplyLabels {
            number: charge.number,
            model: self.model.clone(),
            custom: asked.custom.clone(),
            spaces: asked.spaces.clone(),
        };
        self.ledger.tell(&GatewayEvent::Started { number: charge.number, wire, bytes, stream, dropped });
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
                    exchange.pass(PassingRequest::new(bytes, stream, betas, opener, inlet)).await;
                }
                None => exchange.translate(inlet).await,
            }
        });
        match receiver.await {
            Ok(ResponseHead::Stream) => {
                let mut answer = Response::new(outflow);
                set(&mut answer, header::CONTENT_TYPE, "text/event-stream; charset=utf-8");
                set(&mut answer, header::CACHE_CONTROL, "no-cache");
                Ok(answer)
            }
            Ok(ResponseHead::Whole(bytes)) => Ok(whole(200, "application/json", bytes)),
            Ok(ResponseHead::Failed(error)) => Err(GatewayRefusal::from(&error)),
            Err(_) => Err(GatewayRefusal::new(RefusalKind::Busy, "the run is ending")),
        }
    }

    /// What must not pass, with the tokens that go on the next request; if there are none, that is told where they are
    /// needed.
    async fn keys_now(&self) -> HiddenKeys {
        let Some(login) = &self.login else { return self.keys.clone() };
        let _ = login.credential().await;
        login.keys()
    }

    fn refuse(&self, wire: Option<ClientWire>, refusal: &GatewayRefusal) -> GatewayResponse {
        let status = refusal.status(wire);
        tracing::info!(status, why = %refusal.message, "refuses a request");
        match refusal.sort {
            // Counted where they happen.
            RefusalKind::Spent | RefusalKind::Stopped | RefusalKind::Provider(..) => {}
            RefusalKind::Token => self.ledger.count(|account| account.wrong_token += 1),
            _ => self.ledger.count(|account| account.refused += 1),
        }
        if !matches!(refusal.sort, RefusalKind::Provider(..)) {
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

fn spent(limit: BudgetLimit) -> GatewayRefusal {
    let message = match limit {
        BudgetLimit::Requests => "this run has used up the requests it was given; do not try again",
        BudgetLimit::Tokens => "this run has used up the tokens it was given; do not try again",
        BudgetLimit::Cost => "this run has used up the money it was given; do not try again",
    };
    GatewayRefusal::new(RefusalKind::Spent, message)
}

/// The beginning of a path, for a message.
fn short(path: &str) -> String {
    path.chars().take(80).collect()
}

fn whole(status: u16, kind: &str, bytes: impl Into<bytes::Bytes>) -> GatewayResponse {
    let mut answer = Response::new(ResponseOutflow::whole(bytes));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    set(&mut answer, header::CONTENT_TYPE, kind);
    answer
}

fn json_answer(value: &Value) -> GatewayResponse {
    whole(200, "application/json", value.to_string())
}

/// Sets a header, unless its value cannot be one.
fn set(answer: &mut GatewayResponse, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().insert(name, value);
    }
}

/// A model, with what clients look for.
fn model(id: &str, words: Option<ClientWire>) -> Value {
    if words == Some(ClientWire::Gemini) {
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

fn models(id: &str, words: Option<ClientWire>) -> Value {
    let own = model(id, words);
    if words == Some(ClientWire::Gemini) {
        return json!({"models": [own]});
    }
    json!({
        "object": "list", "data": [own], "has_more": false, "first_id": id, "last_id": id,
    })
}
