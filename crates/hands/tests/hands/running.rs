//! Commands and jobs.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::{CommandLife, ExecutorWorld, begin, lives, local, wait, wait_for_end};
use holon_hands::{
    CommandOutcome, CommandRequest, ExecutorErrorKind, JobId, JobState, LocalExecutor, ProgramRequest,
    ToolRequest, ToolResponse,
};

/// Far beyond what anything here takes: reaching it is a failure.
const LONG: u64 = 60_000;

fn run(line: &str) -> CommandRequest {
    CommandRequest { line: line.to_owned(), max_bytes: 10_000, timeout_ms: LONG, ..CommandRequest::default() }
}

#[test]
fn output_and_outcome_come_back() {
    let world = ExecutorWorld::new();
    let check = |line: &str, outcome: CommandOutcome, output: &str| {
        // Once in a fresh shell, once in one that was waiting.
        for _ in 0..2 {
            let ran = world.run(line);
            assert_eq!((ran.outcome, ran.output.as_str()), (outcome, output), "{line}");
            assert_eq!(ran.kept, None);
        }
    };
    check("true", CommandOutcome::Exit(0), "");
    check("echo out; echo err >&2; echo out", CommandOutcome::Exit(0), "out\nerr\nout\n");
    check("exit 7", CommandOutcome::Exit(7), "");
    check("kill -9 $$", CommandOutcome::Signal(9), "");
    check("cat; echo end", CommandOutcome::Exit(0), "end\n");
    check("echo $0 $#; shopt -q login_shell || echo plain", CommandOutcome::Exit(0), "bash 0\nplain\n");
    check("declare -p __line 2>/dev/null || echo clean", CommandOutcome::Exit(0), "clean\n");
    check("# only a comment", CommandOutcome::Exit(0), "");
    check("cat <<'X'\nhere $x\nX\n", CommandOutcome::Exit(0), "here $x\n");
    check("echo 'ü\\n€' \"a  b\"", CommandOutcome::Exit(0), "ü\\n€ a  b\n");
    check("printf '\\033[31mred\\033[0m 1%%\\r2%%\\n'", CommandOutcome::Exit(0), "2%\n");
    check("printf 'a\\377b'", CommandOutcome::Exit(0), "a\u{fffd}b");
    check("nosuchcommand", CommandOutcome::Exit(127), "bash: line 1: nosuchcommand: command not found\n");
    check("set -e; false; echo never", CommandOutcome::Exit(1), "");
    let error = world.run("if");
    assert!(
        matches!(error.outcome, CommandOutcome::Exit(1 | 2)) && error.output.contains("syntax error"),
        "{error:?}"
    );
}

#[test]
fn folder_and_environment_are_as_asked() {
    let world = ExecutorWorld::with(|dir| {
        let env = [("PATH", std::env::var_os("PATH").unwrap()), ("KNOWN", "base".into())];
        Box::new(local(dir).with_env(env))
    });
    world.write("sub dir/f", "");
    let root = std::fs::canonicalize(world.path("")).unwrap();
    let env = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    for _ in 0..2 {
        let ran = world.run("pwd -P; echo $KNOWN-$HOME-");
        assert_eq!(ran.output, format!("{}\nbase--\n", root.display()));
    }
    let ran = world.run_as(CommandRequest { cwd: "sub dir".to_owned(), ..run("pwd -P; ls") });
    assert_eq!(ran.output, format!("{}/sub dir\nf\n", root.display()));
    let ran = world
        .run_as(CommandRequest { env: env(&[("KNOWN", "more"), ("X", "a b")]), ..run("echo $KNOWN $X") });
    assert_eq!(ran.output, "more a b\n");
    world.refused(
        ToolRequest::Run(CommandRequest { cwd: "nope".to_owned(), ..run("true") }),
        ExecutorErrorKind::NotFound,
        &["nope"],
    );
    world.refused(
        ToolRequest::Run(CommandRequest { cwd: "sub dir/f".to_owned(), ..run("true") }),
        ExecutorErrorKind::WrongKind,
        &["no folder"],
    );
    world.refused(ToolRequest::Run(run("echo \0")), ExecutorErrorKind::Invalid, &["NUL"]);
    world.refused(
        ToolRequest::Run(CommandRequest { env: env(&[("A=B", "")]), ..run("true") }),
        ExecutorErrorKind::Invalid,
        &["name"],
    );
}

#[test]
fn state_does_not_leak_from_call_to_call() {
    let world = ExecutorWorld::new();
    world.write("sub/f", "");
    world.run("cd sub; export LEAK=1; x=2; f() { :; }; set -u");
    assert_eq!(world.run("echo ${LEAK-none} ${x-none}; type f 2>/dev/null; ls").output, "none none\nsub\n");
}

#[test]
fn a_replaced_workspace_is_noticed() {
    let world = ExecutorWorld::new();
    world.run("true");
    std::fs::rename(world.path(""), world.dir.path().join("old")).unwrap();
    world.write("new", "");
    assert_eq!(world.run("ls").output, "new\n");
}

#[test]
fn very_long_lines_run() {
    let world = ExecutorWorld::new();
    for size in [40_000, 400_000] {
        let ran = world.run(&format!("x='{}'; echo ${{#x}}", "y".repeat(size)));
        assert_eq!(ran.output, format!("{size}\n"));
    }
}

#[test]
fn long_output_is_cut_in_the_middle_and_kept() {
    let world = ExecutorWorld::new();
    let ran = world.run_as(CommandRequest { max_bytes: 100, ..run("seq 1 10000") });
    let kept = ran.kept.unwrap();
    let (head, rest) = ran.output.split_once("\n[… ").unwrap();
    let (note, tail) = rest.split_once(" …]\n").unwrap();
    assert!(head.starts_with("1\n2\n") && tail.ends_with("9999\n10000\n"), "{}", ran.output);
    assert_eq!(head.len() + tail.len(), 100);
    assert_eq!(note, format!("{} bytes left out; all of it is in {kept}", 48894 - 100));
    let all = std::fs::read_to_string(&kept).unwrap();
    assert_eq!(all.lines().count(), 10_000);
    assert_eq!((ran.total_bytes, all.len()), (48894, 48894));
    let folder = Path::new(&kept).parent().unwrap();
    assert!(folder.ends_with("kept"));
}

#[test]
fn a_flood_is_bounded() {
    let world = ExecutorWorld::new();
    let ran = world.run_as(CommandRequest { max_bytes: 1000, ..run("yes 0123456789 | head -c 80M") });
    assert_eq!((ran.outcome, ran.total_bytes), (CommandOutcome::Exit(0), 80 << 20));
    assert!(
        ran.output.len() < 1300 && ran.output.contains("only its first 67108864 bytes"),
        "{}",
        ran.output
    );
    assert_eq!(std::fs::metadata(ran.kept.unwrap()).unwrap().len(), 64 << 20);
    let zeros = world.run_as(CommandRequest { max_bytes: 1000, ..run("head -c 8M /dev/zero") });
    assert_eq!((zeros.output.as_str(), zeros.total_bytes), ("\u{fffd}", 8 << 20));
}

#[test]
fn without_a_place_to_keep_it_the_rest_is_said_to_be_lost() {
    let world = ExecutorWorld::with(|dir| {
        Box::new(LocalExecutor::new(dir.join("w")).keep_output_in("/proc/nowhere"))
    });
    let ran = world.run_as(CommandRequest { max_bytes: 10, ..run("seq 1 100") });
    assert!(ran.output.contains("left out and not kept") && ran.kept.is_none(), "{}", ran.output);
}

#[test]
fn pieces_come_while_the_command_runs() {
    let world = ExecutorWorld::new();
    world.fifo("go");
    let go = world.path("go");
    let mut heard = String::new();
    let mut watch = |piece: &str| {
        // The command goes on only after its first piece was heard.
        if heard.is_empty() {
            std::fs::write(&go, "go\n").unwrap();
        }
        heard.push_str(piece);
    };
    let deed = ToolRequest::Run(run("printf 'first\\342\\202'; read x < go; printf '\\254 1%%\\r2%%\\n'"));
    let done = wait(world.hands.carry_out(deed, Some(&mut watch))).unwrap();
    assert_eq!(heard, "first€ 1%\r2%\n");
    let ToolResponse::Ran(ran) = done else { panic!() };
    assert_eq!(ran.output, "2%\n");
}

#[test]
fn its_time_is_up_for_everything_it_started() {
    let world = ExecutorWorld::new();
    let line = "echo begin; (trap '' TERM; echo $BASHPID > pid; exec sleep 1000) & wait";
    let ran = world.run_as(CommandRequest { timeout_ms: 400, ..run(line) });
    assert_eq!((ran.outcome, ran.output.as_str()), (CommandOutcome::TimedOut, "begin\n"));
    wait_for_end(world.content("pid").trim().parse().unwrap());
}

#[test]
fn what_ends_itself_in_time_may_clean_up() {
    let world = ExecutorWorld::new();
    let ran = world.run_as(CommandRequest {
        timeout_ms: 300,
        ..run("trap 'echo cleaned; exit' TERM; sleep 1000 & wait")
    });
    assert_eq!((ran.outcome, ran.output.as_str()), (CommandOutcome::TimedOut, "cleaned\n"));
}

#[test]
fn children_left_behind_do_not_hold_up_the_result() {
    let world = ExecutorWorld::new();
    let begun = Instant::now();
    let ran = world.run("sleep 1000 & echo $! ; echo done");
    assert!(begun.elapsed() < Duration::from_secs(30));
    let pid: i32 = ran.output.lines().next().unwrap().parse().unwrap();
    assert!(ran.output.ends_with("done\n"));
    assert!(Path::new(&format!("/proc/{pid}")).exists());
    // They live on, until the hands end.
    drop(world.hands);
    wait_for_end(pid);
}

#[test]
fn children_left_behind_can_still_print() {
    let world = ExecutorWorld::new();
    world.fifo("go");
    world.run("(read x < go; for i in $(seq 1 20000); do echo line $i; done; echo alive > before; mv before after) &");
    std::fs::write(world.path("go"), "go\n").unwrap();
    let after = world.path("after");
    let until = Instant::now() + Duration::from_secs(30);
    while !after.exists() && Instant::now() < until {
        std::thread::yield_now();
    }
    assert_eq!(world.content("after").trim(), "alive");
}

#[test]
fn output_that_is_closed_early_does_not_end_the_wait() {
    let world = ExecutorWorld::new();
    let ran = world.run("exec >&- 2>&-; sleep 0.05; exit 3");
    assert_eq!(ran.outcome, CommandOutcome::Exit(3));
}

#[test]
fn dropping_the_future_ends_the_command() {
    let world = ExecutorWorld::new();
    world.fifo("alive");
    let mut doing = world.hands.carry_out(ToolRequest::Run(run(&lives("alive"))), None);
    begin(doing.as_mut());
    let life = world.life("alive");
    drop(doing);
    life.wait_for_end();
}

#[test]
fn several_commands_run_at_the_same_time() {
    let world = ExecutorWorld::new();
    world.fifo("ab");
    let (mut a, mut b) = (
        world.hands.carry_out(ToolRequest::Run(run("read x < ab; echo got $x")), None),
        world.hands.carry_out(ToolRequest::Run(run("echo token > ab")), None),
    );
    // Each needs the other.
    begin(a.as_mut());
    wait(b.as_mut()).unwrap();
    let ToolResponse::Ran(ran) = wait(a).unwrap() else { panic!() };
    assert_eq!(ran.output, "got token\n");
}

#[test]
fn jobs_are_started_fed_looked_at_and_ended() {
    let world = ExecutorWorld::new();
    let job = world.start("echo ready; printf 'name? '; read name; echo hello $name; read x; echo over");
    let mut seen = String::new();
    while !seen.contains("name? ") {
        let look = world.look(job, 0);
        assert_eq!(look.state, JobState::Running);
        seen.push_str(&look.output);
    }
    assert_eq!(seen, "ready\nname? ");
    let feed = |text: &str, end| ToolRequest::Feed { job, bytes: text.into(), end };
    world.doing(feed("you\n", false)).unwrap();
    world.doing(feed("", true)).unwrap();
    let look = world.look(job, LONG);
    assert_eq!(
        (look.output.as_str(), look.state),
        ("hello you\nover\n", JobState::Ended(CommandOutcome::Exit(0)))
    );
    assert_eq!(std::fs::read_to_string(&look.kept).unwrap(), "ready\nname? hello you\nover\n");
    world.refused(feed("x", false), ExecutorErrorKind::Invalid, &["closed"]);
    assert_eq!(world.look(job, 0).output, "");
    world.refused(ToolRequest::End { job: JobId(99) }, ExecutorErrorKind::NotFound, &["99", "there are 1"]);
    world.refused(
        ToolRequest::Hear { job, max_bytes: 1 },
        ExecutorErrorKind::Invalid,
        &["look at its output"],
    );
}

#[test]
fn ending_a_job_ends_its_children() {
    let world = ExecutorWorld::new();
    let job = world.start("sleep 1000 & echo $!; wait");
    let mut pid = String::new();
    while !pid.ends_with('\n') {
        pid.push_str(&world.look(job, 0).output);
    }
    let ToolResponse::Look(look) = world.doing(ToolRequest::End { job }).unwrap() else { panic!() };
    assert!(matches!(look.state, JobState::Ended(CommandOutcome::Signal(15))), "{look:?}");
    wait_for_end(pid.trim().parse().unwrap());
}

#[test]
fn jobs_have_a_deadline_too() {
    let world = ExecutorWorld::new();
    let ToolResponse::Started(job) =
        world.doing(ToolRequest::Start(CommandRequest { timeout_ms: 50, ..run("sleep 1000") })).unwrap()
    else {
        panic!()
    };
    assert_eq!(world.look(job, LONG).state, JobState::Ended(CommandOutcome::TimedOut));
}

#[test]
fn a_look_is_bounded() {
    let world = ExecutorWorld::new();
    let job = world.start("seq 1 1000000");
    world.look(job, LONG);
    let job = world.start("seq 1 1000000");
    while world.look(job, LONG).state == JobState::Running {}
    let job = world.start("seq 1 1000000; read x");
    world.doing(ToolRequest::Feed { job, bytes: Vec::new(), end: true }).unwrap();
    let deed = ToolRequest::Look { job, wait_ms: LONG, max_bytes: 100 };
    let ToolResponse::Look(look) = world.doing(deed).unwrap() else { panic!() };
    assert!(look.output.len() < 400 && look.output.ends_with("999999\n1000000\n"), "{}", look.output);
    assert!(look.output.contains(&look.kept));
}

#[test]
fn programs_converse() {
    let world = ExecutorWorld::new();
    let program = |argv: &[&str]| {
        let argv = argv.iter().map(ToString::to_string).collect();
        ToolRequest::Open(ProgramRequest { argv, env: [("WHO".to_owned(), "me".to_owned())].into() })
    };
    let script = "echo noise >&2; while read -r line; do echo \"$WHO:$line\"; done; printf '\\377'";
    let ToolResponse::Started(job) = world.doing(program(&["sh", "-c", script])).unwrap() else { panic!() };
    let hear = || match world.doing(ToolRequest::Hear { job, max_bytes: 100 }).unwrap() {
        ToolResponse::Heard(bytes) => bytes,
        other => panic!("{other:?}"),
    };
    world.doing(ToolRequest::Feed { job, bytes: b"one\n".to_vec(), end: false }).unwrap();
    assert_eq!(hear(), b"me:one\n");
    world.doing(ToolRequest::Feed { job, bytes: b"two\n".to_vec(), end: true }).unwrap();
    let mut rest = Vec::new();
    loop {
        match hear() {
            bytes if bytes.is_empty() => break,
            bytes => rest.extend(bytes),
        }
    }
    assert_eq!(rest, b"me:two\n\xff");
    let look = world.look(job, LONG);
    assert_eq!((look.output.as_str(), look.state), ("noise\n", JobState::Ended(CommandOutcome::Exit(0))));
    world.refused(program(&["no-such-program"]), ExecutorErrorKind::NotFound, &["no-such-program"]);
    world.refused(program(&[]), ExecutorErrorKind::Invalid, &["no program"]);
}

#[test]
fn listening_can_be_given_up() {
    let world = ExecutorWorld::new();
    let argv = vec!["sleep".to_owned(), "1000".to_owned()];
    let ToolResponse::Started(job) =
        world.doing(ToolRequest::Open(ProgramRequest { argv, ..ProgramRequest::default() })).unwrap()
    else {
        panic!()
    };
    let mut hearing = world.hands.carry_out(ToolRequest::Hear { job, max_bytes: 10 }, None);
    begin(hearing.as_mut());
    drop(hearing);
    let hearing = world.hands.carry_out(ToolRequest::Hear { job, max_bytes: 10 }, None);
    world.doing(ToolRequest::End { job }).unwrap();
    assert_eq!(wait(hearing).unwrap(), ToolResponse::Heard(Vec::new()));
}

#[test]
fn the_end_of_the_hands_ends_everything() {
    let mut world = ExecutorWorld::new();
    ["job", "left", "program"].iter().for_each(|name| world.fifo(name));
    world.start(&lives("job"));
    world.run(&format!("({}) &", lives("left")));
    let argv = ["sh", "-c", &lives("program")].map(str::to_owned).to_vec();
    world.doing(ToolRequest::Open(ProgramRequest { argv, ..ProgramRequest::default() })).unwrap();
    let all = ["job", "left", "program"].map(|name| world.life(name));
    world.hands = Box::new(local(world.dir.path()));
    all.into_iter().for_each(CommandLife::wait_for_end);
}
