//! What a call costs: `cargo run --release -p holon-hands --example overhead [FOLDER TO SEARCH]`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::os::unix::process::CommandExt;
use std::pin::pin;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use holon_hands::{
    CommandRequest, HANDS_NAME, LocalExecutor, RemoteExecutor, SearchRequest, ToolExecutor, ToolRequest,
    ToolResponse, become_hands_if_asked,
};

const CALLS: usize = 200;

fn main() {
    become_hands_if_asked();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "content\n").unwrap();
    let local = LocalExecutor::new(folder.path());
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg0(HANDS_NAME)
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let remote = RemoteExecutor::over(child.stdout.take().unwrap(), child.stdin.take().unwrap()).unwrap();
    for line in ["true", "/bin/true", "ls / | wc -l"] {
        println!("{line}: median of {CALLS}, by turns");
        show(&mut [
            ("spawned from here, bash -c", &mut || {
                let mut command = Command::new("bash");
                command.args(["-c", line]).stdin(Stdio::null()).stderr(Stdio::piped());
                drop(command.output().unwrap());
            }),
            ("local hands", &mut || run(&local, line)),
            ("hands in a process", &mut || run(&remote, line)),
        ]);
    }
    println!("reading a small file");
    let read = || ToolRequest::Read { path: "file".to_owned(), from_line: 1, lines: 10, max_bytes: 1000 };
    show(&mut [
        ("local hands", &mut || drop(wait(&local, read()))),
        ("hands in a process", &mut || drop(wait(&remote, read()))),
    ]);
    if let Some(path) = std::env::args().nth(1) {
        search(&local, &path);
    }
    drop(remote);
    child.wait().unwrap();
}

fn run(hands: &dyn ToolExecutor, line: &str) {
    let run = CommandRequest { line: line.to_owned(), max_bytes: 10_000, ..CommandRequest::default() };
    assert!(matches!(wait(hands, ToolRequest::Run(run)), ToolResponse::Ran(_)));
}

fn search(hands: &dyn ToolExecutor, path: &str) {
    for pattern in ["no such text anywhere at all", "fn "] {
        let search = SearchRequest {
            pattern: pattern.to_owned(),
            path: path.to_owned(),
            limit: 1000,
            ..SearchRequest::default()
        };
        let begun = Instant::now();
        let ToolResponse::Found(found) = wait(hands, ToolRequest::Grep(search)) else { panic!() };
        let (hits, files) = (found.hits.len(), found.searched);
        println!("`{pattern}`: {hits} hits in {files} files, {:.1} ms", milliseconds(begun.elapsed()));
    }
}

fn show(calls: &mut [(&str, &mut dyn FnMut())]) {
    let mut times = vec![Vec::new(); calls.len()];
    for _ in 0..CALLS {
        for ((_, call), times) in calls.iter_mut().zip(&mut times) {
            let begun = Instant::now();
            call();
            times.push(begun.elapsed());
            // A model takes a while between two calls.
            std::thread::sleep(Duration::from_millis(3));
        }
    }
    for ((what, _), times) in calls.iter().zip(&mut times) {
        times.sort_unstable();
        println!("  {:.3} ms  {what}", milliseconds(times[CALLS / 2]));
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

struct UnparkWaker(std::thread::Thread);

impl Wake for UnparkWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn wait(hands: &dyn ToolExecutor, deed: ToolRequest) -> ToolResponse {
    let mut doing = pin!(hands.carry_out(deed, None));
    let waker = Waker::from(Arc::new(UnparkWaker(std::thread::current())));
    loop {
        if let Poll::Ready(done) = doing.as_mut().poll(&mut Context::from_waker(&waker)) {
            return done.unwrap();
        }
        std::thread::park();
    }
}
