//! One request and its answer, on a task of its own.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use holon_core::redact::Redactor;
use holon_model::{DeltaSink, ModelCancel, ModelError, ModelErrorKind, ModelReply, Provider, ReplyDelta};
use tokio::sync::oneshot;

use crate::attend::AttendedSession;
use crate::client_wire::ClientWire;
use crate::flow::ResponseInlet;
use crate::key_redactor::HiddenKeys;
use crate::ledger::RequestCharge;
use crate::pass::{PASSING, PassingRequest};
use crate::serve::{self, ClientRequest, ReplyLabels, ReplyStreamEncoder};

/// How an answer begins.
pub(crate) enum ResponseHead {
    /// Pieces follow.
    Stream,
    /// This is all.
    Whole(Bytes),
    /// There is none.
    Failed(ModelError),
}

/// Begins the answer, once.
pub(crate) struct ResponseOpener(Mutex<Option<oneshot::Sender<ResponseHead>>>);

impl ResponseOpener {
    pub(crate) fn new(head: oneshot::Sender<ResponseHead>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(head))))
    }

    /// Begins a stream, unless the answer has begun.
    pub(crate) fn open(&self) {
        self.answer(ResponseHead::Stream);
    }

    /// Gives the head; false when the answer has begun already.
    fn answer(&self, head: ResponseHead) -> bool {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(sender) => {
                // A client that is gone needs no answer.
                let _ = sender.send(head);
                true
            }
            None => false,
        }
    }
}

/// All that is needed to serve a request.
pub(crate) struct Exchange {
    pub(crate) wire: ClientWire,
    pub(crate) asked: ClientRequest,
    pub(crate) labels: ReplyLabels,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) charge: RequestCharge,
    pub(crate) opener: Arc<ResponseOpener>,
    pub(crate) cancel: ModelCancel,
    pub(crate) keys: HiddenKeys,
    pub(crate) redactor: Redactor,
    /// Who hears the reply.
    pub(crate) attended: Option<Arc<AttendedSession>>,
}

impl Exchange {
    /// Lets bytes pass through to a provider of the same wire.
    pub(crate) async fn pass(mut self, passing: PassingRequest) {
        let passing = Arc::new(passing);
        let outcome = {
            let mut sink = UsageCounter(&mut self.charge);
            let answer = self.provider.stream(&self.asked.request, &mut sink, &self.cancel);
            PASSING.scope(Arc::clone(&passing), answer).await
        };
        let outcome = self.settle(outcome);
        let ended = passing.end();
        let Some(mut inlet) = ended.inlet else { return };
        match outcome {
            Ok(reply) if ended.whole || !self.asked.stream => {
                self.deliver(&reply, ended.whole.then_some(ended.last), inlet);
            }
            Ok(_) => {
                let _ = inlet.push(&ended.last).and_then(|()| inlet.finish());
            }
            Err(error) => {
                if self.opener.answer(ResponseHead::Failed(error.clone())) {
                    return;
                }
                let _ = inlet.push(&ended.last);
                if !ended.told {
                    let _ = inlet.push(serve::failure(self.wire, self.labels.clone(), &error).as_bytes());
                }
                let _ = inlet.finish();
            }
        }
    }

    /// Translates between the client's wire and whatever the provider speaks.
    pub(crate) async fn translate(mut self, inlet: ResponseInlet) {
        if !self.asked.stream {
            let outcome = {
                let mut sink = UsageCounter(&mut self.charge);
                self.provider.stream(&self.asked.request, &mut sink, &self.cancel).await
            };
            match self.settle(outcome) {
                Ok(reply) => self.deliver(&reply, None, inlet),
                Err(error) => drop(self.opener.answer(ResponseHead::Failed(error))),
            }
            return;
        }
        let gauge = inlet.gauge();
        let mut sink = ResponseRelay {
            teller: serve::reply_encoder(self.wire, self.labels.clone()),
            inlet,
            charge: &mut self.charge,
            opener: &self.opener,
            cancel: &self.cancel,
        };
        let outcome = gauge.paced(self.provider.stream(&self.asked.request, &mut sink, &self.cancel)).await;
        let ResponseRelay { mut teller, mut inlet, .. } = sink;
        let told = match self.settle(outcome) {
            Ok(reply) => {
                self.opener.open();
                teller.end(&reply)
            }
            Err(error) if self.opener.answer(ResponseHead::Failed(error.clone())) => return,
            Err(error) => teller.fail(&error),
        };
        let _ = inlet.push(told.as_bytes()).and_then(|()| inlet.finish());
    }

    /// Gives a reply that is there as a whole, in the form the client asked for.
    fn deliver(&self, reply: &ModelReply, bytes: Option<Vec<u8>>, mut inlet: ResponseInlet) {
        if self.asked.stream {
            self.opener.open();
            let told = serve::reply_encoder(self.wire, self.labels.clone()).end(reply);
            let _ = inlet.push(told.as_bytes()).and_then(|()| inlet.finish());
            return;
        }
        let body =
            bytes.unwrap_or_else(|| serve::whole(self.wire, &self.labels, reply).to_string().into_bytes());
        self.opener.answer(ResponseHead::Whole(self.keys.cover(&body).into()));
    }

    /// What a provider says when it fails, without keys however they are written.
    fn without_keys(&self, text: &str) -> String {
        let clean = self.keys.cover(self.redactor.redact_str(text).as_bytes());
        String::from_utf8_lossy(&clean).into_owned()
    }

    /// Books what it cost, before the client learns that it is over.
    fn settle(&mut self, outcome: Result<ModelReply, ModelError>) -> Result<ModelReply, ModelError> {
        match outcome {
            Ok(reply) => {
                self.charge.answered(&reply);
                self.charge.settle(reply.usage);
                if let Some(attended) = &self.attended {
                    attended.answered(&reply);
                }
                Ok(reply)
            }
            Err(mut error) => {
                error.message = self.without_keys(&error.message);
                error.request_id = error.request_id.map(|id| self.without_keys(&id));
                self.charge.fail(&error);
                if matches!(error.kind, ModelErrorKind::Auth | ModelErrorKind::Setup) {
                    // What a provider says about a key may say something of the key; the host was told.
                    error.message = "the provider refuses the key of the host".to_owned();
                    error.request_id = None;
                }
                Err(error)
            }
        }
    }
}

fn bytes_of(delta: &ReplyDelta) -> usize {
    match delta {
        ReplyDelta::Text(text) | ReplyDelta::Reasoning(text) | ReplyDelta::CallArguments { text, .. } => {
            text.len()
        }
        ReplyDelta::CallStarted { name, .. } => name.len(),
        ReplyDelta::Restart => 0,
    }
}

/// Counts an answer that somebody else passes on.
struct UsageCounter<'a>(&'a mut RequestCharge);

impl DeltaSink for UsageCounter<'_> {
    fn delta(&mut self, delta: ReplyDelta) {
        self.0.hear(bytes_of(&delta));
    }
}

/// Passes an answer on in the client's wire.
struct ResponseRelay<'a> {
    teller: ReplyStreamEncoder,
    inlet: ResponseInlet,
    charge: &'a mut RequestCharge,
    opener: &'a ResponseOpener,
    cancel: &'a ModelCancel,
}

impl DeltaSink for ResponseRelay<'_> {
    fn delta(&mut self, delta: ReplyDelta) {
        self.charge.hear(bytes_of(&delta));
        let told = self.teller.delta(&delta);
        self.opener.open();
        if self.inlet.push(told.as_bytes()).is_err() {
            self.cancel.cancel();
        }
    }
}
