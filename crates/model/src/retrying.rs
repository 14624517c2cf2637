//! A provider that sends a request again when that can help.

use std::time::Duration;

use crate::cancel::ModelCancel;
use crate::provider::{DeltaSink, PendingReply, Provider};
use crate::reply::ReplyDelta;
use crate::request::ModelRequest;
use crate::retry::{Backoff, RetryDecision};

/// Repeats what fails for a passing reason, with patience and jitter.
pub struct RetryingProvider<P> {
    inner: P,
    backoff: Backoff,
    random: Box<dyn Fn() -> f64 + Send + Sync>,
}

impl<P: Provider> RetryingProvider<P> {
    /// Wraps a provider with the usual patience.
    pub fn new(inner: P) -> Self {
        Self::patient(inner, Backoff::default())
    }

    /// Wraps a provider with a patience.
    pub fn patient(inner: P, backoff: Backoff) -> Self {
        Self::with(inner, backoff, random)
    }

    /// Wraps a provider with a patience and a source of numbers in 0..1.
    pub fn with(inner: P, backoff: Backoff, random: impl Fn() -> f64 + Send + Sync + 'static) -> Self {
        Self { inner, backoff, random: Box::new(random) }
    }
}

impl<P: Provider> Provider for RetryingProvider<P> {
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
            let mut failures = 0;
            loop {
                let mut watched = ProgressSink { sink: &mut *sink, any: false, answered: false };
                let error = match self.inner.stream(request, &mut watched, cancel).await {
                    Ok(reply) => return Ok(reply),
                    Err(error) => error,
                };
                let (any, answered) = (watched.any, watched.answered);
                failures += 1;
                match self.backoff.decide(failures, &error, answered, (self.random)()) {
                    RetryDecision::GiveUp => {
                        tracing::warn!(failures, %error, "gives up on a request to a model");
                        return Err(error);
                    }
                    RetryDecision::Wait(pause) => {
                        tracing::info!(failures, pause_ms = pause.as_millis() as u64, %error, "waits before it asks again");
                        sink.waiting(pause, &error);
                        // The pause that the server asked for, or that grows from try to try.
                        cancel.race(tokio::time::sleep(pause)).await?;
                        if any {
                            sink.delta(ReplyDelta::Restart);
                        }
                    }
                }
            }
        })
    }
}

/// Passes pieces on and remembers that there were some; thoughts are no part of an answer yet.
struct ProgressSink<'a> {
    sink: &'a mut dyn DeltaSink,
    any: bool,
    answered: bool,
}

impl DeltaSink for ProgressSink<'_> {
    fn delta(&mut self, delta: ReplyDelta) {
        self.any = true;
        self.answered |= !matches!(delta, ReplyDelta::Reasoning(_));
        self.sink.delta(delta);
    }

    fn waiting(&mut self, pause: Duration, why: &crate::ModelError) {
        self.sink.waiting(pause, why);
    }
}

/// A number in 0..1, good enough to keep clients from knocking in step.
fn random() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    let bits = RandomState::new().hash_one(0u8) >> 11;
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    let fraction = bits as f64 / (1u64 << 53) as f64;
    fraction
}

#[cfg(test)]
mod tests {
    use super::random;

    #[test]
    fn random_numbers_are_in_range_and_differ() {
        let numbers: Vec<f64> = (0..20).map(|_| random()).collect();
        assert!(numbers.iter().all(|n| (0.0..1.0).contains(n)));
        assert!(numbers.windows(2).any(|pair| pair[0] != pair[1]));
    }
}
