//! A run's network with a scripted world around it.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use holon_network::{
    HostName, NetworkEvent, NetworkProxy, NetworkSettings, Outside, OutsideFuture, Permit, PermitBook,
    PermitRule, RepositoryPath, RunAuthority, UpstreamTrust,
};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::TcpStream;

use crate::upstream::{Reply, Upstream, answer};

/// The one public address of the world.
pub(crate) const PUBLIC: &str = "93.184.216.34";

/// Names and addresses as a script says.
#[derive(Default)]
pub(crate) struct ScriptedOutside {
    /// What a name resolves to, the first time and afterwards.
    names: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    hosts: Mutex<HashMap<SocketAddr, SocketAddr>>,
    dialled: Mutex<Vec<SocketAddr>>,
    /// Addresses of this machine, however public they look.
    own: Mutex<Vec<IpAddr>>,
    pub(crate) resolved: Mutex<Vec<String>>,
}

impl ScriptedOutside {
    pub(crate) fn name(&self, name: &str, answers: &[&[&str]]) {
        let parse = |all: &&[&str]| all.iter().map(|address| address.parse().unwrap()).collect();
        self.names.lock().unwrap().insert(name.to_owned(), answers.iter().map(parse).collect());
    }

    pub(crate) fn host(&self, address: &str, upstream: &Upstream) {
        self.hosts.lock().unwrap().insert(address.parse().unwrap(), upstream.address);
    }

    pub(crate) fn own(&self, address: &str) {
        self.own.lock().unwrap().push(address.parse().unwrap());
    }

    pub(crate) fn dialled(&self) -> Vec<String> {
        self.dialled.lock().unwrap().iter().map(ToString::to_string).collect()
    }
}

impl Outside for ScriptedOutside {
    fn resolve<'a>(&'a self, name: &'a HostName) -> OutsideFuture<'a, Vec<IpAddr>> {
        self.resolved.lock().unwrap().push(name.to_string());
        let mut names = self.names.lock().unwrap();
        let answers = names.get_mut(name.as_str());
        let answer = answers.map(|all| if all.len() > 1 { all.remove(0) } else { all[0].clone() });
        Box::pin(async move { answer.ok_or_else(|| io::Error::other("no such name")) })
    }

    fn connect(&self, address: SocketAddr) -> OutsideFuture<'_, TcpStream> {
        self.dialled.lock().unwrap().push(address);
        let host = self.hosts.lock().unwrap().get(&address).copied();
        Box::pin(async move {
            let host = host.ok_or(io::ErrorKind::ConnectionRefused)?;
            TcpStream::connect(host).await
        })
    }

    fn is_own(&self, address: IpAddr) -> bool {
        self.own.lock().unwrap().contains(&address)
    }
}

pub(crate) struct World {
    pub(crate) outside: Arc<ScriptedOutside>,
    pub(crate) authority: Arc<RunAuthority>,
    pub(crate) events: Arc<Mutex<Vec<NetworkEvent>>>,
    pub(crate) root: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

impl World {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let root = params.self_signed(&key).unwrap().der().clone();
        Self {
            outside: Arc::default(),
            authority: Arc::new(RunAuthority::new(SystemTime::now()).unwrap()),
            events: Arc::default(),
            root,
            issuer: Issuer::new(params, key),
        }
    }

    /// How hosts of these names encrypt.
    pub(crate) fn encryption(&self, names: &[&str]) -> Arc<ServerConfig> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        Arc::new(config)
    }

    /// A host at the public address and port 443.
    pub(crate) fn encrypted_host(&self, names: &[&str], reply: Reply) -> Upstream {
        let upstream = Upstream::http(Some(self.encryption(names)), reply);
        for name in names {
            self.outside.name(name, &[&[PUBLIC]]);
        }
        self.outside.host(&format!("{PUBLIC}:443"), &upstream);
        upstream
    }

    pub(crate) fn settings(&self) -> NetworkSettings {
        let trust = UpstreamTrust::of([self.root.clone()]).unwrap();
        let outside = Arc::clone(&self.outside) as Arc<dyn Outside>;
        let mut settings = NetworkSettings::new(Arc::clone(&self.authority), trust, outside);
        let events = Arc::clone(&self.events);
        settings.watch = Some(Arc::new(move |event| events.lock().unwrap().push(event.clone())));
        settings.limits.head_time = Duration::from_secs(5);
        settings
    }

    pub(crate) fn open(&self, settings: NetworkSettings) -> NetworkProxy {
        NetworkProxy::start(TcpListener::bind("127.0.0.1:0").unwrap(), settings).unwrap()
    }

    pub(crate) fn refusals(&self) -> Vec<String> {
        let refused = |event: &NetworkEvent| match event {
            NetworkEvent::Refused { message, .. } => Some(message.clone()),
            _ => None,
        };
        self.events.lock().unwrap().iter().filter_map(refused).collect()
    }

    /// Waits until something was recorded; events are told on the network's own thread.
    pub(crate) fn until(&self, what: impl Fn(&NetworkEvent) -> bool) -> NetworkEvent {
        for _ in 0..2000 {
            if let Some(event) = self.events.lock().unwrap().iter().find(|event| what(event)) {
                return event.clone();
            }
            std::thread::park_timeout(Duration::from_millis(5));
        }
        panic!("it was never recorded: {:?}", self.events.lock().unwrap());
    }
}

/// A book of permits by name, as flags give them.
pub(crate) fn named(permits: &[&str]) -> PermitBook {
    PermitBook::new(permits.iter().map(|text| match PermitRule::parse(text).unwrap() {
        PermitRule::Host(rule) => Permit::named(rule),
        PermitRule::Set(set) => panic!("{set} is no host"),
    }))
}

/// A permit for a repository, as a remote gives it.
pub(crate) fn repository(host: &str, path: &str) -> Permit {
    match (PermitRule::parse(host).unwrap(), PermitRule::parse("git:origin").unwrap()) {
        (PermitRule::Host(rule), PermitRule::Set(set)) => {
            Permit::repository(rule, RepositoryPath::parse(path).unwrap(), set)
        }
        other => panic!("{other:?}"),
    }
}

/// A permit as a client's configuration gives it.
pub(crate) fn configured(text: &str, set: &str) -> Permit {
    match (PermitRule::parse(text).unwrap(), PermitRule::parse(set).unwrap()) {
        (PermitRule::Host(rule), PermitRule::Set(set)) => Permit::configured(rule, set),
        other => panic!("{other:?}"),
    }
}

/// Says which host was asked for what.
pub(crate) fn echo() -> Reply {
    Arc::new(|head| answer("200 OK", "", head.lines().next().unwrap_or_default()))
}
