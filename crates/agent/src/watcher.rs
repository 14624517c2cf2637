//! Whoever wants to see what the agent does while it does it.

use holon_core::event::EventBody;
use holon_core::ids::CallId;

/// Receives what happens, in order; closures that take a [`EventBody`] are watchers.
///
/// Texts come as the model or a command wrote them. Whoever stores or shows them redacts them first.
pub trait AgentEventSink: Send + Sync {
    /// Takes one thing that happened; must not block for long.
    fn tell(&self, body: EventBody);

    /// Takes what a call made of a file: a patch in git's form, bounded, not redacted. It is for whoever watches; a run's
    /// record has the patch of the whole instead.
    fn edited(&self, _call: &CallId, _diff: String) {}
}

impl<F: Fn(EventBody) + Send + Sync> AgentEventSink for F {
    fn tell(&self, body: EventBody) {
        self(body);
    }
}

/// Looks away.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEventSink;

impl AgentEventSink for NoEventSink {
    fn tell(&self, _body: EventBody) {}
}
