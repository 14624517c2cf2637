//! The world as this machine sees it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

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

    fn is_own(&self, address: IpAddr) -> bool {
        address.is_loopback() || is_reached_from_itself(address)
    }
}

/// Whether the way to an address begins at that very address, as it does for those of this machine, of all its interfaces, and
/// for nothing else. The kernel is asked; nothing is sent.
fn is_reached_from_itself(address: IpAddr) -> bool {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    // A port that is not 0: some systems take that for no address at all.
    let from = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((address, 9))?;
        socket.local_addr()
    });
    from.is_ok_and(|from| from.ip() == address)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn addresses_of_this_machine_are_known_and_those_of_others_are_not() {
        let own = |text: &str| SystemOutside.is_own(text.parse().unwrap());
        assert!(own("127.0.0.1") && own("127.9.9.9") && own("::1"));
        assert!(!own("192.0.2.1") && !own("93.184.216.34") && !own("2001:db8::1"));
        // From wherever this machine would reach others, it is reached itself.
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        if socket.connect("192.0.2.1:9").is_ok() {
            assert!(SystemOutside.is_own(socket.local_addr().unwrap().ip()));
        }
    }
}
