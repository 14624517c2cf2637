//! A hostile run gets no further than its bounds.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use crate::client::{connect, encrypt, head, say, tunnel};
use crate::upstream;
use crate::world::{World, echo, named};
use holon_network::NetworkEvent;

#[test]
fn more_connections_than_there_are_places_are_told_so() {
    let world = World::new();
    let mut settings = world.settings();
    settings.limits.connections = 2;
    let proxy = world.open(settings);
    let held: Vec<_> = (0..2)
        .map(|_| {
            let mut stream = connect(&proxy);
            // A place is taken once the connection is served, which its refusal on a second request would show; half a head is enough.
            stream.write_all(b"GET http").unwrap();
            stream
        })
        .collect();
    world.until_busy(&proxy);
    drop(held);
}

impl World {
    /// Asks until one is turned away because all places are taken.
    fn until_busy(&self, proxy: &holon_network::NetworkProxy) {
        for _ in 0..200 {
            if say(proxy, b"GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 503 holon: no more of") {
                return;
            }
        }
        panic!("nobody was turned away: {:?}", self.refusals());
    }
}

#[test]
fn bytes_to_and_from_a_host_are_bounded_over_all_connections() {
    let world = World::new();
    let reply = |_: &str| upstream::answer("200 OK", "", &"x".repeat(100_000));
    let _host = world.encrypted_host(&["open.test"], Arc::new(reply));
    let mut settings = world.settings();
    settings.book = named(&["open.test"]);
    settings.limits.received = 50_000;
    let proxy = world.open(settings);
    let mut stream = encrypt(tunnel(&proxy, "open.test:443").1, "open.test", &world.root);
    stream.write_all(b"GET / HTTP/1.1\r\nHost: open.test\r\n\r\n").unwrap();
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    assert!(bytes.len() < 200_000 && bytes.len() < 100_000 + 200, "{}", bytes.len());
    world
        .until(|event| matches!(event, NetworkEvent::Refused { message, .. } if message.contains("used up")));
    let (_, mut stream) = tunnel(&proxy, "open.test:443");
    stream.write_all(&crate::client::hello(&["open.test"], &[])).unwrap();
    assert_eq!(head(&mut stream), "");
}

#[test]
fn a_connection_on_which_nothing_happens_ends() {
    let world = World::new();
    let _host = world.encrypted_host(&["open.test"], echo());
    let mut settings = world.settings();
    settings.book = named(&["open.test"]);
    settings.limits.idle = Duration::from_millis(50);
    let proxy = world.open(settings);
    let mut stream = encrypt(tunnel(&proxy, "open.test:443").1, "open.test", &world.root);
    stream.write_all(b"GET / HTTP/1.1\r\nHost: open.test\r\n\r\n").unwrap();
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    world.until(|event| matches!(event, NetworkEvent::Finished { .. }));
}

#[test]
fn closing_the_network_ends_what_still_runs() {
    let world = World::new();
    let _host = world.encrypted_host(&["open.test"], echo());
    let mut settings = world.settings();
    settings.book = named(&["open.test"]);
    let proxy = world.open(settings);
    let (_, mut stream) = tunnel(&proxy, "open.test:443");
    let address = proxy.address().unwrap();
    proxy.finish();
    assert_eq!(head(&mut stream), "");
    assert!(std::net::TcpStream::connect(address).is_err());
}
