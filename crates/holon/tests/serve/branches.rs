//! Saying a message differently: a branch has everything before it, files too, and neither touches the other.

use serde_json::{Value, json};

use crate::http::{of, words};
use crate::stage::ServeStage;

/// The same file is written by each turn, and every answer says what the agent was told before.
const WRITES: &str = "
- tool: write_file
  args: { path: made.txt, content: first }
- text: First done.
- tool: write_file
  args: { path: made.txt, content: second }
- text: Second done.
";

const IN_BRANCH: &str = "
- tool: execute
  args: { command: cat made.txt }
- text: Looked.
";

fn branch(stage: &ServeStage, thread: &str, turn: u64) -> Value {
    let made = stage.post(&format!("/api/threads/{thread}/branches"), json!({"turn": turn}));
    assert_eq!(made.status, 201);
    made.json()
}

fn patch(stage: &ServeStage, thread: &str, change: Value) -> crate::http::TestHttpResponse {
    let headers = [("content-type", "application/json")];
    crate::http::send(
        stage.port,
        "PATCH",
        &format!("/api/threads/{thread}"),
        &headers,
        change.to_string().as_bytes(),
    )
}

#[test]
fn a_branch_goes_on_from_before_a_message_with_the_files_as_they_were() {
    // A cassette belongs to a thread: the branch plays it from its beginning.
    let mut stage = ServeStage::unsupervised(WRITES);
    let thread = stage.thread();
    stage.say(&thread, "write the first", "build");
    stage.say(&thread, "write the second", "build");
    stage.env.write("work/chat.yaml", IN_BRANCH);
    let other = branch(&stage, &thread, 2);
    let id = other["id"].as_str().unwrap().to_owned();
    assert_eq!((&other["branch"], &other["family"]), (&json!({"thread": thread, "turn": 2}), &json!(thread)));
    assert_eq!((&other["turns_count"], &other["title"]), (&json!(1), &stage.show(&thread)["title"]));
    let before = stage.events(&id, 0);
    assert_eq!(words(&before), "First done.", "nothing of the turn that is said differently: {before:#?}");
    let events = stage.say(&id, "look at it", "build");
    assert_eq!(of(&events, "tool_end")[0].data["output"], "first", "{events:#?}");
    // Both have their own changes, and the numbers of turns go on.
    assert_eq!(of(&events, "turn")[0].data["turn"], 2);
    let patch_of =
        |id: &str| stage.get(&format!("/api/threads/{id}/diff")).json()["patch"].as_str().unwrap().to_owned();
    assert!(patch_of(&thread).contains("+second") && patch_of(&id).contains("+first"));
    let family = stage.get(&format!("/api/threads/{thread}/branches")).json();
    assert_eq!(family["threads"].as_array().unwrap().len(), 2);
    let listed = |query: &str| {
        let list = stage.get(&format!("/api/threads{query}")).json();
        list["threads"].as_array().unwrap().iter().map(|t| t["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(listed(""), [json!(id)], "a conversation is one line in the list");
    assert_eq!(listed("?branches=true").len(), 2);
    // It outlives where it comes from, and a restart.
    let gone = crate::http::send(stage.port, "DELETE", &format!("/api/threads/{thread}"), &[], b"");
    assert_eq!(gone.status, 204);
    stage.kill();
    stage.start();
    assert!(
        stage.get(&format!("/api/threads/{id}/diff")).json()["patch"].as_str().unwrap().contains("+first")
    );
}

#[test]
fn a_branch_that_cannot_be_is_refused() {
    let stage = ServeStage::unsupervised("- text: One.\n");
    let thread = stage.thread();
    stage.say(&thread, "go", "build");
    let order =
        |turn: u64| stage.post(&format!("/api/threads/{thread}/branches"), json!({"turn": turn})).status;
    assert_eq!((order(0), order(2)), (422, 422));
    assert_eq!(stage.post("/api/threads/t-nobody/branches", json!({"turn": 1})).status, 404);
    let first = branch(&stage, &thread, 1);
    assert_eq!(
        (&first["turns_count"], &first["last_seq"], &first["title"]),
        (&json!(0), &json!(0), &Value::Null)
    );
    let events = stage.say(first["id"].as_str().unwrap(), "again", "build");
    assert_eq!(words(&events), "One.");
}

#[test]
fn threads_are_found_named_pinned_and_archived() {
    let stage = ServeStage::unsupervised("- text: The login page is in src.\n- text: Another answer.\n");
    let (thread, other) = (stage.thread(), stage.thread());
    stage.say(&thread, "Where is 登录?", "build");
    stage.say(&other, "hello", "build");
    let found = |words: &str| stage.get(&format!("/api/search?q={words}")).json();
    // Both are answered the same, the one that was said last comes first.
    let place = found("LOGIN%20page")["places"][1].clone();
    assert_eq!(
        (&place["thread"], &place["turn"], &place["part"]),
        (&json!(thread), &json!(1), &json!("answer"))
    );
    assert_eq!((&place["before"], &place["words"]), (&json!("The "), &json!("login page")));
    assert_eq!(
        found("%E7%99%BB%E5%BD%95")["places"].as_array().unwrap().len(),
        2,
        "in the message and the title"
    );
    assert_eq!(found("nowhere"), json!({"places": [], "more": false}));
    assert_eq!(stage.get("/api/search?q=").status, 422);
    let at = stage.show(&thread)["updated_at"].clone();
    let changed = patch(&stage, &thread, json!({"title": "  Named ", "pinned": true})).json();
    assert_eq!(
        (&changed["title"], &changed["pinned"], &changed["updated_at"]),
        (&json!("Named"), &json!(true), &at)
    );
    assert_eq!(of(&stage.events(&thread, 0), "title").last().unwrap().data["title"], "Named");
    let ids = |query: &str| {
        let list = stage.get(&format!("/api/threads{query}")).json();
        list["threads"].as_array().unwrap().iter().map(|t| t["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!((ids("?pinned=true"), ids("?pinned=false")), (vec![json!(thread)], vec![json!(other)]));
    patch(&stage, &other, json!({"archived": true}));
    assert_eq!((ids(""), ids("?archived=true")), (vec![json!(thread)], vec![json!(other)]));
    for wrong in [
        json!({"title": " "}),
        json!({"title": "a\nb"}),
        json!({"title": "x".repeat(121)}),
        json!({"colour": 1}),
    ] {
        assert!(matches!(patch(&stage, &thread, wrong.clone()).status, 400 | 422), "{wrong}");
    }
}

#[test]
fn a_thread_is_kept_as_a_file() {
    let stage = ServeStage::unsupervised(
        "
- tool: execute
  args: { command: 'echo printed; exit 3' }
- text: It failed.
",
    );
    let thread = stage.thread();
    stage.say(&thread, "try it", "build");
    let markdown = stage.get(&format!("/api/threads/{thread}/export"));
    assert!(markdown.header("content-disposition").unwrap().contains(&format!("{thread}.md")));
    let text = markdown.text();
    for part in [
        "# try it",
        "## You (build)\n\ntry it\n",
        "**execute** (failed, exit code 3)",
        "```text\nprinted\n```",
        "## Holon\n\nIt failed.\n",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let whole = stage.get(&format!("/api/threads/{thread}/export?format=json")).json();
    assert_eq!(whole["thread"]["turns"][0]["message"], "try it");
    let stored = stage.events(&thread, 0).len() - 1;
    assert_eq!(whole["events"].as_array().unwrap().len(), stored);
    assert_eq!(stage.get(&format!("/api/threads/{thread}/export?format=pdf")).status, 422);
}
