//! What each thing one can ask of a run does with each kind of agent: it has its effect, or it is refused by name with
//! the reason. This table is the one place that says so; what has no row here does not exist.

use holon_core::spec::Spec;
use serde_json::Value;

use crate::adapter::{AdapterKind, ResolvedAgent};
use crate::error::HostError;
use crate::request::RunRequest;

/// The kinds of agents, as far as flags can tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentKind {
    /// Holon's own agent, which thinks in the host.
    Native,
    /// An agent whose description says how it reaches a model.
    Described,
    /// One that speaks the Agent Client Protocol.
    Acp,
    /// A container image in a run that names a model.
    ImageWithModel,
    /// A container image that brings its own model.
    Image,
    /// A program given by its path, or described without a way to a model.
    Program,
}

impl AgentKind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Native, Self::Described, Self::Acp, Self::ImageWithModel, Self::Image, Self::Program];

    /// The kind of an agent in a run that names a model, a provider or a cassette, or none of them.
    pub fn of(agent: &ResolvedAgent, model_named: bool) -> Self {
        let adapter = &agent.adapter;
        match &adapter.model {
            _ if adapter.kind == AdapterKind::Native => Self::Native,
            Some(model) if model.on_request && model_named => Self::ImageWithModel,
            Some(model) if model.on_request => Self::Image,
            Some(_) if adapter.name == "acp" => Self::Acp,
            Some(_) => Self::Described,
            None => Self::Program,
        }
    }

    /// Whether the host stands between it and its model.
    fn has_gateway(self) -> bool {
        !matches!(self, Self::Image | Self::Program)
    }
}

/// For which agents something has its effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectRule {
    /// For all of them.
    Always,
    /// For those that reach a model through the host.
    NeedsGateway,
    /// The same; this value means that nothing is wanted, which is true of all.
    NeedsGatewayUnless(&'static str),
    /// The same, and it is what makes an image one of them.
    OpensGateway,
    /// For the native agent.
    NativeOnly,
    /// For agents that are processes, and take arguments.
    ForeignOnly,
    /// It is about the command or the whole of a flow, not about an agent.
    Command,
    /// A host sets it; nobody can ask for it.
    Internal,
}

impl EffectRule {
    /// Why something has no effect for a kind of agent; nothing when it has.
    pub fn refuses(self, kind: AgentKind) -> Option<&'static str> {
        match self {
            Self::NeedsGateway | Self::NeedsGatewayUnless(_) if kind == AgentKind::Image => Some(
                "an image is held to it only when it reaches a model through Holon, with --model or --provider",
            ),
            Self::NeedsGateway | Self::NeedsGatewayUnless(_) | Self::OpensGateway
                if !kind.has_gateway() && kind != AgentKind::Image =>
            {
                Some("an agent without a gateway reaches no model through Holon")
            }
            Self::NativeOnly if kind != AgentKind::Native => {
                Some("it is for the native agent, which thinks in the host")
            }
            Self::ForeignOnly if kind == AgentKind::Native => Some("the native agent takes no arguments"),
            _ => None,
        }
    }
}

/// One thing that can be asked for.
#[derive(Debug, Clone, Copy)]
pub struct EffectRow {
    /// The field of [`RunRequest`] it becomes, if any.
    pub field: Option<&'static str>,
    /// The flag of `holon run`, without dashes; `--` for the arguments after it.
    pub flag: Option<&'static str>,
    /// The key of a spec.
    pub key: Option<&'static str>,
    /// For which agents it has its effect.
    pub rule: EffectRule,
    /// Why a spec that is sent over HTTP cannot have the key.
    pub over_http: Option<&'static str>,
}

const fn row(
    field: Option<&'static str>,
    flag: Option<&'static str>,
    key: Option<&'static str>,
    rule: EffectRule,
) -> EffectRow {
    EffectRow { field, flag, key, rule, over_http: None }
}

const fn not_over_http(setting: EffectRow, reason: &'static str) -> EffectRow {
    EffectRow { over_http: Some(reason), ..setting }
}

use EffectRule::{
    Always, Command, ForeignOnly, Internal, NativeOnly, NeedsGateway, NeedsGatewayUnless, OpensGateway,
};

/// Everything that can be asked for, by flag, spec or request.
pub const SETTINGS: &[EffectRow] = &[
    // What to do.
    row(Some("mode"), Some("mode"), Some("constraints.mode"), Always),
    row(Some("goal"), Some("goal"), Some("goal.description"), Always),
    row(None, None, Some("goal.issue_id"), Always),
    row(Some("spec"), Some("spec"), None, Always),
    row(Some("given_spec"), None, None, Internal),
    row(Some("part"), None, None, Internal),
    row(None, None, Some("version"), Always),
    row(None, None, Some("kind"), Always),
    row(None, None, Some("metadata.name"), Always),
    row(None, None, Some("metadata.id"), Always),
    row(None, None, Some("metadata.labels"), Always),
    not_over_http(
        row(Some("context"), Some("context"), Some("context.files"), Always),
        "a client cannot name files of the server",
    ),
    row(None, None, Some("context.env"), Always),
    // Where.
    row(Some("workspace"), Some("workspace"), Some("context.workspace"), Always),
    row(Some("out"), Some("out"), None, Always),
    // Who does it.
    row(Some("agent"), Some("agent"), Some("agent.name"), Always),
    not_over_http(
        row(Some("image"), Some("image"), Some("agent.image"), Always),
        "a client cannot choose the images that the server runs",
    ),
    row(Some("agent_args"), Some("--"), None, ForeignOnly),
    row(Some("model"), Some("model"), Some("agent.model"), OpensGateway),
    row(Some("provider"), Some("provider"), None, OpensGateway),
    row(Some("replay"), Some("replay"), None, OpensGateway),
    row(Some("record"), Some("record"), None, NeedsGateway),
    row(Some("mcp"), Some("mcp"), None, NativeOnly),
    row(Some("supervisor"), Some("supervisor"), Some("constraints.supervisor"), NeedsGatewayUnless("off")),
    row(Some("shadow"), Some("shadow"), None, NeedsGateway),
    // Walls.
    row(Some("sandbox"), Some("sandbox"), None, Always),
    row(Some("accept_no_isolation"), Some("i-accept-no-isolation"), None, Always),
    row(Some("network"), Some("network"), Some("constraints.network"), Always),
    row(Some("allow_net"), Some("allow-net"), None, Always),
    row(Some("fresh"), Some("fresh"), None, Always),
    row(Some("environment_of"), None, None, Internal),
    row(Some("allow_writes"), Some("allow-writes"), None, Always),
    row(Some("snapshot"), Some("snapshot"), None, Always),
    row(Some("verify_full"), Some("verify"), None, Always),
    // Limits.
    row(Some("timeout"), Some("timeout"), Some("constraints.timeout"), Always),
    row(Some("idle_timeout"), Some("idle-timeout"), None, Always),
    row(Some("max_output_mb"), Some("max-output"), None, Always),
    row(Some("max_rounds"), Some("max-rounds"), Some("constraints.max_steps"), NeedsGateway),
    row(Some("max_cost_usd"), Some("max-cost"), Some("constraints.max_cost_usd"), NeedsGateway),
    // The result.
    row(None, None, Some("output.artifacts"), Always),
    not_over_http(
        row(Some("checks"), Some("check"), Some("constraints.checks"), Always),
        "a client cannot choose the commands that the server runs",
    ),
    row(Some("check_reports"), Some("check-report"), Some("constraints.check_reports"), Always),
    row(Some("auto_checks"), Some("no-auto-checks"), None, Always),
    row(Some("tests_may_change"), Some("tests-may-change"), Some("constraints.tests_may_change"), Always),
    row(Some("allow_sensitive"), Some("allow-sensitive"), None, Always),
    row(Some("apply"), Some("apply"), None, Always),
    row(Some("keep"), Some("keep"), None, Always),
    // The command and the whole of a flow.
    row(None, Some("gate"), None, Command),
    row(None, Some("resume"), None, Command),
    row(None, Some("message"), None, Command),
    row(None, Some("override-ethics"), None, Command),
    row(None, Some("publish"), None, Command),
    row(None, Some("dry-run"), None, Command),
    row(None, Some("json"), None, Command),
    row(None, Some("quiet"), None, Command),
    row(None, Some("goal-alone"), None, Command),
];

impl EffectRow {
    /// The row of a flag of `holon run`.
    pub fn of_flag(flag: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.flag == Some(flag))
    }

    /// The row of a key of a spec.
    pub fn of_key(key: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.key == Some(key))
    }

    /// By which name a request asks for it, if it does.
    fn asked_as(&self, request: &Value, nothing: &Value, spec: &Value) -> Option<String> {
        let ignored = match self.rule {
            NeedsGatewayUnless(value) => Some(value),
            _ => None,
        };
        let wanted = |value: &Value| value.as_str().is_none_or(|text| Some(text) != ignored);
        if let Some(field) = self.field
            && request[field] != nothing[field]
            && wanted(&request[field])
        {
            return Some(match self.flag {
                Some("--") => "what follows `--`".into(),
                Some(flag) => format!("--{flag}"),
                None => format!("`{field}`"),
            });
        }
        let key = self.key?;
        let value = spec.pointer(&format!("/{}", key.replace('.', "/")))?;
        (!value.is_null() && wanted(value)).then(|| format!("`{key}` of the spec"))
    }
}

/// Refuses what would have no effect with this agent.
pub fn refuse_without_effect(
    request: &RunRequest,
    spec: &Spec,
    agent: &ResolvedAgent,
) -> Result<(), HostError> {
    let named = request.model.is_some()
        || request.provider.is_some()
        || request.replay.is_some()
        || spec.agent.model.is_some();
    let kind = AgentKind::of(agent, named);
    let json = |value: serde_json::Result<Value>| value.unwrap_or_default();
    let asked = json(serde_json::to_value(request));
    let (nothing, spec) =
        (json(serde_json::to_value(RunRequest::default())), json(serde_json::to_value(spec)));
    for setting in SETTINGS {
        let Some(reason) = setting.rule.refuses(kind) else { continue };
        if let Some(name) = setting.asked_as(&asked, &nothing, &spec) {
            return Err(refusal(&name, agent, reason));
        }
    }
    let takes_args = agent.adapter.command.is_empty() || agent.adapter.command.iter().any(|c| c == "{args}");
    if !agent.args.is_empty() && !takes_args {
        return Err(refusal("what follows `--`", agent, "its description has no {args} in its command"));
    }
    Ok(())
}

fn refusal(name: &str, agent: &ResolvedAgent, reason: &str) -> HostError {
    HostError::usage(
        format!("{name} would have no effect with agent {}: {reason}", agent.name),
        "leave it out, or choose another agent (`holon agents list`); docs/agents.md says how an agent gets a way to a model",
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn inv_19_every_field_of_a_request_has_a_row() {
        let fields = serde_json::to_value(RunRequest::default()).unwrap();
        for field in fields.as_object().unwrap().keys() {
            let rows = SETTINGS.iter().filter(|setting| setting.field == Some(field)).count();
            assert_eq!(rows, 1, "`{field}` of a request has {rows} rows in the table");
        }
        for field in SETTINGS.iter().filter_map(|setting| setting.field) {
            assert!(fields.get(field).is_some(), "`{field}` is no field of a request");
        }
    }

    #[test]
    fn inv_19_every_key_of_a_spec_has_a_row() {
        let schema: Value = serde_json::from_str(&holon_core::schema::render("spec").unwrap()).unwrap();
        let keys = keys_of(&schema);
        assert!(keys.len() > 15, "{keys:?}");
        for key in &keys {
            assert!(EffectRow::of_key(key).is_some(), "`{key}` of a spec has no row in the table");
        }
        for key in SETTINGS.iter().filter_map(|setting| setting.key) {
            assert!(keys.iter().any(|known| known == key), "`{key}` is no key of a spec");
        }
    }

    /// Keys of the first two levels, as `constraints.mode`.
    fn keys_of(schema: &Value) -> Vec<String> {
        let below = |property: &Value| -> Option<Vec<String>> {
            let forms: Vec<&Value> = match property.get("anyOf").and_then(Value::as_array) {
                Some(forms) => forms.iter().collect(),
                None => vec![property],
            };
            let mut named = forms.into_iter().flat_map(|form| {
                let inner = form.get("allOf").and_then(Value::as_array).into_iter().flatten();
                inner.chain([form]).filter_map(|form| form.get("$ref")?.as_str())
            });
            named.find_map(|to| {
                let meant = schema.pointer(to.strip_prefix('#')?)?;
                let forms = meant.get("anyOf").and_then(Value::as_array).cloned().unwrap_or_default();
                let mut all = forms.iter().chain([meant]);
                all.find_map(|form| {
                    let form = match form.get("$ref").and_then(Value::as_str) {
                        Some(to) => schema.pointer(to.strip_prefix('#')?)?,
                        None => form,
                    };
                    Some(form.get("properties")?.as_object()?.keys().cloned().collect())
                })
            })
        };
        let mut keys = Vec::new();
        for (name, property) in schema["properties"].as_object().unwrap() {
            match below(property) {
                Some(inner) => keys.extend(inner.into_iter().map(|key| format!("{name}.{key}"))),
                None => keys.push(name.clone()),
            }
        }
        keys
    }
}
