//! The hand-kept table of well-known models, and what their names say.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::openrouter::OPENROUTER;
use super::pattern::matches;
use super::row::{DataPolicy, Latency, ModelRow, Tier};
use crate::usage::Prices;

const TEXT: &str = include_str!("../../../../rules/models-catalogue.toml");

static TABLE: LazyLock<ModelRowTable> = LazyLock::new(|| read(TEXT).unwrap_or_default());

/// The table as it is written.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRowTable {
    /// The day its figures are of, as `2026-11-15`.
    pub as_of: String,
    /// The model to take where nothing may be chosen, by provider.
    defaults: BTreeMap<String, String>,
    #[serde(rename = "model")]
    models: Vec<KnownModel>,
    #[serde(rename = "family")]
    families: Vec<ModelFamily>,
    /// What names of models on this machine say.
    pub local: LocalModelNames,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownModel {
    id: String,
    anthropic: Option<String>,
    openai: Option<String>,
    context: u64,
    max_output: Option<u64>,
    price: ModelPriceRow,
    tier: Tier,
    latency: Latency,
    #[serde(default = "yes")]
    tools: bool,
    #[serde(default = "yes")]
    reasoning: bool,
    #[serde(default = "yes")]
    structured: bool,
    #[serde(default)]
    approximate: bool,
}

fn yes() -> bool {
    true
}

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelPriceRow {
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

impl From<ModelPriceRow> for Prices {
    fn from(price: ModelPriceRow) -> Self {
        let per_token = |dollars: f64| dollars / 1e6;
        Self {
            input: per_token(price.input),
            output: per_token(price.output),
            cache_read: price.cache_read.map(per_token),
            cache_write: price.cache_write.map(per_token),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelFamily {
    ids: Vec<String>,
    tier: Tier,
    latency: Latency,
}

/// What names of models on this machine say; the names are compared without the folder before them and without case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalModelNames {
    not_for_chat: Vec<String>,
    preferred: Vec<String>,
    without_tools: Vec<String>,
    with_tools: Vec<String>,
}

fn read(text: &str) -> Result<ModelRowTable, toml::de::Error> {
    toml::from_str(text)
}

impl ModelRowTable {
    /// The table that comes with Holon.
    pub fn builtin() -> &'static Self {
        &TABLE
    }

    /// What a provider offers, as far as the table knows, in order of ids.
    pub fn rows(&self, provider: &str) -> Vec<ModelRow> {
        let mut rows: Vec<ModelRow> = self
            .models
            .iter()
            .filter_map(|known| known.at(provider))
            .map(|(id, known)| {
                // Both makers say that what comes through their APIs is not trained on.
                let data = if provider == OPENROUTER { DataPolicy::Any } else { DataPolicy::NoTraining };
                ModelRow {
                    context: Some(known.context),
                    max_output: known.max_output,
                    prices: Some(known.price.into()),
                    tools: Some(known.tools),
                    reasoning: Some(known.reasoning),
                    structured: Some(known.structured),
                    tier: known.tier,
                    latency: Some(known.latency),
                    approximate: known.approximate,
                    data,
                    ..ModelRow::new(provider, id)
                }
            })
            .collect();
        rows.sort_by(|a, b| a.id.cmp(&b.id));
        rows
    }

    /// Adds to rows of OpenRouter what only the table knows: how good and how quick their models are.
    pub fn annotate(&self, rows: &mut [ModelRow]) {
        for row in rows {
            if let Some((tier, latency)) = self.judge(&row.id) {
                (row.tier, row.latency) = (tier, Some(latency));
            }
        }
    }

    /// How good and how quick a model is, by its id at OpenRouter; a variant (`:free`) is as good as the model.
    fn judge(&self, id: &str) -> Option<(Tier, Latency)> {
        let plain = id.split_once(':').map_or(id, |(plain, _)| plain);
        if let Some(known) = self.models.iter().find(|known| known.id == plain) {
            return Some((known.tier, known.latency));
        }
        let family = self.families.iter().find(|f| f.ids.iter().any(|pattern| matches(pattern, plain)));
        family.map(|family| (family.tier, family.latency))
    }

    /// The model of a provider where nothing may be chosen.
    pub fn default_of(&self, provider: &str) -> Option<&str> {
        self.defaults.get(provider).map(String::as_str)
    }

    /// How a provider spells a model, however it is spelled here; `None` when it does not offer it.
    ///
    /// OpenRouter writes `anthropic/claude-sonnet-4.5` where Anthropic writes `claude-sonnet-4-5`: the table knows the
    /// famous ones, the rule behind the names does for the rest.
    pub fn spelled(&self, provider: &str, model: &str) -> Option<String> {
        let same = |known: &&KnownModel| known.names().any(|name| name == model);
        if let Some(known) = self.models.iter().find(same) {
            return known.at(provider).map(|(id, _)| id.to_owned());
        }
        match (provider, model.split_once('/')) {
            (OPENROUTER, Some(_)) => Some(model.to_owned()),
            (OPENROUTER, None) => match maker_of(model)? {
                "anthropic" => Some(format!("anthropic/{}", dotted(model))),
                maker => Some(format!("{maker}/{model}")),
            },
            ("anthropic" | "openai", Some((maker, _))) if maker != provider => None,
            ("anthropic", Some((_, name))) => Some(name.replace('.', "-")),
            (_, Some((maker, name))) if maker == provider => Some(name.to_owned()),
            _ => Some(model.to_owned()),
        }
    }
}

impl KnownModel {
    /// Its id at a provider.
    fn at(&self, provider: &str) -> Option<(&str, &Self)> {
        let id = match provider {
            OPENROUTER => Some(self.id.as_str()),
            "anthropic" => self.anthropic.as_deref(),
            "openai" => self.openai.as_deref(),
            _ => None,
        };
        id.map(|id| (id, self))
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.id.as_str()).chain(self.anthropic.as_deref()).chain(self.openai.as_deref())
    }
}

/// Who makes a model that is spelled the way its maker does, without a folder.
pub fn maker_of(model: &str) -> Option<&'static str> {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| model.starts_with(prefix));
    if model.contains('/') {
        None
    } else if starts(&["claude-"]) {
        Some("anthropic")
    } else if !starts(&["gpt-oss"]) && starts(&["gpt-", "chatgpt-", "o1", "o3", "o4", "codex-"]) {
        Some("openai")
    } else {
        None
    }
}

/// `claude-sonnet-4-5-20250929` as OpenRouter writes it: `claude-sonnet-4.5`.
fn dotted(model: &str) -> String {
    let date = |part: &str| part.len() == 8 && part.bytes().all(|b| b.is_ascii_digit());
    let short = |part: &str| !part.is_empty() && part.len() <= 2 && part.bytes().all(|b| b.is_ascii_digit());
    let mut out = String::new();
    let mut before_short = false;
    for part in model.split('-').filter(|part| !date(part)) {
        if !out.is_empty() {
            out.push(if before_short && short(part) { '.' } else { '-' });
        }
        out.push_str(part);
        before_short = short(part);
    }
    out
}

impl LocalModelNames {
    /// Whether one can converse with it.
    pub fn for_chat(&self, name: &str) -> bool {
        !any(&self.not_for_chat, name)
    }

    /// Whether it calls tools natively, as far as its name tells.
    pub fn calls_tools(&self, name: &str) -> Option<bool> {
        if any(&self.without_tools, name) {
            return Some(false);
        }
        any(&self.with_tools, name).then_some(true)
    }

    /// The best of these to work with.
    pub fn pick<'a>(&self, names: &'a [String]) -> Option<&'a str> {
        self.ranked(names).first().copied()
    }

    /// Those of these that one can talk to, the best to work with first.
    pub fn ranked<'a>(&self, names: &'a [String]) -> Vec<&'a str> {
        let mut names: Vec<&str> =
            names.iter().map(String::as_str).filter(|name| self.for_chat(name)).collect();
        names.sort_unstable();
        let rank = |name: &&str| {
            let short = short(name);
            self.preferred.iter().position(|pattern| matches(pattern, &short)).unwrap_or(usize::MAX)
        };
        names.sort_by_key(rank);
        names
    }
}

fn any(patterns: &[String], name: &str) -> bool {
    let short = short(name);
    patterns.iter().any(|pattern| matches(pattern, &short))
}

fn short(name: &str) -> String {
    name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_table_is_whole() {
        let table = read(TEXT).unwrap();
        assert!(table.as_of.parse::<jiff::civil::Date>().is_ok(), "{}", table.as_of);
        for (provider, least) in [("openrouter", 20), ("anthropic", 5), ("openai", 4)] {
            let rows = table.rows(provider);
            assert!(rows.len() >= least, "{provider}: {}", rows.len());
            let mut ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
            ids.dedup();
            assert_eq!(ids.len(), rows.len(), "{provider} has an id twice");
            let default = table.default_of(provider).unwrap();
            assert!(ids.contains(&default), "{default} is not in the table");
            for row in &rows {
                assert_eq!(row.id.contains('/'), provider == OPENROUTER, "{}", row.id);
                let price = row.blended_price().unwrap();
                assert!((0.001..100.0).contains(&price), "{}: {price} per million", row.id);
                assert!(row.context.unwrap() >= row.max_output.unwrap_or(1), "{}", row.id);
                assert!(row.tier > Tier::Unknown || row.tier == Tier::Small, "{}", row.id);
            }
        }
        assert_eq!(table.rows("nobody"), []);
    }

    #[test]
    fn families_judge_what_is_not_listed() {
        for (id, tier) in [
            ("anthropic/claude-opus-5.5", Some(Tier::Frontier)),
            ("anthropic/claude-opus-5.5:batch", Some(Tier::Frontier)),
            ("anthropic/claude-opus-4.1", Some(Tier::Strong)),
            ("anthropic/claude-3.5-sonnet", Some(Tier::Capable)),
            ("openai/gpt-5.4-nano", Some(Tier::Small)),
            ("openai/gpt-4o-mini", Some(Tier::Capable)),
            ("openai/gpt-oss-20b:free", Some(Tier::Small)),
            ("google/gemini-3.9-flash-lite", Some(Tier::Small)),
            ("google/gemini-3.9-flash", Some(Tier::Capable)),
            ("qwen/qwen3-8b", Some(Tier::Small)),
            ("qwen/qwen3.8-max", Some(Tier::Strong)),
            ("somebody/something", None),
        ] {
            assert_eq!(ModelRowTable::builtin().judge(id).map(|(tier, _)| tier), tier, "{id}");
        }
    }

    #[test]
    fn spellings() {
        for (provider, model, expect) in [
            ("anthropic", "anthropic/claude-sonnet-5.5", Some("claude-sonnet-5-5")),
            ("anthropic", "claude-sonnet-5-5", Some("claude-sonnet-5-5")),
            ("anthropic", "anthropic/claude-sonnet-4.5", Some("claude-sonnet-4-5")),
            ("anthropic", "claude-sonnet-4-5-20250929", Some("claude-sonnet-4-5-20250929")),
            ("anthropic", "openai/gpt-6-luna", None),
            ("anthropic", "google/gemini-3.8-flash", None),
            ("openai", "openai/gpt-6.1-sol", Some("gpt-6.1-sol")),
            ("openai", "openai/gpt-4.1-mini", Some("gpt-4.1-mini")),
            ("openai", "openai/gpt-oss-120b", None),
            ("openai", "ft:gpt-4o:us:1", Some("ft:gpt-4o:us:1")),
            ("openrouter", "claude-sonnet-5-5", Some("anthropic/claude-sonnet-5.5")),
            ("openrouter", "claude-sonnet-4-5-20250929", Some("anthropic/claude-sonnet-4.5")),
            ("openrouter", "claude-opus-4-20250514", Some("anthropic/claude-opus-4")),
            ("openrouter", "gpt-4.1-mini", Some("openai/gpt-4.1-mini")),
            ("openrouter", "somebody/something:free", Some("somebody/something:free")),
            ("openrouter", "qwen3:8b", None),
            ("ollama", "qwen3:8b", Some("qwen3:8b")),
            ("vllm", "Qwen/Qwen3-8B", Some("Qwen/Qwen3-8B")),
        ] {
            assert_eq!(
                ModelRowTable::builtin().spelled(provider, model).as_deref(),
                expect,
                "{provider} {model}"
            );
        }
    }

    #[test]
    fn names_of_local_models() {
        let names = &ModelRowTable::builtin().local;
        for (name, expect) in [
            ("qwen3:8b", Some(true)),
            ("Qwen/Qwen3-8B", Some(true)),
            ("library/gemma3:4b", Some(false)),
            ("llama3:8b", Some(false)),
            ("llama3.1:8b", Some(true)),
            ("qwen2.5-coder:1.5b", Some(false)),
            ("qwen2.5-coder:32b", Some(true)),
            ("my-own-tune", None),
        ] {
            assert_eq!(names.calls_tools(name), expect, "{name}");
        }
        let pick = |list: &[&str]| {
            let list: Vec<String> = list.iter().map(|name| (*name).to_owned()).collect();
            names.pick(&list).map(str::to_owned)
        };
        assert_eq!(
            pick(&["nomic-embed-text:latest", "zephyr:7b", "llama3.2:3b"]).as_deref(),
            Some("llama3.2:3b")
        );
        assert_eq!(pick(&["b-tune", "a-tune"]).as_deref(), Some("a-tune"));
        assert_eq!(pick(&["bge-m3"]), None);
    }
}
