//! Which way of asking for changes a model is good at.

use std::sync::LazyLock;

use serde::Deserialize;

/// A way of asking for changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditFormat {
    /// One passage for another ([`super::replace`]).
    #[default]
    Replace,
    /// Patches over several files ([`super::patch`]).
    ApplyPatch,
    /// Files are only written as a whole.
    WholeFile,
}

/// The way to offer this model; unknown models get [`EditFormat::Replace`].
pub fn format_for(model_id: &str) -> EditFormat {
    TABLE.format_for(model_id)
}

static TABLE: LazyLock<EditFormatTable> =
    LazyLock::new(|| toml::from_str(include_str!("../../../../rules/models.toml")).unwrap_or_default());

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct EditFormatTable {
    edit: Vec<EditFormatRule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EditFormatRule {
    #[serde(default)]
    models: Vec<String>,
    up_to_billions: Option<f32>,
    format: EditFormat,
    /// Kept with the data for those who change it.
    #[allow(dead_code)]
    why: String,
}

impl EditFormatTable {
    fn format_for(&self, model_id: &str) -> EditFormat {
        let name = family_name(model_id);
        let small = |rule: &EditFormatRule| {
            rule.up_to_billions.zip(billions(&name)).is_some_and(|(most, size)| size <= most)
        };
        let fits =
            |rule: &&EditFormatRule| rule.models.iter().any(|pattern| fits(pattern, &name)) || small(rule);
        self.edit.iter().find(fits).map(|rule| rule.format).unwrap_or_default()
    }
}

/// The name itself: `openai/gpt-5:free` is `gpt-5`, and a local `qwen3:8b` keeps its size.
fn family_name(model_id: &str) -> String {
    let name = model_id.trim().to_ascii_lowercase();
    let name = name.rsplit('/').next().unwrap_or_default();
    name.strip_suffix(":free").unwrap_or(name).to_owned()
}

/// The size a model's name tells, such as `7b` or `1.5b`; the parts of a mixture that are active (`a3b`) do not count.
fn billions(name: &str) -> Option<f32> {
    name.split(['-', ':', '_', ' '])
        .filter_map(|part| {
            part.strip_suffix('b')?.strip_prefix('e').or(part.strip_suffix('b'))?.parse::<f32>().ok()
        })
        .filter(|size| size.is_finite())
        .reduce(f32::max)
}

/// `*` stands for anything, at the beginning, the end or both.
fn fits(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(_), Some(_)) => name.contains(pattern.trim_matches('*')),
        (Some(end), None) => name.ends_with(end),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn the_table_parses_and_gives_reasons() {
        let table: EditFormatTable = toml::from_str(include_str!("../../../../rules/models.toml")).unwrap();
        assert!(table.edit.len() >= 4);
        assert!(table.edit.iter().all(|rule| rule.why.len() > 20));
    }

    #[test]
    fn the_family_decides() {
        use EditFormat::*;
        for (model, expect) in [
            ("gpt-5", ApplyPatch),
            ("openai/gpt-5.2-codex", ApplyPatch),
            ("codex-mini-latest", ApplyPatch),
            ("openai/o4-mini:free", ApplyPatch),
            ("o3", ApplyPatch),
            ("gpt-4.1", Replace),
            ("openai/gpt-oss-120b", Replace),
            ("anthropic/claude-opus-4.5", Replace),
            ("google/gemini-2.5-pro", Replace),
            ("deepseek/deepseek-v3.2", Replace),
            ("qwen/qwen3-coder-480b-a35b", Replace),
            ("qwen/qwen3-30b-a3b", Replace),
            ("olmo-2-32b", Replace),
            ("qwen/qwen-2.5-coder-32b-instruct", WholeFile),
            ("qwen2.5-coder:32b", WholeFile),
            ("qwen2.5-coder:1.5b-instruct-q4_k_m", WholeFile),
            ("llama3.2:3b", WholeFile),
            ("microsoft/phi-4-14b", WholeFile),
            ("google/gemma-3n-e4b-it", WholeFile),
            ("SmolLM2-1.7B-Instruct", WholeFile),
            ("", Replace),
            ("something-new", Replace),
        ] {
            assert_eq!(format_for(model), expect, "{model}");
        }
    }
}
