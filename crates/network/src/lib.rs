//! The network by permit: what a run may reach, judged and carried by the host.
//!
//! Inside the walls a proxy listens on loopback; this crate serves it from outside. What is asked for is judged by the permits
//! of the run, resolved once and reached at the address that was judged. Hosts that may only be read have their encryption
//! ended by an authority made for the run; credentials are put on outside and kept out of what goes inside.

mod address;
mod arrival;
mod client_set_hosts;
mod client_settings;
mod credential;
mod git_request;
mod learn;
mod outside;
mod permit;
mod proxy;
mod record;
mod tls;

pub use address::AddressKind;
pub use arrival::{ArrivalRules, DeniedPackage, PackageArrival, PackageVersion, recognise};
pub use client_set_hosts::{
    ClientQueries, ClientQueryError, IndexAnswer, SetHost, SetHostPart, SetHosts, SystemQueries,
};
pub use client_settings::{ClientSettings, RegistrySettings, SettingsFile, SettingsPlaces};
pub use credential::{CredentialError, CredentialForm, HostCredential};
pub use learn::LearntPermits;
pub use outside::{CompanyProxies, CompanyProxyError, Outside, OutsideFuture, SystemOutside};
pub use permit::{
    ClientSet, HostName, HostPattern, HostRule, HostTarget, PackageFamily, Permit, PermitAccess, PermitBook,
    PermitError, PermitRefusal, PermitRule, PermitSource, RemoteName, RepositoryPath, TargetHost,
};
pub use proxy::{NetworkLimits, NetworkProxy, NetworkProxyError, NetworkSettings};
pub use record::{ConnectionManner, HostTraffic, NetworkEvent, NetworkSummary, NetworkWatch, RefusalReason};
pub use tls::{AuthorityError, RunAuthority, TrustError, UpstreamTrust, machine_bundle};
