//! Threads outlive the terminal: listed, gone on with, also after a kill.

use rustix::process::{Pid, Signal, kill_process};

use crate::stage::{SLOWLY, TerminalChatStage};

#[test]
fn a_killed_chat_goes_on_where_it_was() {
    let works = "- tool: execute\n  args: { command: echo kept > kept.txt }\n";
    let stage = TerminalChatStage::new(&format!("{works}{SLOWLY}- text: Here I am.\n"));
    let mut terminal = stage.talk("");
    terminal.says("build> ", "go");
    terminal.shows("The beginning");
    kill_process(Pid::from_raw(terminal.pid()).unwrap(), Signal::KILL).unwrap();
    assert_ne!(terminal.ends().code, 0);
    let mut terminal = stage.talk("--thread last");
    terminal.shows("build> go");
    terminal.shows("execute echo kept > kept.txt");
    terminal.shows("The beginning");
    terminal.says("build> ", "/diff");
    terminal.shows("kept.txt");
    terminal.says("build> ", "and?");
    terminal.shows("Here I am.");
    terminal.says("build> ", "/quit");
    terminal.ends().assert_code(0);
    stage.env.assert_nothing_left();
}

#[test]
fn a_question_waits_for_the_next_time() {
    let stage = TerminalChatStage::new(
        "- tools:\n    - ask_user: { questions: [{ question: Well? }] }\n- text: Noted.\n",
    );
    let asked = stage.run(&["chat", "-m", "ask me"]);
    asked.assert_code(2);
    let mut terminal = stage.talk("--thread last");
    terminal.shows("? Well?");
    terminal.says("answer> ", "yes, well");
    terminal.shows("Noted.");
    assert!(stage.asked()[1].contains("yes, well"));
}

#[test]
fn threads_are_listed_and_can_be_changed_to() {
    let stage = TerminalChatStage::new("- text: One.\n- text: Two.\n- text: Three.\n");
    stage.run(&["chat", "-m", "first thread"]).assert_code(0);
    let list = stage.run(&["chat", "--list", "--json"]);
    list.assert_code(0);
    let first: serde_json::Value = serde_json::from_str(list.stdout.lines().next().unwrap()).unwrap();
    let id = first["id"].as_str().unwrap();
    let mut terminal = stage.talk("");
    terminal.says("build> ", "second thread");
    terminal.shows("Two.");
    terminal.says("build> ", "/threads");
    terminal.shows(id);
    terminal.says("build> ", &format!("/threads {id}"));
    terminal.shows("first thread");
    terminal.shows("One.");
    terminal.says("build> ", "on and on");
    terminal.shows("Three.");
    assert!(stage.asked()[2].contains("first thread") && !stage.asked()[2].contains("second thread"));
    terminal.says("build> ", "/threads nobody/../x");
    terminal.shows("that is no thread");
}
