//! A folder's own threads are found among any number of others.

use std::io::{Read, Write};
use std::net::TcpStream;

use holon_testkit::RunningCommand;
use rustix::process::Signal;
use serde_json::json;

use crate::stage::TerminalChatStage;

/// More than a list asks for at once.
const OTHERS: usize = 205;

fn make_others(stage: &TerminalChatStage, server: &RunningCommand) {
    let said = server.stdout_so_far();
    let (address, token) = said.split("http://").nth(1).unwrap().trim().split_once("/?token=").unwrap();
    let body = json!({"workspace": stage.repo.path().join("other")}).to_string();
    for _ in 0..OTHERS {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "POST /api/threads HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    }
}

#[test]
fn the_last_thread_of_a_folder_is_found_behind_those_of_others() {
    let stage = TerminalChatStage::new("- text: One.\n- text: Two.\n");
    std::fs::create_dir(stage.repo.path().join("other")).unwrap();
    let root = stage.repo.path().to_str().unwrap().to_owned();
    stage.run(&["chat", "-m", "hello"]).assert_code(0);
    let mut server = stage.holon(&["serve", "--listen", "127.0.0.1:0", "--root", &root]).spawn();
    server.wait_for_text("holon is at ");
    make_others(&stage, &server);
    server.signal(Signal::TERM);
    server.wait().assert_code(0);
    let own = stage.run(&["chat", "--list", "--workspace", &root]);
    assert_eq!(own.stdout.lines().count(), 1, "{}", own.stdout);
    let again = stage.run(&["chat", "--thread", "last", "-m", "again"]);
    again.assert_code(0);
    assert_eq!(again.stdout, "Two.\n");
    assert!(stage.asked()[1].contains("hello"), "the conversation goes on: {:#?}", stage.asked());
}
