//! A foreign agent's way to a model: the gateway's part of a run.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use holon_core::event::EventBody;
use holon_core::manifest::{ModelInfo, UsageTotals};
use holon_core::mode::NetworkReach;
use holon_gateway::{
    BudgetLimit, CassetteRecording, Gateway, GatewayBudget, GatewayEvent, GatewaySettings, GatewayToken,
    Upstream,
};
use holon_login::CredentialProvider;
use holon_model::choose::ToolCalls;
use holon_model::{ModelError, ModelErrorKind, ModelSwitch, Prices, Provider, ReplayProvider};
use holon_sandbox::backend::RunningPayload;
use holon_sandbox::isolation::{self, GATEWAY_PORT};

use super::ActiveRun;
use super::door_watch::DoorWatch;
use super::native_run_result::TAPE;
use super::replay::RecordedModel;
use super::snapshot::RunStage;
use crate::error::HostError;
use crate::model::{self, LoginSearch};

/// What a rehearsal's model is called.
const SCRIPTED: &str = "scripted-model";

/// Everything needed to open the door as often as the agent is started.
pub(crate) struct GatewaySession {
    pub token: GatewayToken,
    /// What the gateway asks.
    model: String,
    /// What the agent is told it asks.
    pub told: String,
    upstream: Upstream,
    /// Gives what goes on requests, where a login serves instead of a key.
    credentials: Option<Arc<dyn CredentialProvider>>,
    pub prices: Option<Prices>,
    /// The model's window, in tokens; 0 where nobody knows.
    pub window: u64,
    replay: Option<Arc<ReplayProvider>>,
    /// A listener in the host's own network, where the walls cannot offer one.
    outside: Option<TcpListener>,
    /// While the agent runs.
    open: Option<(Gateway, Receiver<(Instant, GatewayEvent)>)>,
    /// When requests under way began.
    begun: HashMap<u64, Instant>,
    /// What earlier starts used.
    used: GatewayUsage,
    /// Tells of failures in a row, and of an agent that never asks.
    watch: DoorWatch,
    /// The last thing the provider declined with.
    last_error: Option<ModelError>,
}

/// What was used of the model.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GatewayUsage {
    pub requests: u64,
    pub usage: holon_model::TokenUsage,
}

impl ActiveRun<'_> {
    /// Finds out who will answer, before anything is started: without a model or its key there is nothing to start.
    pub(super) fn open_door(&mut self) -> Result<(), HostError> {
        let named = self.plan.names_model();
        match &self.plan.agent.adapter.model {
            None => return Ok(()),
            Some(model) if model.on_request && !named => return Ok(()),
            Some(_) => {}
        }
        if self.plan.profile.network == NetworkReach::None {
            return Err(HostError::usage(
                format!("agent {} needs a model, and this mode has no network at all", self.plan.agent.name),
                "leave --network out, or use --network model",
            ));
        }
        let (upstream, credentials, info, window, prices, replay) = self.upstream()?;
        let prices = self.plan.figures.map_or(prices, |figures| figures.prices);
        RecordedModel::new(&info, window, prices).save(&self.folder)?;
        let token = GatewayToken::random().map_err(HostError::io("read", "/dev/urandom".as_ref()))?;
        let (model, outside, open) = (info.id.clone(), None, None);
        let told = self.told_model(&upstream, &model);
        self.warn_unpriced(&info, prices);
        self.manifest.metadata.model = Some(info);
        let (used, last_error, begun) = (GatewayUsage::default(), None, HashMap::new());
        self.foreign.door = Some(GatewaySession {
            token,
            model,
            told,
            upstream,
            credentials,
            prices,
            window,
            replay,
            outside,
            open,
            begun,
            used,
            watch: DoorWatch::new(Instant::now()),
            last_error,
        });
        Ok(())
    }

    /// What the agent is told the model is called.
    fn told_model(&self, upstream: &Upstream, model: &str) -> String {
        let own = self.plan.agent.adapter.model.as_ref();
        let passes = matches!(upstream, Upstream::Pass { endpoint, .. } if own.is_some_and(|own| own.wire.wire() == Some(endpoint.wire)));
        let alias = own.and_then(|own| own.alias.clone()).filter(|_| !passes);
        alias.unwrap_or_else(|| model.to_owned())
    }

    fn upstream(&mut self) -> Result<GatewayChoice, HostError> {
        let wished = self.plan.model.clone();
        if let Some(script) = &self.host.script {
            let id = wished.unwrap_or_else(|| SCRIPTED.to_owned());
            let info = ModelInfo {
                provider: "script".into(),
                id,
                why: "a rehearsal".into(),
                ..ModelInfo::default()
            };
            return Ok((Upstream::Any(Arc::clone(script)), None, info, 0, None, None));
        }
        if let (Some(planned), Some(cassette)) = (&self.plan.replay, &self.cassette) {
            let layers = self.folder.layers();
            let normaliser = model::normaliser(
                self.events.redactor(),
                &[(&layers, "LAYERS"), (&self.plan.workspace, "WORKSPACE")],
            );
            let replayed = model::replayed(&planned.path, cassette.clone(), wished.as_deref(), normaliser);
            let (replay, info, window, prices) = replayed;
            let provider: Arc<dyn Provider> = Arc::clone(&replay) as Arc<dyn Provider>;
            return Ok((Upstream::Any(provider), None, info, window, prices, Some(replay)));
        }
        let env = &*self.host.env;
        let (chosen, credentials) = self.choose_with_login()?;
        let in_words = matches!(chosen.tools, ToolCalls::Text { .. });
        let (info, window, prices) = model::described(&chosen);
        let timeouts = chosen.timeouts();
        let upstream = match chosen.tools {
            ToolCalls::Native => Upstream::Pass { endpoint: chosen.endpoint, timeouts },
            // A login is served by models that call tools.
            ToolCalls::Text { .. } => {
                let patience = model::patience(env)?;
                Upstream::Any(Arc::new(chosen.connect(timeouts, patience, ModelSwitch::default())?))
            }
        };
        if in_words {
            let message = format!(
                "{} is not known to call tools by itself, so it is asked for calls in words; `holon models probe` finds out, and \
                 HOLON_TOOLS=native insists",
                info.id
            );
            self.warn(message);
        }
        Ok((upstream, credentials, info, window, prices, None))
    }

    /// Decides whom to ask; where there is no key, the agent's own login serves.
    fn choose_with_login(
        &self,
    ) -> Result<(holon_model::ChosenEndpoint, Option<Arc<dyn CredentialProvider>>), HostError> {
        let (host, env) = (self.host, &*self.host.env);
        match model::search_login(&self.plan, &host.places, &host.configuration, env)? {
            LoginSearch::Route(route) => {
                let mut chosen = model::choose(&self.plan, &host.places, &|name| route.stands_in(name, env))?;
                let taken = route.takes_over(&mut chosen)?;
                Ok((chosen, taken.then_some(route.credentials)))
            }
            LoginSearch::Nothing(told) => match model::choose(&self.plan, &host.places, env) {
                Ok(chosen) => Ok((chosen, None)),
                Err(mut error) => {
                    // Somebody who has logged in learns why that does not help.
                    told.iter().for_each(|sentence| {
                        error.message = format!("{}. {sentence}", error.message.trim_end_matches('.'))
                    });
                    Err(error.into())
                }
            },
        }
    }

    /// Which network the agent's walls have.
    pub(super) fn network(&self) -> isolation::PayloadNetwork {
        match (self.plan.profile.network, &self.foreign.door) {
            (NetworkReach::Host, _) => isolation::PayloadNetwork::Host,
            (NetworkReach::Permit, _) => isolation::PayloadNetwork::Permit,
            (_, Some(_)) => isolation::PayloadNetwork::Gateway,
            (_, None) => isolation::PayloadNetwork::None,
        }
    }

    /// Where the agent finds the door; without a network of its own that is a port of the host's loopback.
    pub(super) fn door_address(&mut self, stage: &RunStage) -> Result<String, HostError> {
        let inside = self.network().has_gateway() && stage.backend.name() != "none";
        let Some(door) = &mut self.foreign.door else { return Ok(String::new()) };
        if inside {
            return Ok(format!("http://127.0.0.1:{GATEWAY_PORT}"));
        }
        if door.outside.is_none() {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(no_listener)?;
            door.outside = Some(listener);
        }
        let address = door.outside.as_ref().and_then(|l| l.local_addr().ok());
        Ok(address.map(|address| format!("http://{address}")).unwrap_or_default())
    }

    /// Opens the door for a payload that has just been started.
    pub(super) fn answer_door(&mut self, payload: &mut dyn RunningPayload) -> Result<(), HostError> {
        let tape = self.folder.evidence().join(TAPE);
        let layers = self.folder.layers();
        let normaliser = model::normaliser(
            self.events.redactor(),
            &[(&layers, "LAYERS"), (&self.plan.workspace, "WORKSPACE")],
        );
        let limits = &self.plan.profile.limits;
        let rehearsal = self.host.script.is_some();
        let (attend, shared) = (self.attendance(), self.shared.clone());
        let Some(door) = &mut self.foreign.door else { return Ok(()) };
        let outside = door.outside.as_ref().and_then(|listener| listener.try_clone().ok());
        let listener = payload.take_listener().or(outside).ok_or_else(|| HostError::Walls {
            message: "these walls have no way to a model for an agent that thinks inside".into(),
            hint: Some("use --sandbox native, or podman for a container".into()),
        })?;
        let mut file =
            File::options().create(true).append(true).open(&tape).map_err(HostError::io("create", &tape))?;
        let (sender, news) = channel();
        let mut settings =
            GatewaySettings::new(door.token.clone(), door.model.clone(), door.upstream.clone());
        let spent = door.used.usage.cost_usd.unwrap_or(0.0);
        settings.budget = GatewayBudget {
            requests: (!rehearsal).then(|| limits.rounds.saturating_sub(door.used.requests)),
            tokens: None,
            cost_usd: Some((limits.cost_usd - spent).max(0.0)),
        };
        settings.prices = door.prices;
        settings.shared = shared;
        settings.credentials.clone_from(&door.credentials);
        settings.attend = attend;
        settings.record = Some(CassetteRecording {
            normaliser,
            save: Box::new(move |text| file.write_all(text.as_bytes())),
        });
        settings.watch =
            Some(Arc::new(move |event: &GatewayEvent| drop(sender.send((Instant::now(), event.clone())))));
        let gateway = Gateway::start(listener, settings)
            .map_err(|e| HostError::Walls { message: e.to_string(), hint: None })?;
        door.open = Some((gateway, news));
        door.watch = DoorWatch::new(Instant::now());
        Ok(())
    }

    /// What happened at the door since the last look.
    pub(super) fn door_news(&mut self) -> Vec<EventBody> {
        let Some(door) = &mut self.foreign.door else { return Vec::new() };
        let Some((gateway, news)) = &door.open else { return Vec::new() };
        let provider = self.manifest.metadata.model.as_ref().map_or("", |model| model.provider.as_str());
        let mut bodies = Vec::new();
        for (at, event) in news.try_iter() {
            match event {
                GatewayEvent::Started { number, dropped, .. } => {
                    door.begun.insert(number, at);
                    door.watch.asked();
                    bodies.push(EventBody::RoundStarted { round: door.used.requests + number });
                    for name in dropped {
                        bodies.push(EventBody::Warning {
                            message: format!(
                                "the agent asked the provider for {name}, which is not passed on"
                            ),
                        });
                    }
                }
                GatewayEvent::Finished { number, usage, estimated, model, stop, error, .. } => {
                    let begun = door.begun.remove(&number).unwrap_or(at);
                    bodies.push(EventBody::ModelAnswered {
                        provider: provider.to_owned(),
                        model: door.model.clone(),
                        response_model: model,
                        duration_ms: at.duration_since(begun).as_millis() as u64,
                        usage: (!estimated).then(|| usage.into()),
                        finish: stop.map(|stop| stop.name().to_owned()),
                        error: error.as_ref().map(|error| error.kind.name().to_owned()),
                    });
                    bodies.extend(door.watch.answered(error.as_ref()));
                    let declined =
                        || ModelError::new(ModelErrorKind::Refused, "the model declines to answer");
                    let refusal = stop == Some(holon_model::ReplyStop::Refusal);
                    door.last_error = error.or_else(|| refusal.then(declined));
                    let mut total = door.used.usage;
                    total += gateway.account().usage;
                    bodies.push(EventBody::Usage { total: total.into() });
                }
                GatewayEvent::Refused { status, message } => {
                    let message = format!("a request to the model was turned away ({status}): {message}");
                    bodies.push(EventBody::Warning { message });
                }
                GatewayEvent::Spent { .. } => {}
            }
        }
        bodies
    }

    /// Whether the agent should have asked its model by now.
    pub(super) fn door_silence(&mut self) -> Option<EventBody> {
        let door = self.foreign.door.as_mut().filter(|door| door.open.is_some())?;
        door.watch.silence(Instant::now())
    }

    /// What of the budget is used up.
    pub(super) fn door_spent(&self) -> Option<BudgetLimit> {
        self.foreign.door.as_ref()?.open.as_ref()?.0.spent()
    }

    /// Closes the door behind a payload that is over.
    pub(super) fn close_door(&mut self, by_itself: bool) {
        for body in self.door_news() {
            self.events.emit(body);
        }
        let Some(door) = &mut self.foreign.door else { return };
        let Some((gateway, _)) = door.open.take() else { return };
        gateway.client_over(!by_itself);
        let account = gateway.finish();
        door.used.requests += account.requests;
        door.used.usage += account.usage;
        self.manifest.metadata.usage = UsageTotals::from(door.used.usage);
        if let Some(problem) = account.recording {
            self.warn(format!("the recording of the model's words is incomplete: {problem}"));
        }
        if account.wrong_token > 0 {
            self.warn(format!(
                "{} requests to the model showed no token or a wrong one",
                account.wrong_token
            ));
        }
    }

    /// What the provider declined with last, as an error's kind and words.
    pub(super) fn door_error(&self) -> Option<(&'static str, String)> {
        let error = self.foreign.door.as_ref()?.last_error.as_ref()?;
        let kind = match error.kind {
            ModelErrorKind::Auth | ModelErrorKind::Setup => "credentials",
            ModelErrorKind::Refused => "refused",
            ModelErrorKind::Cancelled => return None,
            _ => "model",
        };
        Some((kind, error.to_string()))
    }

    /// Turns of a cassette nobody asked for.
    pub(super) fn door_left(&self) -> usize {
        self.foreign.door.as_ref().and_then(|door| door.replay.as_ref()).map_or(0, |replay| replay.left())
    }
}

type GatewayChoice = (
    Upstream,
    Option<Arc<dyn CredentialProvider>>,
    ModelInfo,
    u64,
    Option<Prices>,
    Option<Arc<ReplayProvider>>,
);

fn no_listener(e: std::io::Error) -> HostError {
    HostError::Walls { message: format!("the gateway cannot listen: {e}"), hint: None }
}
