//! Money that requests of several conversations share.
//!
//! What a request comes to is known only when it is over. So a request starts while others are under way only when all of
//! them together fit, each at the most it can cost; one that is alone starts as long as anything is left. However many
//! conversations there are, the money is overspent by one request at most.

use std::collections::BTreeSet;
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::usage::{Prices, TokenUsage};

/// Tokens of an answer where nothing bounds it: no model says more at once.
const LONGEST_ANSWER: u64 = 128_000;
/// Tokens that a server puts around a conversation, at most.
const AROUND: u64 = 1024;

/// Money for several conversations; clones share it.
#[derive(Clone)]
pub struct SharedBudget(Arc<SharedState>);

struct SharedState {
    limit_usd: f64,
    book: Mutex<SharedBook>,
    /// A request has ended.
    ended: Notify,
}

#[derive(Default)]
struct SharedBook {
    spent_usd: f64,
    /// Requests under way whose most is known, and what that comes to.
    bounded: u64,
    reserved_usd: f64,
    /// Requests under way that may cost anything.
    unbounded: u64,
    /// The limit that a person set, and models of which was said that it cannot hold them.
    asked: Option<f64>,
    unpriced: BTreeSet<String>,
}

/// The most that a request can cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MostCost {
    /// Nobody says what it costs, before or after; it cannot be counted.
    Untold,
    /// So many US dollars.
    AtMost(f64),
    /// What it costs is told only afterwards.
    Unknown,
}

/// A shared budget is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetIsSpent;

impl MostCost {
    /// Of a request of so many bytes, whose answer has so many tokens at most.
    pub fn of(bytes: u64, longest: Option<u64>, prices: Option<&Prices>, told: bool) -> Self {
        match prices {
            // A token is at least a byte.
            Some(prices) => {
                let input = bytes.saturating_add(AROUND);
                let dearest = [prices.cache_read, prices.cache_write]
                    .into_iter()
                    .flatten()
                    .fold(prices.input, f64::max);
                let output = longest.unwrap_or(LONGEST_ANSWER);
                let usage = TokenUsage { input, output, ..TokenUsage::default() };
                Self::AtMost(Prices { input: dearest, ..*prices }.cost(&usage))
            }
            None if told => Self::Unknown,
            None => Self::Untold,
        }
    }
}

impl SharedBudget {
    /// So much money, of which so much is spent.
    pub fn new(limit_usd: f64, spent_usd: f64) -> Self {
        let book = Mutex::new(SharedBook { spent_usd, ..SharedBook::default() });
        Self(Arc::new(SharedState { limit_usd, book, ended: Notify::new() }))
    }

    /// The same, of which a person set the limit: it is said where it cannot hold.
    #[must_use]
    pub fn asked_for(self, limit_usd: Option<f64>) -> Self {
        self.lock().asked = limit_usd;
        self
    }

    /// The limit that a person set, when this is the first word of a model whose price nobody knows.
    pub fn cannot_hold(&self, model: &str) -> Option<f64> {
        let mut book = self.lock();
        let limit = book.asked?;
        book.unpriced.insert(model.to_owned()).then_some(limit)
    }

    /// What is spent, in US dollars.
    pub fn spent(&self) -> f64 {
        self.lock().spent_usd
    }

    /// Counts what became known in another way, such as the cost of an agent that tells it at its end.
    pub fn spent_at_least(&self, spent_usd: f64) {
        let mut book = self.lock();
        book.spent_usd = book.spent_usd.max(spent_usd);
    }

    /// Lets a request through, after those under way if need be. The share must be settled.
    pub async fn admit(&self, most: MostCost) -> Result<BudgetShare, BudgetIsSpent> {
        loop {
            let mut ended = pin!(self.0.ended.notified());
            ended.as_mut().enable();
            match self.try_admit(most) {
                Some(decided) => return decided,
                None => ended.await,
            }
        }
    }

    /// Decides, unless that has to wait for what is under way.
    fn try_admit(&self, most: MostCost) -> Option<Result<BudgetShare, BudgetIsSpent>> {
        let mut book = self.lock();
        if book.spent_usd >= self.0.limit_usd {
            return Some(Err(BudgetIsSpent));
        }
        let alone = book.bounded == 0 && book.unbounded == 0;
        let admitted = match most {
            MostCost::Untold => true,
            MostCost::Unknown => alone,
            MostCost::AtMost(most) => {
                let fits = book.spent_usd + book.reserved_usd + most <= self.0.limit_usd;
                alone || (book.unbounded == 0 && fits)
            }
        };
        if !admitted {
            return None;
        }
        match most {
            MostCost::Untold => {}
            MostCost::Unknown => book.unbounded += 1,
            MostCost::AtMost(most) => {
                book.bounded += 1;
                book.reserved_usd += most;
            }
        }
        drop(book);
        Some(Ok(BudgetShare { budget: self.clone(), most, cost_usd: 0.0 }))
    }

    fn release(&self, most: MostCost, cost_usd: f64) {
        let mut book = self.lock();
        match most {
            MostCost::Untold => {}
            MostCost::Unknown => book.unbounded = book.unbounded.saturating_sub(1),
            MostCost::AtMost(most) => {
                book.bounded = book.bounded.saturating_sub(1);
                // Sums of fractions leave crumbs.
                book.reserved_usd = if book.bounded == 0 { 0.0 } else { (book.reserved_usd - most).max(0.0) };
            }
        }
        book.spent_usd += cost_usd.max(0.0);
        drop(book);
        self.0.ended.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, SharedBook> {
        self.0.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SharedBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedBudget")
            .field("limit_usd", &self.0.limit_usd)
            .field("spent_usd", &self.spent())
            .finish_non_exhaustive()
    }
}

/// A request that was let through; it is over when this is dropped.
#[derive(Debug)]
#[must_use = "the request is over when this is dropped"]
pub struct BudgetShare {
    budget: SharedBudget,
    most: MostCost,
    cost_usd: f64,
}

impl BudgetShare {
    /// The request is over, and came to so much as far as anybody says.
    pub fn settle(mut self, cost_usd: Option<f64>) {
        self.cost_usd = cost_usd.unwrap_or(0.0);
    }
}

impl Drop for BudgetShare {
    fn drop(&mut self) {
        self.budget.release(self.most, self.cost_usd);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn admitted(budget: &SharedBudget, most: MostCost) -> Option<BudgetShare> {
        budget.try_admit(most).map(Result::unwrap)
    }

    #[test]
    fn what_could_take_it_over_waits_for_what_is_under_way() {
        let budget = SharedBudget::new(1.0, 0.5);
        let first = admitted(&budget, MostCost::AtMost(0.3)).unwrap();
        let second = admitted(&budget, MostCost::AtMost(0.2)).unwrap();
        assert!(admitted(&budget, MostCost::AtMost(0.1)).is_none());
        assert!(admitted(&budget, MostCost::Unknown).is_none());
        first.settle(Some(0.1));
        let third = admitted(&budget, MostCost::AtMost(0.1)).unwrap();
        second.settle(Some(0.1));
        third.settle(None);
        // Alone, anything goes as long as something is left.
        let dear = admitted(&budget, MostCost::Unknown).unwrap();
        assert!(admitted(&budget, MostCost::AtMost(0.01)).is_none());
        dear.settle(Some(5.0));
        assert_eq!(budget.try_admit(MostCost::Untold).unwrap().unwrap_err(), BudgetIsSpent);
        assert!((budget.spent() - 5.7).abs() < 1e-9);
    }

    #[test]
    fn what_nobody_can_count_does_not_wait() {
        let budget = SharedBudget::new(1.0, 0.0);
        let _dear = admitted(&budget, MostCost::Unknown).unwrap();
        let _free =
            [admitted(&budget, MostCost::Untold).unwrap(), admitted(&budget, MostCost::Untold).unwrap()];
    }

    #[test]
    fn the_most_is_by_bytes_and_the_dearest_price() {
        let prices = Prices { input: 1.0, output: 10.0, cache_read: Some(0.1), cache_write: Some(2.0) };
        let most = MostCost::of(100, Some(5), Some(&prices), true);
        assert_eq!(most, MostCost::AtMost((100 + AROUND) as f64 * 2.0 + 50.0));
        assert_eq!(MostCost::of(1, None, None, true), MostCost::Unknown);
        assert_eq!(MostCost::of(1, None, None, false), MostCost::Untold);
    }

    #[test]
    fn a_limit_that_cannot_hold_is_told_once_for_each_model() {
        let budget = SharedBudget::new(25.0, 0.0);
        assert_eq!(budget.cannot_hold("a"), None, "nobody set it");
        let budget = budget.asked_for(Some(2.0));
        assert_eq!((budget.cannot_hold("a"), budget.cannot_hold("a")), (Some(2.0), None));
        assert_eq!(budget.cannot_hold("b"), Some(2.0));
    }

    #[tokio::test]
    async fn whoever_waits_goes_on_when_there_is_room() {
        let budget = SharedBudget::new(1.0, 0.0);
        let share = budget.admit(MostCost::Unknown).await.unwrap();
        let waiting = tokio::spawn({
            let budget = budget.clone();
            async move { budget.admit(MostCost::AtMost(0.5)).await.map(|share| share.settle(Some(0.25))) }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        share.settle(Some(0.5));
        waiting.await.unwrap().unwrap();
        assert!((budget.spent() - 0.75).abs() < 1e-9);
    }
}
