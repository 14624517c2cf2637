//! Stopped, gone on with, quit: the terminal is always as whoever has it expects.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::stage::{SLOWLY, TerminalChatStage, TestTerminal};

/// A shell that gets the terminal back when the chat stops, sets it up for itself, and lets the chat go on.
const STOPS: &str = "set -m; HOLON chat; stty sane; echo in-between; fg; echo code=$?; stty -a";

fn modes_of(stage: &TerminalChatStage, terminal: &TestTerminal) -> String {
    let tty = format!("/proc/{}/fd/0", terminal.pid());
    stage.env.program("stty").args(["-F", &tty, "-a"]).run().stdout
}

fn is_a_shells(modes: &str) -> bool {
    ["icanon", "echo", "isig", "opost"].iter().all(|mode| modes.split_whitespace().any(|word| word == *mode))
}

#[test]
fn quitting_a_turn_gives_the_terminal_back() {
    let stage = TerminalChatStage::new(SLOWLY);
    // The key goes to everybody in front of the terminal.
    let mut terminal = stage.talk_through("trap : QUIT; HOLON chat; echo code=$?; stty -a");
    terminal.says("build> ", "go");
    terminal.shows("The beginning");
    terminal.press("\x1c");
    terminal.shows("code=130");
    let output = terminal.ends();
    output.assert_code(0);
    let modes = output.stdout.split("code=130").nth(1).unwrap();
    assert!(is_a_shells(modes), "{modes}");
    stage.env.assert_nothing_left();
}

#[test]
fn a_chat_that_goes_on_takes_pastes_as_before() {
    let stage = TerminalChatStage::new("- text: Read.\n");
    let mut terminal = stage.talk_through(STOPS);
    terminal.shows("build> ");
    terminal.press("so: ");
    terminal.shows("so: ");
    terminal.press("\x1a");
    terminal.shows("in-between");
    terminal.shows("\x1b[?2004h");
    terminal.shows("so: ");
    terminal.press("\x1b[200~first\r\nsecond\x1b[201~\r");
    terminal.shows("Read.");
    terminal.says("build> ", "/quit");
    let output = terminal.ends();
    assert!(stage.asked()[0].contains("so: first\\nsecond"), "{:#?}", stage.asked());
    let between: Vec<&str> = output.stdout.split("in-between").collect();
    assert!(
        between[0].contains("\x1b[?2004l"),
        "no shell has to expect marks: {}",
        output.stdout.escape_debug()
    );
    assert!(is_a_shells(output.stdout.split("code=0").nth(1).unwrap()), "{}", output.stdout);
}

#[test]
fn a_chat_that_somebody_stopped_finds_its_keys_again() {
    let stage = TerminalChatStage::new(&format!("- text: Heard.\n{SLOWLY}"));
    let mut terminal = stage.talk_through(STOPS);
    terminal.shows("build> ");
    terminal.press("hel");
    terminal.shows("hel");
    kill_process(Pid::from_raw(terminal.below()).unwrap(), Signal::STOP).unwrap();
    terminal.shows("in-between");
    terminal.shows("build> hel");
    terminal.press("lo\r");
    terminal.shows("Heard.");
    terminal.says("build> ", "/quit");
    terminal.shows("code=0");
}

#[test]
fn what_is_typed_during_a_turn_stays_invisible_after_a_stop() {
    let stage = TerminalChatStage::new(SLOWLY);
    let mut terminal = stage.talk_through(STOPS);
    terminal.says("build> ", "go");
    terminal.shows("The beginning");
    terminal.press("\x1a");
    terminal.shows("in-between");
    let quiet = || modes_of(&stage, &terminal).contains("-echo ");
    assert!(holon_testkit::wait_until(Duration::from_secs(60), quiet), "{}", modes_of(&stage, &terminal));
    // The turn still goes on: it is not the prompt that made it quiet.
    terminal.press("\x03");
    terminal.shows("stopping…");
    terminal.says("build> ", "/quit");
    terminal.shows("code=0");
}
