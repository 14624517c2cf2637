//! By another name inside a connection than the one it was asked for.

use super::*;

#[test]
fn by_another_name_inside() {
    let all = Surroundings::new();
    let request = || format!("GET /{MARK} HTTP/1.1\r\nHost: open.test\r\n\r\n");
    let whole = marked(&["open.test"], &[(10, &[0; 20])]);
    let cut: Vec<u8> = whole[..whole.len() - 4].to_vec();
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
