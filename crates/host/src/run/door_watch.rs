//! What is told of a foreign agent's way to its model while nothing seems to happen: failures in a row, and an agent that
//! never asks.

use std::time::{Duration, Instant};

use holon_core::event::EventBody;
use holon_model::{ModelError, ModelErrorKind};

/// How long an agent may take to its first request before that is told.
const FIRST_REQUEST: Duration = Duration::from_secs(20);

/// Follows the requests of one start of an agent.
#[derive(Debug)]
pub(super) struct DoorWatch {
    began: Instant,
    asked: bool,
    told_silent: bool,
    /// Requests that failed since the last answer.
    failed: u32,
}

impl DoorWatch {
    pub(super) fn new(began: Instant) -> Self {
        Self { began, asked: false, told_silent: false, failed: 0 }
    }

    /// A request was let through.
    pub(super) fn asked(&mut self) {
        self.asked = true;
    }

    /// A request ended: what is told of it.
    pub(super) fn answered(&mut self, error: Option<&ModelError>) -> Option<EventBody> {
        let Some(error) = error else {
            let failed = std::mem::take(&mut self.failed);
            let message = format!("the model answers again, after {failed} failed requests");
            return (failed > 1).then_some(EventBody::ModelWaiting { wait_ms: 0, reason: message });
        };
        if !passes(error.kind) {
            return None;
        }
        self.failed += 1;
        let many = match self.failed {
            1 => "a request to the model failed".to_owned(),
            failed => format!("{failed} requests to the model failed in a row"),
        };
        let wait = error.retry_after.unwrap_or_default();
        let next = match wait.is_zero() {
            true => "when it is asked again is up to the agent",
            false => "the provider asks for this pause",
        };
        let reason = format!("{many}: {error}; {next}");
        Some(EventBody::ModelWaiting { wait_ms: wait.as_millis() as u64, reason })
    }

    /// Told once, when an agent has not asked for a while.
    pub(super) fn silence(&mut self, now: Instant) -> Option<EventBody> {
        let silent = !self.asked && now.saturating_duration_since(self.began) >= FIRST_REQUEST;
        if !silent || std::mem::replace(&mut self.told_silent, true) {
            return None;
        }
        let message = format!(
            "the agent has not asked its model for {} s; it may be starting, want a login of its own or look for its model elsewhere: \
             `holon agents check` tries it, and its description leads it to {{gateway}} (docs/agents.md)",
            FIRST_REQUEST.as_secs()
        );
        Some(EventBody::Warning { message })
    }
}

/// Whether a failure may be over at the next try.
fn passes(kind: ModelErrorKind) -> bool {
    use ModelErrorKind::{Auth, BadRequest, Billing, Cancelled, ContextOverflow, Refused, Setup};
    !matches!(kind, Auth | Billing | ContextOverflow | Refused | BadRequest | Setup | Cancelled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(body: Option<EventBody>) -> Option<(u64, String)> {
        match body {
            Some(EventBody::ModelWaiting { wait_ms, reason }) => Some((wait_ms, reason)),
            Some(EventBody::Warning { message }) => Some((0, message)),
            _ => None,
        }
    }

    #[test]
    fn failures_are_counted_and_their_end_is_told() {
        let mut watch = DoorWatch::new(Instant::now());
        let mut busy = ModelError::new(ModelErrorKind::Overloaded, "HTTP 503");
        let (wait, first) = told(watch.answered(Some(&busy))).unwrap_or_default();
        assert!(
            wait == 0 && first.starts_with("a request to the model failed: ") && first.contains("503"),
            "{first}"
        );
        busy.retry_after = Some(Duration::from_secs(7));
        let (wait, second) = told(watch.answered(Some(&busy))).unwrap_or_default();
        assert!(wait == 7000 && second.starts_with("2 requests to the model failed in a row"), "{second}");
        let (_, over) = told(watch.answered(None)).unwrap_or_default();
        assert_eq!(over, "the model answers again, after 2 failed requests");
        assert_eq!(watch.answered(None), None);
        // What does not pass ends the run, and is told there.
        assert_eq!(watch.answered(Some(&ModelError::new(ModelErrorKind::Auth, "no"))), None);
    }

    #[test]
    fn an_agent_that_never_asks_is_told_of_once() {
        let began = Instant::now();
        let mut watch = DoorWatch::new(began);
        assert_eq!(watch.silence(began + Duration::from_secs(19)), None);
        let (_, said) = told(watch.silence(began + Duration::from_secs(20))).unwrap_or_default();
        assert!(said.contains("has not asked its model for 20 s") && said.contains("{gateway}"), "{said}");
        assert_eq!(watch.silence(began + Duration::from_secs(60)), None);
        let mut asks = DoorWatch::new(began);
        asks.asked();
        assert_eq!(asks.silence(began + Duration::from_secs(60)), None);
    }
}
