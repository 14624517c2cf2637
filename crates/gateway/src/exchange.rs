//! One request and its answer, on a task of its own.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use holon_core::redact::Redactor;
use holon_model::{Cancel, Delta, ErrorKind, ModelError, Provider, Reply, Sink};
use tokio::sync::oneshot;

use crate::attend::Attended;
use crate::flow::Inlet;
use crate::ledger::Charge;
use crate::pass::{PASSING, Passing};
use crate::serve::{self, Asked, Labels, Teller};
use crate::tongue::Tongue;
use crate::veil::Keys;

/// How an answer begins.
pub(crate) enum Head {
    /// Pieces follow.
    Stream,
    /// This is all.
    Whole(Bytes),
    /// There is none.
    Failed(ModelError),
}

/// Begins the answer, once.
pub(crate) struct Opener(Mutex<Option<oneshot::Sender<Head>>>);

impl Opener {
    pub(crate) fn new(head: oneshot::Sender<Head>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(head))))
    }

    /// Begins a stream, unless the answer has begun.
    pub(crate) fn open(&self) {
        self.answer(Head::Stream);
    }

    /// Gives the head; false when the answer has begun already.
    fn answer(&self, head: Head) -> bool {
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
    pub(crate) wire: Tongue,
    pub(crate) asked: Asked,
    pub(crate) labels: Labels,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) charge: Charge,
    pub(crate) opener: Arc<Opener>,
    pub(crate) cancel: Cancel,
    pub(crate) keys: Keys,
    pub(crate) redactor: Redactor,
    /// Who hears the reply.
    pub(crate) attended: Option<Arc<Attended>>,
}

impl Exchange {
    /// Lets bytes pass through to a provider of the same wire.
    pub(crate) async fn pass(mut self, passing: Passing) {
        let passing = Arc::new(passing);
        let outcome = {
            let mut sink = Counting(&mut self.charge);
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
                if self.opener.answer(Head::Failed(error.clone())) {
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
    pub(crate) async fn translate(mut self, inlet: Inlet) {
        if !self.asked.stream {
            let outcome = {
                let mut sink = Counting(&mut self.charge);
                self.provider.stream(&self.asked.request, &mut sink, &self.cancel).await
            };
            match self.settle(outcome) {
                Ok(reply) => self.deliver(&reply, None, inlet),
                Err(error) => drop(self.opener.answer(Head::Failed(error))),
            }
            return;
        }
        let gauge = inlet.gauge();
        let mut sink = Telling {
            teller: serve::teller(self.wire, self.labels.clone()),
            inlet,
            charge: &mut self.charge,
            opener: &self.opener,
            cancel: &self.cancel,
        };
        let outcome = gauge.paced(self.provider.stream(&self.asked.request, &mut sink, &self.cancel)).await;
        let Telling { mut teller, mut inlet, .. } = sink;
        let told = match self.settle(outcome) {
            Ok(reply) => {
                self.opener.open();
                teller.end(&reply)
            }
            Err(error) if self.opener.answer(Head::Failed(error.clone())) => return,
            Err(error) => teller.fail(&error),
        };
        let _ = inlet.push(told.as_bytes()).and_then(|()| inlet.finish());
    }

    /// Gives a reply that is there as a whole, in the form the client asked for.
    fn deliver(&self, reply: &Reply, bytes: Option<Vec<u8>>, mut inlet: Inlet) {
        if self.asked.stream {
            self.opener.open();
            let told = serve::teller(self.wire, self.labels.clone()).end(reply);
            let _ = inlet.push(told.as_bytes()).and_then(|()| inlet.finish());
            return;
        }
        let body =
            bytes.unwrap_or_else(|| serve::whole(self.wire, &self.labels, reply).to_string().into_bytes());
        self.opener.answer(Head::Whole(self.keys.cover(&body).into()));
    }

    /// What a provider says when it fails, without keys however they are written.
    fn without_keys(&self, text: &str) -> String {
        let clean = self.keys.cover(self.redactor.redact_str(text).as_bytes());
        String::from_utf8_lossy(&clean).into_owned()
    }

    /// Books what it cost, before the client learns that it is over.
    fn settle(&mut self, outcome: Result<Reply, ModelError>) -> Result<Reply, ModelError> {
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
                if matches!(error.kind, ErrorKind::Auth | ErrorKind::Setup) {
                    // What a provider says about a key may say something of the key; the host was told.
                    error.message = "the provider refuses the key of the host".to_owned();
                    error.request_id = None;
                }
                Err(error)
            }
        }
    }
}

fn bytes_of(delta: &Delta) -> usize {
    match delta {
        Delta::Text(text) | Delta::Reasoning(text) | Delta::CallArguments { text, .. } => text.len(),
        Delta::CallStarted { name, .. } => name.len(),
        Delta::Restart => 0,
    }
}

/// Counts an answer that somebody else passes on.
struct Counting<'a>(&'a mut Charge);

impl Sink for Counting<'_> {
    fn delta(&mut self, delta: Delta) {
        self.0.hear(bytes_of(&delta));
    }
}

/// Passes an answer on in the client's wire.
struct Telling<'a> {
    teller: Teller,
    inlet: Inlet,
    charge: &'a mut Charge,
    opener: &'a Opener,
    cancel: &'a Cancel,
}

impl Sink for Telling<'_> {
    fn delta(&mut self, delta: Delta) {
        self.charge.hear(bytes_of(&delta));
        let told = self.teller.delta(&delta);
        self.opener.open();
        if self.inlet.push(told.as_bytes()).is_err() {
            self.cancel.cancel();
        }
    }
}
