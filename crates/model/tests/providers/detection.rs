//! Local servers are found.

use std::net::TcpListener;
use std::time::Duration;

use holon_model::WireFormat;
use holon_model::detect::{DetectionTimeouts, detect};
use holon_testkit::model::ModelServer;

use super::{ask, hello, timeouts};

#[test]
fn servers_are_found_where_they_listen_and_silence_is_no_server() {
    let server = ModelServer::play(WireFormat::Chat, "- text: here\n");
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed_port = closed.local_addr().unwrap().port();
    drop(closed);
    // Accepts and never says anything.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let ports =
        [("closed", closed_port), ("silent", silent.local_addr().unwrap().port()), ("found", server.port())];
    let patience = DetectionTimeouts { connect: Duration::from_secs(5), answer: Duration::from_secs(1) };
    let found = detect(&ports, patience);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].endpoint.name.as_str(), &found[0].endpoint.base), ("found", &server.base()));
    assert_eq!(found[0].models, ["scripted-model"]);
    // Looking is not asking.
    assert_eq!(server.requests(), []);
    let provider = holon_model::HttpProvider::new(found[0].endpoint.clone(), timeouts()).unwrap();
    assert_eq!(ask(provider, &hello()).1.unwrap().text(), "here");
}
