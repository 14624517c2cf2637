//! Commands and jobs.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::{Life, World, begin, lives, local, wait, wait_for_end};
use holon_hands::{Deed, Done, JobId, Local, Outcome, Program, Run, State, Trouble};

/// Far beyond what anything here takes: reaching it is a failure.
const LONG: u64 = 60_000;

fn run(line: &str) -> Run {
    Run { line: line.to_owned(), max_bytes: 10_000, timeout_ms: LONG, ..Run::default() }
}

#[test]
fn output_and_outcome_come_back() {
    let world = World::new();
    let check = |line: &str, outcome: Outcome, output: &str| {
        // Once in a fresh shell, once in one that was waiting.
        for _ in 0..2 {
            let ran = world.run(line);
            assert_eq!((ran.outcome, ran.output.as_str()), (outcome, output), "{line}");
            assert_eq!(ran.kept, None);
        }
    };
    check("true", Outcome::Exit(0), "");
    check("echo out; echo err >&2; echo out", Outcome::Exit(0), "out\nerr\nout\n");
    check("exit 7", Outcome::Exit(7), "");
    check("kill -9 $$", Outcome::Signal(9), "");
    check("cat; echo end", Outcome::Exit(0), "end\n");
    check("echo $0 $#; shopt -q login_shell || echo plain", Outcome::Exit(0), "bash 0\nplain\n");
    check("declare -p __line 2>/dev/null || echo clean", Outcome::Exit(0), "clean\n");
    check("# only a comment", Outcome::Exit(0), "");
    check("cat <<'X'\nhere $x\nX\n", Outcome::Exit(0), "here $x\n");
    check("echo 'ü\\n€' \"a  b\"", Outcome::Exit(0), "ü\\n€ a  b\n");
    check("printf '\\033[31mred\\033[0m 1%%\\r2%%\\n'", Outcome::Exit(0), "2%\n");
    check("printf 'a\\377b'", Outcome::Exit(0), "a\u{fffd}b");
    check("nosuchcommand", Outcome::Exit(127), "bash: line 1: nosuchcommand: command not found\n");
    check("set -e; false; echo never", Outcome::Exit(1), "");
    let error = world.run("if");
    assert!(
        matches!(error.outcome, Outcome::Exit(1 | 2)) && error.output.contains("syntax error"),
        "{error:?}"
    );
}

#[test]
fn folder_and_environment_are_as_asked() {
    let world = World::with(|dir| {
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
    let ran = world.run_as(Run { cwd: "sub dir".to_owned(), ..run("pwd -P; ls") });
    assert_eq!(ran.output, format!("{}/sub dir\nf\n", root.display()));
    let ran = world.run_as(Run { env: env(&[("KNOWN", "more"), ("X", "a b")]), ..run("echo $KNOWN $X") });
    assert_eq!(ran.output, "more a b\n");
    world.refused(Deed::Run(Run { cwd: "nope".to_owned(), ..run("true") }), Trouble::NotFound, &["nope"]);
    world.refused(
        Deed::Run(Run { cwd: "sub dir/f".to_owned(), ..run("true") }),
        Trouble::WrongKind,
        &["no folder"],
    );
    world.refused(Deed::Run(run("echo \0")), Trouble::Invalid, &["NUL"]);
    world.refused(Deed::Run(Run { env: env(&[("A=B", "")]), ..run("true") }), Trouble::Invalid, &["name"]);
}

#[test]
fn state_does_not_leak_from_call_to_call() {
    let world = World::new();
    world.write("sub/f", "");
    world.run("cd sub; export LEAK=1; x=2; f() { :; }; set -u");
    assert_eq!(world.run("echo ${LEAK-none} ${x-none}; type f 2>/dev/null; ls").output, "none none\nsub\n");
}

#[test]
fn a_replaced_workspace_is_noticed() {
    let world = World::new();
    world.run("true");
    std::fs::rename(world.path(""), world.dir.path().join("old")).unwrap();
    world.write("new", "");
    assert_eq!(world.run("ls").output, "new\n");
}

#[test]
fn very_long_lines_run() {
    let world = World::new();
    for size in [40_000, 400_000] {
        let ran = world.run(&format!("x='{}'; echo ${{#x}}", "y".repeat(size)));
        assert_eq!(ran.output, format!("{size}\n"));
    }
}

#[test]
fn long_output_is_cut_in_the_middle_and_kept() {
    let world = World::new();
    let ran = world.run_as(Run { max_bytes: 100, ..run("seq 1 10000") });
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
    let world = World::new();
    let ran = world.run_as(Run { max_bytes: 1000, ..run("yes 0123456789 | head -c 80M") });
    assert_eq!((ran.outcome, ran.total_bytes), (Outcome::Exit(0), 80 << 20));
    assert!(
        ran.output.len() < 1300 && ran.output.contains("only its first 67108864 bytes"),
        "{}",
        ran.output
    );
    assert_eq!(std::fs::metadata(ran.kept.unwrap()).unwrap().len(), 64 << 20);
    let zeros = world.run_as(Run { max_bytes: 1000, ..run("head -c 8M /dev/zero") });
    assert_eq!((zeros.output.as_str(), zeros.total_bytes), ("\u{fffd}", 8 << 20));
}

#[test]
fn without_a_place_to_keep_it_the_rest_is_said_to_be_lost() {
    let world = World::with(|dir| Box::new(Local::new(dir.join("w")).keep_output_in("/proc/nowhere")));
    let ran = world.run_as(Run { max_bytes: 10, ..run("seq 1 100") });
    assert!(ran.output.contains("left out and not kept") && ran.kept.is_none(), "{}", ran.output);
}

#[test]
fn pieces_come_while_the_command_runs() {
    let world = World::new();
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
    let deed = Deed::Run(run("printf 'first\\342\\202'; read x < go; printf '\\254 1%%\\r2%%\\n'"));
    let done = wait(world.hands.carry_out(deed, Some(&mut watch))).unwrap();
    assert_eq!(heard, "first€ 1%\r2%\n");
    let Done::Ran(ran) = done else { panic!() };
    assert_eq!(ran.output, "2%\n");
}

#[test]
fn its_time_is_up_for_everything_it_started() {
    let world = World::new();
    let line = "echo begin; (trap '' TERM; echo $BASHPID > pid; exec sleep 1000) & wait";
    let ran = world.run_as(Run { timeout_ms: 400, ..run(line) });
    assert_eq!((ran.outcome, ran.output.as_str()), (Outcome::TimedOut, "begin\n"));
    wait_for_end(world.content("pid").trim().parse().unwrap());
}

#[test]
fn what_ends_itself_in_time_may_clean_up() {
    let world = World::new();
    let ran =
        world.run_as(Run { timeout_ms: 300, ..run("trap 'echo cleaned; exit' TERM; sleep 1000 & wait") });
    assert_eq!((ran.outcome, ran.output.as_str()), (Outcome::TimedOut, "cleaned\n"));
}

#[test]
fn children_left_behind_do_not_hold_up_the_result() {
    let world = World::new();
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
    let world = World::new();
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
    let world = World::new();
    let ran = world.run("exec >&- 2>&-; sleep 0.05; exit 3");
    assert_eq!(ran.outcome, Outcome::Exit(3));
}

#[test]
fn dropping_the_future_ends_the_command() {
    let world = World::new();
    world.fifo("alive");
    let mut doing = world.hands.carry_out(Deed::Run(run(&lives("alive"))), None);
    begin(doing.as_mut());
    let life = world.life("alive");
    drop(doing);
    life.wait_for_end();
}

#[test]
fn several_commands_run_at_the_same_time() {
    let world = World::new();
    world.fifo("ab");
    let (mut a, mut b) = (
        world.hands.carry_out(Deed::Run(run("read x < ab; echo got $x")), None),
        world.hands.carry_out(Deed::Run(run("echo token > ab")), None),
    );
    // Each needs the other.
    begin(a.as_mut());
    wait(b.as_mut()).unwrap();
    let Done::Ran(ran) = wait(a).unwrap() else { panic!() };
    assert_eq!(ran.output, "got token\n");
}

#[test]
fn jobs_are_started_fed_looked_at_and_ended() {
    let world = World::new();
    let job = world.start("echo ready; printf 'name? '; read name; echo hello $name; read x; echo over");
    let mut seen = String::new();
    while !seen.contains("name? ") {
        let look = world.look(job, 0);
        assert_eq!(look.state, State::Running);
        seen.push_str(&look.output);
    }
    assert_eq!(seen, "ready\nname? ");
    let feed = |text: &str, end| Deed::Feed { job, bytes: text.into(), end };
    world.doing(feed("you\n", false)).unwrap();
    world.doing(feed("", true)).unwrap();
    let look = world.look(job, LONG);
    assert_eq!((look.output.as_str(), look.state), ("hello you\nover\n", State::Ended(Outcome::Exit(0))));
    assert_eq!(std::fs::read_to_string(&look.kept).unwrap(), "ready\nname? hello you\nover\n");
    world.refused(feed("x", false), Trouble::Invalid, &["closed"]);
    assert_eq!(world.look(job, 0).output, "");
    world.refused(Deed::End { job: JobId(99) }, Trouble::NotFound, &["99", "there are 1"]);
    world.refused(Deed::Hear { job, max_bytes: 1 }, Trouble::Invalid, &["look at its output"]);
}

#[test]
fn ending_a_job_ends_its_children() {
    let world = World::new();
    let job = world.start("sleep 1000 & echo $!; wait");
    let mut pid = String::new();
    while !pid.ends_with('\n') {
        pid.push_str(&world.look(job, 0).output);
    }
    let Done::Look(look) = world.doing(Deed::End { job }).unwrap() else { panic!() };
    assert!(matches!(look.state, State::Ended(Outcome::Signal(15))), "{look:?}");
    wait_for_end(pid.trim().parse().unwrap());
}

#[test]
fn jobs_have_a_deadline_too() {
    let world = World::new();
    let Done::Started(job) = world.doing(Deed::Start(Run { timeout_ms: 50, ..run("sleep 1000") })).unwrap()
    else {
        panic!()
    };
    assert_eq!(world.look(job, LONG).state, State::Ended(Outcome::TimedOut));
}

#[test]
fn a_look_is_bounded() {
    let world = World::new();
    let job = world.start("seq 1 1000000");
    world.look(job, LONG);
    let job = world.start("seq 1 1000000");
    while world.look(job, LONG).state == State::Running {}
    let job = world.start("seq 1 1000000; read x");
    world.doing(Deed::Feed { job, bytes: Vec::new(), end: true }).unwrap();
    let deed = Deed::Look { job, wait_ms: LONG, max_bytes: 100 };
    let Done::Look(look) = world.doing(deed).unwrap() else { panic!() };
    assert!(look.output.len() < 400 && look.output.ends_with("999999\n1000000\n"), "{}", look.output);
    assert!(look.output.contains(&look.kept));
}

#[test]
fn programs_converse() {
    let world = World::new();
    let program = |argv: &[&str]| {
        let argv = argv.iter().map(ToString::to_string).collect();
        Deed::Open(Program { argv, env: [("WHO".to_owned(), "me".to_owned())].into() })
    };
    let script = "echo noise >&2; while read -r line; do echo \"$WHO:$line\"; done; printf '\\377'";
    let Done::Started(job) = world.doing(program(&["sh", "-c", script])).unwrap() else { panic!() };
    let hear = || match world.doing(Deed::Hear { job, max_bytes: 100 }).unwrap() {
        Done::Heard(bytes) => bytes,
        other => panic!("{other:?}"),
    };
    world.doing(Deed::Feed { job, bytes: b"one\n".to_vec(), end: false }).unwrap();
    assert_eq!(hear(), b"me:one\n");
    world.doing(Deed::Feed { job, bytes: b"two\n".to_vec(), end: true }).unwrap();
    let mut rest = Vec::new();
    loop {
        match hear() {
            bytes if bytes.is_empty() => break,
            bytes => rest.extend(bytes),
        }
    }
    assert_eq!(rest, b"me:two\n\xff");
    let look = world.look(job, LONG);
    assert_eq!((look.output.as_str(), look.state), ("noise\n", State::Ended(Outcome::Exit(0))));
    world.refused(program(&["no-such-program"]), Trouble::NotFound, &["no-such-program"]);
    world.refused(program(&[]), Trouble::Invalid, &["no program"]);
}

#[test]
fn listening_can_be_given_up() {
    let world = World::new();
    let argv = vec!["sleep".to_owned(), "1000".to_owned()];
    let Done::Started(job) = world.doing(Deed::Open(Program { argv, ..Program::default() })).unwrap() else {
        panic!()
    };
    let mut hearing = world.hands.carry_out(Deed::Hear { job, max_bytes: 10 }, None);
    begin(hearing.as_mut());
    drop(hearing);
    let hearing = world.hands.carry_out(Deed::Hear { job, max_bytes: 10 }, None);
    world.doing(Deed::End { job }).unwrap();
    assert_eq!(wait(hearing).unwrap(), Done::Heard(Vec::new()));
}

#[test]
fn the_end_of_the_hands_ends_everything() {
    let mut world = World::new();
    ["job", "left", "program"].iter().for_each(|name| world.fifo(name));
    world.start(&lives("job"));
    world.run(&format!("({}) &", lives("left")));
    let argv = ["sh", "-c", &lives("program")].map(str::to_owned).to_vec();
    world.doing(Deed::Open(Program { argv, ..Program::default() })).unwrap();
    let all = ["job", "left", "program"].map(|name| world.life(name));
    world.hands = Box::new(local(world.dir.path()));
    all.into_iter().for_each(Life::wait_for_end);
}
