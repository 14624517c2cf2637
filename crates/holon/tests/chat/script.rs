//! Without a terminal: one message, one answer, an exit code, and nobody is waited for.

use serde_json::Value;

use crate::stage::TerminalChatStage;

#[test]
fn one_message_gets_one_answer() {
    let stage = TerminalChatStage::new(
        "- tool: execute\n  args: { command: echo seen }\n- text: The answer is **42**.\n",
    );
    let output = stage.run(&["chat", "-m", "what is it?"]);
    output.assert_code(0);
    assert_eq!(output.stdout, "The answer is **42**.\n");
    assert!(output.stderr.contains("✓ execute echo seen  exit 0"), "{}", output.stderr);
    let message = stage.env.write("work/message.txt", "from a pipe\n");
    let stage = TerminalChatStage::new("- text: Heard.\n");
    let output = stage.holon(&["chat"]).stdin_from(message).run();
    output.assert_code(0);
    assert_eq!(output.stdout, "Heard.\n");
    assert!(stage.asked()[0].contains("from a pipe"));
}

#[test]
fn inv_08_a_chat_without_a_terminal_waits_for_nobody() {
    let asks =
        "- tools:\n    - ask_user: { questions: [{ question: 'Which?', options: [a, b] }] }\n- text: never\n";
    let stage = TerminalChatStage::new(asks);
    let output = stage.run(&["chat", "-m", "ask me"]);
    output.assert_code(2);
    assert!(output.stderr.contains("? Which?") && output.stderr.contains("--thread t-"), "{}", output.stderr);
    assert_eq!(stage.asked().len(), 1);
}

#[test]
fn exit_codes_say_what_happened() {
    let edit = "- tool: edit_file\n  args: { path: a.txt, old: one, new: two }\n";
    let stage = TerminalChatStage::new(edit);
    let output = stage.run(&["chat", "--mode", "plan", "-m", "change it"]);
    output.assert_code(1);
    assert!(output.stderr.contains("This is plan mode"), "{}", output.stderr);
    for wrong in [
        &["chat", "-m", "  "][..],
        &["chat"],
        &["chat", "--mode", "review", "-m", "x"],
        &["chat", "--thread", "../../etc", "-m", "x"],
        &["chat", "--thread", "t-00000000000000000000", "-m", "x"],
        &["chat", "--workspace", "/nowhere", "-m", "x"],
        &["chat", "--thread", "last", "--workspace", "/", "-m", "x"],
    ] {
        stage.run(wrong).assert_code(64);
    }
    // A model that is not there.
    stage.run(&["chat", "-m", "hello"]).assert_code(1);
}

#[test]
fn errors_look_as_those_of_every_other_command() {
    let stage = TerminalChatStage::new("- text: never\n");
    let output = stage.env.holon(["chat", "-m", "hello"]).cwd(stage.repo.path()).run();
    output.assert_code(1);
    assert!(output.stderr.lines().any(|line| line.starts_with("error: no model")), "{}", output.stderr);
}

#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    let stage = TerminalChatStage::new("- text: Hi.\n");
    let line = format!("exec '{}' chat -m hello > /dev/full", stage.env.binary().display());
    let output = stage.with_model(stage.env.program("sh").args(["-c", &line])).run();
    output.assert_code(1);
    assert!(output.stderr.contains("error: cannot write to standard output"), "{}", output.stderr);
}

#[test]
fn events_can_be_read_by_programs() {
    let stage = TerminalChatStage::new("- text: Hi.\n");
    let output = stage.run(&["chat", "--json", "-m", "hello"]);
    output.assert_code(0);
    let events: Vec<Value> = output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events[0]["event"], "turn");
    assert_eq!(events.last().unwrap()["event"], "done");
    assert!(events.iter().any(|event| event["data"]["text"] == "Hi."), "{events:#?}");
}

#[test]
fn a_demonstration_needs_no_model_and_leaves_nothing() {
    let stage = TerminalChatStage::new("- text: never asked\n");
    let output = stage.run(&["chat", "--demo", "-m", "What is wrong here?"]);
    output.assert_code(2);
    assert!(output.stderr.contains("? How shall dashes be treated?"), "{}", output.stderr);
    assert!(stage.asked().is_empty());
    let list = stage.run(&["chat", "--list"]);
    assert_eq!(list.stdout, "");
    stage.env.assert_nothing_left();
}

#[test]
fn a_message_that_is_too_long_is_told_so() {
    let stage = TerminalChatStage::new("- text: never\n");
    let long = stage.env.write("work/long.txt", "x".repeat(3 << 20));
    let output = stage.holon(&["chat"]).stdin_from(&long).run();
    output.assert_code(64);
    assert!(output.stderr.contains("larger than this server takes"), "{}", output.stderr);
    assert!(output.stderr.contains("hint: put it into a file"), "{}", output.stderr);
    assert!(stage.asked().is_empty());
}
