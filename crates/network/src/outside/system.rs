//! The world as this machine sees it.

use std::net::{IpAddr, SocketAddr};

use tokio::net::TcpStream;

use super::{Outside, OutsideFuture};
use crate::permit::HostName;

/// Resolves as this machine is set up to, and connects directly.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemOutside;

impl Outside for SystemOutside {
    fn resolve<'a>(&'a self, name: &'a HostName) -> OutsideFuture<'a, Vec<IpAddr>> {
        Box::pin(async move {
            let mut all: Vec<IpAddr> = Vec::new();
            for address in tokio::net::lookup_host((name.as_str(), 0)).await? {
                if !all.contains(&address.ip()) {
                    all.push(address.ip());
                }
            }
            Ok(all)
        })
    }

    fn connect(&self, address: SocketAddr) -> OutsideFuture<'_, TcpStream> {
        Box::pin(async move {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(stream)
        })
    }
}
