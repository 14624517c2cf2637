//! Who is let through, and what each is charged.
//!
//! What a request may come to is set aside when it is let through. As long as others are under way, one that could take the
//! run over its budget waits for them; a request that is alone is let through as long as anything is left. So a budget is
//! overspent by one request at most, however many are sent at a time.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holon_model::{
    BudgetIsSpent, BudgetShare, ModelError, ModelErrorKind, ModelReply, MostCost, Prices, ReplyStop,
    SharedBudget, TokenUsage,
};
use tokio::sync::Notify;

use crate::account::{BudgetLimit, GatewayAccount, GatewayBudget, tokens_in};
use crate::client_wire::ClientWire;
use crate::event::{GatewayEvent, GatewayWatch};

/// What an answer is taken to come to when the request does not bound it, in tokens.
const USUAL_ANSWER: u64 = 4096;
/// The most refusals that are told one by one; all are counted.
const MOST_TOLD: u64 = 100;

/// Keeps the account; clones share it.
#[derive(Clone)]
pub(crate) struct SpendingLedger(Arc<LedgerShared>);

struct LedgerShared {
    budget: GatewayBudget,
    prices: Option<Prices>,
    watch: Option<GatewayWatch>,
    /// Money that is shared with other runs.
    shared: Option<SharedBudget>,
    book: Mutex<AccountBook>,
    /// Something under way has ended.
    ended: Notify,
}

#[derive(Default)]
struct AccountBook {
    account: GatewayAccount,
    under_way: u64,
    reserved: ReservedBudget,
    /// The most that one request cost, for providers that tell only afterwards.
    dearest: f64,
    told: u64,
}

/// What is set aside for requests under way.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct ReservedBudget {
    tokens: u64,
    cost: f64,
}

/// What a client asks for, as far as it matters for a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AdmissionRequest {
    pub(crate) wire: ClientWire,
    /// Bytes of the request.
    pub(crate) bytes: usize,
    /// The longest answer it wants, in tokens.
    pub(crate) longest: Option<u32>,
}

impl SpendingLedger {
    pub(crate) fn new(
        budget: GatewayBudget,
        prices: Option<Prices>,
        watch: Option<GatewayWatch>,
        shared: Option<SharedBudget>,
    ) -> Self {
        let (book, ended) = (Mutex::default(), Notify::new());
        Self(Arc::new(LedgerShared { budget, prices, watch, shared, book, ended }))
    }

    fn lock(&self) -> MutexGuard<'_, AccountBook> {
        self.0.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn account(&self) -> GatewayAccount {
        self.lock().account.clone()
    }

    pub(crate) fn tell(&self, event: &GatewayEvent) {
        if let Some(watch) = &self.0.watch {
            watch(event);
        }
    }

    /// Tells that a request was turned away; after many, one more says that there are others.
    pub(crate) fn tell_refusal(&self, status: u16, message: &str) {
        let told = {
            let mut book = self.lock();
            book.told = book.told.saturating_add(1);
            book.told
        };
        let message = match told {
            ..MOST_TOLD => message,
            MOST_TOLD => "further refusals are only counted",
            _ => return,
        };
        self.tell(&GatewayEvent::Refused { status, message: message.to_owned() });
    }

    /// Lets a request through if there is something left for it, after those under way if need be; the charge must be
    /// settled.
    pub(crate) async fn admit(&self, wish: AdmissionRequest) -> Result<RequestCharge, BudgetLimit> {
        let share = match &self.0.shared {
            Some(shared) => match shared.admit(self.most(wish)).await {
                Ok(share) => Some(share),
                Err(BudgetIsSpent) => return Err(self.turn_away(self.lock(), BudgetLimit::Cost)),
            },
            None => None,
        };
        loop {
            let mut ended = pin!(self.0.ended.notified());
            ended.as_mut().enable();
            match self.try_admit(wish) {
                Some(decided) => {
                    return decided.map(|mut charge| {
                        charge.share = share;
                        charge
                    });
                }
                None => ended.await,
            }
        }
    }

    /// The most a request can cost.
    fn most(&self, wish: AdmissionRequest) -> MostCost {
        // Who told nothing about money when it was asked before will not do so now.
        let told = {
            let account = &self.lock().account;
            account.unpriced == 0 || account.usage.cost_usd.is_some()
        };
        MostCost::of(wish.bytes as u64, wish.longest.map(u64::from), self.0.prices.as_ref(), told)
    }

    fn turn_away(&self, mut book: MutexGuard<'_, AccountBook>, limit: BudgetLimit) -> BudgetLimit {
        book.account.over_budget += 1;
        let first = book.account.spent.is_none();
        book.account.spent.get_or_insert(limit);
        drop(book);
        if first {
            self.tell(&GatewayEvent::Spent { limit });
        }
        limit
    }

    /// Decides, unless that has to wait for what is under way.
    fn try_admit(&self, wish: AdmissionRequest) -> Option<Result<RequestCharge, BudgetLimit>> {
        let mut book = self.lock();
        if let Some(limit) = self.0.budget.reached(&book.account) {
            return Some(Err(self.turn_away(book, limit)));
        }
        let asked = tokens_in(wish.bytes);
        let reserved = self.estimate(asked, wish.longest, book.dearest);
        if book.under_way > 0 && !self.has_room(&book, reserved) {
            return None;
        }
        book.account.requests += 1;
        book.under_way += 1;
        book.reserved.tokens = book.reserved.tokens.saturating_add(reserved.tokens);
        book.reserved.cost += reserved.cost;
        let (number, ledger) = (book.account.requests, self.clone());
        Some(Ok(RequestCharge {
            ledger,
            number,
            wire: wish.wire,
            asked,
            reserved,
            share: None,
            heard: 0,
            answer: None,
            settled: false,
        }))
    }

    fn estimate(&self, asked: u64, longest: Option<u32>, dearest: f64) -> ReservedBudget {
        let output = longest.map_or(USUAL_ANSWER, u64::from);
        let usage = TokenUsage { input: asked, output, ..TokenUsage::default() };
        let priced = self.0.prices.as_ref().and_then(|prices| usage.priced(prices).cost_usd);
        ReservedBudget { tokens: asked.saturating_add(output), cost: priced.unwrap_or(dearest) }
    }

    fn has_room(&self, book: &AccountBook, more: ReservedBudget) -> bool {
        let tokens = book.account.tokens().saturating_add(book.reserved.tokens).saturating_add(more.tokens);
        let cost = book.account.cost() + book.reserved.cost + more.cost;
        let budget = &self.0.budget;
        budget.tokens.is_none_or(|most| tokens <= most) && budget.cost_usd.is_none_or(|most| cost <= most)
    }

    pub(crate) fn count(&self, change: impl FnOnce(&mut GatewayAccount)) {
        change(&mut self.lock().account);
    }

    fn book(&self, usage: TokenUsage, estimated: bool, failed: bool, reserved: ReservedBudget) -> TokenUsage {
        let usage = match &self.0.prices {
            Some(prices) => usage.priced(prices),
            None => usage,
        };
        let mut book = self.lock();
        book.under_way = book.under_way.saturating_sub(1);
        book.reserved.tokens = book.reserved.tokens.saturating_sub(reserved.tokens);
        book.reserved.cost = (book.reserved.cost - reserved.cost).max(0.0);
        book.dearest = book.dearest.max(usage.cost_usd.unwrap_or(0.0));
        let account = &mut book.account;
        account.failed += u64::from(failed);
        account.estimated += u64::from(estimated);
        account.unpriced += u64::from(usage.cost_usd.is_none() && usage != TokenUsage::default());
        account.usage += usage;
        drop(book);
        self.0.ended.notify_waiters();
        usage
    }
}

/// A request that was let through. It is booked also when it is dropped: a client that hangs up before the end is told no
/// figures, and must not get its tokens for nothing.
pub(crate) struct RequestCharge {
    ledger: SpendingLedger,
    pub(crate) number: u64,
    wire: ClientWire,
    /// Tokens of the request, estimated.
    asked: u64,
    /// What was set aside for it.
    reserved: ReservedBudget,
    /// Its part of money that is shared.
    share: Option<BudgetShare>,
    /// Bytes of the answer so far.
    heard: usize,
    /// Who answered, and why the answer ended.
    answer: Option<(Option<String>, ReplyStop)>,
    settled: bool,
}

impl RequestCharge {
    /// A piece of the answer came.
    pub(crate) fn hear(&mut self, bytes: usize) {
        self.heard += bytes;
    }

    /// Notes what is told about a whole answer.
    pub(crate) fn answered(&mut self, reply: &ModelReply) {
        self.answer = Some((reply.model.clone(), reply.stop));
    }

    /// The answer is whole.
    pub(crate) fn settle(&mut self, usage: Option<TokenUsage>) {
        self.close(usage, None);
    }

    /// There is no whole answer.
    pub(crate) fn fail(&mut self, error: &ModelError) {
        use ModelErrorKind as K;
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
        let nothing = (declined && self.heard == 0).then(TokenUsage::default);
        self.close(nothing, Some(error));
    }

    fn close(&mut self, usage: Option<TokenUsage>, error: Option<&ModelError>) {
        if std::mem::replace(&mut self.settled, true) {
            return;
        }
        let guess =
            || TokenUsage { input: self.asked, output: tokens_in(self.heard), ..TokenUsage::default() };
        let (told, guessed) = (usage.unwrap_or_else(guess), usage.is_none());
        let booked = self.ledger.book(told, guessed, error.is_some(), self.reserved);
        if let Some(share) = self.share.take() {
            share.settle(booked.cost_usd);
        }
        let (model, stop) = self.answer.take().unzip();
        self.ledger.tell(&GatewayEvent::Finished {
            model: model.flatten(),
            stop,
            number: self.number,
            wire: self.wire,
            usage: booked,
            estimated: usage.is_none(),
            error: error.cloned(),
        });
    }
}

impl Drop for RequestCharge {
    fn drop(&mut self) {
        self.close(None, Some(&ModelError::cancelled()));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn ledger(budget: GatewayBudget) -> SpendingLedger {
        let prices = Prices { input: 1e-6, output: 1e-6, ..Prices::default() };
        SpendingLedger::new(budget, Some(prices), None, None)
    }

    fn wish(bytes: usize) -> AdmissionRequest {
        AdmissionRequest { wire: ClientWire::Chat, bytes, longest: Some(5) }
    }

    /// Lets a request through that needs not wait.
    fn admit(ledger: &SpendingLedger, bytes: usize) -> Result<RequestCharge, BudgetLimit> {
        ledger.try_admit(wish(bytes)).unwrap()
    }

    fn usage(tokens: u64) -> Option<TokenUsage> {
        Some(TokenUsage { input: tokens, ..TokenUsage::default() })
    }

    #[test]
    fn each_limit_ends_it() {
        for (budget, limit) in [
            (GatewayBudget { requests: Some(1), ..GatewayBudget::default() }, BudgetLimit::Requests),
            (GatewayBudget { tokens: Some(100), ..GatewayBudget::default() }, BudgetLimit::Tokens),
            (GatewayBudget { cost_usd: Some(5e-5), ..GatewayBudget::default() }, BudgetLimit::Cost),
        ] {
            let ledger = ledger(budget);
            admit(&ledger, 4).unwrap().settle(usage(100));
            assert_eq!(ledger.account().spent, None, "nobody was turned away yet");
            assert_eq!(admit(&ledger, 4).err(), Some(limit));
            assert_eq!((ledger.account().spent, ledger.account().over_budget), (Some(limit), 1));
        }
    }

    #[test]
    fn what_is_under_way_is_set_aside() {
        for budget in [
            GatewayBudget { tokens: Some(20), ..GatewayBudget::default() },
            GatewayBudget { cost_usd: Some(2e-5), ..GatewayBudget::default() },
        ] {
            let ledger = ledger(budget);
            let mut flying: Vec<RequestCharge> = (0..3).map(|_| admit(&ledger, 4).unwrap()).collect();
            assert!(ledger.try_admit(wish(4)).is_none(), "a fourth could take it over, so it waits");
            flying[0].settle(usage(1));
            let mut fourth = admit(&ledger, 1).unwrap();
            assert!(ledger.try_admit(wish(400)).is_none());
            flying.iter_mut().for_each(|charge| charge.settle(usage(6)));
            fourth.settle(usage(1));
            // Alone, anything goes as long as something is left.
            admit(&ledger, 400).unwrap().settle(usage(105));
            assert!(admit(&ledger, 4).is_err());
        }
    }

    #[test]
    fn without_prices_the_dearest_so_far_is_set_aside() {
        let ledger = SpendingLedger::new(
            GatewayBudget { cost_usd: Some(1.0), ..GatewayBudget::default() },
            None,
            None,
            None,
        );
        let dear = Some(TokenUsage { input: 1, cost_usd: Some(0.4), ..TokenUsage::default() });
        admit(&ledger, 4).unwrap().settle(dear);
        let _flying = admit(&ledger, 4).unwrap();
        assert!(ledger.try_admit(wish(4)).is_none());
    }

    #[test]
    fn refusals_are_told_so_often_and_not_more() {
        let told: Arc<Mutex<u64>> = Arc::default();
        let heard = Arc::clone(&told);
        let watch: GatewayWatch = Arc::new(move |_: &GatewayEvent| *heard.lock().unwrap() += 1);
        let ledger = SpendingLedger::new(GatewayBudget::default(), None, Some(watch), None);
        (0..10_000).for_each(|_| ledger.tell_refusal(404, "nothing there"));
        assert_eq!(*told.lock().unwrap(), MOST_TOLD);
    }

    #[test]
    fn hanging_up_early_is_not_free() {
        let ledger = ledger(GatewayBudget::default());
        let mut charge = admit(&ledger, 400).unwrap();
        charge.hear(40);
        drop(charge);
        let account = ledger.account();
        assert_eq!((account.usage.input, account.usage.output), (100, 10));
        assert_eq!((account.estimated, account.failed), (1, 1));
        assert!(account.usage.cost_usd.unwrap() > 0.0);
    }

    #[test]
    fn a_request_that_was_declined_costs_nothing() {
        let ledger = ledger(GatewayBudget::default());
        admit(&ledger, 400).unwrap().fail(&ModelError::new(ModelErrorKind::RateLimit, "slow"));
        let account = ledger.account();
        assert_eq!((account.usage.total_input(), account.failed, account.estimated), (0, 1, 0));
    }

    #[test]
    fn unknown_costs_are_counted() {
        let ledger = SpendingLedger::new(GatewayBudget::default(), None, None, None);
        admit(&ledger, 4).unwrap().settle(usage(5));
        assert_eq!(ledger.account().unpriced, 1);
    }
}
