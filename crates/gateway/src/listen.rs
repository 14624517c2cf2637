//! Takes connections in; a bad one never stops the others.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::request_handler::GatewayRequestHandler;
use crate::stall::StallGuard;

/// The pause after a failed accept, such as when all descriptors are in use.
const PAUSE: Duration = Duration::from_millis(20);
/// The smallest buffer the HTTP implementation accepts.
const SMALLEST_BUFFER: usize = 8192;

const BUSY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n";

/// Connections that are told at a time that there is no place for them; more are closed without a word.
const TURNED_AWAY: usize = 16;

/// Serves for ever.
pub(crate) async fn serve(listener: TcpListener, door: Arc<GatewayRequestHandler>) {
    let places = Arc::new(Semaphore::new(door.limits.connections));
    let outside = Arc::new(Semaphore::new(TURNED_AWAY));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // A system that is out of descriptors does not say when it has some again.
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            door.ledger.count(|account| account.refused += 1);
            if let Ok(place) = Arc::clone(&outside).try_acquire_owned() {
                let linger = door.limits.linger;
                tokio::spawn(async move {
                    let _place = place;
                    let _ = tokio::time::timeout(linger, turn_away(stream)).await;
                });
            }
            continue;
        };
        let door = Arc::clone(&door);
        tokio::spawn(async move {
            let _place = place;
            converse(stream, door).await;
        });
    }
}

/// Says that there is no place, and takes in what was sent: a connection closed with something unread is reset, and then the
/// client may never see the answer.
async fn turn_away(stream: TcpStream) {
    let mut said = BUSY;
    while !said.is_empty() && stream.writable().await.is_ok() {
        match stream.try_write(said) {
            Ok(count) => said = said.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
    let Ok(stream) = stream.into_std() else { return };
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let Ok(stream) = TcpStream::from_std(stream) else { return };
    let mut buffer = [0; 4096];
    while stream.readable().await.is_ok() {
        match stream.try_read(&mut buffer) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

async fn converse(stream: TcpStream, door: Arc<GatewayRequestHandler>) {
    let _ = stream.set_nodelay(true);
    let limits = door.limits;
    let io = TokioIo::new(StallGuard::new(stream, limits.write_idle));
    let served = AtomicUsize::new(0);
    let service = service_fn(|request| {
        let last = served.fetch_add(1, Ordering::Relaxed) + 1 >= limits.requests;
        let answer = Arc::clone(&door).answer(request);
        async move {
            let mut answer = answer.await?;
            if last {
                answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(answer)
        }
    });
    // What goes wrong on a connection is the client's doing, and answered there as far as it can be.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_headers(limits.headers)
        .max_buf_size(limits.head_bytes.max(SMALLEST_BUFFER))
        .auto_date_header(false)
        .serve_connection(io, service)
        .await;
}
