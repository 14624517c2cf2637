//! A disk without room: nothing is done that cannot be written down, and afterwards everything goes on.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::json;

use crate::http::{TestHttpResponse, TestSseEvent, learn, of, words};
use crate::stage::ServeStage;

/// Many words, one after the other, and then something short.
fn story() -> String {
    let pieces = "{ text: 'a ' }, { delay: 50ms }, ".repeat(600);
    format!("- reply: [{pieces}]\n- text: Better.\n")
}

/// A server whose state is on a small disk of its own, and how that is seen from here.
fn on_a_small_disk() -> (ServeStage, PathBuf) {
    // Whoever is not root is root among themselves.
    let root = rustix::process::geteuid().is_root();
    let apart: &[&str] = if root { &["--mount"] } else { &["--user", "--map-root-user", "--mount"] };
    let mut stage = ServeStage::new();
    let tape = stage.env.write("work/chat.yaml", story());
    let script = "mount -t tmpfs -o size=8m none \"$XDG_STATE_HOME\" && exec \"$@\"";
    let call = stage.env.program("unshare").args(apart).args(["sh", "-c", script, "sh"]);
    let call = call.arg(stage.env.binary()).args(["serve", "--listen", "127.0.0.1:0", "--root"]);
    let mut server = call.arg(stage.repo.path()).arg("--replay").arg(tape).spawn();
    server.wait_for_text("holon is at ");
    stage.port = learn(&server.stdout_so_far());
    let disk = format!("/proc/{}/root{}", server.pid(), stage.env.state().display());
    stage.server = Some(server);
    (stage, disk.into())
}

/// Takes all the room there is.
fn fill(disk: &std::path::Path) -> PathBuf {
    let path = disk.join("fill");
    let mut file = File::create(&path).unwrap();
    for size in [1 << 16, 1 << 12, 1] {
        while file.write_all(&vec![b'x'; size]).is_ok() {}
    }
    path
}

/// Begins the long turn and reads it aside, once it speaks.
fn speaking(stage: &ServeStage, thread: &str) -> Receiver<TestSseEvent> {
    let mut stream: TestHttpResponse =
        stage.post(&format!("/api/chat/{thread}"), json!({"message": "go on and on"}));
    while stream.next().unwrap().name != "message" {}
    let (tell, told) = channel();
    std::thread::spawn(move || std::iter::from_fn(|| stream.next()).try_for_each(|event| tell.send(event)));
    told
}

#[test]
fn a_full_disk_stops_the_turn_and_not_the_thread() {
    let (stage, disk) = on_a_small_disk();
    let thread = stage.thread();
    let told = speaking(&stage, &thread);
    let filled = fill(&disk);
    let refused = stage.post("/api/threads", json!({"workspace": stage.repo.path()}));
    assert_eq!((refused.status, refused.json()["code"].as_str()), (507, Some("disk_full")));
    // It speaks all the time; when it is silent, something could not be stored.
    while told.recv_timeout(Duration::from_secs(2)).is_ok_and(|event| event.name == "message") {}
    fs::remove_file(filled).unwrap();
    let rest: Vec<TestSseEvent> = told.iter().collect();
    assert_eq!(of(&rest, "error")[0].data["code"], "disk_full", "{rest:#?}");
    assert_eq!(rest.last().unwrap().name, "done");
    let shown = stage.show(&thread);
    assert_eq!((&shown["state"], &shown["turns"][0]["state"]), (&json!("idle"), &json!("interrupted")));
    assert_eq!(words(&stage.say(&thread, "and now?", "build")), "Better.");
    assert_eq!(stage.get("/api/audit/verify").json()["ok"], true);
}

#[test]
fn a_turn_whose_end_could_not_be_stored_does_not_seem_to_go_on() {
    let (stage, disk) = on_a_small_disk();
    let thread = stage.thread();
    let told = speaking(&stage, &thread);
    let filled = fill(&disk);
    let rest: Vec<TestSseEvent> = told.iter().collect();
    assert_eq!(of(&rest, "error")[0].data["code"], "not_stored", "{rest:#?}");
    assert_eq!(rest.last().unwrap().name, "done", "the stream ends all the same");
    fs::remove_file(filled).unwrap();
    assert_eq!(words(&stage.say(&thread, "and now?", "build")), "Better.");
    let shown = stage.show(&thread);
    let states: Vec<_> = shown["turns"].as_array().unwrap().iter().map(|turn| &turn["state"]).collect();
    assert_eq!(states, [&json!("interrupted"), &json!("completed")]);
}
