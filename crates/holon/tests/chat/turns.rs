//! Turns at a terminal: modes, edits, questions, words that are needed, and stopping.

use holon_testkit::{assert_unchanged, tree_state};

use crate::stage::{SLOWLY, TerminalChatStage};

const EDIT: &str = "
- text: I change it.
  tools:
    - edit_file: { path: a.txt, old: one, new: two }
";

#[test]
fn plan_refuses_and_build_edits_until_it_is_applied() {
    let done = "- text: It says **two** now.\n";
    let stage = TerminalChatStage::new(&format!("{EDIT}{EDIT}{done}"));
    let before = tree_state(stage.repo.path());
    let mut terminal = stage.talk("");
    terminal.shows("build> ");
    terminal.press("\x1b[Z");
    terminal.says("plan> ", "change it");
    terminal.shows("This is plan mode");
    terminal.shows("plan> ");
    terminal.press("\x1b[Z");
    terminal.says("build> ", "go on");
    terminal.shows("edit_file a.txt");
    terminal.shows("It says ");
    terminal.shows("/diff shows it");
    assert_unchanged(&before, stage.repo.path());
    terminal.says("build> ", "/diff");
    terminal.shows("-one");
    terminal.shows("+two");
    terminal.says("build> ", "/apply");
    terminal.shows("applied: a.txt");
    assert_eq!(stage.file("a.txt"), "two\n");
    terminal.says("build> ", "/undo");
    terminal.shows("is in the workspace already");
    terminal.says("build> ", "/quit");
    let output = terminal.ends();
    output.assert_code(0);
    assert!(output.stdout.contains("go on with: holon chat --thread t-"), "{}", output.stdout);
    stage.env.assert_nothing_left();
}

#[test]
fn the_refusal_is_chinese_where_the_locale_is() {
    let stage = TerminalChatStage::new(EDIT);
    let locale = [("TERM", "xterm-256color"), ("LANG", "zh_CN.UTF-8")];
    let mut terminal = stage.talk_in("--mode plan", &locale);
    terminal.says("plan> ", "改一下");
    terminal.shows("当前为思考模式，请切换到 build 模式执行操作");
}

#[test]
fn a_question_is_answered_at_the_prompt() {
    let stage = TerminalChatStage::new(
        "
- tools:
    - ask_user: { questions: [{ question: 'Tabs or spaces?', options: [tabs, spaces] }, { question: 'How many?' }] }
- text: As you like it.
",
    );
    let mut terminal = stage.talk("--mode plan");
    terminal.says("plan> ", "choose");
    terminal.shows("? Tabs or spaces?");
    terminal.shows("2. spaces");
    terminal.says("number or own answer> ", "2");
    terminal.shows("? How many?");
    terminal.says("answer> ", "forty-two");
    terminal.shows("As you like it.");
    terminal.shows("plan> ");
    let asked = stage.asked();
    assert!(asked[1].contains("spaces") && asked[1].contains("forty-two"), "{asked:#?}");
}

#[test]
fn calls_wait_for_a_word_where_the_thread_says_so() {
    let stage = TerminalChatStage::new(
        "
- text: Hello.
- tools:
    - execute: { command: echo yes > yes.txt }
    - execute: { command: echo no > no.txt }
- text: Good.
",
    );
    let mut terminal = stage.talk("");
    terminal.says("build> ", "hi");
    terminal.shows("Hello.");
    terminal.says("build> ", "/tools execute ask");
    terminal.shows("execute: ask");
    terminal.says("build> ", "run them");
    terminal.shows("? execute echo yes > yes.txt");
    terminal.says("with that reason> ", "y");
    terminal.shows("? execute echo no > no.txt");
    terminal.says("with that reason> ", "not that one");
    terminal.shows("you allowed it");
    terminal.shows("exit 0");
    terminal.shows("Good.");
    terminal.says("build> ", "/diff");
    terminal.shows("yes.txt");
    terminal.shows("build> ");
    assert!(!terminal.text().contains("+no"), "{}", terminal.text());
    assert!(stage.asked()[2].contains("not that one"));
}

#[test]
fn ctrl_c_stops_the_turn_and_then_leaves() {
    let stage = TerminalChatStage::new(&format!("{SLOWLY}- text: Again.\n"));
    let mut terminal = stage.talk("");
    terminal.says("build> ", "go");
    terminal.shows("The beginning");
    terminal.press("\x03");
    terminal.shows("stopped on request");
    terminal.says("build> ", "again");
    terminal.shows("Again.");
    terminal.shows("build> ");
    terminal.press("not sent\x03");
    terminal.press("\x03");
    let output = terminal.ends();
    output.assert_code(0);
    assert!(!output.stdout.contains("never"), "{}", output.stdout);
    assert_eq!(stage.asked().len(), 2);
    stage.env.assert_nothing_left();
}

#[test]
fn ctrl_c_at_a_question_stops_the_turn() {
    let stage = TerminalChatStage::new(
        "- tools:\n    - ask_user: { questions: [{ question: Well? }] }\n- text: Fine.\n",
    );
    let mut terminal = stage.talk("");
    terminal.says("build> ", "ask");
    terminal.shows("answer> ");
    terminal.press("\x03");
    terminal.shows("the turn was stopped");
    terminal.says("build> ", "never mind");
    terminal.shows("Fine.");
}

#[test]
fn the_supervisors_report_asks_no_model() {
    let stage = TerminalChatStage::new("- text: I was asked.\n");
    let mut terminal = stage.talk("");
    terminal.says("build> ", "~supervisor");
    terminal.shows("supervisor has nothing to report");
    assert!(stage.asked().is_empty());
}
