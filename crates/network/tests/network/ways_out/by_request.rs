//! By requests in plain HTTP.

use super::*;

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
