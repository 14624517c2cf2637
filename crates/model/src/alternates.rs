//! A provider that asks the next candidate when the model that was chosen is gone or declines.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::cancel::ModelCancel;
use crate::classify::model_is_gone;
use crate::error::{ModelError, ModelErrorKind};
use crate::provider::{DeltaSink, PendingReply, Provider};
use crate::request::ModelRequest;

/// Who answers instead of the model that was chosen, once somebody does, and why.
#[derive(Debug, Clone, Default)]
pub struct ModelSwitch(Arc<Mutex<Option<SwitchedModel>>>);

/// A change of the model within one piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchedModel {
    /// The model that is asked now.
    pub model: String,
    /// What the one before said.
    pub why: String,
}

impl ModelSwitch {
    /// The change, if there was one.
    pub fn now(&self) -> Option<SwitchedModel> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, switched: SwitchedModel) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(switched);
    }
}

/// Asks the next of some models when the one before cannot answer for good; nobody goes back.
pub struct AlternateModels<P> {
    inner: P,
    models: Vec<String>,
    switch: ModelSwitch,
}

impl<P: Provider> AlternateModels<P> {
    /// Wraps a provider of several models; `models` are asked in this order after the one of the request.
    pub fn new(inner: P, models: Vec<String>, switch: ModelSwitch) -> Self {
        Self { inner, models, switch }
    }

    /// The model after this one.
    fn after(&self, model: Option<&str>) -> Option<&String> {
        match model {
            None => self.models.first(),
            Some(model) => self.models.iter().skip_while(|one| *one != model).nth(1),
        }
    }
}

impl<P: Provider> Provider for AlternateModels<P> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn stream<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a mut dyn DeltaSink,
        cancel: &'a ModelCancel,
    ) -> PendingReply<'a> {
        Box::pin(async move {
            loop {
                let now = self.switch.now().map(|switched| switched.model);
                let asked = match &now {
                    None => Cow::Borrowed(request),
                    Some(model) => Cow::Owned(ModelRequest { model: model.clone(), ..request.clone() }),
                };
                let error = match self.inner.stream(&asked, sink, cancel).await {
                    Err(error) if cannot_answer(&error) => error,
                    other => return other,
                };
                let Some(next) = self.after(now.as_deref()) else { return Err(error) };
                sink.waiting(Duration::ZERO, &error);
                self.switch.set(SwitchedModel { model: next.clone(), why: error.to_string() });
            }
        })
    }
}

/// Whether another model may answer what this one does not.
fn cannot_answer(error: &ModelError) -> bool {
    error.kind == ModelErrorKind::Refused || model_is_gone(error)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::reply::{ModelReply, ReplyDelta, ReplyStop};

    /// Has some models, declines for some, and knows no others.
    struct PartialProvider {
        has: Vec<&'static str>,
        asked: Mutex<Vec<String>>,
    }

    impl Provider for PartialProvider {
        fn name(&self) -> &str {
            "shop"
        }

        fn stream<'a>(
            &'a self,
            request: &'a ModelRequest,
            _: &'a mut dyn DeltaSink,
            _: &'a ModelCancel,
        ) -> PendingReply<'a> {
            Box::pin(async move {
                self.asked.lock().unwrap().push(request.model.clone());
                let answer = |kind, status, message: &str| {
                    Err(ModelError { status: Some(status), ..ModelError::new(kind, message) })
                };
                match request.model.as_str() {
                    "prim" => answer(ModelErrorKind::Refused, 403, "flagged"),
                    "busy" => answer(ModelErrorKind::Overloaded, 503, "busy"),
                    "picky" => answer(ModelErrorKind::BadRequest, 400, "temperature must be 1"),
                    model if self.has.contains(&model) => Ok(ModelReply {
                        id: None,
                        model: Some(model.to_owned()),
                        parts: Vec::new(),
                        stop: ReplyStop::EndTurn,
                        usage: None,
                    }),
                    model => {
                        answer(ModelErrorKind::BadRequest, 400, &format!("{model} is not a valid model ID"))
                    }
                }
            })
        }
    }

    fn ask(first: &str, others: &[&str], times: usize) -> (Vec<Option<String>>, Vec<String>, Option<String>) {
        let shop = PartialProvider { has: vec!["one", "two"], asked: Mutex::default() };
        let switch = ModelSwitch::default();
        let others = others.iter().map(|&model| model.to_owned()).collect();
        let alternates = AlternateModels::new(shop, others, switch.clone());
        let request = ModelRequest { model: first.to_owned(), ..ModelRequest::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut sink = |_: ReplyDelta| {};
        let replies = (0..times).map(|_| {
            let reply = runtime.block_on(alternates.stream(&request, &mut sink, &ModelCancel::default()));
            reply.ok().and_then(|reply| reply.model)
        });
        let replies = replies.collect();
        let asked = alternates.inner.asked.lock().unwrap().clone();
        (replies, asked, switch.now().map(|switched| switched.model))
    }

    #[test]
    fn who_is_gone_or_declines_is_replaced_once_and_for_all() {
        let some = |model: &str| Some(model.to_owned());
        let names = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
        assert_eq!(ask("one", &["two"], 1), (vec![some("one")], names(&["one"]), None));
        let (replies, asked, now) = ask("gone", &["prim", "two"], 2);
        assert_eq!(replies, [some("two"), some("two")]);
        assert_eq!((asked, now), (names(&["gone", "prim", "two", "two"]), some("two")));
        // What another model cannot help with stays as it is, and when all are gone the last one's words are given.
        assert_eq!(ask("busy", &["two"], 1), (vec![None], names(&["busy"]), None));
        assert_eq!(ask("picky", &["two"], 1), (vec![None], names(&["picky"]), None));
        assert_eq!(ask("gone", &["away"], 1), (vec![None], names(&["gone", "away"]), some("away")));
    }
}
