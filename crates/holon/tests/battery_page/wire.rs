//! What stands between the browser and the server, and can cut every connection when a test asks for it.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

/// How a test asks for it.
const CUT: &[u8] = b"POST /cut-connections ";

/// A listener that passes everything on.
pub(crate) struct CuttableWire {
    address: SocketAddr,
    server: Arc<AtomicU16>,
}

#[derive(Default)]
struct OpenConnections(Mutex<Vec<TcpStream>>);

impl OpenConnections {
    fn add(&self, stream: &TcpStream) {
        self.0.lock().unwrap().push(stream.try_clone().unwrap());
    }

    fn cut(&self) {
        for stream in self.0.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl CuttableWire {
    /// Listens; the server may come later.
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = Arc::new(AtomicU16::new(0));
        let (to, open) = (Arc::clone(&server), Arc::new(OpenConnections::default()));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (port, open) = (to.load(Ordering::SeqCst), Arc::clone(&open));
                std::thread::spawn(move || pass(stream, port, &open));
            }
        });
        Self { address, server }
    }

    /// The name a server must answer to behind it.
    pub(crate) fn name(&self) -> String {
        self.address.to_string()
    }

    /// Says where the server is.
    pub(crate) fn lead_to(&self, port: u16) {
        self.server.store(port, Ordering::SeqCst);
    }
}

/// One connection, to its end on either side.
fn pass(mut client: TcpStream, port: u16, open: &OpenConnections) {
    let mut first = [0; 4096];
    let Ok(read) = client.read(&mut first) else { return };
    if first[..read].starts_with(CUT) {
        open.cut();
        let _ = client.write_all(b"HTTP/1.1 204 Cut\r\nconnection: close\r\n\r\n");
        return;
    }
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)) else { return };
    open.add(&client);
    open.add(&server);
    if server.write_all(&first[..read]).is_err() {
        return;
    }
    let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    let back = std::thread::spawn(move || {
        let _ = copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
    let _ = copy(&mut client, &mut server);
    let _ = server.shutdown(Shutdown::Both);
    let _ = back.join();
}

/// Piece by piece, as it comes.
fn copy(from: &mut TcpStream, to: &mut TcpStream) -> std::io::Result<()> {
    let mut buffer = [0; 16 << 10];
    loop {
        let read = from.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..read])?;
    }
}
