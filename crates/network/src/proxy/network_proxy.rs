//! The network of a run as a thing to open and to close.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::watch;

use super::race::first;
use super::run_network::{NetworkSettings, RunNetwork};
use super::serve;
use crate::permit::Permit;
use crate::record::NetworkSummary;

/// The open network; it closes when this is dropped.
pub struct NetworkProxy {
    network: Arc<RunNetwork>,
    address: Option<SocketAddr>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// Why the network cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum NetworkProxyError {
    /// The listener or the thread behind it.
    #[error("the network of the run cannot be served: {0}")]
    Listen(#[from] io::Error),
}

impl NetworkProxy {
    /// Serves a listener, on a thread of its own.
    pub fn start(listener: TcpListener, settings: NetworkSettings) -> Result<Self, NetworkProxyError> {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr().ok();
        let network = Arc::new(RunNetwork::new(settings));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, mut stopped) = watch::channel(false);
        let served = Arc::clone(&network);
        let thread = std::thread::Builder::new().name("network".to_owned()).spawn(move || {
            runtime.block_on(async {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
                first(serve::listen(listener, served), stopped.changed()).await;
            });
            // Whatever still runs is dropped; a look-up of a name that hangs is not waited for.
            runtime.shutdown_timeout(Duration::from_millis(100));
        })?;
        Ok(Self { network, address, stop, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Permits something from now on, such as what a person was asked about.
    pub fn permit(&self, permit: Permit) {
        self.network.book.write().unwrap_or_else(PoisonError::into_inner).add(permit);
    }

    /// What happened so far.
    pub fn summary(&self) -> NetworkSummary {
        self.network.recorder.summary()
    }

    /// Closes it, ends what still runs, and says what happened.
    pub fn finish(mut self) -> NetworkSummary {
        self.close();
        self.summary()
    }

    fn close(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for NetworkProxy {
    fn drop(&mut self) {
        self.close();
    }
}
