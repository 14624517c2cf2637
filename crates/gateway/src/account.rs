//! What a run may spend, and what it has spent.

use holon_model::TokenUsage;

/// The most that a run may use of a model; nothing is bounded that is not given.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GatewayBudget {
    /// Requests.
    pub requests: Option<u64>,
    /// Tokens, input and output together.
    pub tokens: Option<u64>,
    /// US dollars.
    pub cost_usd: Option<f64>,
}

/// What of a budget is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetLimit {
    /// The requests.
    Requests,
    /// The tokens.
    Tokens,
    /// The money.
    Cost,
}

impl BudgetLimit {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
        }
    }
}

/// What happened at the door.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GatewayAccount {
    /// Requests that were let through to the provider.
    pub requests: u64,
    /// Those of them that gave no reply.
    pub failed: u64,
    /// Requests that were turned away with a wrong token or none.
    pub wrong_token: u64,
    /// Requests that were turned away because the budget was used up.
    pub over_budget: u64,
    /// Requests that were turned away for any other reason.
    pub refused: u64,
    /// Tokens, with the cost as far as it is known.
    pub usage: TokenUsage,
    /// Replies (or parts of one) whose tokens nobody told, so that they were estimated.
    pub estimated: u64,
    /// Replies whose cost is not known: the provider did not tell it, and no prices were given.
    pub unpriced: u64,
    /// What is used up: set when the first request was turned away for it.
    pub spent: Option<BudgetLimit>,
    /// Why the recording is incomplete, if it is.
    pub recording: Option<String>,
}

impl GatewayBudget {
    /// What is used up.
    pub(crate) fn reached(&self, account: &GatewayAccount) -> Option<BudgetLimit> {
        if self.requests.is_some_and(|most| account.requests >= most) {
            Some(BudgetLimit::Requests)
        } else if self.tokens.is_some_and(|most| account.tokens() >= most) {
            Some(BudgetLimit::Tokens)
        } else if self.cost_usd.is_some_and(|most| account.cost() >= most) {
            Some(BudgetLimit::Cost)
        } else {
            None
        }
    }
}

impl GatewayAccount {
    /// Tokens, input and output together.
    pub(crate) fn tokens(&self) -> u64 {
        self.usage.total_input().saturating_add(self.usage.total_output())
    }

    /// US dollars, as far as they are known.
    pub(crate) fn cost(&self) -> f64 {
        self.usage.cost_usd.unwrap_or(0.0)
    }
}

/// Tokens in so many bytes, roughly.
pub(crate) fn tokens_in(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}
