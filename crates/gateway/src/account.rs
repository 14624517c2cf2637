//! What a run may spend, and what it has spent.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holon_model::{ErrorKind, ModelError, Prices, Usage, Wire};

use crate::event::{Event, Watch};

/// The most that a run may use of a model; nothing is bounded that is not given.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Budget {
    /// Requests.
    pub requests: Option<u64>,
    /// Tokens, input and output together.
    pub tokens: Option<u64>,
    /// US dollars.
    pub cost_usd: Option<f64>,
}

/// What of a budget is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The requests.
    Requests,
    /// The tokens.
    Tokens,
    /// The money.
    Cost,
}

impl Limit {
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
pub struct Account {
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
    pub usage: Usage,
    /// Replies (or parts of one) whose tokens nobody told, so that they were estimated.
    pub estimated: u64,
    /// Replies whose cost is not known: the provider did not tell it, and no prices were given.
    pub unpriced: u64,
    /// What is used up: set when the first request was turned away for it.
    pub spent: Option<Limit>,
    /// Why the recording is incomplete, if it is.
    pub recording: Option<String>,
}

/// Keeps the account; clones share it.
#[derive(Clone)]
pub(crate) struct Ledger(Arc<Inner>);

struct Inner {
    budget: Budget,
    prices: Option<Prices>,
    watch: Option<Watch>,
    account: Mutex<Account>,
}

impl Ledger {
    pub(crate) fn new(budget: Budget, prices: Option<Prices>, watch: Option<Watch>) -> Self {
        Self(Arc::new(Inner { budget, prices, watch, account: Mutex::default() }))
    }

    fn lock(&self) -> MutexGuard<'_, Account> {
        self.0.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn account(&self) -> Account {
        self.lock().clone()
    }

    pub(crate) fn tell(&self, event: &Event) {
        if let Some(watch) = &self.0.watch {
            watch(event);
        }
    }

    /// Lets a request through if there is something left; the charge must be settled.
    pub(crate) fn admit(&self, wire: Wire, bytes: usize) -> Result<Charge, Limit> {
        let mut account = self.lock();
        if let Some(limit) = self.0.budget.reached(&account) {
            account.over_budget += 1;
            let first = account.spent.is_none();
            account.spent.get_or_insert(limit);
            drop(account);
            if first {
                self.tell(&Event::Spent { limit });
            }
            return Err(limit);
        }
        account.requests += 1;
        let number = account.requests;
        drop(account);
        Ok(Charge { ledger: self.clone(), number, wire, asked: tokens_in(bytes), heard: 0, settled: false })
    }

    pub(crate) fn count(&self, change: impl FnOnce(&mut Account)) {
        change(&mut self.lock());
    }

    fn book(&self, usage: Usage, estimated: bool, failed: bool) -> Usage {
        let usage = match &self.0.prices {
            Some(prices) => usage.priced(prices),
            None => usage,
        };
        let mut account = self.lock();
        account.failed += u64::from(failed);
        account.estimated += u64::from(estimated);
        account.unpriced += u64::from(usage.cost_usd.is_none() && usage != Usage::default());
        account.usage += usage;
        usage
    }
}

impl Budget {
    fn reached(&self, account: &Account) -> Option<Limit> {
        let tokens = account.usage.total_input().saturating_add(account.usage.total_output());
        let cost = account.usage.cost_usd.unwrap_or(0.0);
        if self.requests.is_some_and(|most| account.requests >= most) {
            Some(Limit::Requests)
        } else if self.tokens.is_some_and(|most| tokens >= most) {
            Some(Limit::Tokens)
        } else if self.cost_usd.is_some_and(|most| cost >= most) {
            Some(Limit::Cost)
        } else {
            None
        }
    }
}

/// Tokens in so many bytes, roughly.
pub(crate) fn tokens_in(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}

/// A request that was let through. It is booked also when it is dropped: a client that hangs up before the end is told no
/// figures, and must not get its tokens for nothing.
pub(crate) struct Charge {
    ledger: Ledger,
    pub(crate) number: u64,
    wire: Wire,
    /// Tokens of the request, estimated.
    asked: u64,
    /// Bytes of the answer so far.
    heard: usize,
    settled: bool,
}

impl Charge {
    /// A piece of the answer came.
    pub(crate) fn hear(&mut self, bytes: usize) {
        self.heard += bytes;
    }

    /// The answer is whole.
    pub(crate) fn settle(&mut self, usage: Option<Usage>) {
        self.close(usage, None);
    }

    /// There is no whole answer.
    pub(crate) fn fail(&mut self, error: &ModelError) {
        use ErrorKind as K;
        // Nothing was generated when the provider declined at once; otherwise something may have been.
        let declined = matches!(
            error.kind,
            K::Auth
                | K::Billing
                | K::RateLimit
                | K::Overloaded
                | K::ContextOverflow
                | K::Refused
                | K::BadRequest
                | K::Network
                | K::Replay
                | K::Setup
        );
        let nothing = (declined && self.heard == 0).then(Usage::default);
        self.close(nothing, Some(error));
    }

    fn close(&mut self, usage: Option<Usage>, error: Option<&ModelError>) {
        if std::mem::replace(&mut self.settled, true) {
            return;
        }
        let guess = || Usage { input: self.asked, output: tokens_in(self.heard), ..Usage::default() };
        let booked = self.ledger.book(usage.unwrap_or_else(guess), usage.is_none(), error.is_some());
        self.ledger.tell(&Event::Finished {
            number: self.number,
            wire: self.wire,
            usage: booked,
            estimated: usage.is_none(),
            error: error.cloned(),
        });
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.close(None, Some(&ModelError::cancelled()));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn ledger(budget: Budget) -> Ledger {
        let prices = Prices { input: 1e-6, output: 1e-6, ..Prices::default() };
        Ledger::new(budget, Some(prices), None)
    }

    fn usage(tokens: u64) -> Option<Usage> {
        Some(Usage { input: tokens, ..Usage::default() })
    }

    #[test]
    fn each_limit_ends_it() {
        for (budget, limit) in [
            (Budget { requests: Some(1), ..Budget::default() }, Limit::Requests),
            (Budget { tokens: Some(100), ..Budget::default() }, Limit::Tokens),
            (Budget { cost_usd: Some(5e-5), ..Budget::default() }, Limit::Cost),
        ] {
            let ledger = ledger(budget);
            ledger.admit(Wire::Chat, 4).unwrap().settle(usage(100));
            assert_eq!(ledger.account().spent, None, "nobody was turned away yet");
            assert_eq!(ledger.admit(Wire::Chat, 4).err(), Some(limit));
            assert_eq!((ledger.account().spent, ledger.account().over_budget), (Some(limit), 1));
        }
    }

    #[test]
    fn what_is_in_flight_is_all_that_can_be_overspent() {
        let ledger = ledger(Budget { tokens: Some(10), ..Budget::default() });
        let mut flying: Vec<Charge> = (0..3).map(|_| ledger.admit(Wire::Chat, 4).unwrap()).collect();
        flying.iter_mut().for_each(|charge| charge.settle(usage(10)));
        assert!(ledger.admit(Wire::Chat, 4).is_err());
        assert_eq!(ledger.account().usage.total_input(), 30);
    }

    #[test]
    fn hanging_up_early_is_not_free() {
        let ledger = ledger(Budget::default());
        let mut charge = ledger.admit(Wire::Chat, 400).unwrap();
        charge.hear(40);
        drop(charge);
        let account = ledger.account();
        assert_eq!((account.usage.input, account.usage.output), (100, 10));
        assert_eq!((account.estimated, account.failed), (1, 1));
        assert!(account.usage.cost_usd.unwrap() > 0.0);
    }

    #[test]
    fn a_request_that_was_declined_costs_nothing() {
        let ledger = ledger(Budget::default());
        ledger.admit(Wire::Chat, 400).unwrap().fail(&ModelError::new(ErrorKind::RateLimit, "slow"));
        let account = ledger.account();
        assert_eq!((account.usage.total_input(), account.failed, account.estimated), (0, 1, 0));
    }

    #[test]
    fn unknown_costs_are_counted() {
        let ledger = Ledger::new(Budget::default(), None, None);
        ledger.admit(Wire::Chat, 4).unwrap().settle(usage(5));
        assert_eq!(ledger.account().unpriced, 1);
    }
}
