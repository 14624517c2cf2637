//! What follows from how much a model can take in: what it is told, how long it may answer, and what it is too small for.

use std::sync::LazyLock;

use holon_core::Profile;
use holon_model::ServerKind;
use serde::Deserialize;

use crate::edit::{EditFormat, format_for};

static RULES: LazyLock<WindowFitRules> =
    LazyLock::new(|| toml::from_str(include_str!("../../../rules/windows.toml")).unwrap_or_default());

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WindowFitRules {
    execute_from: u64,
    recommended: u64,
    all_tools_from: u64,
    left_out: Vec<String>,
    commands_do: Vec<String>,
}

/// Whether a tool is explained to a model with this window.
pub(crate) fn explained(window: u64, tool: &str) -> bool {
    window >= RULES.all_tools_from || !RULES.left_out.iter().any(|name| name == tool)
}

/// Whether a run that can give commands does without a tool.
pub(crate) fn command_does(tool: &str) -> bool {
    RULES.commands_do.iter().any(|name| name == tool)
}

/// Most tokens of the next reply: what is wished, and what the window has left beside the prompt.
pub(crate) fn reply(wished: u32, window: u64, prompt: u64) -> u32 {
    // A prompt is estimated, and servers refuse what does not fit together.
    let left = window.saturating_sub(prompt.saturating_add(prompt / 8));
    u32::try_from(left).unwrap_or(u32::MAX).clamp(256, wished.max(256))
}

/// What a model is too small for in this mode, and what to change, in a sentence; nothing where it is large enough.
pub fn too_small(
    profile: &Profile,
    model: &str,
    window: Option<u64>,
    kind: Option<ServerKind>,
) -> Option<String> {
    let window = window.filter(|window| *window < RULES.execute_from && !profile.promises_no_change())?;
    Some(format!("{}; {}", too_small_for(&profile.name, model, window), larger(kind)))
}

/// The same for whoever has no mode yet.
pub fn too_small_to_execute(model: &str, window: Option<u64>, kind: Option<ServerKind>) -> Option<String> {
    let window = window.filter(|window| *window < RULES.execute_from)?;
    Some(format!("{}; {}", too_small_for("execute", model, window), larger(kind)))
}

fn too_small_for(mode: &str, model: &str, window: u64) -> String {
    format!("`{model}` has a window of {window} tokens, too small for {mode}: it can ask and review")
}

fn larger(kind: Option<ServerKind>) -> String {
    match kind {
        Some(kind) => kind.larger_window(RULES.recommended),
        None => format!("give it {} or more", RULES.recommended),
    }
}

/// Whether answers are better left free although the server could hold them to a schema: code inside of JSON is what
/// models that write whole files get wrong, and a file under its name is read as well.
pub fn free_answers(profile: &Profile, model: &str) -> bool {
    !profile.promises_no_change() && format_for(model) == EditFormat::WholeFile
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_reply_fits_beside_its_prompt() {
        for (wished, window, prompt, expect) in [
            (1024, 4096, 1000, 1024),
            (1024, 4096, 3000, 721),
            (1024, 4096, 9000, 256),
            (8192, 128_000, 0, 8192),
        ] {
            assert_eq!(reply(wished, window, prompt), expect, "{wished} {window} {prompt}");
        }
    }

    #[test]
    fn a_small_window_is_told_few_tools_and_says_so() {
        assert!(
            explained(4096, "read_file") && !explained(4096, "delegate") && explained(32_768, "delegate")
        );
        let told = too_small_to_execute("m", Some(4096), Some(ServerKind::LlamaCpp)).unwrap();
        assert_eq!(
            told,
            "`m` has a window of 4096 tokens, too small for execute: it can ask and review; start llama-server with `-c 16384`"
        );
        assert_eq!(too_small_to_execute("m", Some(8192), None), None);
        assert_eq!(too_small_to_execute("m", None, None), None);
        assert!(RULES.left_out.len() > 3 && RULES.recommended >= RULES.execute_from);
    }
}
