//! The list of models over a real socket.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;

use holon_model::catalogue::{
    CatalogueCache, CatalogueFetch, CatalogueOrigin, CataloguePlan, FetchedCatalogue, OPENROUTER, load,
};
use holon_model::{HttpCatalogue, ModelErrorKind};

const LIST: &str = r#"{"data": [{"id": "anthropic/claude-opus-5.5", "pricing": {"prompt": "0.000004", "completion": "0.00002"}}]}"#;

/// Answers each request with the next of these; gives back what was asked.
fn serve(answers: Vec<String>) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/api/v1", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let answer = |answer: &String| {
            let (mut stream, _) = listener.accept().unwrap();
            let lines = BufReader::new(&stream).lines().map(Result::unwrap);
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            stream.write_all(answer.as_bytes()).unwrap();
            head.join("\n").to_lowercase()
        };
        answers.iter().map(answer).collect()
    });
    (base, thread)
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn a_list_is_fetched_once_and_then_asked_for_by_its_tag() {
    let (base, server) = serve(vec![
        answer("200 OK", "etag: W/\"one\"\r\n", LIST),
        answer("304 Not Modified", "", ""),
        answer("503 Busy", "retry-after: 1\r\n", r#"{"error": {"code": 503, "message": "later"}}"#),
    ]);
    let folder = tempfile::tempdir().unwrap();
    let cache = CatalogueCache::new(folder.path());
    let list = HttpCatalogue::new(&base);
    let get = |plan| load(plan, OPENROUTER, &list, Some(&cache), jiff::Timestamp::now());
    let first = get(CataloguePlan::Fetch);
    assert_eq!((first.rows.len(), &first.origin, &first.warning), (1, &CatalogueOrigin::Fetched, &None));
    let second = get(CataloguePlan::Fetch);
    assert_eq!((&second.rows, &second.origin), (&first.rows, &CatalogueOrigin::Fetched));
    let third = get(CataloguePlan::Fetch);
    assert_eq!(third.rows, first.rows);
    assert!(matches!(third.origin, CatalogueOrigin::Cached { .. }), "{:?}", third.origin);
    assert!(third.warning.unwrap().contains("later"));
    let asked = server.join().unwrap();
    assert!(asked[0].starts_with("get /api/v1/models http/1.1"), "{}", asked[0]);
    assert!(!asked[0].contains("if-none-match") && !asked[0].contains("authorization"), "{}", asked[0]);
    assert!(asked[1].contains("if-none-match: w/\"one\""), "{}", asked[1]);
}

#[test]
fn a_server_that_is_not_there_is_said_quickly() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/v1", closed.local_addr().unwrap());
    drop(closed);
    let error = HttpCatalogue::new(&base).fetch(None).unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Network);
}

#[test]
fn where_a_list_is_from_is_remembered() {
    let (base, server) = serve(vec![answer("200 OK", "", LIST)]);
    let list = HttpCatalogue::new(&format!("{base}/"));
    assert!(matches!(list.fetch(None), Ok(FetchedCatalogue::List { etag: None, .. })));
    assert_eq!(list.source(), format!("{base}/models"));
    server.join().unwrap();
}
