//! What the configuration says about one mode.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::legacy::former_mode;
use super::{ConfigError, ConfigSource, ResolvedConfig};
use crate::mode::ModelPolicy;

/// What the configuration says about one mode.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
}

impl ResolvedConfig {
    /// What holds for a mode, by the name it has in the configuration (`code`, not `execute`).
    pub fn mode(&self, mode: &str) -> ModeSettings {
        // Where nothing is said of questions, whoever plans answers them.
        if mode == "ask" && !self.modes().contains(mode) {
            return ModeSettings { enabled: true, ..self.mode("orchestrate") };
        }
        let name = |key: &str| format!("modes.{mode}.{key}");
        let said = self.get(&name("model_policy")).filter(|found| found.source != ConfigSource::Default);
        let policy = match said.as_ref().and_then(|found| found.value.as_str()) {
            // Before there were modes there was one model.
            _ if !self.orchestrates() => ModelPolicy::LegacyDefault,
            Some("pinned") => ModelPolicy::Pinned,
            Some("cheapest") => ModelPolicy::Cheapest,
            Some("best") => ModelPolicy::Best,
            Some("legacy_default") => ModelPolicy::LegacyDefault,
            // Whoever names a model wants that one.
            None if self.text(&name("model")).is_some() => ModelPolicy::Pinned,
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
        }
    }

    /// Whether goals are split into tasks for modes; else they are single runs with the default model.
    pub fn orchestrates(&self) -> bool {
        self.flag("modes.v2_enabled").unwrap_or(true)
    }

    /// Whether an assessment needs a model's report; without, the host's checks decide alone when there is none.
    pub fn strict_ethics(&self) -> bool {
        self.flag("modes.ethical.strict").unwrap_or(true)
    }

    /// What to tell about a mode that is asked for by the name it had in a former release.
    pub fn former_mode(&self, name: &str) -> Result<Option<String>, ConfigError> {
        let Some(new) = former_mode(name) else { return Ok(None) };
        if let Some(said) = self.get("compat.legacy").filter(|found| found.value.as_str() == Some("error")) {
            let (place, old, new) = (said.source.to_string(), name.to_owned(), new.to_owned());
            return Err(ConfigError::FormerMode { place, old, new });
        }
        Ok(Some(format!("the mode `{name}` is `{new}` now; the former name still works in this release")))
    }
}
