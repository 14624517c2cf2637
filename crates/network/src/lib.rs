//! The network by permit: what a run may reach, judged and carried by the host.

mod address;
mod permit;

pub use address::AddressKind;
pub use permit::{
    ClientSet, HostName, HostPattern, HostRule, HostTarget, PackageFamily, Permit, PermitAccess, PermitBook,
    PermitError, PermitRefusal, PermitRule, PermitSource, RemoteName, TargetHost,
};
