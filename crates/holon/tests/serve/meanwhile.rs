//! People work in the folder while a thread does: what they do is seen, and never taken back by an apply.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use holon_testkit::{TestEnv, assert_unchanged, tree_state};
use serde_json::{Value, json};

use crate::http::of;
use crate::stage::{BIN, ServeStage};

/// A thread with a turn of its own for each of these commands.
fn playing(commands: &[&str]) -> (ServeStage, String) {
    let turn =
        |command: &&str| format!("- tool: execute\n  args: {{ command: '{command}' }}\n- text: Done.\n");
    let stage = ServeStage::unsupervised(&commands.iter().map(turn).collect::<String>());
    let thread = stage.thread();
    (stage, thread)
}

/// What the command of the next turn says.
fn turn(stage: &ServeStage, thread: &str) -> String {
    let events = stage.say(thread, "go", "build");
    of(&events, "tool_end")[0].data["output"].as_str().unwrap().to_owned()
}

fn apply(stage: &ServeStage, thread: &str) -> (u16, Value) {
    let answer = stage.post(&format!("/api/threads/{thread}/apply"), json!({}));
    (answer.status, answer.json())
}

fn changed(stage: &ServeStage, thread: &str) -> Value {
    let diff = stage.get(&format!("/api/threads/{thread}/diff")).json();
    diff["files"].as_array().unwrap().iter().map(|file| file["path"].clone()).collect()
}

fn read(stage: &ServeStage, path: &str) -> Option<String> {
    fs::read_to_string(stage.repo.path().join(path)).ok()
}

#[test]
fn files_the_agent_only_touched_stay_as_people_make_them() {
    // Rewritten with the same bytes, in place and in a folder made anew.
    let touch = "sed -i s/nothing/x/ a.txt; cp -r src s; rm -r src; mv s src; echo 1 > one.txt";
    let (stage, thread) = playing(&[touch, "cat a.txt src/*; echo 2 > two.txt"]);
    turn(&stage, &thread);
    assert_eq!(changed(&stage, &thread), json!(["one.txt"]));
    fs::write(stage.repo.path().join("a.txt"), "mine\n").unwrap();
    fs::write(stage.repo.path().join("src/new.txt"), "new\n").unwrap();
    fs::remove_file(stage.repo.path().join("src/b.txt")).unwrap();
    assert_eq!(turn(&stage, &thread), "mine\nnew\n");
    assert_eq!(changed(&stage, &thread), json!(["one.txt", "two.txt"]));
    assert_eq!(apply(&stage, &thread).1["files"], json!(["one.txt", "two.txt"]));
    let now = ["a.txt", "src/new.txt", "src/b.txt"].map(|path| read(&stage, path));
    assert_eq!(now, [Some("mine\n".into()), Some("new\n".into()), None]);
}

#[test]
fn nothing_that_people_put_in_the_way_is_removed() {
    type FolderChange = fn(&Path);
    let cases: [(&str, &str, FolderChange); 5] = [
        ("rm -r src", "src/new.txt", |at| fs::write(at.join("src/new.txt"), "precious\n").unwrap()),
        ("mkdir d; echo x > d/x", "d", |at| fs::write(at.join("d"), "precious\n").unwrap()),
        ("mkdir d; echo x > d/x", "d", |at| symlink("src", at.join("d")).unwrap()),
        ("rm src/b.txt", "src", |at| {
            fs::rename(at.join("src"), at.join("elsewhere")).unwrap();
            symlink("elsewhere", at.join("src")).unwrap();
        }),
        ("echo 1 > one", "one/mine", |at| {
            fs::create_dir(at.join("one")).unwrap();
            fs::write(at.join("one/mine"), "precious\n").unwrap();
        }),
    ];
    for (command, path, change) in cases {
        let (stage, thread) = playing(&[command]);
        turn(&stage, &thread);
        change(stage.repo.path());
        let before = tree_state(stage.repo.path());
        let (status, problem) = apply(&stage, &thread);
        assert_eq!((status, &problem["code"]), (409, &json!("conflict")), "{command}: {problem}");
        assert!(problem["paths"].as_array().unwrap().contains(&json!(path)), "{command}: {problem}");
        assert!(problem["hint"].as_str().unwrap().contains("undo"), "{problem}");
        assert_unchanged(&before, stage.repo.path());
    }
}

#[test]
fn after_an_apply_agent_and_person_go_on_from_the_same_files() {
    let (stage, thread) = playing(&[
        "echo uno > a.txt; rm src/b.txt; mkdir d; echo x > d/x",
        "cat a.txt src/b.txt d/*; echo due >> a.txt",
        "cat a.txt",
    ]);
    turn(&stage, &thread);
    assert_eq!(apply(&stage, &thread).0, 200);
    // The person changes what was applied, puts a deleted file back, and adds to a new folder.
    fs::write(stage.repo.path().join("a.txt"), "mine\n").unwrap();
    fs::create_dir_all(stage.repo.path().join("src")).unwrap();
    fs::write(stage.repo.path().join("src/b.txt"), "back\n").unwrap();
    fs::write(stage.repo.path().join("d/y"), "y\n").unwrap();
    assert_eq!(changed(&stage, &thread), json!([]));
    assert_eq!(turn(&stage, &thread), "mine\nback\nx\ny\n");
    assert_eq!(changed(&stage, &thread), json!(["a.txt"]));
    let applied = apply(&stage, &thread);
    assert_eq!((applied.0, &applied.1["files"]), (200, &json!(["a.txt"])), "{}", applied.1);
    assert_eq!(read(&stage, "a.txt").unwrap(), "mine\ndue\n");
    fs::write(stage.repo.path().join("a.txt"), "again\n").unwrap();
    assert_eq!(turn(&stage, &thread), "again\n");
}

#[test]
fn a_change_that_was_put_back_and_made_again_belongs_to_the_last_turn() {
    let commands = ["echo uno > a.txt", "echo one > a.txt", "cat a.txt; echo more >> a.txt"];
    let (stage, thread) = playing(&commands);
    turn(&stage, &thread);
    turn(&stage, &thread);
    assert_eq!(changed(&stage, &thread), json!([]));
    fs::write(stage.repo.path().join("a.txt"), "mine\n").unwrap();
    assert_eq!(turn(&stage, &thread), "mine\n");
    assert_eq!(apply(&stage, &thread).0, 200);
    assert_eq!(read(&stage, "a.txt").unwrap(), "mine\nmore\n");
}

#[test]
fn a_file_that_became_unreadable_is_not_left_out() {
    // Nothing is unreadable for root.
    let mut stage = ServeStage::new();
    stage.env = TestEnv::as_ordinary(BIN);
    stage.repo = stage.env.repo().file("a.txt", "one\n").commit("first");
    let stage = stage
        .play("- tool: execute\n  args: { command: 'echo uno > a.txt; echo 1 > one.txt' }\n- text: Done.\n");
    let thread = stage.thread();
    turn(&stage, &thread);
    let file = stage.repo.path().join("a.txt");
    let allow = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    allow(0o000);
    let (status, problem) = apply(&stage, &thread);
    assert_eq!((status, &problem["paths"]), (409, &json!(["a.txt"])), "{problem}");
    assert_eq!(read(&stage, "one.txt"), None);
    allow(0o644);
    assert_eq!(apply(&stage, &thread).1["files"], json!(["a.txt", "one.txt"]));
}
