//! The channel into the walls, with the hands as a process of their own.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::support::{CommandLife, ExecutorWorld, begin, lives, local, poll_once, wait};
use holon_hands::{
    CommandOutcome, CommandRequest, ExecutorErrorKind, FileExpectation, HANDS_NAME, RemoteExecutor,
    ToolExecutor, ToolRequest, ToolResponse, become_hands_if_asked, serve,
};
use proptest::prelude::*;

/// Does nothing, unless this test binary was started under the hands' name.
#[test]
fn be_the_hands() {
    become_hands_if_asked();
}

/// This test binary as the hands. Run by root, they belong to nobody, as they would inside the walls.
fn process(folder: &Path) -> (Child, ChildStdin, ChildStdout) {
    let mut program = std::env::current_exe().unwrap();
    let mut nobody = None;
    if rustix::process::geteuid().is_root() {
        let copy = folder.join("hands");
        std::fs::copy(&program, &copy).unwrap();
        for path in [folder, &folder.join("w")] {
            std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
        }
        (program, nobody) = (copy, Some(65534));
    }
    let mut command = Command::new(program);
    if let Some(nobody) = nobody {
        command.gid(nobody).uid(nobody);
    }
    let mut child = command
        .arg0(format!("/anywhere/{HANDS_NAME}"))
        .args(["--exact", "serving::be_the_hands", "--nocapture", "--test-threads=1"])
        .env("TMPDIR", folder)
        .env("FROM_OUTSIDE", "yes")
        .current_dir(folder.join("w"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    // The test harness has its say first.
    let mut said = Vec::new();
    while !said.ends_with(b"be_the_hands ... ") {
        let mut byte = [0];
        output.read_exact(&mut byte).unwrap();
        said.extend(byte);
    }
    (child, input, output)
}

struct FarExecutor {
    world: ExecutorWorld,
    child: Child,
}

fn far() -> FarExecutor {
    let mut started = None;
    let world = ExecutorWorld::with(|dir| {
        let (child, input, output) = process(dir);
        started = Some(child);
        Box::new(RemoteExecutor::over(output, input).unwrap())
    });
    FarExecutor { world, child: started.unwrap() }
}

fn run(line: &str) -> ToolRequest {
    ToolRequest::Run(CommandRequest {
        line: line.to_owned(),
        max_bytes: 10_000,
        timeout_ms: 60_000,
        ..CommandRequest::default()
    })
}

/// Hands in this process, at the other end of a socket.
fn near(dir: &Path) -> RemoteExecutor {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let local = local(dir);
    std::thread::spawn(move || serve(theirs.try_clone().unwrap(), theirs, local));
    RemoteExecutor::over_stream(ours).unwrap()
}

#[test]
fn all_kinds_of_deeds_travel() {
    let FarExecutor { world, mut child } = far();
    let bytes: Vec<u8> = (0..=255).cycle().take(3 << 20).collect();
    let store = ToolRequest::Store {
        path: "big".to_owned(),
        bytes: bytes.clone(),
        expect: FileExpectation::Absent,
        executable: Some(true),
    };
    assert!(matches!(world.doing(store).unwrap(), ToolResponse::Stored(_)));
    let ToolResponse::Bytes(file) =
        world.doing(ToolRequest::Load { path: "big".to_owned(), max_bytes: 4 << 20 }).unwrap()
    else {
        panic!()
    };
    assert!(file.bytes == bytes && file.executable);
    let ran = world.run("echo ü; echo $FROM_OUTSIDE; cat");
    assert_eq!((ran.output.as_str(), ran.outcome), ("ü\nyes\n", CommandOutcome::Exit(0)));
    world.refused(
        ToolRequest::Load { path: "bog".to_owned(), max_bytes: 1 },
        ExecutorErrorKind::NotFound,
        &["big"],
    );
    let job = world.start("read x; echo $x");
    world.doing(ToolRequest::Feed { job, bytes: b"fed\n".to_vec(), end: true }).unwrap();
    assert_eq!(world.look(job, 60_000).output, "fed\n");
    drop(world);
    assert!(child.wait().unwrap().success());
}

#[test]
fn commands_cannot_reach_the_channel() {
    let FarExecutor { world, .. } = far();
    let ran = world.run("readlink /proc/$$/fd/0");
    assert_eq!(ran.output, "/dev/null\n");
    // A command has no more descriptors than one that was started from here.
    let listed = |text: &str| text.split_whitespace().map(str::to_owned).collect::<BTreeSet<_>>();
    let here = Command::new("ls").arg("/proc/self/fd").output().unwrap();
    let ran = world.run("ls /proc/self/fd");
    assert_eq!(listed(&ran.output), listed(std::str::from_utf8(&here.stdout).unwrap()));
    let ran = world.run("stat -c %U /proc/$PPID/mem; cat /proc/$PPID/environ; ls /proc/$PPID/fd");
    // Not dumpable: its files belong to root, whoever runs it.
    assert!(ran.output.starts_with("root\ncat: "), "{}", ran.output);
    assert!(ran.output.matches("Permission denied").count() == 2, "{}", ran.output);
}

#[test]
fn the_waiting_shell_may_be_killed() {
    let FarExecutor { world, .. } = far();
    for _ in 0..10 {
        // Ends every other shell of these hands, the waiting one among them, in a shell that did not wait.
        let line =
            "for p in $(cat /proc/$PPID/task/*/children 2>&-); do [ $p = $$ ] || kill -9 $p; done; echo did";
        let env = [("X".to_owned(), String::new())].into();
        let ran = world.run_as(CommandRequest {
            line: line.to_owned(),
            env,
            max_bytes: 1000,
            ..CommandRequest::default()
        });
        assert_eq!(ran.output, "did\n");
        assert_eq!(world.run("echo still here").output, "still here\n");
    }
}

#[test]
fn a_file_in_a_locked_folder_is_written_in_place() {
    let FarExecutor { world, .. } = far();
    let lock =
        |mode| std::fs::set_permissions(world.path("locked"), PermissionsExt::from_mode(mode)).unwrap();
    world.write("locked/file", "a longer text than what comes");
    std::fs::set_permissions(world.path("locked/file"), PermissionsExt::from_mode(0o666)).unwrap();
    lock(0o555);
    let store = |path: &str| ToolRequest::Store {
        path: path.to_owned(),
        bytes: b"short".to_vec(),
        expect: FileExpectation::Any,
        executable: None,
    };
    world.doing(store("locked/file")).unwrap();
    world.refused(store("locked/new"), ExecutorErrorKind::Denied, &["locked/new"]);
    lock(0o755);
    assert_eq!(world.content("locked/file"), "short");
    assert_eq!(std::fs::read_dir(world.path("locked")).unwrap().count(), 1);
}

#[test]
fn a_command_that_kills_the_hands_is_the_end_of_them() {
    let FarExecutor { world, mut child } = far();
    world.refused(run("kill -9 $PPID"), ExecutorErrorKind::Gone, &["gone"]);
    world.refused(run("true"), ExecutorErrorKind::Gone, &["their process ended"]);
    assert!(!child.wait().unwrap().success());
}

#[test]
fn the_end_of_the_channel_ends_commands_and_jobs() {
    let FarExecutor { mut world, mut child } = far();
    ["job", "command"].iter().for_each(|name| world.fifo(name));
    world.start(&lives("job"));
    let mut doing = world.hands.carry_out(run(&lives("command")), None);
    begin(doing.as_mut());
    let all = ["job", "command"].map(|name| world.life(name));
    drop(doing);
    world.hands = Box::new(local(world.dir.path()));
    all.into_iter().for_each(CommandLife::wait_for_end);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_given_up_command_is_ended_far_away() {
    let world = ExecutorWorld::with(|dir| Box::new(near(dir)));
    world.fifo("alive");
    let mut doing = world.hands.carry_out(run(&lives("alive")), None);
    begin(doing.as_mut());
    let life = world.life("alive");
    drop(doing);
    life.wait_for_end();
    // The late answer disturbs nobody.
    assert_eq!(world.run("echo next").output, "next\n");
}

#[test]
fn a_channel_that_breaks_in_the_middle_ends_the_command() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("w")).unwrap();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let far = local(dir.path());
    let serving = std::thread::spawn(move || serve(theirs.try_clone().unwrap(), theirs, far));
    let world = ExecutorWorld {
        hands: Box::new(RemoteExecutor::over_stream(ours.try_clone().unwrap()).unwrap()),
        dir,
    };
    world.fifo("alive");
    let mut doing = world.hands.carry_out(run(&lives("alive")), None);
    begin(doing.as_mut());
    let life = world.life("alive");
    ours.shutdown(std::net::Shutdown::Both).unwrap();
    assert_eq!(wait(doing).unwrap_err().trouble, ExecutorErrorKind::Gone);
    life.wait_for_end();
    assert!(serving.join().unwrap().is_ok());
}

#[test]
fn pieces_travel_while_the_command_runs() {
    let world = ExecutorWorld::with(|dir| Box::new(near(dir)));
    world.fifo("go");
    let go = world.path("go");
    let mut heard = String::new();
    let mut watch = |piece: &str| {
        if heard.is_empty() {
            std::fs::write(&go, "go\n").unwrap();
        }
        heard.push_str(piece);
    };
    wait(world.hands.carry_out(run("echo first; read x < go; echo second"), Some(&mut watch))).unwrap();
    assert_eq!(heard, "first\nsecond\n");
}

#[test]
fn many_deeds_at_once_are_answered_each_with_its_own() {
    let world = ExecutorWorld::with(|dir| Box::new(near(dir)));
    for number in 0..40 {
        world.write(&format!("f{number}"), format!("content {number}"));
    }
    let load = |number| ToolRequest::Load { path: format!("f{number}"), max_bytes: 100 };
    let mut all: Vec<_> = (0..40).map(|number| world.hands.carry_out(load(number), None)).collect();
    // All are begun before the first is waited for.
    let mut early: Vec<_> = all.iter_mut().map(|doing| poll_once(doing.as_mut())).collect();
    for (number, doing) in all.into_iter().enumerate().rev() {
        let result = early[number].take().unwrap_or_else(|| wait(doing));
        let ToolResponse::Bytes(file) = result.unwrap() else { panic!() };
        assert_eq!(file.bytes, format!("content {number}").into_bytes());
    }
}

/// A far side that says these bytes, whatever it is told.
fn says(bytes: Vec<u8>) -> (RemoteExecutor, UnixStream) {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let remote = RemoteExecutor::over_stream(ours).unwrap();
    let _ = theirs.write_all(&bytes);
    (remote, theirs)
}

fn frame(head: &str, body: &[u8]) -> Vec<u8> {
    let lengths = [(head.len() as u32).to_le_bytes(), (body.len() as u32).to_le_bytes()].concat();
    [lengths.as_slice(), head.as_bytes(), body].concat()
}

#[test]
fn a_lying_far_side_is_cut_off() {
    let ready = || frame(r#"{"ready":{"version":1}}"#, b"");
    let check = |said: Vec<u8>, why: &str| {
        let (remote, theirs) = says(said);
        let error = wait(remote.carry_out(run("true"), None)).unwrap_err();
        assert_eq!(error.trouble, ExecutorErrorKind::Gone);
        assert!(error.message.contains(why), "{} is not about {why}", error.message);
        let error = wait(remote.carry_out(run("true"), None)).unwrap_err();
        assert!(error.trouble == ExecutorErrorKind::Gone && remote.gone().is_some());
        drop(theirs);
    };
    let after = |head: &str, body: &[u8]| [ready(), frame(head, body)].concat();
    check(frame(r#"{"ready":{"version":2}}"#, b""), "version 2");
    check(frame(r#"{"piece":{"id":1}}"#, b"x"), "before they were ready");
    check(after(r#"{"ready":{"version":1}}"#, b""), "version");
    check(after(r#"{"piece":{"id":77}}"#, b"x"), "nobody asked");
    check(after(r#"{"done":{"id":77,"done":"nothing"}}"#, b""), "nobody asked");
    check(after("{}", b""), "makes no sense");
    check(after("[[[[[[", b""), "makes no sense");
    check([ready(), vec![0xff; 8]].concat(), "announces");
    check(b"GET / HTTP/1.1\r\n\r\n".to_vec(), "announces");
}

#[test]
fn an_answer_must_fit_its_question() {
    // Answers the first order with this, whatever it was.
    let check = |head: &str, body: &[u8]| {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let remote = RemoteExecutor::over_stream(ours).unwrap();
        theirs.write_all(&frame(r#"{"ready":{"version":1}}"#, b"")).unwrap();
        let mut doing = remote.carry_out(ToolRequest::Load { path: "x".to_owned(), max_bytes: 4 }, None);
        begin(doing.as_mut());
        theirs.read_exact(&mut [0; 8]).unwrap();
        theirs.write_all(&frame(head, body)).unwrap();
        wait(doing)
    };
    let bytes = r#"{"done":{"id":1,"done":{"bytes":{"bytes":[],"sha256":"","executable":false}}}}"#;
    assert!(check(bytes, b"four").is_ok());
    assert_eq!(check(bytes, b"fives").unwrap_err().trouble, ExecutorErrorKind::Gone);
    assert_eq!(
        check(r#"{"done":{"id":1,"done":"nothing"}}"#, b"").unwrap_err().trouble,
        ExecutorErrorKind::Gone
    );
    assert_eq!(
        check(r#"{"done":{"id":1,"done":"nothing"}}"#, b"x").unwrap_err().trouble,
        ExecutorErrorKind::Gone
    );
    let failed = r#"{"failed":{"id":1,"error":{"trouble":"denied","message":"no"}}}"#;
    assert_eq!(check(failed, b"").unwrap_err().trouble, ExecutorErrorKind::Denied);
}

#[test]
fn a_far_side_that_never_answers_only_costs_its_own_deeds() {
    let (remote, theirs) = says(frame(r#"{"ready":{"version":1}}"#, b""));
    let mut doing = remote.carry_out(run("true"), None);
    begin(doing.as_mut());
    // Nor does it read: what is too much is refused instead of waited for.
    let big = || ToolRequest::Feed { job: holon_hands::JobId(1), bytes: vec![0; 60 << 20], end: false };
    let mut first = remote.carry_out(big(), None);
    begin(first.as_mut());
    let (mut refused, mut waiting) = (None, Vec::new());
    for _ in 0..4 {
        let mut more = remote.carry_out(big(), None);
        if let Some(result) = poll_once(more.as_mut()) {
            refused = Some(result.unwrap_err().trouble);
        }
        waiting.push(more);
    }
    assert_eq!(refused, Some(ExecutorErrorKind::Exhausted));
    drop(theirs);
    assert_eq!(wait(doing).unwrap_err().trouble, ExecutorErrorKind::Gone);
}

#[test]
fn garbage_ends_the_serving() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("w")).unwrap();
    for garbage in [&b"\xff\xff\xff\xff\xff\xff\xff\xff"[..], b"\x02\0\0\0\0\0\0\0{}", b"\x05\0\0\0"] {
        assert!(serve(garbage, Vec::new(), local(dir.path())).is_err());
    }
    assert!(serve(&b""[..], Vec::new(), local(dir.path())).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn arbitrary_bytes_from_the_far_side_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), ready in any::<bool>()) {
        let said = if ready { [frame(r#"{"ready":{"version":1}}"#, b""), bytes].concat() } else { bytes };
        let (remote, theirs) = says(said);
        drop(theirs);
        prop_assert_eq!(wait(remote.carry_out(run("true"), None)).unwrap_err().trouble, ExecutorErrorKind::Gone);
    }
}
