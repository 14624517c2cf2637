//! What is permitted passes.

use std::io::Write;

use crate::client::{self, answer, encrypt, head, rest, tunnel};
use crate::upstream::Upstream;
use crate::world::{PUBLIC, World, echo, named};
use holon_network::{ConnectionManner, NetworkEvent, Permit, PermitRule};

#[test]
fn an_encrypted_connection_passes_unread() {
    let world = World::new();
    let _host = world.encrypted_host(&["open.test"], echo());
    let mut settings = world.settings();
    settings.book = named(&["open.test"]);
    let proxy = world.open(settings);
    let (said, stream) = tunnel(&proxy, "open.test:443");
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    // The certificate is the host's own: nobody looks in.
    let mut stream = encrypt(stream, "open.test", &world.root);
    stream.write_all(b"POST /x HTTP/1.1\r\nHost: open.test\r\n\r\n").unwrap();
    assert_eq!(answer(&mut stream).1, "POST /x HTTP/1.1");
    drop(stream);
    world.until(
        |event| matches!(event, NetworkEvent::Finished { sent, received, .. } if *sent > 0 && *received > 0),
    );
    let summary = proxy.finish();
    assert_eq!((summary.allowed, summary.refused), (1, 0));
    assert_eq!(world.outside.dialled(), [format!("{PUBLIC}:443")]);
    assert_eq!(*world.outside.resolved.lock().unwrap(), ["open.test"]);
}

#[test]
fn plain_requests_pass_and_each_is_judged() {
    let world = World::new();
    let host = Upstream::http(None, echo());
    world.outside.name("open.test", &[&[PUBLIC]]);
    world.outside.host(&format!("{PUBLIC}:80"), &host);
    let mut settings = world.settings();
    settings.book = named(&["open.test"]);
    let proxy = world.open(settings);
    let mut stream = client::connect(&proxy);
    stream.write_all(b"GET http://open.test/one?q HTTP/1.1\r\nHost: open.test\r\n\r\n").unwrap();
    assert_eq!(answer(&mut stream).1, "GET /one?q HTTP/1.1");
    stream
        .write_all(b"GET http://elsewhere.example/two HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n")
        .unwrap();
    let (head, body) = answer(&mut stream);
    assert!(
        head.starts_with(
            "HTTP/1.1 403 holon: elsewhere.example:80 is not permitted: add --allow-net elsewhere.example"
        ),
        "{head}"
    );
    assert!(body.contains("--allow-net elsewhere.example"), "{body}");
    stream
        .write_all(b"POST http://open.test/three HTTP/1.1\r\nHost: open.test\r\nContent-Length: 2\r\n\r\nab")
        .unwrap();
    assert_eq!(answer(&mut stream).1, "POST /three HTTP/1.1");
    assert_eq!(rest(&mut stream), "", "behind a body the connection ends");
    assert!(!host.seen().contains("two"), "{}", host.seen());
    assert_eq!(proxy.finish().refused, 1);
}

#[test]
fn a_connection_to_port_80_carries_judged_requests() {
    let world = World::new();
    let host = Upstream::http(None, echo());
    world.outside.name("open.test", &[&[PUBLIC]]);
    world.outside.host(&format!("{PUBLIC}:80"), &host);
    let mut settings = world.settings();
    settings.book = named(&["open.test"]);
    let proxy = world.open(settings);
    let mut stream = tunnel(&proxy, "open.test:80").1;
    stream.write_all(b"GET /a HTTP/1.1\r\nHost: open.test\r\n\r\n").unwrap();
    assert_eq!(answer(&mut stream).1, "GET /a HTTP/1.1");
    stream.write_all(b"GET /b HTTP/1.1\r\nHost: other.test\r\n\r\n").unwrap();
    assert!(answer(&mut stream).0.starts_with("HTTP/1.1 403"));
    assert!(!host.seen().contains("/b"));
}

#[test]
fn other_protocols_pass_at_a_port_that_is_named() {
    let world = World::new();
    let host = Upstream::greeting("220 ready\r\n\r\n");
    world.outside.name("mail.test", &[&[PUBLIC]]);
    world.outside.host(&format!("{PUBLIC}:2525"), &host);
    let mut settings = world.settings();
    settings.book = named(&["mail.test:2525"]);
    let proxy = world.open(settings);
    let mut stream = tunnel(&proxy, "mail.test:2525").1;
    assert_eq!(head(&mut stream), "220 ready\r\n\r\n");
    stream.write_all(b"EHLO me\r\n").unwrap();
    drop(stream);
    world.until(|event| matches!(event, NetworkEvent::Allowed { manner: ConnectionManner::Raw, .. }));
    world.until(|event| matches!(event, NetworkEvent::Finished { .. }));
}

#[test]
fn what_a_person_permits_meanwhile_counts_at_once() {
    let world = World::new();
    let _host = world.encrypted_host(&["late.test"], echo());
    let mut settings = world.settings();
    settings.refuse_inside = false;
    let proxy = world.open(settings);
    assert!(tunnel(&proxy, "late.test:443").0.starts_with("HTTP/1.1 403"));
    let Ok(PermitRule::Host(rule)) = PermitRule::parse("late.test") else { panic!("a host") };
    proxy.permit(Permit::named(rule));
    assert!(tunnel(&proxy, "late.test:443").0.starts_with("HTTP/1.1 200"));
}

#[test]
fn a_missing_permit_is_told_inside_where_clients_show_it() {
    let world = World::new();
    let proxy = world.open(world.settings());
    for (agent, expect) in
        [("npm/11", "\"error\":\"holon: a.test:443 is not permitted"), ("cargo/1", "holon: a.test:443")]
    {
        let (said, stream) = tunnel(&proxy, "a.test:443");
        assert!(said.starts_with("HTTP/1.1 200"), "{said}");
        let mut stream = encrypt(stream, "a.test", world.authority.certificate());
        let asked = format!("GET /x HTTP/1.1\r\nHost: a.test\r\nUser-Agent: {agent}\r\n\r\n");
        stream.write_all(asked.as_bytes()).unwrap();
        let (head, body) = answer(&mut stream);
        assert!(
            head.starts_with("HTTP/1.1 403 holon: a.test:443 is not permitted: add --allow-net a.test"),
            "{head}"
        );
        assert!(body.contains(expect), "{body}");
        assert_eq!(head.contains("npm-notice"), agent.starts_with("npm"), "{head}");
    }
    assert_eq!(world.refusals().len(), 2);
    assert!(world.outside.dialled().is_empty() && world.outside.resolved.lock().unwrap().is_empty());
}

#[test]
fn a_company_proxy_is_asked_with_its_credentials() {
    let world = World::new();
    let company = Upstream::http(
        None,
        std::sync::Arc::new(|head| {
            let fine = head.contains("Proxy-Authorization: Basic dXNlcjpwQHNz");
            if fine { b"HTTP/1.1 200 OK\r\n\r\n".to_vec() } else { b"HTTP/1.1 407 No\r\n\r\n".to_vec() }
        }),
    );
    world.outside.name("proxy.test", &[&["10.1.1.1"]]);
    world.outside.host("10.1.1.1:3128", &company);
    let mut settings = world.settings();
    settings.book = named(&["open.test"]);
    let variable =
        |name: &str| (name == "https_proxy").then(|| "http://user:p%40ss@proxy.test:3128".to_owned());
    settings.proxies = holon_network::CompanyProxies::from_environment(variable).unwrap();
    settings.refuse_inside = false;
    let proxy = world.open(settings);
    let (said, mut stream) = tunnel(&proxy, "open.test:443");
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    stream.write_all(&client::hello(&["open.test"], &[])).unwrap();
    world.until(|event| matches!(event, NetworkEvent::Allowed { address: None, .. }));
    assert!(tunnel(&proxy, "other.test:443").0.starts_with("HTTP/1.1 403"));
    assert_eq!(world.outside.dialled(), ["10.1.1.1:3128"]);
    assert!(company.seen().starts_with("CONNECT open.test:443 HTTP/1.1\r\n"), "{}", company.seen());
}

#[test]
fn to_learn_what_a_command_needs_every_public_name_is_allowed_and_no_address() {
    let world = World::new();
    let _host = world.encrypted_host(&["one.test"], echo());
    world.outside.name("inner.test", &[&["10.0.0.5"]]);
    let mut settings = world.settings();
    settings.learning = true;
    let proxy = world.open(settings);
    let mut stream = encrypt(tunnel(&proxy, "one.test:443").1, "one.test", &world.root);
    stream.write_all(b"GET /x HTTP/1.1\r\nHost: one.test\r\n\r\n").unwrap();
    assert_eq!(answer(&mut stream).1, "GET /x HTTP/1.1");
    for refused in ["inner.test:443", "10.0.0.5:443", "93.184.216.34:443"] {
        assert!(tunnel(&proxy, refused).0.starts_with("HTTP/1.1 403"), "{refused}");
    }
    let summary = proxy.finish();
    let hosts = summary.hosts.iter();
    let hosts = hosts.map(|(target, host)| (target.as_str(), host.allowed > 0, host.refusal.as_deref()));
    let learnt = holon_network::LearntPermits::of(hosts, &[]);
    assert_eq!((learnt.permits, learnt.refused.len()), (vec!["one.test".to_owned()], 3));
}
