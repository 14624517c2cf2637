//! What is typed and what is shown: other scripts, wide characters, history, hostile output, poor terminals.

use crate::stage::TerminalChatStage;

#[test]
fn any_script_can_be_typed_and_comes_back_with_the_arrows() {
    let stage = TerminalChatStage::new("- text: 好的。\n- text: Again.\n");
    let mut terminal = stage.talk("");
    terminal.shows("build> ");
    // Wide characters, one taken back, and a letter put in before them.
    terminal.press("你好世\x7f界 wörld\x1b[H!\r");
    terminal.shows("好的。");
    terminal.shows("build> ");
    terminal.press("\x1b[A\r");
    terminal.shows("Again.");
    let asked = stage.asked();
    assert!(asked[0].contains("!你好界 wörld"), "{asked:#?}");
    assert_eq!(asked[1].matches("!你好界 wörld").count(), 2, "{asked:#?}");
}

#[test]
fn a_paste_with_line_breaks_is_one_message() {
    let stage = TerminalChatStage::new("- text: Read.\n");
    let mut terminal = stage.talk("");
    terminal.shows("build> ");
    terminal.press("\x1b[200~first\r\nsecond\x1b[201~\r");
    terminal.shows("Read.");
    assert!(stage.asked()[0].contains("first\\nsecond"), "{:#?}", stage.asked());
}

#[test]
fn a_long_line_wraps_and_is_sent_whole() {
    let stage = TerminalChatStage::new("- text: Long.\n");
    let mut terminal = stage.talk("");
    terminal.shows("build> ");
    let line = "words and 宽字 ".repeat(30);
    terminal.press(&format!("{line}\x1b[H\x1b[F\r"));
    terminal.shows("Long.");
    assert!(stage.asked()[0].contains(line.trim()), "{:#?}", stage.asked());
}

#[test]
fn what_models_and_tools_say_moves_no_cursor() {
    let evil = r"\e[2J\e]0;evil\a\e[999D";
    let stage = TerminalChatStage::new(&format!(
        "
- text: \"{evil} said\"
  tools:
    - execute: {{ command: \"printf '\\\\033[2Jshown\\\\a'; exit 3\" }}
- tools:
    - ask_user: {{ questions: [{{ question: \"{evil} asked\", options: [\"{evil} option\"] }}] }}
- text: The end.
"
    ));
    let mut terminal = stage.talk("");
    terminal.says("build> ", "go");
    terminal.shows("said");
    terminal.shows("exit 3");
    terminal.shows("asked");
    terminal.shows("option");
    terminal.says("own answer> ", "1");
    terminal.shows("The end.");
    terminal.shows("build> ");
    let text = terminal.text();
    for sequence in ["\x1b[2J", "\x1b]", "\x07", "\x1b[999D", "\u{9b}"] {
        assert!(!text.contains(sequence), "{sequence:?} in {}", text.escape_debug());
    }
}

#[test]
fn a_dumb_terminal_gets_no_sequences() {
    let stage = TerminalChatStage::new("- text: Some **bold** words.\n- text: More.\n");
    let mut terminal = stage.talk_in("", &[("TERM", "dumb")]);
    terminal.shows("build> ");
    terminal.press("hello\n");
    terminal.shows("Some **bold** words.");
    terminal.shows("build> ");
    terminal.press("/mode plan\n");
    terminal.shows("plan> ");
    terminal.press("more\n");
    terminal.shows("More.");
    terminal.shows("plan> ");
    terminal.press("\x04");
    let output = terminal.ends();
    output.assert_code(0);
    assert!(!output.stdout.contains('\x1b'), "{}", output.stdout.escape_debug());
}

#[test]
fn no_colour_means_no_colour() {
    let stage = TerminalChatStage::new("- text: Some **bold** words.\n");
    let mut terminal = stage.talk_in("", &[("TERM", "xterm-256color"), ("NO_COLOR", "1")]);
    terminal.says("build> ", "hello");
    terminal.shows("Some **bold** words.");
    terminal.says("build> ", "/quit");
    let text = terminal.ends().stdout;
    let coloured = text.split("\x1b[").skip(1).any(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(0);
        rest[end..].starts_with('m')
    });
    assert!(!coloured, "{}", text.escape_debug());
}

#[test]
fn a_resized_terminal_is_drawn_anew() {
    let stage = TerminalChatStage::new("- text: Sent.\n");
    let mut terminal = stage.talk_in("", &[("TERM", "xterm-256color"), ("NO_COLOR", "1")]);
    terminal.shows("build> ");
    terminal.press("0123456789abcdefghijklmnopqrstuvwxyz");
    terminal.shows("xyz");
    let tty = format!("/proc/{}/fd/0", terminal.pid());
    stage.env.program("stty").args(["-F", &tty, "cols", "20"]).run().assert_code(0);
    terminal.shows("build> 0123456789abc\r\ndefghijklmnopqrstuvw\r\nxyz");
    terminal.press("\r");
    terminal.shows("Sent.");
    assert!(stage.asked()[0].contains("0123456789abcdefghijklmnopqrstuvwxyz"));
}

#[test]
fn answers_break_between_words_at_the_width_of_the_moment() {
    let stage = TerminalChatStage::new("- text: An answer with words that are longer than the row.\n");
    let mut terminal = stage.talk_in("", &[("TERM", "xterm-256color"), ("NO_COLOR", "1")]);
    terminal.shows("build> ");
    let tty = format!("/proc/{}/fd/0", terminal.pid());
    stage.env.program("stty").args(["-F", &tty, "cols", "30"]).run().assert_code(0);
    terminal.press("go\r");
    terminal.shows("An answer with words that are\r\nlonger than the row.");
}

#[test]
fn a_turn_that_goes_on_in_another_width_breaks_its_lines_there() {
    let stage = TerminalChatStage::new(
        "
- tools:
    - ask_user: { questions: [{ question: Well? }] }
- text: An answer with words that are longer than the row.
",
    );
    let mut terminal = stage.talk_in("", &[("TERM", "xterm-256color"), ("NO_COLOR", "1")]);
    terminal.says("build> ", "go");
    terminal.shows("answer> ");
    let tty = format!("/proc/{}/fd/0", terminal.pid());
    stage.env.program("stty").args(["-F", &tty, "cols", "30"]).run().assert_code(0);
    terminal.press("yes\r");
    terminal.shows("An answer with words that are\r\nlonger than the row.");
}

#[test]
fn what_is_typed_ahead_is_sent_and_answers_no_question() {
    let stage = TerminalChatStage::new(
        "
- reply: [{ text: 'One moment. ' }, { delay: 500ms }, { text: Now. }]
- reply:
    - text: 'Another one. '
    - delay: 4s
    - tool: ask_user
      args: { questions: [{ question: Well? }] }
- text: So be it.
",
    );
    let mut terminal = stage.talk("");
    terminal.says("build> ", "go");
    terminal.shows("One moment.");
    terminal.press("ask me\r");
    terminal.shows("Another one.");
    terminal.press("too early\r");
    terminal.shows("answer> ");
    terminal.press("seen\r");
    terminal.shows("So be it.");
    let asked = stage.asked();
    assert!(asked[1].contains("ask me"), "{asked:#?}");
    assert!(asked[2].contains("seen") && !asked[2].contains("too early"), "{asked:#?}");
}
