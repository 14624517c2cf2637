//! Serves `CONNECT`: what begins on the connection is looked at before anything of it goes out.

use std::io;
use std::sync::Arc;

use rustls::AlertDescription;
use tokio::io::{AsyncWriteExt as _, copy_bidirectional_with_sizes};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::meter::Metered;
use super::opening::{Opening, judge_hello};
use super::prefixed::{ClientStream, Prefixed};
use super::race::{First, first};
use super::refusal_answer::RefusalAnswer;
use super::requests::{self, RequestsFor};
use super::run_network::{JudgedWay, RunNetwork};
use super::second_hello::{SecondHelloRefused, WatchedClient};
use super::serve::turn_away;
use crate::outside::ReachedHost;
use crate::permit::HostTarget;
use crate::record::{ConnectionManner, RefusalReason};

const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";
/// What is copied at a time.
const BUFFER: usize = 64 * 1024;

/// A connection from inside that wants to go to a target.
struct Tunnel<S> {
    client: Prefixed<S>,
    network: Arc<RunNetwork>,
}

/// Serves a connection for which `CONNECT` was asked.
pub(crate) async fn serve<S: ClientStream>(
    client: Prefixed<S>,
    network: Arc<RunNetwork>,
    target: HostTarget,
    json: bool,
) {
    let tunnel = Tunnel { client, network };
    let way = match tunnel.network.judge(&target) {
        Ok(way) => way,
        Err(reason) => {
            let inside = tunnel.network.refuse_inside
                && matches!(reason, RefusalReason::NotPermitted { .. })
                && target.port == 443;
            let refusal = tunnel.network.refuse(Some(&target), reason);
            return match inside {
                true => tunnel.refuse_inside(target, refusal).await,
                false => turn_away(tunnel.client, &refusal, json).await,
            };
        }
    };
    match way.reading {
        Some(opaque) => tunnel.read(way, opaque).await,
        None => tunnel.pass(way, json).await,
    }
}

impl<S: ClientStream> Tunnel<S> {
    async fn establish(&mut self) -> bool {
        self.client.write_all(ESTABLISHED).await.is_ok()
    }

    async fn look(&mut self) -> Opening {
        Opening::look(&mut self.client, self.network.limits.head_time).await
    }

    fn refuse(&self, way: &JudgedWay, reason: RefusalReason) -> RefusalAnswer {
        self.network.refuse(Some(&way.target), reason)
    }

    /// Ends the encryption for a host that may not be reached, to say so where clients show it.
    async fn refuse_inside(mut self, target: HostTarget, refusal: RefusalAnswer) {
        if !self.establish().await {
            return;
        }
        let Opening::Encrypted(hello) = self.look().await else { return };
        if judge_hello(&hello, &target, true).is_err() {
            return;
        }
        if let Ok(stream) = self.accept(&target).await {
            let (stream, network) = stream;
            requests::serve(stream, network, RequestsFor::Nowhere(target, refusal)).await;
        }
    }

    /// Becomes the server of a target for the client.
    async fn accept(
        self,
        target: &HostTarget,
    ) -> Result<(tokio_rustls::server::TlsStream<Prefixed<S>>, Arc<RunNetwork>), io::Error> {
        let config = self.network.authority.server(&target.host).map_err(io::Error::other)?;
        let accepted = tokio::time::timeout(
            self.network.limits.head_time,
            TlsAcceptor::from(config).accept(self.client),
        );
        Ok((accepted.await.map_err(io::Error::from)??, self.network))
    }

    /// Serves a host that is only read: every request is looked at.
    async fn read(mut self, way: JudgedWay, opaque: bool) {
        if !self.establish().await {
            return;
        }
        match self.look().await {
            Opening::Over => {}
            Opening::Encrypted(hello) => {
                if let Err(reason) = judge_hello(&hello, &way.target, true) {
                    self.refuse(&way, reason);
                } else if opaque && self.network.is_unaccepted(&way.target) {
                    self.pass_opaque(way, hello.hidden).await;
                } else {
                    self.read_encrypted(way).await;
                }
            }
            Opening::Http if way.target.port != 443 => {
                let served = RequestsFor::One { way: Box::new(way), encrypted: false };
                requests::serve(self.client, self.network, served).await;
            }
            Opening::Http | Opening::Other => {
                self.refuse(&way, RefusalReason::NotEncrypted);
            }
            Opening::Unclear(what) => {
                self.refuse(&way, RefusalReason::Malformed { what: what.to_owned() });
            }
        }
    }

    async fn read_encrypted(self, way: JudgedWay) {
        let network = Arc::clone(&self.network);
        match self.accept(&way.target).await {
            Ok((stream, network)) => {
                let served = RequestsFor::One { way: Box::new(way), encrypted: true };
                requests::serve(stream, network, served).await;
            }
            Err(error) if is_unaccepted(&error) => {
                network.remember_unaccepted(&way.target);
                network.refuse(Some(&way.target), RefusalReason::AuthorityRefused);
            }
            Err(error) => {
                let what = format!("the encryption was not agreed upon: {error}");
                network.refuse(Some(&way.target), RefusalReason::Malformed { what });
            }
        }
    }

    /// Passes a host through that should have been read, because a client does not accept the authority.
    async fn pass_opaque(self, way: JudgedWay, hidden: bool) {
        if hidden {
            self.refuse(&way, RefusalReason::HiddenServerName);
            return;
        }
        match self.network.open(&way, true).await {
            Ok(reached) => self.copy(way, reached, ConnectionManner::Opaque).await,
            Err(reason) => {
                self.refuse(&way, reason);
            }
        }
    }

    /// Serves a host at which anything may be done.
    async fn pass(mut self, way: JudgedWay, json: bool) {
        let reached = match self.network.open(&way, true).await {
            Ok(reached) => reached,
            Err(reason) => {
                let refusal = self.refuse(&way, reason);
                return turn_away(self.client, &refusal, json).await;
            }
        };
        if !self.establish().await {
            return;
        }
        let named = !matches!(way.target.port, 80 | 443);
        // At a port of its own the other side may be the one that speaks first.
        if named && let First::Other(_) = first(self.look_if_silent(), reached.stream.readable()).await {
            return self.copy(way, reached, ConnectionManner::Raw).await;
        }
        match self.look().await {
            Opening::Over => {}
            Opening::Encrypted(hello) => match judge_hello(&hello, &way.target, false) {
                Ok(()) => self.copy(way, reached, ConnectionManner::Tunnel).await,
                Err(reason) => {
                    self.refuse(&way, reason);
                }
            },
            Opening::Http if way.target.port != 443 => {
                drop(reached);
                let served = RequestsFor::One { way: Box::new(way), encrypted: false };
                requests::serve(self.client, self.network, served).await;
            }
            Opening::Other if named => self.copy(way, reached, ConnectionManner::Raw).await,
            Opening::Http | Opening::Other => {
                self.refuse(&way, RefusalReason::NotEncrypted);
            }
            Opening::Unclear(what) => {
                self.refuse(&way, RefusalReason::Malformed { what: what.to_owned() });
            }
        }
    }

    async fn look_if_silent(&mut self) {
        if self.client.ahead().is_empty() {
            let _ = self.client.look().await;
        }
    }

    /// Copies both ways until both are done, one is idle, or a bound is reached.
    async fn copy(self, way: JudgedWay, reached: ReachedHost, manner: ConnectionManner) {
        let meter = match self.network.meter(&way) {
            Ok(meter) => meter,
            Err(reason) => {
                self.refuse(&way, reason);
                return;
            }
        };
        let number = self.network.allow(&way, manner, reached.address);
        let mut outside: Metered<TcpStream> = Metered::new(reached.stream, Arc::clone(&meter));
        let idle = meter.idle(self.network.limits.idle);
        let copied = if manner == ConnectionManner::Raw {
            let mut client = self.client;
            first(copy_bidirectional_with_sizes(&mut client, &mut outside, BUFFER, BUFFER), idle).await
        } else {
            let mut client = WatchedClient::new(self.client, way.target.clone());
            first(copy_bidirectional_with_sizes(&mut client, &mut outside, BUFFER, BUFFER), idle).await
        };
        if let First::One(Err(error)) = copied
            && let Some(refused) =
                error.get_ref().and_then(|inner| inner.downcast_ref::<SecondHelloRefused>())
        {
            self.network.refuse(Some(&way.target), refused.0.clone());
        }
        self.network.finished(&way, number, &meter);
    }
}

/// Whether a client says that it does not accept the authority.
fn is_unaccepted(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let Some(rustls::Error::AlertReceived(alert)) = inner else { return false };
    use AlertDescription::{
        AccessDenied, BadCertificate, CertificateUnknown, UnknownCA, UnsupportedCertificate,
    };
    matches!(alert, UnknownCA | BadCertificate | CertificateUnknown | UnsupportedCertificate | AccessDenied)
}
