//! Hosts that are only read: everything is looked at, and what is a package is known.

use std::io::Write;
use std::sync::Arc;

use crate::client::{answer, encrypt, tunnel};
use crate::upstream;
use crate::world::{World, configured, echo, repository};
use holon_network::{
    ArrivalRules, ClientSet, DeniedPackage, HostRule, NetworkEvent, NetworkProxy, Permit, PermitAccess,
    PermitBook,
};

#[test]
fn requests_are_read_and_carried_over_one_connection() {
    let world = World::new();
    let host = world.encrypted_host(&["read.test"], echo());
    let mut settings = world.settings();
    settings.book = PermitBook::new([configured("read.test:443", "npm")]);
    let proxy = world.open(settings);
    let mut stream = encrypt(tunnel(&proxy, "read.test:443").1, "read.test", world.authority.certificate());
    for path in ["/one", "/two"] {
        let asked = format!(
            "GET {path} HTTP/1.1\r\nHost: read.test\r\nX-Data: away\r\nCookie: c\r\nAccept: */*\r\n\r\n"
        );
        stream.write_all(asked.as_bytes()).unwrap();
        assert_eq!(answer(&mut stream).1, format!("GET {path} HTTP/1.1"));
    }
    stream.write_all(b"PUT /three HTTP/1.1\r\nHost: read.test\r\nContent-Length: 2\r\n\r\nab").unwrap();
    let (head, body) = answer(&mut stream);
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    assert!(body.contains("PUT is not permitted: read.test:443 may only be read"), "{body}");
    let seen = host.seen();
    assert!(
        seen.contains("accept: */*")
            && !seen.contains("away")
            && !seen.contains("cookie")
            && !seen.contains("PUT"),
        "{seen}"
    );
    assert_eq!(world.outside.dialled().len(), 1);
}

#[test]
fn a_package_that_came_in_is_known_with_its_digest() {
    let world = World::new();
    let reply = |head: &str| {
        match head {
        _ if head.starts_with("HEAD") => b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n".to_vec(),
        _ if head.contains("chunked") => b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\nX-Trail: t\r\n\r\n".to_vec(),
        _ => upstream::answer("200 OK", "", "abc"),
    }
    };
    let host = world.encrypted_host(&["read.test"], Arc::new(reply));
    let mut settings = world.settings();
    settings.book = PermitBook::new([configured("read.test:443", "npm")]);
    let proxy = world.open(settings);
    let mut stream = encrypt(tunnel(&proxy, "read.test:443").1, "read.test", world.authority.certificate());
    stream.write_all(b"HEAD /pad/-/pad-0.0.1.tgz HTTP/1.1\r\nHost: read.test\r\n\r\n").unwrap();
    assert!(crate::client::head(&mut stream).contains("content-length: 3"));
    stream
        .write_all(b"GET /@a%2fpad/-/pad-1.0.0.tgz HTTP/1.1\r\nHost: read.test\r\nRange: bytes=0-1\r\n\r\n")
        .unwrap();
    assert_eq!(answer(&mut stream).1, "abc");
    let asked = "GET /chunked/-/chunked-2.0.0.tgz HTTP/1.1\r\nHost: read.test\r\nConnection: close\r\n\r\n";
    stream.write_all(asked.as_bytes()).unwrap();
    let said = crate::client::rest(&mut stream);
    assert!(!said.contains("X-Trail"), "{said}");
    world.until(
        |event| matches!(event, NetworkEvent::Arrived { package } if package.package.name == "chunked"),
    );
    assert!(!host.seen().contains("range"), "a part would have no digest");
    let packages = proxy.finish().packages;
    let listed: Vec<String> = packages
        .iter()
        .map(|one| format!("{} {} {} {}", one.package, one.host, one.bytes, &one.sha256[..8]))
        .collect();
    assert_eq!(listed, ["@a/pad 1.0.0 read.test:443 3 ba7816bf", "chunked 2.0.0 read.test:443 3 ba7816bf"]);
}

#[test]
fn what_is_denied_or_too_young_does_not_come_in() {
    let world = World::new();
    let reply = |head: &str| {
        let old = if head.contains("old") { "last-modified: Mon, 01 Jan 2018 00:00:00 GMT\r\n" } else { "" };
        upstream::answer("200 OK", old, "abc")
    };
    let host = world.encrypted_host(&["read.test"], Arc::new(reply));
    let mut settings = world.settings();
    settings.book = PermitBook::new([configured("read.test:443", "npm")]);
    settings.arrivals = ArrivalRules { min_age: 7, denied: vec![DeniedPackage::parse("npm:evil").unwrap()] };
    let proxy = world.open(settings);
    let mut stream = encrypt(tunnel(&proxy, "read.test:443").1, "read.test", world.authority.certificate());
    let mut ask = |path: &str| {
        let asked = format!("GET {path} HTTP/1.1\r\nHost: read.test\r\nUser-Agent: npm/11\r\n\r\n");
        stream.write_all(asked.as_bytes()).unwrap();
        answer(&mut stream)
    };
    assert!(ask("/evil/-/evil-1.0.0.tgz").1.contains("evil 1.0.0 is on the deny list"));
    assert!(ask("/new/-/new-1.0.0.tgz").1.contains("published less than 7 days ago"));
    assert_eq!(ask("/old/-/old-1.0.0.tgz").1, "abc");
    assert_eq!(ask("/anything").1, "abc");
    assert!(!host.seen().contains("evil"));
    let packages = proxy.finish().packages;
    assert_eq!(packages.iter().map(|one| one.package.name.as_str()).collect::<Vec<_>>(), ["old"]);
}

#[test]
fn a_client_that_does_not_accept_the_authority_passes_unread_only_where_that_is_permitted() {
    for opaque in [true, false] {
        let world = World::new();
        let _host = world.encrypted_host(&["read.test"], echo());
        let mut settings = world.settings();
        let mut permit = configured("read.test:443", "npm");
        permit.access = PermitAccess::ReadOnly { opaque };
        settings.book = PermitBook::new([permit]);
        let proxy = world.open(settings);
        let ask = || {
            let mut stream = encrypt(tunnel(&proxy, "read.test:443").1, "read.test", &world.root);
            let asked = stream.write_all(b"GET /x HTTP/1.1\r\nHost: read.test\r\n\r\n");
            asked.map(|()| answer(&mut stream).1).unwrap_or_default()
        };
        assert_eq!(ask(), "");
        world.until(|event| matches!(event, NetworkEvent::Refused { message, .. } if message.contains("does not accept")));
        assert_eq!(ask(), if opaque { "GET /x HTTP/1.1" } else { "" });
        let table = proxy.finish().to_string();
        assert_eq!(table.contains("opaque"), opaque, "{table}");
    }
}

#[test]
fn a_host_whose_certificate_is_not_trusted_is_not_asked() {
    let world = World::new();
    let host = world.encrypted_host(&["other.test"], echo());
    world.outside.name("read.test", &[&[crate::world::PUBLIC]]);
    let mut settings = world.settings();
    settings.book = PermitBook::new([configured("read.test:443", "npm")]);
    let proxy = world.open(settings);
    let mut stream = encrypt(tunnel(&proxy, "read.test:443").1, "read.test", world.authority.certificate());
    stream.write_all(b"GET /x HTTP/1.1\r\nHost: read.test\r\n\r\n").unwrap();
    let (head, body) = answer(&mut stream);
    assert!(
        head.starts_with("HTTP/1.1 502") && body.contains("certificate of read.test:443"),
        "{head}{body}"
    );
    assert_eq!(host.seen(), "");
}

/// Asks one thing over a connection of its own.
fn asked(world: &World, proxy: &NetworkProxy, name: &str, request: &[u8]) -> (String, String) {
    let mut stream = encrypt(tunnel(proxy, &format!("{name}:443")).1, name, world.authority.certificate());
    stream.write_all(request).unwrap();
    answer(&mut stream)
}

fn get(name: &str, path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: {name}\r\nAccept-Encoding: gzip\r\n\r\n").into_bytes()
}

/// A fetch, as git sends it.
fn fetch(path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: git.test\r\nContent-Type: application/x-git-upload-pack-request\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

#[test]
fn git_fetches_its_own_repository_and_does_not_push() {
    let world = World::new();
    let host = world.encrypted_host(&["git.test"], echo());
    let mut settings = world.settings();
    settings.book = PermitBook::new([repository("git.test:443", "/me/a.git")]);
    let proxy = world.open(settings);
    let ask = |request: &[u8]| asked(&world, &proxy, "git.test", request);
    let refs = "/me/a.git/info/refs?service=git-upload-pack";
    assert!(ask(&get("git.test", refs)).0.starts_with("HTTP/1.1 200"));
    assert!(ask(&get("git.test", &refs.replace(".git", ""))).0.starts_with("HTTP/1.1 200"));
    let want = format!("0032want {}\n00000009done\n", "1".repeat(40));
    assert!(ask(&fetch("/me/a.git/git-upload-pack", "", want.as_bytes())).0.starts_with("HTTP/1.1 200"));
    assert!(host.seen().ends_with(&want), "{}", host.seen());
    // What is packed goes out unpacked: only what was read goes out.
    let packed = b"\x1f\x8b\x08\0\0\0\0\0\x02\x03\x01\x09\0\xf6\xff0009done\n\0\0\0\0\0\0\0\0and more";
    let packed = fetch("/me/a.git/git-upload-pack", "Content-Encoding: gzip\r\n", packed);
    assert!(ask(&packed).0.starts_with("HTTP/1.1 200"));
    assert!(host.seen().ends_with("content-length: 9\r\n\r\n0009done\n"), "{}", host.seen());
    let push =
        String::from_utf8(fetch("/me/a.git/git-upload-pack", "", b"")).unwrap().replace("upload", "receive");
    assert!(ask(push.as_bytes()).1.contains("nothing may be published"));
    assert!(
        ask(&get("git.test", "/me/b.git/info/refs?service=git-upload-pack"))
            .1
            .contains("only the repository")
    );
    let body = ask(&fetch("/me/a.git/git-upload-pack", "", b"MARKED")).1;
    assert!(body.contains("is not what fetching says"), "{body}");
    assert!(
        !host.seen().contains("receive")
            && !host.seen().contains("MARKED")
            && !host.seen().contains("and more")
    );
}

#[test]
fn what_a_registry_and_a_repository_of_one_host_permit_is_kept_apart() {
    let world = World::new();
    let host = world.encrypted_host(&["git.test"], echo());
    for turned in [false, true] {
        let mut permits = vec![configured("git.test:443", "npm"), repository("git.test:443", "/me/a.git")];
        if turned {
            permits.reverse();
        }
        let mut settings = world.settings();
        settings.book = PermitBook::new(permits);
        let proxy = world.open(settings);
        let ask = |request: &[u8]| asked(&world, &proxy, "git.test", request).0;
        assert!(ask(&get("git.test", "/left-pad")).starts_with("HTTP/1.1 200"), "{turned}");
        assert!(ask(&fetch("/me/a/git-upload-pack", "", b"0000")).starts_with("HTTP/1.1 200"), "{turned}");
        assert!(ask(&fetch("/me/b/git-upload-pack", "", b"0000")).starts_with("HTTP/1.1 403"), "{turned}");
    }
    assert!(!host.seen().contains("/me/b"));
}

#[test]
fn no_page_of_a_registry_permits_anything() {
    let world = World::new();
    let links = "<a href=\"https://led.test/p/pip-3.0.0.tar.gz\"></a>{\"dl\":\"https://led.test/x\"}\
                 {\"files\":[{\"url\":\"https://led.test/pip-1.0.tar.gz\"}]}";
    let reply = move |head: &str| match head {
        _ if head.contains("/p/") => upstream::answer("200 OK", "", "abc"),
        _ if head.contains("json") => {
            upstream::answer("200 OK", "content-type: application/vnd.pypi.simple.v1+json\r\n", links)
        }
        _ => upstream::answer("200 OK", "content-type: text/html\r\n", links),
    };
    // The registry and its files are at one private address, which only the user's configuration leads to.
    let names = ["index.test", "files.test", "inner.test", "led.test"];
    let host = upstream::Upstream::http(Some(world.encryption(&names)), Arc::new(reply));
    world.outside.host("10.0.0.5:443", &host);
    world.outside.host("10.0.0.6:443", &host);
    for name in names {
        world.outside.name(name, &[&[if name == "inner.test" { "10.0.0.6" } else { "10.0.0.5" }]]);
    }
    for set in [ClientSet::Pip, ClientSet::Uv, ClientSet::Cargo] {
        let mut settings = world.settings();
        let files = |host: &str| Permit::files(HostRule::parse(host).unwrap(), set.clone());
        settings.book = PermitBook::new([
            configured("index.test:443", &set.to_string()),
            files("files.test:443"),
            files("inner.test:443"),
        ]);
        let proxy = world.open(settings);
        let ask = |name: &str, path: &str| asked(&world, &proxy, name, &get(name, path));
        for page in ["/simple/pip/", "/simple/pip/?json", "/config.json", "/simple/led/", "/project/led/"] {
            assert!(ask("index.test", page).1.contains("led.test"), "{set} {page}");
            assert!(
                ask("led.test", "/p/pip-3.0.0.tar.gz").1.contains("led.test:443 is not permitted"),
                "{set} {page}"
            );
        }
        // Where the index told the host that its files are: at its own address, and at no other of that kind.
        assert_eq!(ask("files.test", "/p/flask-3.0.0.tar.gz").1, "abc");
        assert!(ask("inner.test", "/p/x-1.0.zip").1.contains("inner.test:443 leads to 10.0.0.6"), "{set}");
    }
    assert!(world.outside.dialled().iter().all(|address| address == "10.0.0.5:443"));
}
