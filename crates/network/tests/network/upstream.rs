//! Hosts outside: each writes down everything it gets and answers by the path it is asked for.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// What a host says to one request.
pub(crate) type Reply = Arc<dyn Fn(&str) -> Vec<u8> + Send + Sync>;

pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<u8>>>,
    wire: Arc<Mutex<Vec<u8>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Upstream {
    /// Speaks HTTP, encrypted when there is something to encrypt with.
    pub(crate) fn http(encryption: Option<Arc<ServerConfig>>, reply: Reply) -> Self {
        let wire: Arc<Mutex<Vec<u8>>> = Arc::default();
        let written = Arc::clone(&wire);
        let mut upstream = Self::start(move |stream, seen| match &encryption {
            None => serve(stream, &seen, &reply),
            Some(config) => {
                let Ok(connection) = ServerConnection::new(Arc::clone(config)) else { return };
                let stream = WrittenDown { stream, wire: Arc::clone(&written) };
                serve(StreamOwned::new(connection, stream), &seen, &reply);
            }
        });
        upstream.wire = wire;
        upstream
    }

    /// Speaks first and then writes down what comes.
    pub(crate) fn greeting(text: &'static str) -> Self {
        Self::start(move |mut stream, seen| {
            let _ = stream.write_all(text.as_bytes());
            let mut buffer = [0; 1024];
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                seen.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        })
    }

    fn start(serve: impl Fn(TcpStream, Arc<Mutex<Vec<u8>>>) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, stop) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let (written, stopped, serve) = (Arc::clone(&seen), Arc::clone(&stop), Arc::new(serve));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                let (Ok(stream), seen, serve) = (stream, Arc::clone(&written), Arc::clone(&serve)) else {
                    break;
                };
                std::thread::spawn(move || serve(stream, seen));
            }
        });
        Self { address, seen, wire: Arc::default(), stop, thread: Some(thread) }
    }

    /// Everything that arrived, decrypted.
    pub(crate) fn seen(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned()
    }
}

/// A connection of which every byte is written down as it came.
struct WrittenDown {
    stream: TcpStream,
    wire: Arc<Mutex<Vec<u8>>>,
}

impl Read for WrittenDown {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.stream.read(buffer)?;
        self.wire.lock().unwrap().extend_from_slice(&buffer[..count]);
        Ok(count)
    }
}

impl Write for WrittenDown {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.stream.flush()
    }
}

impl Upstream {
    /// Everything that arrived, as it came.
    pub(crate) fn wire(&self) -> String {
        String::from_utf8_lossy(&self.wire.lock().unwrap()).into_owned()
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(mut stream: impl Read + Write, seen: &Mutex<Vec<u8>>, reply: &Reply) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        while let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            bytes.drain(..end + 4);
            if stream.write_all(&reply(&head)).and_then(|()| stream.flush()).is_err() {
                return;
            }
        }
        match stream.read(&mut buffer) {
            Ok(count @ 1..) => {
                seen.lock().unwrap().extend_from_slice(&buffer[..count]);
                bytes.extend_from_slice(&buffer[..count]);
            }
            _ => return,
        }
    }
}

/// An answer with a body.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}
