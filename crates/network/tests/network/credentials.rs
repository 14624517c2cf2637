//! Credentials go out where they belong, and nothing of them goes in.

use std::io::{Read, Write};
use std::sync::Arc;

use crate::client::{answer, encrypt, rest, tunnel};
use crate::upstream;
use crate::world::{PUBLIC, World, configured, named};
use holon_network::{CredentialForm, HostCredential, HostTarget, NetworkEvent, PermitBook};

const CANARY: &str = "canary-7Fq2/Zx+81mNpQ";

fn credential(target: &str, form: &CredentialForm) -> HostCredential {
    HostCredential::new(HostTarget::parse(target, Some(443)).unwrap(), form, CANARY).unwrap()
}

fn bearer() -> CredentialForm {
    CredentialForm::Header { name: "authorization".into(), prefix: "Bearer ".into() }
}

/// Says everything it was told, in headers and in the body, in several writings.
fn told() -> upstream::Reply {
    Arc::new(|head| {
        let secret =
            head.lines().find_map(|line| line.strip_prefix("authorization: ")).unwrap_or("none").to_owned();
        let hex: String = secret.bytes().map(|byte| format!("{byte:02X}")).collect();
        let body =
            format!("{{\"you\":\"{secret}\",\"hex\":\"{hex}\",\"json\":\"{}\"}}", secret.replace('/', "\\/"));
        let location = format!("https://elsewhere.test/?t={secret}");
        let headers = format!("x-echo: {secret}\r\nlocation: {location}\r\nset-cookie: s={secret}\r\n");
        upstream::answer("302 Found", &headers, &body)
    })
}

fn assert_nothing_in(text: &str) {
    for piece in [
        CANARY,
        "canary",
        "7Fq2",
        "63616E617279",
        "63616e617279",
        "Y2FuYXJ5",
        "NhbmFye",
        "jYW5hcn",
        "bWU6Y2FuYX",
    ] {
        assert!(!text.contains(piece), "{piece} in {text}");
    }
}

#[test]
fn a_credential_goes_out_and_its_echo_does_not_come_in() {
    for form in [bearer(), CredentialForm::Basic { user: "me".into() }] {
        let world = World::new();
        let host = world.encrypted_host(&["private.test", "elsewhere.test"], told());
        let mut settings = world.settings();
        settings.book =
            PermitBook::new([configured("private.test:443", "npm"), configured("elsewhere.test:443", "npm")]);
        settings.credentials = vec![credential("private.test", &form)];
        let proxy = world.open(settings);
        let ask = |name: &str| {
            let mut stream =
                encrypt(tunnel(&proxy, &format!("{name}:443")).1, name, world.authority.certificate());
            let asked = format!(
                "GET /x HTTP/1.1\r\nHost: {name}\r\nAuthorization: Bearer placeholder\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n"
            );
            stream.write_all(asked.as_bytes()).unwrap();
            rest(&mut stream)
        };
        let said = ask("private.test");
        assert!(
            said.starts_with("HTTP/1.1 302") && said.contains("x-echo: ") && !said.contains("set-cookie"),
            "{said}"
        );
        assert!(said.contains("location: https://elsewhere.test/?t="), "{said}");
        assert_nothing_in(&said);
        let seen = host.seen();
        let (_, value) = seen.split_once("authorization: ").unwrap();
        assert!(value.starts_with("Bearer canary") || value.starts_with("Basic bWU6Y2FuYX"), "{value}");
        assert!(!seen.contains("placeholder") && seen.contains("accept-encoding: identity"), "{seen}");
        // Where the answer leads, the credential does not go.
        let before = seen.matches("authorization").count();
        assert_nothing_in(&ask("elsewhere.test"));
        assert_eq!(host.seen().matches("authorization").count(), before);
        drop(proxy);
        assert_nothing_in(&format!("{:?}", world.events.lock().unwrap()));
    }
}

#[test]
fn a_host_with_a_credential_is_only_read_also_where_a_person_named_it() {
    let world = World::new();
    let host = world.encrypted_host(&["private.test"], told());
    let mut settings = world.settings();
    settings.book = named(&["private.test", "private.test:8443"]);
    settings.credentials = vec![credential("private.test", &bearer())];
    let proxy = world.open(settings);
    let mut stream =
        encrypt(tunnel(&proxy, "private.test:443").1, "private.test", world.authority.certificate());
    stream.write_all(b"PUT /x HTTP/1.1\r\nHost: private.test\r\nContent-Length: 0\r\n\r\n").unwrap();
    assert!(answer(&mut stream).0.starts_with("HTTP/1.1 403"));
    assert_eq!(host.seen(), "");
}

#[test]
fn a_credential_does_not_go_out_unencrypted_or_to_another_port() {
    let world = World::new();
    let host = upstream::Upstream::http(None, told());
    world.outside.name("private.test", &[&[PUBLIC]]);
    world.outside.host(&format!("{PUBLIC}:80"), &host);
    world.outside.host(&format!("{PUBLIC}:8080"), &host);
    let mut settings = world.settings();
    settings.book = named(&["private.test", "private.test:8080"]);
    settings.credentials =
        vec![credential("private.test", &bearer()), credential("private.test:80", &bearer())];
    let proxy = world.open(settings);
    for port in ["", ":8080"] {
        let asked = format!(
            "GET http://private.test{port}/x HTTP/1.1\r\nHost: private.test{port}\r\nConnection: close\r\n\r\n"
        );
        let said = crate::client::say(&proxy, asked.as_bytes());
        assert!(said.starts_with("HTTP/1.1 302"), "{said}");
    }
    assert!(!host.seen().contains("authorization"), "{}", host.seen());
}

#[test]
fn an_encoded_answer_to_a_credential_does_not_come_in() {
    let world = World::new();
    let reply = |_: &str| upstream::answer("200 OK", "content-encoding: gzip\r\n", "whatever");
    let _host = world.encrypted_host(&["private.test"], Arc::new(reply));
    let mut settings = world.settings();
    settings.book = PermitBook::new([configured("private.test:443", "npm")]);
    settings.credentials = vec![credential("private.test", &bearer())];
    let proxy = world.open(settings);
    let mut stream =
        encrypt(tunnel(&proxy, "private.test:443").1, "private.test", world.authority.certificate());
    stream.write_all(b"GET /x HTTP/1.1\r\nHost: private.test\r\n\r\n").unwrap();
    let (head, body) = answer(&mut stream);
    assert!(head.starts_with("HTTP/1.1 502") && !body.contains("whatever"), "{head}{body}");
    world
        .until(|event| matches!(event, NetworkEvent::Refused { message, .. } if message.contains("encoded")));
}

#[test]
fn an_echo_in_pieces_does_not_come_in() {
    let world = World::new();
    let reply = |_: &str| {
        let mut out = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
        for byte in CANARY.bytes() {
            out.extend(format!("1\r\n{}\r\n", char::from(byte)).into_bytes());
        }
        out.extend(format!("0\r\nX-Trail: {CANARY}\r\n\r\n").into_bytes());
        out
    };
    let _host = world.encrypted_host(&["private.test"], Arc::new(reply));
    let mut settings = world.settings();
    settings.book = PermitBook::new([configured("private.test:443", "npm")]);
    settings.credentials = vec![credential("private.test", &bearer())];
    let proxy = world.open(settings);
    let mut stream =
        encrypt(tunnel(&proxy, "private.test:443").1, "private.test", world.authority.certificate());
    stream.write_all(b"GET /x HTTP/1.1\r\nHost: private.test\r\nConnection: close\r\n\r\n").unwrap();
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let stars = bytes.iter().filter(|byte| **byte == b'*').count();
    assert_eq!(stars, CANARY.len());
    assert!(!String::from_utf8_lossy(&bytes).contains("X-Trail"));
}
