//! Models somebody describes in a configuration.

use serde::{Deserialize, Serialize};

use super::row::{DataPolicy, Latency, ModelRow, Tier};
use crate::usage::Prices;

/// A model as a configuration describes it; what is left out is unknown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StaticEntry {
    /// Its id, as the provider spells it.
    pub id: String,
    /// Who offers it.
    pub provider: String,
    /// Tokens of prompt and answer together.
    pub context: Option<u64>,
    /// The most tokens of an answer.
    pub max_output: Option<u64>,
    /// US dollars per million tokens of input.
    pub input_price: Option<f64>,
    /// US dollars per million tokens of output.
    pub output_price: Option<f64>,
    /// US dollars per million tokens read from a cache.
    pub cache_read_price: Option<f64>,
    /// US dollars per million tokens written to a cache.
    pub cache_write_price: Option<f64>,
    /// Whether it calls tools natively.
    pub tools: Option<bool>,
    /// Whether it can think before it answers.
    pub reasoning: Option<bool>,
    /// Whether an answer can be held to a schema.
    pub structured: Option<bool>,
    /// What it can be trusted with.
    pub tier: Option<Tier>,
    /// How quick it is.
    pub latency: Option<Latency>,
    /// What becomes of what is said to it.
    pub data: Option<DataPolicy>,
}

/// Puts the described models among the rows: what an entry says counts, what it leaves out stays as it was.
pub fn add_entries(rows: &mut Vec<ModelRow>, entries: &[StaticEntry]) {
    for entry in entries.iter().filter(|entry| !entry.id.is_empty()) {
        let there = rows.iter().position(|row| row.id == entry.id && row.provider == entry.provider);
        let index = there.unwrap_or_else(|| {
            rows.push(ModelRow::new(&entry.provider, &entry.id));
            rows.len() - 1
        });
        entry.apply(&mut rows[index]);
    }
    rows.sort_by(|a, b| (&a.provider, &a.id).cmp(&(&b.provider, &b.id)));
}

impl StaticEntry {
    fn apply(&self, row: &mut ModelRow) {
        row.context = self.context.or(row.context);
        row.max_output = self.max_output.or(row.max_output);
        row.tools = self.tools.or(row.tools);
        row.reasoning = self.reasoning.or(row.reasoning);
        row.structured = self.structured.or(row.structured);
        row.tier = self.tier.unwrap_or(row.tier);
        row.latency = self.latency.or(row.latency);
        row.data = self.data.unwrap_or(row.data);
        let price = |price: Option<f64>| price.filter(|p| p.is_finite() && *p >= 0.0).map(|p| p / 1e6);
        let before = row.prices;
        let input = price(self.input_price).or(before.map(|prices| prices.input));
        let output = price(self.output_price).or(before.map(|prices| prices.output));
        if let (Some(input), Some(output)) = (input, output) {
            let cache_read = price(self.cache_read_price).or(before.and_then(|prices| prices.cache_read));
            let cache_write = price(self.cache_write_price).or(before.and_then(|prices| prices.cache_write));
            row.prices = Some(Prices { input, output, cache_read, cache_write });
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::catalogue::ModelRowTable;

    #[test]
    fn entries_add_and_change() {
        let mut rows = ModelRowTable::builtin().rows("anthropic");
        let count = rows.len();
        let text = r#"
            id = "claude-sonnet-5-5"
            provider = "anthropic"
            input_price = 1.0
        "#;
        let change: StaticEntry = toml::from_str(text).unwrap();
        let add = StaticEntry {
            id: "mine".into(),
            provider: "house".into(),
            tools: Some(false),
            ..StaticEntry::default()
        };
        add_entries(&mut rows, &[change, add, StaticEntry::default()]);
        assert_eq!(rows.len(), count + 1);
        let changed = rows.iter().find(|row| row.id == "claude-sonnet-5-5").unwrap();
        assert_eq!(changed.prices.map(|p| (p.input, p.output)), Some((1e-6, 1e-5)));
        assert_eq!(changed.tier, Tier::Strong);
        let mine = rows.iter().find(|row| row.id == "mine").unwrap();
        assert_eq!((mine.tools, mine.text_output, mine.prices), (Some(false), true, None));
        assert!(toml::from_str::<StaticEntry>("id = 'x'\npirce = 1").is_err());
    }
}
