//! The prompts of the native agent: the project's layers, with artifacts handed over by tools instead of files.

use std::fmt::Write as _;

use holon_core::Profile;
use holon_core::digest::{sha256, sha256_parts};
use holon_core::prompt::{self, CompiledPrompt, PromptError, PromptLayerRecord, PromptLayers};

/// What the native agent is told beyond what every agent is.
pub fn overlay() -> &'static str {
    include_str!("../../../modes/prompts/native.md")
}

/// What a child that only looks is told.
pub(crate) fn delegate() -> &'static str {
    include_str!("../../../modes/prompts/delegate.md")
}

/// The heading of the last layer, which says what to hand over.
const CONTRACT: &str = "\n\n# What to hand over\n";

/// Compiles the prompt of a run: [`Settings::system`](crate::TurnSettings) and the first message.
///
/// The agent layer is the native one whatever `layers` says. The contract names tools: their schemas say the form, so
/// that no schema is paid for twice.
pub fn compile(profile: &Profile, layers: &PromptLayers<'_>) -> Result<CompiledPrompt, PromptError> {
    let layers = PromptLayers { agent: Some(overlay()), ..*layers };
    let mut compiled = prompt::compile(profile, &layers)?;
    let goal = compiled.user.rfind(CONTRACT).map_or(compiled.user.as_str(), |at| &compiled.user[..at]);
    let contract = contract(profile);
    compiled.user = format!("{goal}\n\n{contract}\n");
    if let Some(record) = compiled.layers.iter_mut().find(|record| record.name == "artifacts") {
        *record = PromptLayerRecord {
            name: record.name.clone(),
            sha256: sha256(contract.as_bytes()),
            bytes: contract.len(),
        };
    }
    compiled.sha256 = sha256_parts([compiled.system.as_bytes(), compiled.user.as_bytes()]);
    Ok(compiled)
}

/// The system prompt of a chat turn in this mode, which may be another one in the next turn.
pub fn chat(profile: &Profile, project: Option<&str>) -> Result<String, PromptError> {
    let mode = format!("# Mode: {}\n\n{}.", profile.name, profile.description.trim_end_matches('.'));
    let common = include_str!("../../../modes/prompts/chat.md");
    // A chat has no goal of its own: what the person says is the message.
    let layers = PromptLayers { common, mode: &mode, agent: None, project, goal: "chat", context: &[] };
    Ok(prompt::compile(profile, &layers)?.system)
}

fn contract(profile: &Profile) -> String {
    let mut text = "# What to hand over\n".to_owned();
    let required = profile.artifacts.required.iter().map(|name| (name, ""));
    let all = required.chain(profile.artifacts.optional.iter().map(|name| (name, ", optional")));
    for (name, need) in all {
        let how = match name.as_str() {
            "diff.patch" => "made by the host from your changes".to_owned(),
            other => format!("call `{}`", crate::artifacts::way(other)),
        };
        let _ = write!(text, "\n- {name}: {how}{need}");
    }
    text
}
