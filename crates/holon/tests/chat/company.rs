//! Several programs, the same threads: whoever was first carries them, and others are its guests.

use holon_testkit::RunningCommand;
use rustix::process::Signal;

use crate::stage::{SLOWLY, TerminalChatStage};

fn serving(stage: &TerminalChatStage) -> RunningCommand {
    let root = stage.repo.path().to_str().unwrap().to_owned();
    let mut server = stage.holon(&["serve", "--listen", "127.0.0.1:0", "--root", &root]).spawn();
    server.wait_for_text("holon is at ");
    server
}

#[test]
fn a_chat_is_the_guest_of_a_server() {
    let stage = TerminalChatStage::new("- text: From the page's server.\n");
    let server = serving(&stage);
    let mut terminal = stage.talk("");
    terminal.shows("another Holon carries the threads");
    terminal.says("build> ", "hello");
    terminal.shows("From the page's server.");
    terminal.says("build> ", "/quit");
    terminal.ends().assert_code(0);
    server.signal(Signal::TERM);
    server.wait().assert_code(0);
    // The same threads, without it.
    let list = stage.run(&["chat", "--list"]);
    assert_eq!(list.stdout.lines().count(), 1, "{}", list.stdout);
}

#[test]
fn a_chat_needs_no_token_of_its_own_users_server() {
    let stage = TerminalChatStage::new("- text: Without a token.\n");
    let tokens = stage.env.write("work/tokens", "ann ann-ann-ann-ann-1\n");
    std::fs::set_permissions(&tokens, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let (root, tokens) = (stage.repo.path().to_str().unwrap(), tokens.to_str().unwrap());
    let mut server =
        stage.holon(&["serve", "--listen", "127.0.0.1:0", "--root", root, "--tokens", tokens]).spawn();
    server.wait_for_text("holon is at ");
    let said = server.stdout_so_far();
    let output = stage.run(&["chat", "-m", "hello"]);
    output.assert_code(0);
    assert_eq!(output.stdout, "Without a token.\n", "{}", output.stderr);
    assert_eq!(stage.run(&["chat", "--list"]).stdout.lines().count(), 1);
    // Over the network everybody needs one, and sees only what is theirs.
    let address = said.split("http://").nth(1).unwrap().split('/').next().unwrap();
    let ask = |token: &str| {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let head =
            format!("GET /api/threads HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{token}\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(ask("").starts_with("HTTP/1.1 401"));
    let hers = ask("authorization: Bearer ann-ann-ann-ann-1\r\n");
    assert!(hers.starts_with("HTTP/1.1 200") && hers.contains("\"threads\":[]"), "{hers}");
    server.signal(Signal::TERM);
    server.wait().assert_code(0);
}

#[test]
fn a_guest_goes_on_when_its_host_has_gone() {
    let stage = TerminalChatStage::new(&format!("{SLOWLY}- text: On my own.\n"));
    let server = serving(&stage);
    let mut terminal = stage.talk("");
    terminal.says("build> ", "hello");
    terminal.shows("The beginning");
    drop(server.kill());
    terminal.says("build> ", "still there?");
    terminal.shows("On my own.");
    terminal.says("build> ", "/quit");
    terminal.ends().assert_code(0);
    stage.env.assert_nothing_left();
}

#[test]
fn a_cassette_is_not_answered_by_somebody_else() {
    let stage = TerminalChatStage::new("- text: x\n");
    let tape = stage.env.write("work/tape.yaml", "- text: from the tape\n");
    let tape = tape.to_str().unwrap();
    let alone = stage.run(&["chat", "--replay", tape, "-m", "hi"]);
    alone.assert_code(0);
    assert_eq!(alone.stdout, "from the tape\n");
    let _server = serving(&stage);
    let output = stage.run(&["chat", "--replay", tape, "-m", "hi"]);
    output.assert_code(64);
    assert!(output.stderr.contains("another Holon carries the threads"), "{}", output.stderr);
}

#[test]
fn a_state_folder_with_a_long_path_is_no_hindrance() {
    let stage = TerminalChatStage::new("- text: Here.\n");
    let far = stage.env.work().join("far/".repeat(40));
    std::fs::create_dir_all(&far).unwrap();
    let output = stage.holon(&["chat", "-m", "where are you?"]).env("XDG_STATE_HOME", &far).run();
    output.assert_code(0);
    assert_eq!(output.stdout, "Here.\n");
}
