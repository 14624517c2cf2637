//! What the configuration says about one mode.

use super::Config;
use crate::mode::ModelPolicy;

/// What the configuration says about one mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModeSettings {
    /// Whether it may be used.
    pub enabled: bool,
    /// How its model is chosen.
    pub policy: ModelPolicy,
    /// The model that is named.
    pub model: Option<String>,
    /// Who serves it.
    pub provider: Option<String>,
    /// Whether the model must call tools.
    pub tools_required: bool,
    /// Whether one that reasons is preferred.
    pub reasoning_preferred: bool,
    /// Ethical: whether the model's half of the report is required.
    pub strict: bool,
}

impl Config {
    /// What holds for a mode, by the name it has in the configuration (`code`, not `execute`).
    pub fn mode(&self, mode: &str) -> ModeSettings {
        let name = |key: &str| format!("modes.{mode}.{key}");
        let policy = match self.text(&name("model_policy")).as_deref() {
            Some("pinned") => ModelPolicy::Pinned,
            Some("cheapest") => ModelPolicy::Cheapest,
            Some("best") => ModelPolicy::Best,
            Some("legacy_default") => ModelPolicy::LegacyDefault,
            _ => ModelPolicy::Auto,
        };
        let fallen_back = policy == ModelPolicy::LegacyDefault;
        let or_default = |own: Option<String>, key: &str| {
            own.or_else(|| fallen_back.then(|| self.text(&format!("llm.default.{key}"))).flatten())
        };
        ModeSettings {
            enabled: self.flag(&name("enabled")).unwrap_or(true),
            policy,
            model: or_default(self.text(&name("model")), "model"),
            provider: or_default(self.text(&name("provider")), "provider"),
            tools_required: self.flag(&name("tools_required")).unwrap_or_default(),
            reasoning_preferred: self.flag(&name("reasoning_preferred")).unwrap_or_default(),
            strict: self.flag(&name("strict")).unwrap_or(true),
        }
    }
}
