//! By writing to a host that may only be read.

use super::*;

#[test]
fn by_writing_where_only_reading_is_permitted() {
    let all = Surroundings::new();
    let long = "y".repeat(4000);
    let request = |line: &str, headers: &str, body: &str| {
        ReadBy("read.test:443", format!("{line} HTTP/1.1\r\nHost: read.test\r\n{headers}\r\n{body}"))
    };
    let git = |line: &str, headers: &str, body: &str| {
        ReadBy("git.test:443", format!("{line} HTTP/1.1\r\nHost: git.test\r\n{headers}\r\n{body}"))
    };
    let sent = |path: &str, headers: &str, body: &str| {
        let kind = "Content-Type: application/x-git-upload-pack-request\r\n";
        git(&format!("POST {path}"), &format!("{kind}{headers}Content-Length: {}\r\n", body.len()), body)
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
        ("a push to git", git("POST /me/a.git/git-receive-pack", "Content-Length: 6\r\n", MARK)),
        (
            "a push that is asked for",
            git(&format!("GET /me/a.git/info/refs?service=git-receive-pack&{MARK}"), "", ""),
        ),
        (
            "a fetch of another repository",
            git(&format!("GET /me/{MARK}.git/info/refs?service=git-upload-pack"), "", ""),
        ),
        ("another page of git's host", git(&format!("GET /search?q={MARK}"), "", "")),
        (
            "a word behind what there is to fetch",
            git(&format!("GET /me/a.git/info/refs?service=git-upload-pack&{MARK}"), "", ""),
        ),
        ("a word behind a file", git(&format!("GET /me/a.git/HEAD?{MARK}"), "", "")),
        ("a way up from a repository", git(&format!("GET /me/a.git/objects/../../{MARK}"), "", "")),
        ("a coded way up", git(&format!("GET /me/a.git/objects/%2e%2e/{MARK}"), "", "")),
        ("a fetch that says something else", sent("/me/a.git/git-upload-pack", "", MARK)),
        (
            "a fetch with something behind it",
            sent("/me/a.git/git-upload-pack", "", &format!("0009done\n0000{MARK}")),
        ),
        ("a fetch with words in it", sent("/me/a.git/git-upload-pack", "", &format!("000b{MARK}\n"))),
        (
            "a fetch of an unpacked kind",
            sent("/me/a.git/git-upload-pack", "Content-Encoding: br\r\n", &format!("0009done\n{MARK}")),
        ),
        (
            "a fetch at another repository",
            sent("/me/b.git/git-upload-pack", "", &format!("{MARK}0009done\n")),
        ),
        ("a fetch at any path", sent("/git-upload-pack", "", &format!("{MARK}0009done\n"))),
        (
            "a fetch at a registry",
            request(
                "POST /a/git-upload-pack",
                "Content-Type: application/x-git-upload-pack-request\r\nContent-Length: 6\r\n",
                MARK,
            ),
        ),
        (
            "a token for pushing",
            request(&format!("GET /token?service=x&scope=repository:{MARK}:push"), "", ""),
        ),
        ("a token of a later kind", request(&format!("GET /v2/token?account={MARK}"), "", "")),
        ("a login", request(&format!("GET /login/oauth/authorize?client_id={MARK}"), "", "")),
        ("a grant", request(&format!("GET /anything?grant_type=password&username={MARK}"), "", "")),
        ("a page that only accounts have", request(&format!("GET /-/npm/v1/oidc/{MARK}"), "", "")),
        ("a publish by reading", request(&format!("GET /left-pad?write=true&{MARK}"), "", "")),
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
