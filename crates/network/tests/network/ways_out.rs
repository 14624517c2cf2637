//! Ways out that must not lead anywhere: nothing of what is marked arrives at a host, no address is dialled that nobody
//! permitted, and each attempt is written down.

use std::io::{Read, Write};
use std::time::Duration;

use holon_network::{HostTarget, NetworkProxy, PermitAccess, PermitBook};

use crate::client::{encrypt, hello, rest, say, tunnel};
use crate::upstream::Upstream;
use crate::world::{PUBLIC, World, configured, echo, named};

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
        book.add(configured("git.test:443", "git:origin"));
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

/// A first message with a mark behind it.
fn marked(names: &[&str], further: &[(u16, &[u8])]) -> Vec<u8> {
    [hello(names, further), [&[23, 3, 3, 0, 6][..], MARK.as_bytes()].concat()].concat()
}

#[test]
fn by_address() {
    let all = Surroundings::new();
    for authority in [
        "127.0.0.1:443",
        "127.0.0.1:80",
        "10.0.0.5:443",
        "172.16.0.5:443",
        "192.168.1.1:443",
        "169.254.169.254:80",
        "100.64.0.1:443",
        "0.0.0.0:80",
        "224.0.0.1:80",
        "[::1]:443",
        "[::ffff:127.0.0.1]:443",
        "[64:ff9b::7f00:1]:443",
        "[2002:7f00:1::]:443",
        "[fd00:ec2::254]:80",
        "[fe80::1]:443",
        "[::]:80",
        "93.184.216.34:443",
        "[::7f00:1]:80",
        "[::ffff:93.184.216.34]:443",
        "127.1:80",
        "2130706433:80",
        "0x7f000001:80",
        "0177.0.0.1:80",
        "127.0.0.1.:80",
        "127.0.0.1.:443",
        "[fe80::1%25eth0]:80",
        "１２７.0.0.1:80",
        "0x7f.1:80",
        "localhost:80",
        "127.0.0.1%00.open.test:443",
        "open.test@127.0.0.1:443",
        "127.0.0.1:443#open.test:443",
        "127.0.0.1",
        "open.test",
        "open.test:22",
        "open.test:0",
        "open.test:443:80",
        "other.test:443",
        "wild.test:443",
        "xwild.test:443",
        "open.test.other.test:443",
        ":443",
        "*:443",
        "a.wild.test:8443",
        "open.test:65979",
        "open.test,127.0.0.1:443",
        "//127.0.0.1:443",
        "open.test:443/",
        "read.test:80",
    ] {
        all.expect_nothing_through(authority, connect(authority));
        if !authority.contains(":443") {
            all.expect_nothing_through(authority, get(&format!("http://{authority}/{MARK}"), ""));
        }
    }
}

#[test]
fn by_a_name_that_leads_elsewhere() {
    let all = Surroundings::new();
    for address in [
        "127.0.0.1",
        "10.0.0.5",
        "172.16.0.5",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "fd00:ec2::254",
        "fe80::1",
        "::",
        "100.100.100.200",
        "192.0.2.1",
        "::7f00:1",
        "168.63.129.16",
    ] {
        let name = name_for(address);
        all.expect_nothing_through(address, connect(&format!("{name}:443")));
        all.expect_nothing_through(
            address,
            get(&format!("http://{name}/{MARK}"), &format!("Host: {name}\r\n")),
        );
    }
    all.expect_nothing_through("several, all of them private", connect("mixed.test:443"));
    all.expect_nothing_through("the first answer counts", connect("rebind.test:443"));
    all.expect_nothing_through("no answer", connect("nowhere.wild.test:443"));
}

#[test]
fn by_another_name_inside() {
    let all = Surroundings::new();
    let request = || format!("GET /{MARK} HTTP/1.1\r\nHost: open.test\r\n\r\n");
    let cut: Vec<u8> = marked(&["open.test"], &[])[..40].to_vec();
    for (what, attempt) in [
        ("another server name", Through("open.test:443", marked(&["other.test"], &[]))),
        ("another server name, encrypted", Encrypted("open.test:443", "other.test", request())),
        ("another server name the second time", Through("open.test:443", [hello(&["open.test"], &[]), marked(&["other.test"], &[])].concat())),
        ("a name below", Through("a.wild.test:443", marked(&["b.wild.test"], &[]))),
        ("no server name", Through("open.test:443", marked(&[], &[]))),
        ("two server names", Through("open.test:443", marked(&["open.test", "other.test"], &[]))),
        ("a server name with a NUL", Through("open.test:443", marked(&["open.test\0.other.test"], &[]))),
        ("a hidden server name", Through("open.test:443", marked(&["open.test"], &[(0xfe0d, b"secret")]))),
        ("an older hidden server name", Through("open.test:443", marked(&["open.test"], &[(0xffce, b"secret")]))),
        ("a first message that is cut off", Through("open.test:443", cut)),
        ("plain HTTP where encryption belongs", Through("open.test:443", request().into_bytes())),
        ("another protocol", Through("open.test:443", format!("SSH-2.0-{MARK}\r\n").into_bytes())),
        ("no text at all", Through("open.test:443", [&[0, 1, 2, 3][..], MARK.as_bytes()].concat())),
        ("an alert first", Through("open.test:443", [&[21, 3, 1, 0, 2, 1, 0][..], MARK.as_bytes()].concat())),
        ("HTTP/2 without encryption", Through("open.test:80", format!("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{MARK}").into_bytes())),
        ("something else at port 80", Through("open.test:80", format!("HELO {MARK}\r\n").into_bytes())),
        ("another host at port 80", Through("open.test:80", format!("GET /{MARK} HTTP/1.1\r\nHost: other.test\r\n\r\n").into_bytes())),
        ("no host at port 80", Through("open.test:80", format!("GET /{MARK} HTTP/1.1\r\n\r\n").into_bytes())),
        ("a whole address at port 80", Through("open.test:80", format!("GET http://other.test/{MARK} HTTP/1.1\r\nHost: open.test\r\n\r\n").into_bytes())),
        ("a connection within a connection", Through("open.test:80", format!("CONNECT other.test:443 HTTP/1.1\r\nHost: other.test\r\n\r\n{MARK}").into_bytes())),
        ("another host at a named port", Through("open.test:2222", format!("GET /{MARK} HTTP/1.1\r\nHost: other.test\r\n\r\n").into_bytes())),
        ("another server name at a named port", Through("open.test:2222", marked(&["other.test"], &[]))),
        ("a second request for another host", Through("open.test:80", format!("GET / HTTP/1.1\r\nHost: open.test\r\n\r\nGET /{MARK} HTTP/1.1\r\nHost: other.test\r\n\r\n").into_bytes())),
        ("the host of another connection", connect_with_host("open.test:443", "other.test:443")),
        ("two hosts for a connection", Say(format!("CONNECT open.test:443 HTTP/1.1\r\nHost: open.test:443\r\nHost: other.test:443\r\n\r\n{MARK}"))),
        ("a connection with a body", Say(format!("CONNECT open.test:443 HTTP/1.1\r\nHost: open.test:443\r\nContent-Length: 6\r\n\r\n{MARK}"))),
    ] {
        all.expect_nothing_through(what, attempt);
    }
}

fn connect_with_host(authority: &str, host: &str) -> Attempt {
    Say(format!("CONNECT {authority} HTTP/1.1\r\nHost: {host}\r\n\r\n{MARK}"))
}

#[test]
fn by_plain_requests() {
    let all = Surroundings::new();
    let host = "Host: open.test\r\n";
    let first = "GET http://open.test/ HTTP/1.1\r\nHost: open.test\r\n\r\n";
    let long = "x".repeat(40_000);
    for (what, attempt) in [
        ("another host in the header", get("http://open.test/", "Host: other.test\r\n")),
        ("another port in the header", get("http://open.test/", "Host: open.test:8080\r\n")),
        ("two hosts", get("http://open.test/", "Host: open.test\r\nHost: other.test\r\n")),
        ("no host", get("http://open.test/", "")),
        ("a user in front of the host", get(&format!("http://open.test@other.test/{MARK}"), host)),
        ("the host as a user", get(&format!("http://other.test@open.test/{MARK}"), host)),
        ("an encrypted address", get(&format!("https://open.test/{MARK}"), host)),
        ("another scheme", get(&format!("ftp://open.test/{MARK}"), host)),
        ("a path alone", get(&format!("/{MARK}"), host)),
        ("a star", Say(format!("OPTIONS * HTTP/1.1\r\n{host}X: {MARK}\r\n\r\n"))),
        ("no encryption at port 443", get("http://open.test:443/", "Host: open.test:443\r\n")),
        (
            "a websocket",
            get(
                "http://open.test/",
                &format!(
                    "{host}Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: a\r\nSec-WebSocket-Version: 13\r\n"
                ),
            ),
        ),
        (
            "HTTP/2 by upgrade",
            get(
                "http://open.test/",
                &format!(
                    "{host}Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: a\r\n"
                ),
            ),
        ),
        (
            "an upgrade named by the connection",
            get("http://open.test/", &format!("{host}Connection: upgrade\r\n")),
        ),
        ("HTTP/2 from the start", Say(format!("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{MARK}"))),
        ("encryption from the start", SayBytes(marked(&["open.test"], &[]))),
        ("SOCKS 5", SayBytes([&[5, 1, 0][..], MARK.as_bytes()].concat())),
        ("SOCKS 4", SayBytes([&[4, 1, 0, 80, 127, 0, 0, 1, 0][..], MARK.as_bytes()].concat())),
        ("TRACE", Say(format!("TRACE http://open.test/{MARK} HTTP/1.1\r\n{host}\r\n"))),
        (
            "a length and an encoding",
            Say(format!(
                "POST http://open.test/ HTTP/1.1\r\n{host}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /{MARK} HTTP/1.1\r\n\r\n"
            )),
        ),
        (
            "an encoding and a length",
            Say(format!(
                "POST http://open.test/ HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\nGET /{MARK} HTTP/1.1\r\n\r\n"
            )),
        ),
        (
            "two lengths",
            Say(format!(
                "POST http://open.test/ HTTP/1.1\r\n{host}Content-Length: 0\r\nContent-Length: 6\r\n\r\n{MARK}"
            )),
        ),
        (
            "two encodings",
            Say(format!(
                "POST http://open.test/ HTTP/1.1\r\n{host}Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n{MARK}"
            )),
        ),
        (
            "another encoding",
            Say(format!(
                "POST http://open.test/ HTTP/1.1\r\n{host}Transfer-Encoding: xchunked\r\n\r\n{MARK}"
            )),
        ),
        (
            "a folded header",
            Say(format!(
                "GET http://open.test/ HTTP/1.1\r\n{host}A: b\r\n Transfer-Encoding: chunked\r\nX: {MARK}\r\n\r\n"
            )),
        ),
        (
            "a blank before the colon",
            Say(format!("GET http://open.test/ HTTP/1.1\r\n{host}Content-Length : 6\r\n\r\n{MARK}")),
        ),
        ("lines that end alone", Say(format!("GET http://open.test/{MARK} HTTP/1.1\n{host}\n\r\n\r\n"))),
        (
            "a carriage return alone",
            Say(format!("GET http://open.test/{MARK} HTTP/1.1\r\nA: b\rHost: other.test\r\n{host}\r\n")),
        ),
        ("a NUL in a header", Say(format!("GET http://open.test/{MARK} HTTP/1.1\r\nA: b\0\r\n{host}\r\n"))),
        ("a large header", Say(format!("GET http://open.test/{MARK} HTTP/1.1\r\n{host}A: {long}\r\n\r\n"))),
        (
            "many headers",
            Say(format!("GET http://open.test/{MARK} HTTP/1.1\r\n{host}{}\r\n", "A: b\r\n".repeat(150))),
        ),
        ("a large address", Say(format!("GET http://open.test/{MARK}{long} HTTP/1.1\r\n{host}\r\n"))),
        ("a head without an end", Say(format!("GET http://open.test/{MARK} HTTP/1.1\r\n{host}"))),
        (
            "a second request for another host",
            Say(format!("{first}GET http://other.test/{MARK} HTTP/1.1\r\nHost: other.test\r\n\r\n")),
        ),
        (
            "a second request with another host in it",
            Say(format!("{first}GET http://open.test/{MARK} HTTP/1.1\r\nHost: other.test\r\n\r\n")),
        ),
        (
            "a second request that is a connection",
            Say(format!("{first}CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n{MARK}")),
        ),
        (
            "a second request that is a permitted connection",
            Say(format!("{first}CONNECT open.test:2222 HTTP/1.1\r\nHost: open.test:2222\r\n\r\n{MARK}")),
        ),
        (
            "a second request with an encoding",
            Say(format!(
                "{first}POST http://open.test/{MARK} HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n"
            )),
        ),
        ("a second request that is none", Say(format!("{first}\0{MARK}\r\n\r\n"))),
    ] {
        all.expect_nothing_through(what, attempt);
    }
}

#[test]
fn by_writing_where_only_reading_is_permitted() {
    let all = Surroundings::new();
    let long = "y".repeat(4000);
    let request = |line: &str, headers: &str, body: &str| {
        ReadBy("read.test:443", format!("{line} HTTP/1.1\r\nHost: read.test\r\n{headers}\r\n{body}"))
    };
    for (what, attempt) in [
        ("an upload", request(&format!("PUT /{MARK}"), "Content-Length: 6\r\n", MARK)),
        (
            "a publish",
            request("PUT /@a%2fpad", "Content-Type: application/json\r\nContent-Length: 6\r\n", MARK),
        ),
        (
            "an upload as a form",
            request("POST /legacy/", "Content-Type: multipart/form-data\r\nContent-Length: 6\r\n", MARK),
        ),
        ("a publish of a crate", request("PUT /api/v1/crates/new", "Content-Length: 6\r\n", MARK)),
        ("a deletion", request(&format!("DELETE /{MARK}"), "", "")),
        ("a change", request("PATCH /a", "Content-Length: 6\r\n", MARK)),
        ("a method nobody knows", request(&format!("PROPFIND /{MARK}"), "", "")),
        ("a method in lower case", request(&format!("put /{MARK}"), "", "")),
        ("options", request(&format!("OPTIONS /{MARK}"), "", "")),
        ("a body on a GET", request("GET /a", "Content-Length: 6\r\n", MARK)),
        (
            "a body of unknown length on a GET",
            request("GET /a", "Transfer-Encoding: chunked\r\n", "6\r\nMARKED\r\n0\r\n\r\n"),
        ),
        (
            "trailers on a GET",
            request("GET /a", "Transfer-Encoding: chunked\r\nTrailer: X\r\n", "0\r\nX: MARKED\r\n\r\n"),
        ),
        ("a body that waits", request("GET /a", "Expect: 100-continue\r\nContent-Length: 6\r\n", MARK)),
        ("a long path", request(&format!("GET /{MARK}{long}"), "", "")),
        ("a long query", request(&format!("GET /a?{MARK}{long}"), "", "")),
        ("a token", request(&format!("GET /-/npm/v1/tokens?{MARK}"), "", "")),
        ("an account", request(&format!("GET /-/whoami?{MARK}"), "", "")),
        ("an account, written otherwise", request(&format!("GET /%2D/npm/v1/us%65r?{MARK}"), "", "")),
        (
            "another host",
            ReadBy("read.test:443", format!("GET /{MARK} HTTP/1.1\r\nHost: other.test\r\n\r\n")),
        ),
        ("a whole address", request(&format!("GET https://other.test/{MARK}"), "", "")),
        ("a connection inside", request(&format!("CONNECT {MARK}.test:443"), "", "")),
        (
            "a websocket",
            request(
                &format!("GET /{MARK}"),
                "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: a\r\n",
                "",
            ),
        ),
        ("HTTP/2 inside", ReadBy("read.test:443", format!("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{MARK}"))),
        (
            "a length and an encoding",
            request(
                "GET /a",
                "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n",
                "0\r\n\r\nGET /MARKED HTTP/1.1\r\n\r\n",
            ),
        ),
        (
            "a second request",
            request(
                "GET /a",
                "",
                &format!("PUT /{MARK} HTTP/1.1\r\nHost: read.test\r\nContent-Length: 0\r\n\r\n"),
            ),
        ),
        ("many headers", request(&format!("GET /{MARK}"), &"A: b\r\n".repeat(150), "")),
        (
            "a push to git",
            ReadBy(
                "git.test:443",
                format!(
                    "POST /a.git/git-receive-pack HTTP/1.1\r\nHost: git.test\r\nContent-Length: 6\r\n\r\n{MARK}"
                ),
            ),
        ),
        (
            "a push that is asked for",
            ReadBy(
                "git.test:443",
                format!(
                    "GET /{MARK}.git/info/refs?service=git-receive-pack HTTP/1.1\r\nHost: git.test\r\n\r\n"
                ),
            ),
        ),
        (
            "a fetch at a registry",
            request(
                "POST /a/git-upload-pack",
                "Content-Type: application/x-git-upload-pack-request\r\nContent-Length: 6\r\n",
                MARK,
            ),
        ),
        (
            "no encryption",
            Through("read.test:443", format!("GET /{MARK} HTTP/1.1\r\nHost: read.test\r\n\r\n").into_bytes()),
        ),
        ("another server name", Through("read.test:443", marked(&["other.test"], &[]))),
        ("no server name", Through("read.test:443", marked(&[], &[]))),
        ("plain HTTP at another port", get("http://read.test/", "Host: read.test\r\n")),
        (
            "a hidden name where it passes unread",
            Through("pinned.test:443", marked(&["other.test"], &[(0xfe0d, b"x")])),
        ),
    ] {
        all.expect_nothing_through(what, attempt);
    }
}

#[test]
fn what_is_only_said_in_headers_does_not_go_out_to_a_host_that_is_read() {
    let all = Surroundings::new();
    let headers = [
        "X-Data",
        "Cookie",
        "Authorization",
        "Referer",
        "X-HTTP-Method-Override",
        "Via",
        "Forwarded",
        "X-Forwarded-For",
        "From",
        "Origin",
        "Npm-Session",
        "TE",
        "Proxy-Authorization",
        "Proxy-Connection",
        "Keep-Alive",
    ];
    let said: String = headers.iter().map(|name| format!("{name}: {MARK}\r\n")).collect();
    let request =
        format!("GET /fine HTTP/1.1\r\nHost: read.test\r\n{said}User-Agent: {}\r\n\r\n", MARK.repeat(100));
    all.attempt(ReadBy("read.test:443", request));
    assert!(all.hosts[0].seen().contains("GET /fine HTTP/1.1"));
    assert!(!all.hosts[0].seen().contains(MARK), "{}", all.hosts[0].seen());
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
