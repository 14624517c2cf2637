//! How the host reaches the world, behind a trait so that tests script it.

mod company_proxy;
mod reach;
mod system;

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;

use tokio::net::TcpStream;

pub use company_proxy::{CompanyProxies, CompanyProxyError};
pub use system::SystemOutside;

pub(crate) use company_proxy::decoded;
pub(crate) use reach::{Reach, ReachedHost};

use crate::permit::HostName;

/// What takes its time.
pub type OutsideFuture<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// Resolves names and opens connections.
pub trait Outside: Send + Sync {
    /// All addresses of a name.
    fn resolve<'a>(&'a self, name: &'a HostName) -> OutsideFuture<'a, Vec<IpAddr>>;

    /// A connection to exactly this address.
    fn connect(&self, address: SocketAddr) -> OutsideFuture<'_, TcpStream>;

    /// Whether an address is one of this machine's own, so that whoever connects there connects to this machine.
    fn is_own(&self, address: IpAddr) -> bool;
}
