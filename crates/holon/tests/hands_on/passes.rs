//! What passes: keys, drawing, size, signals; and what does not.

use holon_sandbox::isolation::TerminalSize;
use holon_testkit::{assert_unchanged, tree_state};

use super::seat::{Room, SIZE};

/// A full screen with mouse, paste and focus, as agents have it.
pub(crate) const FULL: &str =
    "printf '\\033[?1049h\\033[?1000h\\033[?1006h\\033[?2004h\\033[?1004h\\033[?25l\\033[2JSCREEN'";

#[test]
fn keys_drawing_and_size_pass_and_the_patch_is_applied() {
    let room = Room::new();
    let script = format!(
        "{FULL}; stty size; tty; echo \"$TERM\"; trap 'stty size; echo RESIZED' WINCH; echo ready
        while [ -z \"$line\" ]; do read line; done; echo \"got <$line>\"; printf '\\033[38;2;1;2;3mtrue colour\\033[0m'
        echo two > a.txt; printf '\\033[?1049l'"
    );
    let mut seat = room.sit(&script, &[]);
    let begin = seat.until("ready");
    for part in ["SCREEN", "31 97", "/dev/pts/0", "xterm-256color", "\x1b[?1049h", "\x1b[?1006h"] {
        assert!(begin.contains(part), "{part:?} is not in {begin:?}");
    }
    assert!(!seat.is_itself(), "keys go to the agent one by one");
    seat.resize(TerminalSize { rows: 40, columns: 120, ..SIZE });
    // A shell runs its trap at once, or when a line is over.
    seat.types("\n");
    assert!(seat.until("RESIZED").contains("40 120"));
    seat.types("\x1b[200~pasted\x1b[201~ \x1b[<0;3;4M keys\n");
    let said = seat.until("true colour");
    assert!(said.contains("got <\x1b[200~pasted\x1b[201~ \x1b[<0;3;4M keys>"), "{said:?}");
    assert!(said.contains("\x1b[38;2;1;2;3m"), "{said:?}");
    let question = seat.until("[keep]");
    assert!(question.contains("success") && question.contains("a.txt"), "{question:?}");
    seat.types("apply\n");
    assert_eq!(seat.end(), 0, "{:?}", seat.shown());
    seat.assert_whole();
    assert_eq!(room.file(), "two\n");
    let manifest = room.manifest();
    assert_eq!(manifest["metadata"]["interactive"], true);
    assert_eq!(manifest["outcome"], "success");
    let drawn = std::fs::read_to_string(room.env.runs()[0].join("evidence/screen.log")).unwrap();
    assert!(drawn.contains("true colour"), "{drawn:?}");
    drop(seat);
    room.env.assert_nothing_left();
}

#[test]
fn inv_01_a_mode_that_changes_nothing_changes_nothing_on_a_screen() {
    let room = Room::new();
    let before = tree_state(room.repo.path());
    let script = "echo two > a.txt; rm -f a.txt; echo x > b.txt; git commit -qam x; touch a.txt
        echo TRIED; read line; echo '# Plan' > $HOLON_OUTPUT_DIR/plan.md";
    let mut seat = room.sit(script, &["--mode", "plan"]);
    seat.until("TRIED");
    seat.types("\n");
    assert_eq!(seat.end(), 0, "{:?}", seat.shown());
    seat.assert_whole();
    assert!(!seat.shown().contains("(a)pply"), "there is nothing to decide: {:?}", seat.shown());
    assert_unchanged(&before, room.repo.path());
    let manifest = room.manifest();
    assert_eq!(manifest["metadata"]["workspace_access"], "read-only");
    assert_eq!(manifest["breaches"].as_array().map_or(0, Vec::len), 0);
    drop(seat);
    room.env.assert_nothing_left();
}

#[test]
fn a_key_that_interrupts_reaches_the_agent_alone() {
    let room = Room::new();
    let mut seat = room.sit("trap 'echo CAUGHT' INT; echo ready; read line; read line; echo done", &[]);
    seat.until("ready");
    seat.types("\x03");
    seat.until("CAUGHT");
    seat.types("\n\n");
    seat.until("done");
    assert_eq!(seat.end(), 0, "{:?}", seat.shown());
    seat.assert_whole();
}

#[test]
fn the_clipboard_is_out_of_reach_and_late_answers_are_swallowed() {
    let room = Room::new();
    let script = "printf 'A\\033]52;c;cm0gLXJmIC8=\\007B'; printf '\\033[c\\033]11;?\\007'; echo two > a.txt";
    let mut seat = room.sit(script, &[]);
    // The terminal answers late, when the agent is gone: before the last question's answer.
    let drawn = seat.until("\x1b[6n");
    assert!(drawn.contains("AB") && !drawn.contains("]52;"), "{drawn:?}");
    seat.types("\x1b[?1;2c\x1b]11;rgb:0000/0000/0000\x07rm -rf /\r\x1b[5;1R");
    seat.until("[keep]");
    seat.types("keep\n");
    assert_eq!(seat.end(), 0);
    seat.assert_whole();
    let asked = seat.shown().matches("[keep]").count();
    assert_eq!(asked, 1, "what the terminal said was no answer: {:?}", seat.shown());
}

#[test]
fn put_aside_and_taken_up_again_as_a_job() {
    let room = Room::new();
    let agent = room.agent("printf '\\033[?1004hready'; read line; echo \"then <$line>\"");
    let holon = room.env.binary().to_str().unwrap().to_owned();
    let mut seat = room.seat_of(&["bash", "--norc", "-i"], &[("PS1", "$ "), ("INPUTRC", "/dev/null")]);
    seat.until("$ ");
    seat.types(&format!("{holon} run -i --agent {}\n", agent.display()));
    seat.until("ready");
    seat.types("\x1a");
    seat.until("Stopped");
    seat.until("$ ");
    seat.types("echo shell $((40 + 2))\n");
    seat.until("shell 42");
    seat.types("fg\n");
    seat.until("\x1b[?1004h");
    seat.types("words\n");
    seat.until("then <words>");
    seat.until("$ ");
    seat.types("exit\n");
    seat.end();
    assert!(seat.is_itself());
    drop(seat);
    room.env.assert_nothing_left();
}
