//! The end of a server waits for its turns, and for nobody who only half said something.

use std::io::{Read, Write};
use std::net::TcpStream;

use rustix::process::Signal;

use crate::http::bearer;
use crate::stage::ServeStage;

#[test]
fn a_server_ends_although_somebody_is_still_sending() {
    let mut stage = ServeStage::playing("- text: never\n");
    let host = format!("127.0.0.1:{}", stage.port);
    let bearer = bearer(stage.port);
    let begin = |head: &str| {
        let mut stream = TcpStream::connect(&host).unwrap();
        // Answered when the head was read, so that the body is waited for by then.
        let more = "expect: 100-continue\r\ncontent-length: 100000\r\n";
        write!(stream, "POST {head} HTTP/1.1\r\nhost: {host}\r\n{bearer}{more}\r\n").unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 100");
        stream.write_all(b"the beginning").unwrap();
        stream
    };
    let upload = begin("/api/files?name=a.txt");
    let order = begin("/api/threads");
    let server = stage.server.take().unwrap();
    server.signal(Signal::TERM);
    server.wait().assert_code(0);
    drop((upload, order));
    stage.start();
    assert_eq!(stage.get("/api/threads").json()["threads"], serde_json::json!([]));
}
