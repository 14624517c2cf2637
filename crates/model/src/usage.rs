//! Tokens in buckets that do not overlap, and what they cost.

use std::ops::AddAssign;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tokens of one reply or many; every token is in exactly one bucket, whatever the provider's own way of counting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TokenUsage {
    /// Input that was neither read from nor written to a cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub input: u64,
    /// Input served from a cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_read: u64,
    /// Input stored in a cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write: u64,
    /// Output that is not known to be thought.
    #[serde(skip_serializing_if = "is_zero")]
    pub output: u64,
    /// Output that was thought, where the provider tells.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning: u64,
    /// What the provider says it cost, in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form serde calls")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl TokenUsage {
    /// All input tokens, which is what a context window is measured against.
    pub fn total_input(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// All output tokens.
    pub fn total_output(&self) -> u64 {
        self.output.saturating_add(self.reasoning)
    }

    /// The same with a cost: the provider's own figure when it gave one, else from these prices.
    pub fn priced(mut self, prices: &Prices) -> Self {
        self.cost_usd = self.cost_usd.or_else(|| Some(prices.cost(&self)));
        self
    }

    /// From a provider that counts cached input inside the input and thoughts inside the output.
    pub(crate) fn from_inclusive(input: u64, read: u64, write: u64, output: u64, reasoning: u64) -> Self {
        // A few servers count thoughts beside the output; then there are more of them than output.
        let output = if reasoning > output { output } else { output - reasoning };
        let input = input.saturating_sub(read).saturating_sub(write);
        Self { input, cache_read: read, cache_write: write, output, reasoning, cost_usd: None }
    }
}

impl AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        let add = |a: &mut u64, b: u64| *a = a.saturating_add(b);
        add(&mut self.input, other.input);
        add(&mut self.cache_read, other.cache_read);
        add(&mut self.cache_write, other.cache_write);
        add(&mut self.output, other.output);
        add(&mut self.reasoning, other.reasoning);
        self.cost_usd = match (self.cost_usd, other.cost_usd) {
            (None, cost) | (cost, None) => cost,
            (Some(a), Some(b)) => Some(a + b),
        };
    }
}

impl From<TokenUsage> for holon_core::manifest::UsageTotals {
    fn from(usage: TokenUsage) -> Self {
        Self {
            input: usage.input.saturating_add(usage.cache_write),
            cached: usage.cache_read,
            output: usage.output,
            reasoning: usage.reasoning,
            cost_usd: usage.cost_usd,
        }
    }
}

/// What a model costs, in US dollars per token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ModelPrices")]
pub struct Prices {
    /// Fresh input.
    pub input: f64,
    /// Output and thoughts.
    pub output: f64,
    /// Input from a cache; the price of fresh input when absent.
    pub cache_read: Option<f64>,
    /// Input into a cache; the price of fresh input when absent.
    pub cache_write: Option<f64>,
}

impl Prices {
    /// The cost of these tokens.
    pub fn cost(&self, usage: &TokenUsage) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
        let at = |count: u64, price: f64| count as f64 * price;
        at(usage.input, self.input)
            + at(usage.cache_read, self.cache_read.unwrap_or(self.input))
            + at(usage.cache_write, self.cache_write.unwrap_or(self.input))
            + at(usage.total_output(), self.output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_never_overlap() {
        let usage = TokenUsage::from_inclusive(100, 60, 10, 50, 20);
        assert_eq!((usage.input, usage.output), (30, 30));
        assert_eq!((usage.total_input(), usage.total_output()), (100, 50));
        // Thoughts counted beside the output, and more cache than input: nothing goes below zero.
        let odd = TokenUsage::from_inclusive(10, 60, 0, 5, 20);
        assert_eq!((odd.input, odd.output, odd.reasoning), (0, 5, 20));
    }

    #[test]
    fn sums_and_prices() {
        let mut total = TokenUsage::default();
        total += TokenUsage { input: 1000, cache_read: 1000, output: 10, ..TokenUsage::default() };
        assert_eq!(total.cost_usd, None);
        let prices = Prices { input: 1e-6, output: 1e-5, cache_read: Some(1e-7), cache_write: None };
        let cost = total.priced(&prices).cost_usd.unwrap_or_default();
        assert!((cost - 0.0012).abs() < 1e-12, "{cost}");
        let told = TokenUsage { cost_usd: Some(0.5), ..total };
        assert_eq!(told.priced(&prices).cost_usd, Some(0.5));
        total += told;
        assert_eq!(total.cost_usd, Some(0.5));
    }

    #[test]
    fn a_manifest_gets_its_four_figures() {
        let usage =
            TokenUsage { input: 5, cache_read: 7, cache_write: 2, output: 3, reasoning: 1, cost_usd: None };
        let told = holon_core::manifest::UsageTotals::from(usage);
        assert_eq!((told.input, told.cached, told.output, told.reasoning), (7, 7, 3, 1));
    }
}
