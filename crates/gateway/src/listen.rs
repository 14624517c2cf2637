//! Takes connections in; a bad one never stops the others.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::door::Door;
use crate::stall::Stalling;

/// The pause after a failed accept, such as when all descriptors are in use.
const PAUSE: Duration = Duration::from_millis(20);
/// The smallest buffer the HTTP implementation accepts.
const SMALLEST_BUFFER: usize = 8192;

const BUSY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n";

/// Serves for ever.
pub(crate) async fn serve(listener: TcpListener, door: Arc<Door>) {
    let places = Arc::new(Semaphore::new(door.limits.connections));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            let _ = stream.try_write(BUSY);
            door.ledger.count(|account| account.refused += 1);
            continue;
        };
        let door = Arc::clone(&door);
        tokio::spawn(async move {
            let _place = place;
            converse(stream, door).await;
        });
    }
}

async fn converse(stream: TcpStream, door: Arc<Door>) {
    let _ = stream.set_nodelay(true);
    let limits = door.limits;
    let io = TokioIo::new(Stalling::new(stream, limits.write_idle));
    let service = service_fn(move |request| Arc::clone(&door).answer(request));
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
