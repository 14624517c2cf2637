//! The network of a run by permit: what is made for it, opened for each start of the agent, and written down.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::SystemTime;

use holon_core::event::EventBody;
use holon_core::manifest::{NetworkHost, NetworkPackage, NetworkRecord};
use holon_core::mode::NetworkReach;
use holon_network::{
    ArrivalRules, ClientSettings, CompanyProxies, ConnectionManner, NetworkEvent, NetworkProxy,
    NetworkSettings, NetworkSummary, PackageArrival, Permit, PermitBook, RunAuthority, SettingsPlaces,
    SystemOutside, UpstreamTrust, machine_bundle,
};
use holon_sandbox::backend::RunningPayload;
use holon_sandbox::isolation::PROXY_PORT;
use holon_sandbox::mount::Mount;

use super::ActiveRun;
use crate::error::HostError;
use crate::plan::PlannedPermit;

/// Where clients find their certificates and settings inside.
const INSIDE: &str = "/holon/network";
/// The private HOME inside.
const HOME: &str = "/holon/home";

/// Everything needed to open the network as often as the agent is started.
pub(crate) struct NetworkSession {
    permits: Vec<Permit>,
    arrivals: ArrivalRules,
    /// Its key is in this process alone.
    authority: Arc<RunAuthority>,
    trust: UpstreamTrust,
    proxies: CompanyProxies,
    /// What clients inside are told.
    variables: Vec<(String, String)>,
    /// The folder that holds their files, on this machine.
    folder: PathBuf,
    /// While the agent runs.
    open: Option<(NetworkProxy, Receiver<NetworkEvent>)>,
    /// What earlier starts did.
    sum: NetworkSummary,
}

impl ActiveRun<'_> {
    /// Makes the authority and the files of a run that may reach something; nothing is served before the agent starts.
    pub(super) fn open_network(&mut self) -> Result<(), HostError> {
        if self.plan.profile.network != NetworkReach::Permit {
            return Ok(());
        }
        let cannot =
            |message: String| HostError::Walls { message, hint: Some("leave --allow-net out".into()) };
        let mut permits = Vec::new();
        for planned in &self.plan.permits {
            permits.extend(planned.permits()?);
        }
        let arrivals = self.plan.arrivals.rules()?;
        let authority = Arc::new(RunAuthority::new(SystemTime::now()).map_err(|e| cannot(e.to_string()))?);
        let trust = UpstreamTrust::of_this_machine().map_err(|e| cannot(e.to_string()))?;
        let variable = |name: &str| (self.host.env)(name)?.into_string().ok();
        let proxies = CompanyProxies::from_environment(variable).map_err(|e| cannot(e.to_string()))?;
        let places = SettingsPlaces { folder: INSIDE.into(), home: HOME.into(), direct: Vec::new() };
        let registries: Vec<_> =
            self.plan.permits.iter().filter_map(PlannedPermit::registry_settings).collect();
        let told = ClientSettings::new(PROXY_PORT, &places, &authority, &machine_bundle(), &registries);
        let folder = self.folder.layers().join("network");
        fs::create_dir(&folder).map_err(HostError::io("create", &folder))?;
        readable(&folder, 0o755)?;
        for file in &told.files {
            let Some(name) = Path::new(&file.path).file_name() else { continue };
            let path = folder.join(name);
            fs::write(&path, &file.bytes).map_err(HostError::io("write", &path))?;
            readable(&path, 0o644)?;
        }
        let (variables, open, sum) = (told.variables, None, NetworkSummary::default());
        self.permitted = Some(NetworkSession {
            permits,
            arrivals,
            authority,
            trust,
            proxies,
            variables,
            folder,
            open,
            sum,
        });
        self.note_network();
        Ok(())
    }

    /// What an agent is told so that its clients ask the proxy and trust the authority of this run.
    pub(super) fn network_env(&self) -> Vec<(String, String)> {
        self.permitted.as_ref().map(|permitted| permitted.variables.clone()).unwrap_or_default()
    }

    /// The files that this speaks of, where the agent finds them.
    pub(super) fn network_mount(&self) -> Option<Mount> {
        self.permitted.as_ref().map(|permitted| Mount::read_only(&permitted.folder, INSIDE))
    }

    /// Serves the proxy for a payload that has just been started. A listener that nobody serves is closed: whoever asks there is
    /// refused at once.
    pub(super) fn answer_network(&mut self, payload: &mut dyn RunningPayload) -> Result<(), HostError> {
        if let Some(permitted) = &mut self.permitted {
            if self.foreign.door.is_none() {
                drop(payload.take_listener());
            }
            let listener = payload.take_listener().ok_or_else(|| HostError::Walls {
                message: "these walls have no way for what is permitted to be reached".into(),
                hint: Some("use --sandbox native, podman for a container, or --network model".into()),
            })?;
            let (sender, news) = channel();
            let mut settings = NetworkSettings::new(
                Arc::clone(&permitted.authority),
                permitted.trust.clone(),
                Arc::new(SystemOutside),
            );
            settings.book = PermitBook::new(permitted.permits.iter().cloned());
            settings.arrivals = permitted.arrivals.clone();
            settings.learning = self.plan.learning;
            settings.credentials = self.credentials.clone();
            settings.proxies = permitted.proxies.clone();
            settings.watch = Some(Arc::new(move |event: &NetworkEvent| drop(sender.send(event.clone()))));
            let proxy = NetworkProxy::start(listener, settings)
                .map_err(|e| HostError::Walls { message: e.to_string(), hint: None })?;
            permitted.open = Some((proxy, news));
        }
        while payload.take_listener().is_some() {}
        Ok(())
    }

    /// What happened on the network since the last look.
    pub(super) fn network_news(&mut self) -> Vec<EventBody> {
        let open = self.permitted.as_ref().and_then(|permitted| permitted.open.as_ref());
        open.map(|(_, news)| news.try_iter().filter_map(told).collect()).unwrap_or_default()
    }

    /// Closes the network behind a payload that is over, and writes down what it did.
    pub(super) fn close_network(&mut self) {
        let Some((proxy, news)) = self.permitted.as_mut().and_then(|permitted| permitted.open.take()) else {
            return;
        };
        let sum = proxy.finish();
        for body in news.try_iter().filter_map(told) {
            self.events.emit(body);
        }
        if let Some(permitted) = &mut self.permitted {
            permitted.sum.add_all(sum);
        }
        self.note_network();
    }

    fn note_network(&mut self) {
        let Some(permitted) = &self.permitted else { return };
        let permits = self.plan.permits.iter().map(|permit| permit.rule.clone()).collect();
        self.manifest.metadata.network = Some(record(permits, &permitted.sum));
    }
}

/// Whoever the payload runs as can read it; the folder around it is the user's alone.
fn readable(path: &Path, mode: u32) -> Result<(), HostError> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(HostError::io("open", path))
}

/// An event of the network as one of the run; what only counts is in the sum at the end.
fn told(event: NetworkEvent) -> Option<EventBody> {
    match event {
        NetworkEvent::Allowed { target, address, manner, set, .. } => {
            Some(EventBody::NetworkAllowed { target, address, manner: name_of(manner).to_owned(), set })
        }
        NetworkEvent::Refused { target, message, flag, .. } => {
            Some(EventBody::NetworkRefused { target, message, flag })
        }
        NetworkEvent::Finished { .. } | NetworkEvent::Arrived { .. } => None,
    }
}

fn name_of(manner: ConnectionManner) -> &'static str {
    match manner {
        ConnectionManner::Tunnel => "tunnel",
        ConnectionManner::Opaque => "opaque",
        ConnectionManner::Raw => "raw",
        ConnectionManner::Plain => "plain",
        ConnectionManner::Read => "read",
    }
}

fn record(permits: Vec<String>, sum: &NetworkSummary) -> NetworkRecord {
    let host = |(target, traffic): (&String, &holon_network::HostTraffic)| {
        let host = NetworkHost {
            allowed: traffic.allowed,
            refused: traffic.refused,
            sent: traffic.sent,
            received: traffic.received,
            opaque: traffic.opaque,
            refusal: traffic.refusal.clone(),
            flag: traffic.flag.clone(),
        };
        (target.clone(), host)
    };
    let package = |arrival: &PackageArrival| NetworkPackage {
        family: arrival.package.family.to_string(),
        name: arrival.package.name.clone(),
        version: arrival.package.version.clone(),
        host: arrival.host.clone(),
        sha256: arrival.sha256.clone(),
        bytes: arrival.bytes,
    };
    NetworkRecord {
        permits,
        allowed: sum.allowed,
        refused: sum.refused,
        hosts: sum.hosts.iter().map(host).collect(),
        other_hosts: sum.other_hosts,
        packages: sum.packages.iter().map(package).collect(),
    }
}
