//! What is asked afterwards, and what is refused before.

use super::seat::Room;

const CHANGES: &str = "echo two > a.txt; echo changed";

#[test]
fn nobody_there_to_answer_keeps_the_changes() {
    let room = Room::new();
    let mut seat = room.sit(CHANGES, &[]);
    seat.until("[keep]");
    // The end of what is typed.
    seat.types("\x04");
    let kept = seat.until("holon runs apply ");
    assert!(kept.contains("kept"), "{kept:?}");
    assert_eq!(seat.end(), 0);
    assert_eq!(room.file(), "one\n");
    let apply = room.env.holon(["runs", "apply", "last"]).cwd(room.repo.path()).run();
    apply.assert_code(0);
    assert_eq!(room.file(), "two\n");
}

#[test]
fn dropped_changes_are_gone_and_an_unclear_word_is_asked_about() {
    let room = Room::new();
    let mut seat = room.sit(CHANGES, &[]);
    seat.until("[keep]");
    seat.types("yes\n");
    seat.until("[keep]");
    seat.types("d\n");
    assert_eq!(seat.end(), 0, "{:?}", seat.shown());
    assert_eq!(room.file(), "one\n");
    assert!(room.env.runs().is_empty());
}

#[test]
fn the_flag_answers_the_question() {
    let room = Room::new();
    let mut seat = room.sit(CHANGES, &["--apply"]);
    assert_eq!(seat.end(), 0, "{:?}", seat.shown());
    assert!(!seat.shown().contains("[keep]"));
    assert_eq!(room.file(), "two\n");
}

#[test]
fn checks_are_those_of_every_run() {
    let room = Room::new();
    let mut seat = room.sit(CHANGES, &["--check", "grep -q one a.txt"]);
    // A change that breaks a check is no success, and does not leave by a letter at a prompt.
    assert_eq!(seat.end(), 1, "{:?}", seat.shown());
    seat.assert_whole();
    assert!(seat.shown().contains("not applied") && !seat.shown().contains("[keep]"), "{:?}", seat.shown());
    assert_eq!(room.file(), "one\n");
}

#[test]
fn without_a_terminal_it_is_refused_in_a_sentence() {
    let room = Room::new();
    let agent = room.agent(CHANGES);
    let call = room.env.holon(["run", "-i", "--agent"]).arg(&agent).cwd(room.repo.path());
    call.run().assert_code(64).assert_stderr("needs a terminal");
    assert!(room.env.runs().is_empty(), "nothing was started");
    for (args, words) in [
        (vec!["run", "-i", "--agent", "native"], "holon chat"),
        (vec!["run", "-i", "--agent", "native", "--dry-run"], "holon chat"),
    ] {
        let refused = room.env.holon(args).cwd(room.repo.path()).run();
        assert_eq!(refused.code, 64);
        let said = refused.stderr.clone();
        assert!(said.contains(words) || said.contains("needs a terminal"), "{said}");
    }
}

#[test]
fn what_does_not_go_together_is_refused_by_name() {
    let room = Room::new();
    for (more, words) in [
        (&["--json"][..], "--json does not go with --interactive"),
        (&["--quiet"], "--quiet does not go with --interactive"),
        (&["--sandbox", "landlock"], "only native walls have terminals"),
        (&["--mode", "plan-then-execute"], "has several steps"),
        (&["--mode", "orchestrate"], "no screen"),
    ] {
        let mut seat = room.sit(CHANGES, more);
        assert_eq!(seat.end(), 64, "{more:?}: {:?}", seat.shown());
        assert!(seat.shown().contains(words), "{more:?}: {:?}", seat.shown());
        assert!(seat.is_itself());
    }
    assert!(room.env.runs().is_empty());
}

#[test]
fn a_shell_sees_what_an_agent_sees() {
    let room = Room::new();
    let mut seat = room.seat(&["shell", "--mode", "plan"]);
    seat.types("echo \"mode $HOLON_MODE in $PWD\"; echo x > a.txt; echo tried\n");
    seat.until("mode plan in /holon/workspace");
    seat.until("tried");
    seat.types("exit 3\n");
    assert_eq!(seat.end(), 0, "a person saw the end: {:?}", seat.shown());
    seat.assert_whole();
    assert_eq!(room.file(), "one\n");
    let refused = room.env.holon(["shell", "--agent", "x"]).cwd(room.repo.path()).run();
    refused.assert_code(64).assert_stderr("`holon shell` takes no --agent");
}

#[test]
fn an_agents_name_is_its_screen() {
    let room = Room::new();
    room.env.write(
        room.env.config().join("holon/agents/seen.toml"),
        r#"
name = "seen"
kind = "exec"
description = "Shows a screen"
events = "claude"
command = ["{program}", "-c", "echo headless"]
find = { program = "sh", install = "it is everywhere" }

[interactive]
command = ["{program}", "-c", "echo screen of $1 $2; cat ~/own.conf; echo $OWN", "x", "{args}", "{goal}"]
env = { OWN = "variable" }
files = { "own.conf" = "file in {workspace}\n" }
"#,
    );
    let mut seat = room.seat(&["seen", "--mode", "plan", "--", "an argument"]);
    assert_eq!(seat.end(), 0, "{:?}", seat.shown());
    for words in ["screen of an argument", "file in /holon/workspace", "variable"] {
        assert!(seat.shown().contains(words), "{words}: {:?}", seat.shown());
    }
    let mut seat = room.seat(&["seen", "Look around", "--mode", "plan"]);
    assert_eq!(seat.end(), 0, "{:?}", seat.shown());
    assert!(seat.shown().contains("Look around"), "{:?}", seat.shown());
}
