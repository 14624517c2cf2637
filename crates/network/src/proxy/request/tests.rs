#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use hyper::Request;

use super::*;
use crate::permit::{ClientSet, HostRule, Permit, PermitBook, RemoteName, RepositoryPath};

fn head(method: &str, path: &str, headers: &[(&str, &str)]) -> Parts {
    let mut request = Request::builder().method(method).uri(path);
    if !headers.iter().any(|(name, _)| *name == "host") {
        request = request.header("host", "a.test");
    }
    for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

/// What may be read at the one host of these tests.
fn scope(permit: Permit) -> ReadingScope {
    let target = HostTarget::parse("a.test:443", None).unwrap();
    ReadingScope::of(&PermitBook::new([permit.clone()]), &permit, &target)
}

fn rule() -> HostRule {
    HostRule::parse("a.test").unwrap()
}

fn judged(scope: &ReadingScope, head: &Parts) -> Result<(), RefusalReason> {
    let (target, limits) = (HostTarget::parse("a.test:443", None).unwrap(), NetworkLimits::default());
    let reading = Some(scope);
    RequestRules { target: &target, usual_port: 443, reading, with_credential: false, limits: &limits }
        .judge(head)
}

#[test]
fn reading_is_all_that_passes_where_only_reading_is_permitted() {
    let npm = scope(Permit::configured(rule(), ClientSet::Npm));
    let long = format!("/{}", "a".repeat(3000));
    let long_query = format!("/a?{}", "b".repeat(3000));
    for (method, path, headers, fine) in [
        ("GET", "/left-pad", &[][..], true),
        ("HEAD", "/left-pad", &[], true),
        ("GET", "/left-pad", &[("content-length", "0")], true),
        ("GET", "/-/v1/search?text=a", &[], true),
        ("GET", "/whoami/-/whoami-1.0.0.tgz", &[], true),
        ("GET", "/left-pad", &[("content-length", "1")], false),
        ("GET", "/left-pad", &[("transfer-encoding", "chunked")], false),
        ("GET", "/left-pad", &[("expect", "100-continue")], false),
        ("PUT", "/left-pad", &[], false),
        ("POST", "/left-pad", &[], false),
        ("DELETE", "/left-pad/-rev/1", &[], false),
        ("PATCH", "/left-pad", &[], false),
        ("OPTIONS", "/left-pad", &[], false),
        ("PROPFIND", "/left-pad", &[], false),
        ("get", "/left-pad", &[], false),
        ("GET", &long, &[], false),
        ("GET", &long_query, &[], false),
        ("GET", "/-/npm/v1/tokens", &[], false),
        ("GET", "/mirror/-/npm/v1/user", &[], false),
        ("GET", "/%2d/whoami", &[], false),
        ("GET", "/%252d/whoami", &[], false),
        ("GET", "//-//whoami", &[], false),
        ("GET", "/-/./whoami", &[], false),
        ("GET", "/api/v1/me", &[], false),
        (
            "POST",
            "/a.git/git-upload-pack",
            &[("content-type", "application/x-git-upload-pack-request")],
            false,
        ),
        ("GET", "/a", &[("host", "b.test")], false),
        ("GET", "/a", &[("host", "")], false),
        ("GET", "/a", &[("host", "A.TEST.:443")], true),
        ("GET", "/a", &[("host", "a.test:80")], false),
        ("GET", "/a", &[("host", "a.test"), ("host", "a.test")], false),
        ("GET", "/a", &[("host", "a.test, b.test")], false),
        ("GET", "/a", &[("host", "b.test@a.test")], false),
        ("GET", "/a", &[("upgrade", "websocket"), ("connection", "Upgrade")], false),
        ("GET", "/a", &[("connection", "upgrade, http2-settings")], false),
    ] {
        assert_eq!(
            judged(&npm, &head(method, path, headers)).is_ok(),
            fine,
            "{method} {path:.60} {headers:?}"
        );
    }
}

#[test]
fn git_may_fetch_and_not_push() {
    let remote = RemoteName::parse("origin").unwrap();
    let path = RepositoryPath::parse("/a.git").unwrap();
    let git = scope(Permit::repository(rule(), path, ClientSet::Git(remote)));
    let kind = [("content-type", "application/x-git-upload-pack-request")];
    let chunked = [kind[0], ("transfer-encoding", "chunked")];
    for (method, path, headers, fine) in [
        ("GET", "/a.git/info/refs?service=git-upload-pack", &[][..], true),
        ("POST", "/a.git/git-upload-pack", &kind, true),
        ("POST", "/a.git/git-upload-pack", &chunked, true),
        ("POST", "/a.git/git-upload-pack", &[("content-type", "text/plain")], false),
        ("POST", "/a.git/git-upload-pack?x=1", &kind, false),
        ("GET", "/a.git/info/refs?service=git-receive-pack", &[], false),
        ("GET", "/a.git/info/refs?service=git%2dreceive%2dpack", &[], false),
        (
            "POST",
            "/a.git/git-receive-pack",
            &[("content-type", "application/x-git-receive-pack-request")],
            false,
        ),
        ("POST", "/a.git/git-receive-pack", &kind, false),
        ("PUT", "/a.git/git-upload-pack", &kind, false),
        ("POST", "/b.git/git-upload-pack", &kind, false),
        ("POST", "/git-upload-pack", &kind, false),
        ("POST", "/a.git/x/git-upload-pack", &kind, false),
        ("GET", "/a.git/info/refs?service=git-upload-pack&x=1", &[], false),
        ("GET", "/b.git/info/refs?service=git-upload-pack", &[], false),
        ("GET", "/", &[], false),
    ] {
        assert_eq!(judged(&git, &head(method, path, headers)).is_ok(), fine, "{method} {path} {headers:?}");
    }
}

#[test]
fn only_what_reading_needs_goes_out() {
    let (target, limits) = (HostTarget::parse("a.test:443", None).unwrap(), NetworkLimits::default());
    let scope = scope(Permit::named(rule()));
    let reading = Some(&scope);
    let rules =
        RequestRules { target: &target, usual_port: 443, reading, with_credential: true, limits: &limits };
    let long = "x".repeat(600);
    let headers = [
        ("accept", "*/*"),
        ("authorization", "Bearer placeholder"),
        ("cookie", "a=b"),
        ("x-data", "away"),
        ("x-http-method-override", "PUT"),
        ("user-agent", &long),
        ("git-protocol", "secret"),
        ("proxy-authorization", "Basic x"),
    ];
    let out = rules.outgoing(&head("GET", "/a", &headers).headers);
    assert_eq!(out.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["accept"]);
    let rules = RequestRules { reading: None, ..rules };
    let headers = [
        ("connection", "x-hop, close"),
        ("x-hop", "1"),
        ("te", "trailers"),
        ("x-data", "1"),
        ("trailer", "x"),
    ];
    let out = rules.outgoing(&head("GET", "/a", &headers).headers);
    assert_eq!(out.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["x-data"]);
}

#[test]
fn what_an_answer_gives_to_keep_does_not_go_in_with_a_credential() {
    let headers =
        head("GET", "/", &[("set-cookie", "a=b"), ("etag", "1"), ("alt-svc", "h3"), ("content-length", "3")])
            .headers;
    let names = |all: HeaderMap| all.keys().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(names(incoming(&headers, true)), ["host", "etag", "content-length"]);
    assert_eq!(names(incoming(&headers, false)), ["host", "set-cookie", "etag", "content-length"]);
}
