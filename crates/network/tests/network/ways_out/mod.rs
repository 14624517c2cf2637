//! Ways out that must not lead anywhere: nothing of what is marked arrives at a host, no address is dialled that nobody
//! permitted, and each attempt is written down.

mod by_address;
mod by_name;
mod by_request;
mod by_writing;

use std::io::{Read, Write};
use std::time::Duration;

use holon_network::{ClientSet, HostRule, HostTarget, NetworkProxy, Permit, PermitAccess, PermitBook};

use crate::client::{encrypt, hello, rest, say, tunnel};
use crate::upstream::Upstream;
use crate::world::{PUBLIC, World, configured, echo, named, repository};

/// An address of this machine that looks like any other.
const OWN: &str = "93.184.216.99";

/// What must not arrive anywhere.
const MARK: &str = "MARKED";

/// One attempt.
enum Attempt {
    /// Bytes to the proxy.
    Say(String),
    /// Bytes to the proxy that are no text.
    SayBytes(Vec<u8>),
    /// Bytes on a connection that was asked for.
    Through(&'static str, Vec<u8>),
    /// A request on a connection that is encrypted for a name, to a host that passes unread.
    Encrypted(&'static str, &'static str, String),
    /// A request on a connection that the host reads.
    Read(&'static str, String),
}

use Attempt::{Encrypted, Read as ReadBy, Say, SayBytes, Through};

struct Surroundings {
    world: World,
    proxy: NetworkProxy,
    hosts: Vec<Upstream>,
}

impl Surroundings {
    fn new() -> Self {
        let world = World::new();
        let outside = &world.outside;
        let names = ["open.test", "read.test", "git.test", "a.wild.test", "other.test", "rebind.test"];
        let encrypted = world.encrypted_host(&names, echo());
        let plain = Upstream::http(None, echo());
        let raw = Upstream::http(None, echo());
        outside.host(&format!("{PUBLIC}:80"), &plain);
        outside.host(&format!("{PUBLIC}:2222"), &raw);
        // Everything a machine has around it answers, if only somebody asks.
        let around = [
            "127.0.0.1",
            "10.0.0.5",
            "172.16.0.5",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[64:ff9b::7f00:1]",
            "[2002:7f00:1::]",
            "[fd00:ec2::254]",
            "[fe80::1]",
            "[::]",
            "100.100.100.200",
            "192.0.2.1",
            "[::7f00:1]",
            "168.63.129.16",
        ];
        for address in around {
            for port in [80, 443] {
                outside.host(&format!("{address}:{port}"), &plain);
            }
            let bare = address.trim_matches(['[', ']']);
            outside.name(&name_for(bare), &[&[bare]]);
        }
        outside.own(OWN);
        for port in [80, 443] {
            outside.host(&format!("{OWN}:{port}"), &plain);
        }
        outside.name(&name_for(OWN), &[&[OWN]]);
        outside.name("files.test", &[&[OWN]]);
        outside.name("rebind.test", &[&["127.0.0.1"], &[PUBLIC]]);
        outside.name("mixed.test", &[&["127.0.0.1", "10.0.0.5"]]);
        let mut book = named(&[
            "open.test",
            "open.test:2222",
            "*.wild.test",
            "rebind.test",
            "mixed.test",
            "*.leads.test",
        ]);
        book.add(configured("read.test:443", "npm"));
        book.add(repository("git.test:443", "/me/a.git"));
        book.add(Permit::files(HostRule::parse("files.test:443").unwrap(), ClientSet::Pip));
        book.add(configured("mapped.leads.test", "npm"));
        let mut opaque = configured("pinned.test:443", "pip");
        opaque.access = PermitAccess::ReadOnly { opaque: true };
        book.add(opaque);
        let proxy = open(&world, book);
        Self { world, proxy, hosts: vec![encrypted, plain, raw] }
    }

    fn attempt(&self, attempt: Attempt) {
        let encrypted = |authority: &str, name: &str, trusted: &_, request: String| {
            let (said, stream) = tunnel(&self.proxy, authority);
            if said.starts_with("HTTP/1.1 200") {
                let mut stream = encrypt(stream, name, trusted);
                let _ = stream.write_all(request.as_bytes());
                let _ = stream.sock.shutdown(std::net::Shutdown::Write);
                let _ = stream.read_to_end(&mut Vec::new());
            }
        };
        match attempt {
            Say(text) => drop(say(&self.proxy, text.as_bytes())),
            SayBytes(bytes) => drop(say(&self.proxy, &bytes)),
            Through(authority, bytes) => {
                let (said, mut stream) = tunnel(&self.proxy, authority);
                if said.starts_with("HTTP/1.1 200") {
                    let _ = stream.write_all(&bytes);
                    let _ = stream.shutdown(std::net::Shutdown::Write);
                    rest(&mut stream);
                }
            }
            Encrypted(authority, name, request) => encrypted(authority, name, &self.world.root, request),
            ReadBy(authority, request) => {
                let name = authority.rsplit_once(':').unwrap().0;
                encrypted(authority, name, self.world.authority.certificate(), request);
            }
        }
    }

    /// Makes an attempt and holds what happened against what must not.
    fn expect_nothing_through(&self, what: &str, attempt: Attempt) {
        let before = self.world.refusals().len();
        self.attempt(attempt);
        self.world.until_refused(before, what);
        for host in &self.hosts {
            assert!(!host.seen().contains(MARK), "{what}: {}", host.seen());
            assert!(!host.wire().contains(MARK), "{what}: {}", host.wire());
        }
        for dialled in self.world.outside.dialled() {
            assert!(dialled.starts_with(PUBLIC), "{what}: {dialled} was dialled");
        }
    }
}

fn open(world: &World, book: PermitBook) -> NetworkProxy {
    let mut settings = world.settings();
    settings.book = book;
    settings.refuse_inside = false;
    settings.limits.head_time = Duration::from_millis(1500);
    world.open(settings)
}

/// A permitted name that leads to an address.
fn name_for(address: &str) -> String {
    let label: String = address.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { 'x' }).collect();
    format!("a{label}.leads.test")
}

impl World {
    fn until_refused(&self, before: usize, what: &str) {
        for _ in 0..1000 {
            if self.refusals().len() > before {
                return;
            }
            std::thread::park_timeout(Duration::from_millis(5));
        }
        panic!("{what}: it was not written down");
    }
}

fn get(target: &str, headers: &str) -> Attempt {
    Say(format!("GET {target} HTTP/1.1\r\n{headers}X: {MARK}\r\nConnection: close\r\n\r\n"))
}

fn connect(authority: &str) -> Attempt {
    Say(format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n{MARK}"))
}

/// A first message with a mark in it, which a host would get to see.
fn marked(names: &[&str], further: &[(u16, &[u8])]) -> Vec<u8> {
    hello(names, &[&[(0x3434, MARK.as_bytes())], further].concat())
}

#[test]
fn a_refusal_names_the_flag_that_would_allow_it() {
    let all = Surroundings::new();
    for (authority, flag) in [
        ("far.example:443", "--allow-net far.example"),
        ("far.example:8443", "--allow-net far.example:8443"),
        ("open.test:22", "--allow-net open.test:22"),
        ("10.0.0.5:443", "--allow-net 10.0.0.5"),
        ("[::1]:8080", "--allow-net [::1]:8080"),
        ("a10x0x0x5.leads.test:443", "--allow-net 10.0.0.5"),
    ] {
        let said = say(&all.proxy, format!("CONNECT {authority} HTTP/1.1\r\n\r\n").as_bytes());
        assert!(said.starts_with("HTTP/1.1 403 holon: "), "{said}");
        assert_eq!(said.matches(&format!("add {flag}")).count(), 2, "{authority}: {said}");
        assert!(HostTarget::parse(authority, None).is_ok());
    }
    assert_eq!(all.proxy.finish().flags().len(), 5);
}
