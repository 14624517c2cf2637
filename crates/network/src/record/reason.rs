//! Why something was refused, in a form programs can count and people can read.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::address::AddressKind;
use crate::permit::PermitRefusal;

/// Why a connection or a request was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum RefusalReason {
    /// No permit names the host.
    NotPermitted {
        /// A permitted host that was perhaps meant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nearest: Option<String>,
    },
    /// The host is permitted at other ports.
    Port,
    /// No permit names the address.
    RawAddress {
        /// What kind of place it is.
        address_kind: AddressKind,
    },
    /// The name leads to an address that is not reached by name.
    Address {
        /// What kind of place it is.
        address_kind: AddressKind,
        /// The address.
        address: IpAddr,
    },
    /// The request cannot be read in one way only.
    Malformed {
        /// What is wrong with it.
        what: String,
    },
    /// The encrypted connection names another server, or none.
    ServerName {
        /// The one it names.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        named: Option<String>,
    },
    /// The encrypted connection hides which server it is for.
    HiddenServerName,
    /// The connection is not encrypted where it has to be.
    NotEncrypted,
    /// The request names another host than the connection.
    OtherHost {
        /// The one it names.
        named: String,
    },
    /// The request wants to speak something else than HTTP.
    Upgrade,
    /// The method changes something, and the host may only be read.
    Method {
        /// The method.
        method: String,
    },
    /// The request carries a body, and the host may only be read.
    Body,
    /// The address of the request is longer than reading needs.
    LongUrl {
        /// Its length.
        bytes: usize,
    },
    /// The path is one where tokens or accounts are handed out.
    Account,
    /// The path is one for publishing.
    Publishing,
    /// Only a repository of the host may be fetched, and the request is for something else.
    OtherRepository,
    /// What is sent to git is not what fetching says.
    NotFetching {
        /// What is wrong with it.
        what: String,
    },
    /// A bound of the run is used up.
    Limit {
        /// Which one.
        what: String,
    },
    /// The name cannot be resolved.
    Unresolved,
    /// The host cannot be reached.
    Unreachable {
        /// What happened.
        what: String,
    },
    /// The host's certificate is not one this machine trusts.
    Certificate {
        /// What is wrong with it.
        what: String,
    },
    /// The client does not accept the authority of the run.
    AuthorityRefused,
    /// The answer is encoded although it must be readable.
    EncodedAnswer,
    /// The package is on the deny list.
    DeniedPackage {
        /// Its name and version.
        package: String,
    },
    /// The package was published too lately.
    YoungPackage {
        /// Its name and version.
        package: String,
        /// How many days old a version has to be.
        days: u32,
    },
}

impl RefusalReason {
    /// Whether a permit would make a difference.
    pub fn is_permit_missing(&self) -> bool {
        matches!(
            self,
            Self::NotPermitted { .. } | Self::Port | Self::RawAddress { .. } | Self::Address { .. }
        )
    }

    /// What happened to a request for a target, in a sentence without an end mark.
    pub fn sentence(&self, target: &str) -> String {
        match self {
            Self::NotPermitted { nearest: Some(nearest) } => {
                format!("{target} is not permitted (did you mean {nearest}?)")
            }
            Self::NotPermitted { nearest: None } => format!("{target} is not permitted"),
            Self::Port => format!("{target} is not permitted at this port"),
            Self::RawAddress { address_kind } => {
                format!("the address {target} is not permitted: it is {address_kind}")
            }
            Self::Address { address_kind, address } => {
                format!("{target} leads to {address}, which is {address_kind}")
            }
            Self::Malformed { what } => format!("the request is not clear: {what}"),
            Self::ServerName { named: Some(named) } => {
                format!("the connection to {target} asks for the server {named}")
            }
            Self::ServerName { named: None } => format!("the connection to {target} names no server"),
            Self::HiddenServerName => format!("the connection to {target} hides which server it is for"),
            Self::NotEncrypted => format!("the connection to {target} is not encrypted"),
            Self::OtherHost { named } => format!("the request to {target} is for the host {named}"),
            Self::Upgrade => {
                format!(
                    "the request to {target} wants to go on in another protocol: only over encryption a websocket passes"
                )
            }
            Self::Method { method } => format!("{method} is not permitted: {target} may only be read"),
            Self::Body => format!("a request with a body is not permitted: {target} may only be read"),
            Self::LongUrl { bytes } => {
                format!(
                    "the request to {target} has an address of {bytes} bytes, which is longer than reading needs"
                )
            }
            Self::Account => format!("tokens and accounts of {target} are not for a run"),
            Self::Publishing => format!("nothing may be published to {target}: it may only be read"),
            Self::OtherRepository => {
                format!(
                    "only the repository of the remote is fetched from {target}, and this is something else"
                )
            }
            Self::NotFetching { what } => {
                format!("what is sent to git at {target} is not what fetching says: {what}")
            }
            Self::Limit { what } => format!("no more of {target}: {what}"),
            Self::Unresolved => format!("{target} has no address"),
            Self::Unreachable { what } => format!("{target} cannot be reached: {what}"),
            Self::Certificate { what } => format!("the certificate of {target} is not trusted: {what}"),
            Self::AuthorityRefused => {
                format!("the client does not accept the authority of this run for {target}")
            }
            Self::EncodedAnswer => {
                format!("{target} sent an encoded answer that cannot be looked through for credentials")
            }
            Self::DeniedPackage { package } => format!("{package} is on the deny list"),
            Self::YoungPackage { package, days } => {
                format!("{package} was published less than {days} days ago, or nobody says when")
            }
        }
    }
}

impl From<PermitRefusal> for RefusalReason {
    fn from(refusal: PermitRefusal) -> Self {
        match refusal {
            PermitRefusal::Host { nearest } => Self::NotPermitted { nearest },
            PermitRefusal::RawAddress(address_kind) => Self::RawAddress { address_kind },
            PermitRefusal::Port => Self::Port,
            PermitRefusal::Address(address_kind, address) => Self::Address { address_kind, address },
        }
    }
}
