//! Streams: every event once and in order, whoever comes, goes and comes back.

use std::io::Write;
use std::net::TcpStream;

use serde_json::json;

use crate::http::{bearer, of, send};
use crate::stage::{ServeStage, checked};

const SLOW: &str = "
- reply: [{ text: 'a ' }, { delay: 120ms }, { text: 'b ' }, { delay: 120ms }, { text: 'c ' }, { delay: 120ms }, { text: d }]
- text: second
";

#[test]
fn inv_14_one_done_ends_every_stream() {
    let stage = ServeStage::playing(
        "
- error: { kind: auth, message: no key }
- tool: execute
  args: { command: exit 3 }
- text: fine
",
    );
    let thread = stage.thread();
    // A failing model, a failing command, the whole story, nothing new, an idle thread: `say` and `events` check each.
    let events = stage.say(&thread, "one", "build");
    assert_eq!(of(&events, "error")[0].data["code"], "model");
    let events = stage.say(&thread, "two", "build");
    assert_eq!(of(&events, "tool_end")[0].data["exit_code"], 3);
    let all = stage.events(&thread, 0);
    assert_eq!(all[0].id, Some(1));
    let last = all.iter().filter_map(|event| event.id).max().unwrap();
    assert_eq!(stage.events(&thread, last).len(), 1);
    assert_eq!(stage.events(&thread, u64::MAX).len(), 1);
    assert_eq!(stage.events(&stage.thread(), 0).len(), 1);
}

#[test]
fn whoever_comes_back_sees_every_event_once() {
    let stage = ServeStage::playing(SLOW);
    let thread = stage.thread();
    let mut first = stage.post(&format!("/api/chat/{thread}"), json!({"message": "go"}));
    let mut seen = Vec::new();
    while of(&seen, "message").is_empty() {
        seen.push(first.next().unwrap());
    }
    // The connection is cut in the middle; the turn goes on.
    drop(first);
    let last = seen.iter().filter_map(|event| event.id).max().unwrap();
    let headers = [("last-event-id", last.to_string())];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(k, v)| (*k, v.as_str())).collect();
    let rest = send(stage.port, "GET", &format!("/api/chat/{thread}/events?after=0"), &headers, b"").events();
    seen.extend(rest);
    let seen = checked(seen);
    assert_eq!(crate::http::words(&seen), "a b c d");
    assert_eq!(stage.events(&thread, 0).len(), seen.len(), "the same as whoever was there all the time");
}

#[test]
fn one_turn_at_a_time_and_it_can_be_stopped() {
    let stage = ServeStage::playing(
        "
- reply: [{ text: begun }, { delay: 30s }, { text: never }]
- text: next
",
    );
    let thread = stage.thread();
    let path = format!("/api/chat/{thread}");
    let mut first = stage.post(&path, json!({"message": "go"}));
    while first.next().unwrap().name != "message" {}
    let second = stage.post(&path, json!({"message": "again"}));
    assert_eq!((second.status, second.json()["code"].as_str()), (409, Some("turn_running")));
    assert_eq!(stage.post(&format!("/api/threads/{thread}/apply"), json!({})).status, 409);
    assert_eq!(stage.post(&format!("{path}/cancel"), json!({})).json()["cancelled"], true);
    let rest = first.events();
    assert_eq!(of(&rest, "error")[0].data["code"], "cancelled", "{rest:#?}");
    assert_eq!(stage.post(&format!("{path}/cancel"), json!({})).json()["cancelled"], false);
    let events = stage.say(&thread, "and now", "build");
    assert_eq!(crate::http::words(&events), "next");
}

#[test]
fn a_turn_can_be_stopped_as_soon_as_it_is_seen() {
    let stage = ServeStage::playing("- reply: [{ delay: 50s }, { text: never }]\n");
    for _ in 0..10 {
        let path = format!("/api/chat/{}", stage.thread());
        let mut stream = stage.post(&path, json!({"message": "go"}));
        assert_eq!(stream.next().unwrap().name, "turn");
        assert_eq!(stage.post(&format!("{path}/cancel"), json!({})).json()["cancelled"], true);
        let rest = stream.events();
        assert_eq!(of(&rest, "error")[0].data["code"], "cancelled", "{rest:#?}");
    }
}

#[test]
fn a_reader_who_does_not_read_slows_nobody() {
    let stage = ServeStage::playing(&format!("- text: '{}'\n", "lots of words ".repeat(20_000)));
    let thread = stage.thread();
    // Asks, and never reads a byte of the answer.
    let body = json!({"message": "go"}).to_string();
    let mut lazy = TcpStream::connect(("127.0.0.1", stage.port)).unwrap();
    let head = format!(
        "POST /api/chat/{thread} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\n{}content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        stage.port,
        bearer(stage.port),
        body.len()
    );
    lazy.write_all(head.as_bytes()).unwrap();
    lazy.write_all(body.as_bytes()).unwrap();
    let other = stage.thread();
    let events = stage.say(&other, "hello", "build");
    let text: usize = of(&events, "message").iter().map(|e| e.data["text"].as_str().unwrap().len()).sum();
    assert_eq!(text, 14 * 20_000);
    let text: usize =
        of(&stage.events(&thread, 0), "message").iter().map(|e| e.data["text"].as_str().unwrap().len()).sum();
    assert_eq!(text, 14 * 20_000, "its own turn went on, too");
    drop(lazy);
}

#[test]
fn a_title_comes_beside_the_answer() {
    let stage = ServeStage::playing("- text: hi\n- text: again\n");
    let thread = stage.thread();
    stage.say(&thread, "\n  Fix the login page\nplease", "build");
    assert!(holon_testkit::wait_until(std::time::Duration::from_secs(10), || {
        stage.show(&thread)["title"] == "Fix the login page"
    }));
    assert_eq!(of(&stage.events(&thread, 0), "title").len(), 1);
    stage.say(&thread, "Something else", "build");
    assert_eq!(stage.show(&thread)["title"], "Fix the login page");
    let listed = stage.get("/api/threads").json();
    assert_eq!(listed["threads"][0]["title"], "Fix the login page");
}

#[test]
fn everything_decided_is_in_the_audit_log() {
    let stage = ServeStage::playing(
        "
- tools:
    - read_file: { path: a.txt }
    - execute: { command: touch x }
",
    );
    let thread = stage.thread();
    stage.say(&thread, "look", "plan");
    let audit = stage.get(&format!("/api/audit?thread={thread}")).json();
    let entries = audit["entries"].as_array().unwrap();
    let actions: Vec<&str> = entries.iter().map(|e| e["action"].as_str().unwrap()).collect();
    // A call may end before the next one is decided.
    let mut calls = actions[3..6].to_vec();
    calls.sort_unstable();
    assert_eq!(calls, ["tool_decided", "tool_decided", "tool_ended"]);
    let others = [&actions[..3], &actions[6..]].concat();
    assert_eq!(others, ["thread_created", "mode_switched", "turn_started", "turn_ended"], "{entries:#?}");
    let decided: Vec<_> = entries.iter().filter(|e| e["action"] == "tool_decided").collect();
    assert_eq!(
        (&decided[1]["detail"]["verdict"], &decided[1]["detail"]["mode"]),
        (&json!("deny"), &json!("plan"))
    );
    assert_eq!(decided[0]["detail"]["arguments_sha256"].as_str().unwrap().len(), 64);
    let told = |entry: &serde_json::Value| entry["detail"]["command"].as_str().unwrap_or_default().to_owned();
    assert!(told(decided[0]).contains("a.txt") && told(decided[1]).contains("touch x"), "{decided:#?}");
    let ended = entries.iter().find(|e| e["action"] == "tool_ended").unwrap();
    assert_eq!(ended["detail"]["outcome"], "success", "only what was let through has an outcome: {ended}");
    let verified = stage.get("/api/audit/verify").json();
    assert_eq!((&verified["ok"], &verified["length"]), (&json!(true), &json!(7)));
}

#[test]
fn turns_that_are_known_need_not_be_read_again() {
    let stage = ServeStage::playing("- text: one\n- text: two\n- text: three\n");
    let thread = stage.thread();
    for word in ["a", "b", "c"] {
        stage.say(&thread, word, "plan");
    }
    let numbers = |query: &str| {
        let shown = stage.get(&format!("/api/threads/{thread}{query}")).json();
        assert_eq!(shown["turns_count"], 3);
        let turns = shown["turns"].as_array().unwrap();
        turns.iter().map(|turn| turn["number"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(numbers(""), [1, 2, 3]);
    assert_eq!(numbers("?since=3"), [3]);
    assert_eq!(numbers("?since=4"), [] as [u64; 0]);
    assert_eq!(stage.get(&format!("/api/threads/{thread}?since=x")).status, 400);
}
