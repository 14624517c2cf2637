//! People who can be asked: now, through [`Person`], or later, through an interruption that is resumed.

use std::future::Future;
use std::pin::Pin;

use holon_core::event::Ask;
use serde::{Deserialize, Serialize};

/// What is asked, for everything in one reply that needs a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupt {
    /// Names it; answers refer to it.
    pub id: String,
    /// One entry per call.
    pub asks: Vec<Ask>,
}

/// A person's answer about one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// To questions, in their order.
    Given(Vec<String>),
    /// The call may be made.
    Approved,
    /// The call must not be made, and why, if a reason was given.
    Rejected(String),
}

/// Answers on their way; `None` when they come later, through `resume`.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Option<Vec<Answer>>> + Send + 'a>>;

/// Someone who can be asked.
pub trait Person: Send + Sync {
    /// Asks; one answer per entry, in order. Whoever cannot answer at once says so, and the turn ends interrupted.
    fn ask<'a>(&'a self, interrupt: &'a Interrupt) -> Answering<'a>;
}

/// A person who answers later: every question ends the turn.
#[derive(Debug, Clone, Copy, Default)]
pub struct Later;

impl Person for Later {
    fn ask<'a>(&'a self, _interrupt: &'a Interrupt) -> Answering<'a> {
        Box::pin(std::future::ready(None))
    }
}
