//! What all connections of a run share.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::SystemTime;

use tokio::sync::Semaphore;

use super::limits::NetworkLimits;
use super::meter::{ConnectionMeter, HostMeters, MeterBounds};
use super::refusal_answer::RefusalAnswer;
use super::registry_addresses::RegistryAddresses;
use crate::arrival::ArrivalRules;
use crate::credential::{CredentialScrub, HostCredential};
use crate::outside::{CompanyProxies, Outside, Reach, ReachedHost};
use crate::permit::{HostTarget, Permit, PermitBook};
use crate::record::{ConnectionManner, NetworkEvent, NetworkWatch, Recorder, RefusalReason};
use crate::tls::{RunAuthority, UpstreamTrust};

/// How the network of a run is set up.
pub struct NetworkSettings {
    /// What may be reached.
    pub book: PermitBook,
    /// What is put on requests, and kept out of answers.
    pub credentials: Vec<HostCredential>,
    /// What may not come in.
    pub arrivals: ArrivalRules,
    /// Bounds on the traffic.
    pub limits: NetworkLimits,
    /// The authority that the run trusts.
    pub authority: Arc<RunAuthority>,
    /// Whose certificates count outside.
    pub trust: UpstreamTrust,
    /// How the host reaches the world.
    pub outside: Arc<dyn Outside>,
    /// The proxies of the host's environment.
    pub proxies: CompanyProxies,
    /// Whether a client learns of a missing permit inside an encrypted connection, where more clients show why and try only once;
    /// else its request for the connection is refused.
    pub refuse_inside: bool,
    /// Everything is allowed that the address rules allow, and recorded: to learn what a command needs.
    pub learning: bool,
    /// Who gets to know what happens.
    pub watch: Option<NetworkWatch>,
}

impl NetworkSettings {
    /// The usual ones: nothing is permitted.
    pub fn new(authority: Arc<RunAuthority>, trust: UpstreamTrust, outside: Arc<dyn Outside>) -> Self {
        Self {
            book: PermitBook::default(),
            credentials: Vec::new(),
            arrivals: ArrivalRules::default(),
            limits: NetworkLimits::default(),
            authority,
            trust,
            outside,
            proxies: CompanyProxies::default(),
            refuse_inside: true,
            learning: false,
            watch: None,
        }
    }
}

/// The network of a run while it is open.
pub(crate) struct RunNetwork {
    pub(crate) book: RwLock<PermitBook>,
    credentials: Vec<HostCredential>,
    pub(crate) arrivals: ArrivalRules,
    pub(crate) limits: NetworkLimits,
    pub(crate) authority: Arc<RunAuthority>,
    pub(crate) trust: UpstreamTrust,
    pub(crate) reach: Reach,
    pub(crate) refuse_inside: bool,
    learning: bool,
    pub(crate) recorder: Recorder,
    pub(crate) scrub: CredentialScrub,
    pub(crate) places: Arc<Semaphore>,
    meters: HostMeters,
    registries: RegistryAddresses,
    /// Hosts for which a client did not accept the authority.
    unaccepted: Mutex<HashSet<HostTarget>>,
}

/// How one connection or request is to be carried.
#[derive(Debug, Clone)]
pub(crate) struct JudgedWay {
    pub(crate) target: HostTarget,
    pub(crate) permit: Permit,
    /// The book as it was when the target was judged.
    pub(crate) book: PermitBook,
    pub(crate) credential: Option<HostCredential>,
    /// Whether it is only read, and then, whether it may pass unread where a client does not accept the authority.
    pub(crate) reading: Option<bool>,
}

impl RunNetwork {
    pub(crate) fn new(settings: NetworkSettings) -> Self {
        let secrets =
            settings.credentials.iter().flat_map(HostCredential::secrets).chain(settings.proxies.secrets());
        let scrub = CredentialScrub::new(secrets);
        let patience = settings.limits.connect;
        Self {
            scrub,
            book: RwLock::new(settings.book),
            credentials: settings.credentials,
            arrivals: settings.arrivals,
            places: Arc::new(Semaphore::new(settings.limits.connections.max(1))),
            limits: settings.limits,
            authority: settings.authority,
            trust: settings.trust,
            reach: Reach { outside: settings.outside, proxies: settings.proxies, patience },
            refuse_inside: settings.refuse_inside,
            learning: settings.learning,
            recorder: Recorder::new(settings.watch),
            meters: HostMeters::default(),
            registries: RegistryAddresses::default(),
            unaccepted: Mutex::default(),
        }
    }

    /// What the permits say of a target.
    pub(crate) fn judge(&self, target: &HostTarget) -> Result<JudgedWay, RefusalReason> {
        let book = self.book.read().unwrap_or_else(PoisonError::into_inner).clone();
        let permit = match book.judge(target) {
            Ok(permit) => permit.clone(),
            Err(_) if self.learning && target.host.name().is_some() => {
                Permit::named(crate::permit::HostRule::narrowest(target))
            }
            Err(refusal) => return Err(refusal.into()),
        };
        let credential = self.credentials.iter().find(|credential| credential.is_for(target)).cloned();
        // At another port a credential is not put in, but the host that has one is still only read.
        let guarded = self.credentials.iter().any(|credential| credential.is_for_host(&target.host));
        let reading = PermitBook::reads_only(&permit, guarded);
        Ok(JudgedWay { target: target.clone(), permit, book, credential, reading })
    }

    /// Records a refusal and makes what the client is told.
    pub(crate) fn refuse(&self, target: Option<&HostTarget>, reason: RefusalReason) -> RefusalAnswer {
        let (message, flag) = self.recorder.refuse(target, reason.clone());
        RefusalAnswer::new(&reason, message, flag)
    }

    /// Connects to a target that was judged.
    pub(crate) async fn open(&self, way: &JudgedWay, encrypted: bool) -> Result<ReachedHost, RefusalReason> {
        let also = self.registries.fine_for(&way.permit.source);
        let reached = self.reach.open(&way.book, &way.permit, &way.target, encrypted, &also).await?;
        self.registries.remember(&way.permit.source, reached.address);
        Ok(reached)
    }

    pub(crate) fn allow(
        &self,
        way: &JudgedWay,
        manner: ConnectionManner,
        address: Option<std::net::IpAddr>,
    ) -> u64 {
        let connection = self.recorder.next_connection();
        self.recorder.tell(&NetworkEvent::Allowed {
            connection,
            target: way.target.to_string(),
            address: address.map(|address| address.to_string()),
            manner,
            set: way.permit.set().map(ToString::to_string),
        });
        connection
    }

    /// The meter of a new connection; none when nothing may pass any more.
    pub(crate) fn meter(&self, way: &JudgedWay) -> Result<Arc<ConnectionMeter>, RefusalReason> {
        let sent = if way.reading.is_some() { self.limits.sent_reading } else { self.limits.sent };
        let bounds = MeterBounds { sent, received: self.limits.received };
        let meter = ConnectionMeter::new(self.meters.of(&way.target.host), bounds);
        match meter.spent() {
            Some(what) => Err(RefusalReason::Limit { what: what.to_owned() }),
            None => Ok(meter),
        }
    }

    pub(crate) fn finished(&self, way: &JudgedWay, connection: u64, meter: &ConnectionMeter) {
        let (sent, received) = (meter.sent(), meter.received());
        self.recorder.tell(&NetworkEvent::Finished {
            connection,
            target: way.target.to_string(),
            sent,
            received,
        });
        if let Some(what) = meter.spent() {
            self.recorder.refuse(Some(&way.target), RefusalReason::Limit { what: what.to_owned() });
        }
    }

    pub(crate) fn remember_unaccepted(&self, target: &HostTarget) {
        let mut all = self.unaccepted.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < 1000 {
            all.insert(target.clone());
        }
    }

    pub(crate) fn is_unaccepted(&self, target: &HostTarget) -> bool {
        self.unaccepted.lock().unwrap_or_else(PoisonError::into_inner).contains(target)
    }

    /// Seconds since the epoch.
    pub(crate) fn now() -> i64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    }
}
