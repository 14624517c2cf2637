//! Turns under the supervisor: taken over when they are stuck or a person asks for it, stopped in the end, and told about.

use serde_json::{Value, json};

use crate::http::{TestSseEvent, of};
use crate::stage::ServeStage;

/// Its check is red until `src/a.txt` says good.
fn stage() -> ServeStage {
    let stage = ServeStage::new();
    let makefile = "test:\n\t@grep -q good src/a.txt || { echo 'not ok 1 - a is good'; exit 1; }\n";
    for (name, text) in [("Makefile", makefile), ("src/a.txt", "bad\n")] {
        stage.env.write(stage.repo.path().join(name), text);
    }
    stage
}

/// The same for somebody who wants more than words.
fn adaptive() -> ServeStage {
    let stage = stage();
    stage.env.write(stage.env.config().join("holon/config.toml"), "[supervisor]\nlevel = 'adaptive'\n");
    stage
}

const AGAIN: &str = "- { tool: execute, args: { command: make test } }\n";

const REPAIRED: &str = "
- { tool: read_file, args: { path: src/a.txt } }
- { tool: write_file, args: { path: src/a.txt, content: good } }
- { tool: execute, args: { command: make test } }
- text: Repaired.
";

fn stuck() -> String {
    format!("{}{REPAIRED}", AGAIN.repeat(10))
}

fn reasons(events: &[TestSseEvent]) -> Vec<&str> {
    of(events, "supervisor").iter().map(|e| e.data["record"]["reason"].as_str().unwrap()).collect()
}

fn graphs(events: &[TestSseEvent]) -> Vec<&Value> {
    of(events, "graph").iter().map(|e| &e.data["graph"]).filter(|graph| graph.is_object()).collect()
}

#[test]
fn a_stuck_turn_is_taken_over_and_told_about() {
    let stage = adaptive().play(&format!("{}- text: And hello.\n", stuck()));
    let thread = stage.thread();
    let events = stage.say(&thread, "Fix src/a.txt", "build");
    assert!(reasons(&events).contains(&"takeover:tool_repeat_fail"), "{:?}", reasons(&events));
    assert_eq!(of(&events, "error"), [] as [&TestSseEvent; 0], "{events:#?}");
    let plans = graphs(&events);
    let (first, last) = (plans.first().unwrap(), plans.last().unwrap());
    assert!(first["nodes"].as_object().unwrap().len() >= 3, "{first:#}");
    let done = |graph: &Value| {
        graph["nodes"].as_object().unwrap().values().filter(|node| node["status"] == "done").count()
    };
    assert!(done(last) > done(first), "every change shows the whole plan: {first:#} {last:#}");
    assert!(first["nodes"][first["cursor"]["nodeId"].as_str().unwrap()].is_object());

    // Told on request, without asking any model; the conversation goes on after it.
    let report = stage.say(&thread, "~supervisor", "build");
    assert!(of(&report, "round").is_empty(), "{report:#?}");
    let text = of(&report, "message")[0].data["text"].as_str().unwrap();
    assert!(text.contains("接管次数: 1") && text.contains("takeover:tool_repeat_fail"), "{text}");
    let listed = stage.get(&format!("/api/supervisor/events?thread={thread}&event=recover")).json();
    assert!(listed["events"].as_array().is_some_and(|all| !all.is_empty()), "{listed}");
    let plain = stage.get(&format!("/api/supervisor/events?thread={thread}&format=text")).text();
    assert!(plain.contains("takeover:tool_repeat_fail"), "{plain}");
    let events = stage.say(&thread, "hello", "build");
    assert_eq!(crate::http::words(&events), "And hello.");
    assert!(graphs(&events).is_empty(), "a new message has a supervisor of its own: {events:#?}");
}

#[test]
fn a_person_asks_the_supervisor_to_take_over() {
    let stage = stage().play(
        "
- reply: [{ text: begun }, { delay: 500ms }, { tool: read_file, args: { path: src/a.txt } }]
- { tool: write_file, args: { path: src/a.txt, content: good } }
- { tool: execute, args: { command: make test } }
- text: Done.
",
    );
    let thread = stage.thread();
    let path = format!("/api/threads/{thread}/takeover");
    let idle = stage.post(&path, json!({}));
    assert_eq!((idle.status, idle.json()["asked"].as_bool()), (202, Some(false)), "nothing is under way");
    let mut stream = stage.post(&format!("/api/chat/{thread}"), json!({"message": "Fix src/a.txt"}));
    while stream.next().unwrap().name != "message" {}
    assert_eq!(stage.post(&path, json!({})).json()["asked"], true);
    let events = stream.events();
    let reasons = reasons(&events);
    assert!(reasons.contains(&"takeover:user_force_takeover"), "{reasons:?}");
    assert!(!graphs(&events).is_empty());
    let audit = stage.get(&format!("/api/audit?thread={thread}")).json();
    let heard = |e: &&Value| e["action"] == "takeover_asked" && e["detail"]["heard"] == true;
    assert_eq!(audit["entries"].as_array().unwrap().iter().filter(heard).count(), 1, "{audit:#}");
}

#[test]
fn a_turn_that_stays_stuck_is_stopped_for_a_person() {
    let stage = adaptive().play(&AGAIN.repeat(60));
    let thread = stage.thread();
    let events = stage.say(&thread, "Fix src/a.txt", "build");
    assert_eq!(of(&events, "error")[0].data["code"], "stopped", "{events:#?}");
    let text = of(&events, "message").last().unwrap().data["text"].as_str().unwrap();
    assert!(text.contains("`make test` fails"), "{text}");
    let shown = stage.show(&thread);
    assert_eq!((&shown["state"], &shown["turns"][0]["code"]), (&json!("idle"), &json!("stopped")));
    let events = stage.say(&thread, "go on", "build");
    assert!(of(&events, "tool_end").len() > 1, "{events:#?}");
}

#[test]
fn in_chat_words_are_enough_and_end_with_their_turn() {
    let stage = stage().play(&format!("{}- text: I do not know.\n- text: Hello.\n", AGAIN.repeat(24)));
    let thread = stage.thread();
    let events = stage.say(&thread, "Fix src/a.txt", "build");
    let said = reasons(&events);
    assert!(said.contains(&"advice:tool_repeat_fail"), "{said:?}");
    assert!(
        !said.iter().any(|reason| reason.starts_with("takeover:") || *reason == "gate:block"),
        "{said:?}"
    );
    assert_eq!((of(&events, "error"), crate::http::words(&events)), (vec![], "I do not know.".to_owned()));
    let events = stage.say(&thread, "hello", "build");
    assert_eq!((reasons(&events), crate::http::words(&events)), (vec![], "Hello.".to_owned()));
}

#[test]
fn whoever_wants_no_supervisor_has_none() {
    let stage = stage();
    stage.env.write(stage.env.config().join("holon/config.toml"), "[supervisor]\nlevel = 'off'\n");
    let stage = stage.play(&stuck());
    let events = stage.say(&stage.thread(), "Fix src/a.txt", "build");
    assert!(!reasons(&events).iter().any(|reason| reason.starts_with("takeover")), "{:?}", reasons(&events));
    assert_eq!(crate::http::words(&events), "Repaired.");
}
