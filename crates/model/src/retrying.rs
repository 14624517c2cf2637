//! A provider that sends a request again when that can help.

use std::time::Duration;

use crate::cancel::Cancel;
use crate::provider::{Answer, Provider, Sink};
use crate::reply::Delta;
use crate::request::Request;
use crate::retry::{Backoff, Next};

/// Repeats what fails for a passing reason, with patience and jitter.
pub struct Retrying<P> {
    inner: P,
    backoff: Backoff,
    random: Box<dyn Fn() -> f64 + Send + Sync>,
}

impl<P: Provider> Retrying<P> {
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

impl<P: Provider> Provider for Retrying<P> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn stream<'a>(&'a self, request: &'a Request, sink: &'a mut dyn Sink, cancel: &'a Cancel) -> Answer<'a> {
        Box::pin(async move {
            let mut failures = 0;
            loop {
                let mut watched = Watched { sink: &mut *sink, any: false, answered: false };
                let error = match self.inner.stream(request, &mut watched, cancel).await {
                    Ok(reply) => return Ok(reply),
                    Err(error) => error,
                };
                let (any, answered) = (watched.any, watched.answered);
                failures += 1;
                match self.backoff.decide(failures, &error, answered, (self.random)()) {
                    Next::GiveUp => return Err(error),
                    Next::Wait(pause) => {
                        sink.waiting(pause, &error);
                        // The pause that the server asked for, or that grows from try to try.
                        cancel.race(tokio::time::sleep(pause)).await?;
                        if any {
                            sink.delta(Delta::Restart);
                        }
                    }
                }
            }
        })
    }
}

/// Passes pieces on and remembers that there were some; thoughts are no part of an answer yet.
struct Watched<'a> {
    sink: &'a mut dyn Sink,
    any: bool,
    answered: bool,
}

impl Sink for Watched<'_> {
    fn delta(&mut self, delta: Delta) {
        self.any = true;
        self.answered |= !matches!(delta, Delta::Reasoning(_));
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
