//! A program inside: what it says to the proxy, byte for byte.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use holon_network::NetworkProxy;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// A connection to the proxy.
pub(crate) fn connect(proxy: &NetworkProxy) -> TcpStream {
    let stream = TcpStream::connect(proxy.address().unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Says something and reads until the end.
pub(crate) fn say(proxy: &NetworkProxy, bytes: &[u8]) -> String {
    let mut stream = connect(proxy);
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    rest(&mut stream)
}

/// Everything until the end.
pub(crate) fn rest(stream: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// One head, and not a byte more.
pub(crate) fn head(stream: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
        bytes.push(byte[0]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// One answer with its body, by its length.
pub(crate) fn answer(stream: &mut impl Read) -> (String, String) {
    let head = head(stream);
    let length =
        head.to_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    let _ = stream.read_exact(&mut body);
    (head, String::from_utf8_lossy(&body).into_owned())
}

/// Asks for a connection; the answer, and the connection.
pub(crate) fn tunnel(proxy: &NetworkProxy, authority: &str) -> (String, TcpStream) {
    let mut stream = connect(proxy);
    let asked = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n");
    stream.write_all(asked.as_bytes()).unwrap();
    let answer = head(&mut stream);
    (answer, stream)
}

/// Encrypts a connection towards a server of this name.
pub(crate) fn encrypt(
    stream: TcpStream,
    name: &str,
    trusted: &CertificateDer<'static>,
) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), stream)
}

/// A first message that names a server, with further extensions.
pub(crate) fn hello(names: &[&str], further: &[(u16, &[u8])]) -> Vec<u8> {
    let list = |body: &[u8]| [&u16::try_from(body.len()).unwrap().to_be_bytes()[..], body].concat();
    let mut extensions = Vec::new();
    for name in names {
        let entry = list(&[&[0][..], &list(name.as_bytes())].concat());
        extensions.extend([&[0, 0][..], &list(&entry)].concat());
    }
    for (kind, body) in further {
        extensions.extend([&kind.to_be_bytes()[..], &list(body)].concat());
    }
    let body = [&[3, 3][..], &[7; 32], &[0], &list(&[0x13, 1]), &[1, 0], &list(&extensions)].concat();
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    let message = [&[1][..], &length[1..], &body].concat();
    [&[22, 3, 1][..], &list(&message)].concat()
}
