//! Whoever wants to see what the agent does while it does it.

use holon_core::event::Body;

/// Receives what happens, in order; closures that take a [`Body`] are watchers.
///
/// Texts come as the model or a command wrote them. Whoever stores or shows them redacts them first.
pub trait Watcher: Send + Sync {
    /// Takes one thing that happened; must not block for long.
    fn tell(&self, body: Body);
}

impl<F: Fn(Body) + Send + Sync> Watcher for F {
    fn tell(&self, body: Body) {
        self(body);
    }
}

/// Looks away.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Watcher for Nobody {
    fn tell(&self, _body: Body) {}
}
