//! The page over HTTP: its files, how long browsers may keep them, and what it may do.

use crate::http::send;
use crate::stage::ServeStage;

#[test]
fn the_page_comes_with_the_server() {
    let stage = ServeStage::playing("- text: hi\n");
    let page = stage.get("/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    let policy = page.header("content-security-policy").unwrap().to_owned();
    assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self'"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
    let tag = page.header("etag").unwrap().to_owned();
    let html = page.text();
    let script = html.split("src=\"/assets/").nth(1).unwrap().split('"').next().unwrap();
    let check = |path: &str, kind: &str, keep: &str| {
        let answer = stage.get(path);
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(kind)), "{path}");
        assert!(answer.header("cache-control").unwrap().contains(keep), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
    };
    check(&format!("/assets/{script}"), "text/javascript; charset=utf-8", "immutable");
    check("/early.js", "text/javascript; charset=utf-8", "no-cache");
    check("/icon.svg", "image/svg+xml", "no-cache");
    let again = send(stage.port, "GET", "/", &[("if-none-match", &tag)], b"");
    assert_eq!(again.status, 304);
}

#[test]
fn nothing_of_the_disk_is_served() {
    let stage = ServeStage::playing("- text: hi\n");
    for path in [
        "/sources.sha256",
        "/../Cargo.toml",
        "/..%2fCargo.toml",
        "/assets/../../Cargo.toml",
        "/assets/%2e%2e/%2e%2e/Cargo.toml",
        "//etc/passwd.txt",
        "/assets/none.js",
    ] {
        assert_eq!(stage.get(path).status, 404, "{path}");
    }
    let page = stage.get("/").text();
    assert_eq!(
        stage.get("/etc/passwd").text(),
        page,
        "a path without a file is the page, whatever it is called"
    );
    assert_eq!(send(stage.port, "POST", "/", &[], b"").status, 404);
}
