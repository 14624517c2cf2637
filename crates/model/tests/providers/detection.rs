//! Local servers are found.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use holon_model::Wire;
use holon_model::detect::ollama::{Shown, show};
use holon_model::detect::{Patience, detect};
use holon_testkit::model::ModelServer;

use super::{ask, hello, timeouts};

#[test]
fn servers_are_found_where_they_listen_and_silence_is_no_server() {
    let server = ModelServer::play(Wire::Chat, "- text: here\n");
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed_port = closed.local_addr().unwrap().port();
    drop(closed);
    // Accepts and never says anything.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let ports =
        [("closed", closed_port), ("silent", silent.local_addr().unwrap().port()), ("found", server.port())];
    let patience = Patience { connect: Duration::from_secs(5), answer: Duration::from_secs(1) };
    let found = detect(&ports, patience);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].endpoint.name.as_str(), &found[0].endpoint.base), ("found", &server.base()));
    assert_eq!(found[0].models, ["scripted-model"]);
    // Looking is not asking.
    assert_eq!(server.requests(), []);
    let provider = holon_model::Http::new(found[0].endpoint.clone(), timeouts()).unwrap();
    assert_eq!(ask(provider, &hello()).1.unwrap().text(), "here");
}

#[test]
fn ollama_tells_what_a_model_can() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut length = 0;
        for line in reader.by_ref().lines().map(Result::unwrap).take_while(|line| !line.is_empty()) {
            length = line.strip_prefix("content-length: ").map_or(length, |count| count.parse().unwrap());
        }
        let mut asked = vec![0; length];
        reader.read_exact(&mut asked).unwrap();
        // In chunks, on a connection that stays open.
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        let chunks = "11\r\n{\"capabilities\":[\r\na\r\n\"tools\"]  \r\n1\r\n}\r\n0\r\n\r\n";
        stream.write_all(format!("{head}{chunks}").as_bytes()).unwrap();
        (String::from_utf8(asked).unwrap(), stream)
    });
    let patience = Patience { connect: Duration::from_secs(5), answer: Duration::from_secs(10) };
    let shown = show(port, "qwen3:8b", patience);
    assert_eq!(shown, Some(Shown { tools: true, thinks: false, context: None }));
    assert_eq!(server.join().unwrap().0, r#"{"model":"qwen3:8b"}"#);
    let scripted = ModelServer::play(Wire::Chat, "- text: here\n");
    assert_eq!(show(scripted.port(), "qwen3:8b", patience), None);
}
