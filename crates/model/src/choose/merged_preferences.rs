//! What is asked for: a wish, the variables and the configuration together.

use super::tools::ToolMode;
use super::{ChoiceEnvironment, EndpointPreferences, LOCAL_NAMES, set, setup, spelling};
use crate::error::ModelError;
use crate::known_provider::known_provider;
use crate::wire::WireFormat;

/// A wish and the variables together.
pub(super) struct MergedPreferences {
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
    pub(super) base: Option<NamedBaseUrl>,
    /// The wire of the server at the base, or on this machine.
    pub(super) wire: Option<WireFormat>,
    pub(super) tools: ToolMode,
}

/// A server that is named by its URL.
pub(super) struct NamedBaseUrl {
    pub(super) url: String,
    /// The variable with the key that goes there.
    pub(super) key: &'static str,
}

impl MergedPreferences {
    pub(super) fn gather(
        wish: &EndpointPreferences<'_>,
        around: &dyn ChoiceEnvironment,
    ) -> Result<Self, ModelError> {
        let pick = |flag: Option<&str>, variable: &str| {
            let flag = flag.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
            flag.or_else(|| set(around, variable))
        };
        let from_env = set(around, "HOLON_PROVIDER").map(|name| spelling::provider(&name));
        let mut provider = wish.provider.map(spelling::provider).or_else(|| from_env.clone());
        let mut model = pick(wish.model, "HOLON_MODEL");
        let split = model.as_deref().and_then(spelling::split);
        let flagged = wish.provider.is_some() || (wish.model.is_some() && split.is_some());
        if let Some((named, rest)) = split {
            // A flag beats a variable; two that are said in the same breath must agree.
            let outranked = wish.provider.is_none() && wish.model.is_some();
            if let Some(provider) = provider.as_ref().filter(|provider| **provider != named && !outranked) {
                return Err(setup(format!(
                    "the provider is {provider}, but the model `{named}/{rest}` names {named}: leave one of them out"
                )));
            }
            (provider, model) = (Some(named.to_owned()), Some(rest.to_owned()));
        }
        let known = |name: &str| known_provider(name).is_some() || LOCAL_NAMES.contains(&name);
        let named = provider.as_deref().is_some_and(known);
        // The URL in the environment belongs to the provider there: another one's key must not go to it.
        let other = flagged && provider != from_env && named;
        let here = set(around, "HOLON_BASE_URL");
        let taken = here.clone().filter(|_| !other);
        // The same holds for one in a file, which is for whoever names no provider.
        let filed = wish.configured.and_then(|c| c.base_url.clone());
        let beaten = wish.base_url.is_some() || taken.is_some() || named;
        let filed_taken = filed.clone().filter(|_| !beaten);
        // A wire belongs to the URL it is said with.
        let wire_here = set(around, "HOLON_WIRE").filter(|_| here.is_none() || taken.is_some());
        let wire_filed = wish.configured.and_then(|c| c.wire.clone());
        let wire_filed = wire_filed.filter(|_| filed.is_none() || filed_taken.is_some());
        let own = wish.base_url.map(str::to_owned).or(taken).or(filed_taken);
        let own = own.map(|url| NamedBaseUrl { url, key: "HOLON_API_KEY" });
        // The variable of OpenAI's own clients says nothing about other providers.
        let theirs = || {
            let openai = provider.as_deref().is_none_or(|provider| provider == "openai");
            let url = set(around, "OPENAI_BASE_URL").filter(|_| openai)?;
            Some(NamedBaseUrl { url, key: "OPENAI_API_KEY" })
        };
        let wire = match (wire_here, wire_filed) {
            (Some(value), _) => Some(spelling::wire("HOLON_WIRE", &value)?),
            (None, Some(value)) => Some(spelling::wire("models.wire", &value)?),
            (None, None) => None,
        };
        let tools = match (set(around, "HOLON_TOOLS"), wish.configured.and_then(|c| c.tools.as_deref())) {
            (Some(value), _) => spelling::tools("HOLON_TOOLS", &value)?,
            (None, Some(value)) => spelling::tools("models.tools", value)?,
            (None, None) => ToolMode::Auto,
        };
        Ok(Self { base: own.or_else(theirs), provider, model, wire, tools })
    }
}
