//! People who can be asked: now, through [`PersonPrompt`], or later, through an interruption that is resumed.

use std::future::Future;
use std::pin::Pin;

use holon_core::event::ApprovalRequest;
use serde::{Deserialize, Serialize};

/// What is asked, for everything in one reply that needs a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupt {
    /// Names it; answers refer to it.
    pub id: String,
    /// One entry per call.
    pub asks: Vec<ApprovalRequest>,
}

/// A person's answer about one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PersonReply {
    /// To questions, in their order.
    Given(Vec<String>),
    /// The call may be made.
    Approved,
    /// The call must not be made, and why, if a reason was given.
    Rejected(String),
}

/// Answers on their way; `None` when they come later, through `resume`.
pub type PendingPersonReplies<'a> = Pin<Box<dyn Future<Output = Option<Vec<PersonReply>>> + Send + 'a>>;

/// Someone who can be asked.
pub trait PersonPrompt: Send + Sync {
    /// Asks; one answer per entry, in order. Whoever cannot answer at once says so, and the turn ends interrupted.
    fn ask<'a>(&'a self, interrupt: &'a Interrupt) -> PendingPersonReplies<'a>;
}

/// A person who answers later: every question ends the turn.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeferToPerson;

impl PersonPrompt for DeferToPerson {
    fn ask<'a>(&'a self, _interrupt: &'a Interrupt) -> PendingPersonReplies<'a> {
        Box::pin(std::future::ready(None))
    }
}
