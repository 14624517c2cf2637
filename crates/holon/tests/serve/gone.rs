//! What was begun and then lost its ground: whoever asked for it has gone, or the folder it is about.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use holon_model::WireFormat;
use holon_testkit::model::ModelServer;
use holon_testkit::{assert_unchanged, tree_state, wait_until};
use serde_json::{Value, json};

use crate::http::{bearer, of, send};
use crate::stage::ServeStage;

const WRITES: &str = "
- tool: execute
  args: { command: echo new > new.txt }
- text: Written.
";

/// Asks for something and reads no answer.
fn ask(stage: &ServeStage, path: &str, body: &Value) -> TcpStream {
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\n{}content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        stage.port,
        bearer(stage.port),
        body.len()
    );
    let mut stream = TcpStream::connect(("127.0.0.1", stage.port)).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    stream
}

#[test]
fn a_turn_whose_asker_has_gone_comes_to_its_end() {
    let stage = ServeStage::playing("- text: Nobody hears this.\n");
    let threads: Vec<String> = (0..40).map(|_| stage.thread()).collect();
    for (number, thread) in threads.iter().enumerate() {
        let stream = ask(&stage, &format!("/api/chat/{thread}"), &json!({"message": "go"}));
        // A little later each time, so that some go at the wrong moment.
        (0..number % 10).for_each(|_| drop(stage.get("/healthz")));
        drop(stream);
    }
    for thread in &threads {
        let over = wait_until(Duration::from_secs(60), || stage.show(thread)["state"] == "idle");
        let shown = stage.show(thread);
        let states: Vec<&Value> =
            shown["turns"].as_array().unwrap().iter().map(|turn| &turn["state"]).collect();
        assert!(over && states.iter().all(|state| **state == "completed"), "{shown:#}");
    }
}

#[test]
fn what_was_applied_is_known_also_when_the_asker_has_gone() {
    let stage = ServeStage::playing(WRITES);
    let file = stage.repo.path().join("new.txt");
    for _ in 0..8 {
        let thread = stage.thread();
        stage.say(&thread, "write", "build");
        let path = format!("/api/threads/{thread}/apply");
        let stream = ask(&stage, &path, &json!({}));
        // At once when it is there, and not a moment later.
        let asked = Instant::now();
        while !file.is_file() && asked.elapsed() < Duration::from_secs(60) {
            std::thread::yield_now();
        }
        drop(stream);
        // Waits for its end.
        assert_eq!(stage.post(&path, json!({})).json()["applied"], false);
        assert_eq!(stage.show(&thread)["turns"][0]["applied"], true);
        let audit = stage.get(&format!("/api/audit?thread={thread}")).json();
        let applied = |entry: &&Value| entry["action"] == "applied";
        assert_eq!(audit["entries"].as_array().unwrap().iter().filter(applied).count(), 1, "{audit:#}");
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn a_link_in_the_place_of_a_workspace_leads_nowhere() {
    let stage = ServeStage::playing(&format!("{WRITES}- text: never\n- text: Back.\n"));
    let (folder, aside) = (stage.repo.path().join("src"), stage.repo.path().join("aside"));
    let outside = stage.env.folder("outside");
    let before = tree_state(outside.path());
    let made = stage.post("/api/threads", json!({"workspace": folder})).json();
    let thread = made["id"].as_str().unwrap();
    let apply = || stage.post(&format!("/api/threads/{thread}/apply"), json!({}));
    let diff = || stage.get(&format!("/api/threads/{thread}/diff"));
    stage.say(thread, "write", "build");
    fs::rename(&folder, &aside).unwrap();
    let check = |what: &str| {
        for answer in [apply(), diff()] {
            let (status, problem) = (answer.status, answer.json());
            assert_eq!((status, &problem["code"]), (409, &json!("workspace_gone")), "{what}: {problem}");
            assert!(problem["hint"].as_str().unwrap().contains("put it back"), "{problem}");
        }
        let events = stage.say(thread, "look around", "build");
        let told = of(&events, "error");
        assert_eq!(told[0].data["code"], "workspace_gone", "{what}: {events:#?}");
    };
    check("not there");
    symlink(outside.path(), &folder).unwrap();
    check("a link to elsewhere");
    assert_unchanged(&before, outside.path());
    fs::remove_file(&folder).unwrap();
    fs::rename(&aside, &folder).unwrap();
    assert_eq!(apply().json()["files"], json!(["new.txt"]));
    fs::rename(&folder, &aside).unwrap();
    assert_eq!(send(stage.port, "DELETE", &format!("/api/threads/{thread}"), &[], b"").status, 204);
}

#[test]
fn a_thread_about_another_folder_is_seen_and_not_worked_on() {
    let stage = ServeStage::new();
    let other = stage.env.folder("other").file("secret.txt", "theirs\n");
    let tape = stage.env.write("work/chat.yaml", "- text: hi\n- text: again\n");
    let tape = tape.to_str().unwrap();
    let folder = other.path().to_str().unwrap();
    stage.env.holon(["chat", "--replay", tape, "--workspace", folder, "-m", "hello"]).run().assert_code(0);
    let stage = stage.with(&["--replay", tape], &[]);
    let listed = stage.get("/api/threads").json();
    let thread = listed["threads"][0]["id"].as_str().unwrap();
    let diff = stage.get(&format!("/api/threads/{thread}/diff"));
    assert_eq!(diff.status, 403);
    assert!(diff.json()["hint"].as_str().unwrap().contains("--root"));
    let events = stage.say(thread, "and here?", "build");
    assert_eq!(of(&events, "error")[0].data["code"], "forbidden", "{events:#?}");
}

/// An upgrade puts another file in the program's place while the server goes on.
#[test]
fn a_server_whose_program_was_replaced_goes_on_with_its_own() {
    let finish = "- tool: finish\n  args: { summary: Written. }\n";
    let model = ModelServer::play(WireFormat::Chat, &WRITES.replace("- text: Written.\n", finish));
    let mut stage = ServeStage::new();
    let program = stage.env.work().join("holon");
    fs::copy(stage.env.binary(), &program).unwrap();
    stage.program = Some(program.clone());
    let tape = stage.env.write("work/chat.yaml", WRITES.repeat(2));
    let stage = stage.with(&["--replay", tape.to_str().unwrap()], &[("HOLON_BASE_URL", &model.base())]);
    let works = |thread: &str| {
        let events = stage.say(thread, "write", "build");
        assert!(of(&events, "error").is_empty(), "{events:#?}");
        assert_eq!(of(&events, "tool_end")[0].data["exit_code"], 0, "{events:#?}");
    };
    let before = stage.thread();
    works(&before);

    fs::remove_file(&program).unwrap();
    fs::write(&program, "another program").unwrap();
    works(&before);
    works(&stage.thread());
    fs::remove_file(&program).unwrap();
    works(&stage.thread());

    let body = json!({"workspace": stage.repo.path(), "goal": "x", "mode": "execute", "agent": "native"});
    let run = stage.post("/api/runs", body).json()["id"].as_str().unwrap().to_owned();
    let shown = || stage.get(&format!("/api/runs/{run}")).json();
    assert!(wait_until(Duration::from_secs(60), || shown()["state"] == "finished"));
    assert_eq!(shown()["outcome"], "success", "{:#}", shown());
}
