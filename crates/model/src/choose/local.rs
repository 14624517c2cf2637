//! Models on this machine.

use super::tools::{self, ToolCalls};
use super::{CatalogueChoice, ChosenEndpoint, EndpointDecider, set, setup, spelling};
use crate::ability::ModelAbilities;
use crate::catalogue::{CatalogueOrigin, DataPolicy, ModelRow};
use crate::detect::{DEFAULT_PORTS, LocalServer, UnlistedReason};
use crate::endpoint::Endpoint;
use crate::error::ModelError;
use crate::select::{self, RejectedCandidate, ScoredCandidate, SelectedModel};

impl EndpointDecider<'_> {
    /// A server found by its usual port; `local` is the first that has a model.
    pub(super) fn on_this_machine(
        &self,
        name: &str,
        model: Option<&str>,
    ) -> Result<ChosenEndpoint, ModelError> {
        if name == "ollama"
            && let Some(host) = set(self.around, "OLLAMA_HOST")
        {
            let mut endpoint = Endpoint::compatible("ollama", &spelling::ollama_base(&host), None);
            endpoint.wire = self.wire.unwrap_or(endpoint.wire);
            endpoint.check()?;
            return self.at_server(endpoint, model, "ollama at OLLAMA_HOST was asked for");
        }
        let servers = self.around.servers();
        let mut fitting: Vec<&LocalServer> =
            servers.iter().filter(|server| name == "local" || server.endpoint.name == name).collect();
        if let Some(model) = model.filter(|_| fitting.len() > 1) {
            fitting.retain(|server| listed(&server.models, model).is_some());
        } else if fitting.len() > 1 {
            fitting.retain(|server| self.table.local.pick(&server.models).is_some());
        }
        let found = fitting.first().copied().or_else(|| servers.first().filter(|_| name == "local"));
        match found {
            Some(server) => {
                let why =
                    if name == "local" { "answers on this machine" } else { "was asked for and answers" };
                let why = format!("{} {why}", server.endpoint.name);
                self.at(server, model, &why)
            }
            None => Err(nothing_answers(name)),
        }
    }

    /// The server that has this model, if one does.
    pub(super) fn server_with(&self, model: &str) -> Result<Option<ChosenEndpoint>, ModelError> {
        let servers = self.around.servers();
        let found = servers.iter().find(|server| listed(&server.models, model).is_some());
        let why = |server: &LocalServer| format!("{} on this machine has it", server.endpoint.name);
        found.map(|server| self.at(server, Some(model), &why(server))).transpose()
    }

    /// A server that was named by its URL: on this machine it is asked what it has, elsewhere the model must be named.
    pub(super) fn at_server(
        &self,
        endpoint: Endpoint,
        model: Option<&str>,
        why: &str,
    ) -> Result<ChosenEndpoint, ModelError> {
        let unlisted = match self.around.server_at(&endpoint) {
            Ok(server) => return self.at(&LocalServer { endpoint, models: server.models }, model, why),
            Err(unlisted) => unlisted,
        };
        let Some(model) = model else {
            return Err(setup(match endpoint.is_loopback() {
                true => not_listed(&endpoint, unlisted),
                false => format!(
                    "nobody says which models are at {}: name one with --model or HOLON_MODEL",
                    endpoint.base
                ),
            }));
        };
        let known = match (endpoint.is_loopback(), unlisted) {
            (true, UnlistedReason::Down) => ModelAbilities::default(),
            _ => self.around.abilities(&endpoint, model),
        };
        // Somebody else's gateway that says nothing of itself; those call tools.
        let (tools, note) = match endpoint.is_loopback() || known.tools().is_some() {
            true => tools::at_server(self.tools, &endpoint, model, &known),
            false => (tools::in_cloud(self.tools, None), ""),
        };
        let why = if note.is_empty() { why.to_owned() } else { format!("{why}; {note}") };
        let row = (!known.is_empty()).then(|| row(&endpoint, model, tools, &known));
        Ok(ChosenEndpoint { endpoint, model: model.to_owned(), tools, why, row, known, choice: None })
    }

    fn at(&self, server: &LocalServer, model: Option<&str>, why: &str) -> Result<ChosenEndpoint, ModelError> {
        let mut endpoint = server.endpoint.clone();
        endpoint.wire = self.wire.unwrap_or(endpoint.wire);
        let (name, base) = (&endpoint.name, &endpoint.base);
        let (model, choice) = match model {
            Some(model) => {
                let spelled = listed(&server.models, model);
                (spelled.ok_or_else(|| not_there(name, base, model, &server.models))?, None)
            }
            None => {
                let selection = self.pick(&endpoint, &server.models)?;
                let choice = CatalogueChoice { selection, origin: CatalogueOrigin::Local, warning: None };
                (choice.selection.model.clone(), Some(choice))
            }
        };
        let known = self.around.abilities(&endpoint, &model);
        let (tools, note) = tools::at_server(self.tools, &endpoint, &model, &known);
        let row = Some(row(&endpoint, &model, tools, &known));
        Ok(ChosenEndpoint { endpoint, model, tools, why: format!("{why}; {note}"), row, known, choice })
    }

    /// The model of a server that nobody named: the first that the table prefers and that keeps to what somebody set.
    /// What a purpose would like is not asked of it: there is nothing else on this machine.
    fn pick(&self, endpoint: &Endpoint, models: &[String]) -> Result<SelectedModel, ModelError> {
        let (name, base) = (&endpoint.name, &endpoint.base);
        let wish = self.wish;
        let (mut candidates, mut rejected) = (Vec::new(), Vec::new());
        for model in self.table.local.ranked(models) {
            let known = self.around.abilities(endpoint, model);
            let (tools, _) = tools::at_server(self.tools, endpoint, model, &known);
            let told = row(endpoint, model, tools, &known);
            match select::refuse_here(&wish.constraints, &told) {
                Some(why) => rejected.push(RejectedCandidate { id: model.to_owned(), why }),
                None => {
                    let window = match told.context {
                        Some(window) => format!("a window of {window} tokens"),
                        None => "a window that nobody tells".to_owned(),
                    };
                    candidates.push(ScoredCandidate { id: model.to_owned(), score: 0, why: window });
                }
            }
            // Whoever runs very many models on one machine is not kept waiting for each.
            if candidates.len() >= MOST_LOOKED_AT {
                break;
            }
        }
        let Some(first) = candidates.first() else {
            let remedy = if name == "ollama" { "`ollama pull qwen3`" } else { "load one" };
            return Err(setup(match rejected.as_slice() {
                [] => format!("{name} answers at {base} but has no model to talk to: {remedy}"),
                [one, ..] => format!(
                    "none of the {} models of {name} at {base} keeps to the limits that are set ({}: {}): loosen models.* in the configuration, or load another",
                    rejected.len(),
                    one.id,
                    one.why
                ),
            }));
        };
        let reason = format!("the first of {} at {name}, {}", candidates.len(), first.why);
        let (model, intent, policy) = (first.id.clone(), wish.intent, wish.constraints.policy);
        Ok(SelectedModel { model, intent, policy, reason, candidates, rejected })
    }
}

/// Models of one server whose abilities are asked for when one is chosen.
const MOST_LOOKED_AT: usize = 12;

fn row(endpoint: &Endpoint, model: &str, tools: ToolCalls, known: &ModelAbilities) -> ModelRow {
    ModelRow {
        context: known.window(),
        tools: Some(tools == ToolCalls::Native),
        reasoning: known.told.thinks,
        structured: known.schema(),
        data: if endpoint.is_loopback() { DataPolicy::Local } else { DataPolicy::Any },
        ..ModelRow::new(&endpoint.name, model)
    }
}

/// What to change so that a server on this machine lists its models.
fn not_listed(endpoint: &Endpoint, why: UnlistedReason) -> String {
    let base = &endpoint.base;
    let named = "or name a model with --model or HOLON_MODEL";
    match why {
        UnlistedReason::Down => {
            format!("nobody lists models at {base}: start the server there, correct HOLON_BASE_URL, {named}")
        }
        UnlistedReason::Status(401 | 403) => {
            let variable = endpoint.key_from.as_deref().unwrap_or("HOLON_API_KEY");
            format!("the server at {base} wants a key: set {variable} to the one it was started with")
        }
        UnlistedReason::Status(status) => {
            let right = format!("{}/v1", base.strip_suffix(endpoint.path()).unwrap_or(base));
            let meant =
                if *base == right { String::new() } else { format!("set HOLON_BASE_URL to {right}, ") };
            format!("there is no list of models at {base}/models (HTTP {status}): {meant}{named}")
                .replace(": or name", ": name")
        }
        UnlistedReason::Odd => format!(
            "{base}/models answers with something that is no list of models: set HOLON_BASE_URL to the address of a model server, {named}"
        ),
    }
}

/// The model as the server lists it: Ollama's `qwen3` is `qwen3:latest`.
fn listed(models: &[String], model: &str) -> Option<String> {
    let latest = format!("{model}:latest");
    models
        .iter()
        .find(|name| **name == model)
        .or_else(|| models.iter().find(|name| **name == latest))
        .cloned()
}

fn not_there(name: &str, base: &str, model: &str, models: &[String]) -> ModelError {
    let list = match models {
        [] => "it has none".to_owned(),
        some => {
            let more = if some.len() > 8 { ", …" } else { "" };
            format!("it has {}{more}", some.iter().take(8).cloned().collect::<Vec<_>>().join(", "))
        }
    };
    let remedy = if name == "ollama" { format!("; `ollama pull {model}` fetches it") } else { String::new() };
    setup(format!("{name} at {base} does not have `{model}`: {list}{remedy}"))
}

fn nothing_answers(name: &str) -> ModelError {
    let ports = DEFAULT_PORTS.iter().map(|(server, port)| format!("{server} on {port}")).collect::<Vec<_>>();
    match DEFAULT_PORTS.iter().find(|(server, _)| *server == name) {
        Some((_, port)) => {
            let start = if name == "ollama" { "start it with `ollama serve`" } else { "start it" };
            setup(format!(
                "{name} does not answer on port {port}: {start}, or give its URL as HOLON_BASE_URL"
            ))
        }
        None => setup(format!(
            "set OPENROUTER_API_KEY (any model), ANTHROPIC_API_KEY or OPENAI_API_KEY, or start a server on this machine ({}), or give the URL of one as HOLON_BASE_URL",
            ports.join(", ")
        )),
    }
}
