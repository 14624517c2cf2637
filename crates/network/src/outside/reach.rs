//! Opens a connection to a target whose address was judged, and to no other address.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Outside;
use super::company_proxy::{CompanyProxies, CompanyProxy};
use crate::address::AddressKind;
use crate::permit::{HostTarget, Permit, PermitBook, TargetHost};
use crate::record::RefusalReason;

/// The ways out of the host.
pub(crate) struct Reach {
    pub(crate) outside: Arc<dyn Outside>,
    pub(crate) proxies: CompanyProxies,
    /// For a name, and for each address.
    pub(crate) patience: Duration,
}

/// An open connection.
pub(crate) struct ReachedHost {
    pub(crate) stream: TcpStream,
    /// Where it goes; nobody knows behind a company's proxy.
    pub(crate) address: Option<IpAddr>,
}

/// An answer of a company's proxy has no longer head.
const PROXY_HEAD: usize = 16 * 1024;

impl Reach {
    /// Resolves a name once, judges what it leads to, and connects there; addresses in `also` were judged before.
    pub(crate) async fn open(
        &self,
        book: &PermitBook,
        permit: &Permit,
        target: &HostTarget,
        encrypted: bool,
        also: &[IpAddr],
    ) -> Result<ReachedHost, RefusalReason> {
        let proxy = self.proxies.before(target, encrypted);
        let addresses = match (&target.host, proxy) {
            (TargetHost::Address(address), _) => vec![*address],
            (TargetHost::Name(_), None) => self.resolved(target).await?,
            // Behind such a proxy the host may know no names; what it does know is judged.
            (TargetHost::Name(_), Some(_)) => self.resolved(target).await.unwrap_or_default(),
        };
        let mut refused = None;
        let mut fine = Vec::new();
        for address in addresses {
            match book.judge_address(permit, target, address, self.kind(address)) {
                Ok(()) => fine.push(address),
                Err(_) if also.contains(&address) => fine.push(address),
                Err(refusal) => refused = Some(refusal),
            }
        }
        if let (true, Some(refusal)) = (fine.is_empty(), refused) {
            return Err(refusal.into());
        }
        match proxy {
            Some(proxy) => self.through(proxy, target).await,
            None => self.direct(&fine, target.port).await,
        }
    }

    /// The kind of an address; those of this machine are this machine, however public they look.
    fn kind(&self, address: IpAddr) -> AddressKind {
        match AddressKind::of(address) {
            AddressKind::Public if self.outside.is_own(address) => AddressKind::Loopback,
            kind => kind,
        }
    }

    async fn resolved(&self, target: &HostTarget) -> Result<Vec<IpAddr>, RefusalReason> {
        let name = match &target.host {
            TargetHost::Name(name) => name,
            TargetHost::Address(address) => return Ok(vec![*address]),
        };
        let found = timeout(self.patience, self.outside.resolve(name)).await;
        match found {
            Ok(Ok(all)) if !all.is_empty() => Ok(all),
            _ => Err(RefusalReason::Unresolved),
        }
    }

    /// A few addresses are tried in turn.
    async fn direct(&self, addresses: &[IpAddr], port: u16) -> Result<ReachedHost, RefusalReason> {
        let mut what = "it has no address that may be reached".to_owned();
        for address in addresses.iter().take(4) {
            let socket = SocketAddr::new(*address, port);
            match timeout(self.patience, self.outside.connect(socket)).await {
                Ok(Ok(stream)) => return Ok(ReachedHost { stream, address: Some(*address) }),
                Ok(Err(error)) => what = error.kind().to_string(),
                Err(_) => what = "no answer in time".to_owned(),
            }
        }
        Err(RefusalReason::Unreachable { what })
    }

    async fn through(&self, proxy: &CompanyProxy, target: &HostTarget) -> Result<ReachedHost, RefusalReason> {
        let addresses = self.resolved(&proxy.target).await?;
        let mut reached = self.direct(&addresses, proxy.target.port).await?;
        let failed = |what: &str| RefusalReason::Unreachable { what: format!("the company's proxy {what}") };
        let mut head = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n");
        if let Some(authorization) = &proxy.authorization {
            head.push_str(&format!("Proxy-Authorization: {authorization}\r\n"));
        }
        head.push_str("\r\n");
        let asked = async {
            reached.stream.write_all(head.as_bytes()).await.ok()?;
            status(&mut reached.stream).await
        };
        match timeout(self.patience, asked).await {
            Ok(Some(200)) => Ok(ReachedHost { stream: reached.stream, address: None }),
            Ok(Some(407)) => Err(failed("wants other credentials")),
            Ok(Some(status)) => Err(failed(&format!("answers {status}"))),
            Ok(None) => Err(failed("gives no answer")),
            Err(_) => Err(failed("gives no answer in time")),
        }
    }
}

/// Reads the head of an answer and not a byte more.
async fn status(stream: &mut TcpStream) -> Option<u16> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= PROXY_HEAD {
            return None;
        }
        head.push(stream.read_u8().await.ok()?);
    }
    let line = std::str::from_utf8(head.get(..12)?).ok()?;
    let (version, status) = line.split_once(' ')?;
    version.starts_with("HTTP/1.").then(|| status.parse().ok()).flatten()
}
