//! A model that answers by what it is asked: the same words bring the same scene about, in any thread and any number of
//! times.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use holon_model::cassette::{CassetteCall, CassetteStep, CassetteTurn};
use holon_model::{ModelError, ModelErrorKind, Reasoning, TokenUsage};
use holon_testkit::model::ScriptedResponse;
use serde_json::{Value, json};

/// Between two words of a slow answer.
const PAUSE: Duration = Duration::from_millis(80);

const DONE: &str = "## What I did

`greet` is loud now, and the test passes.

| file | change |
|---|---|
| `greet.sh` | shouts |
| `notes/loud.md` | says why |

```sh
greet world   # HELLO WORLD
```

- [x] tests pass
- [ ] documentation, if you want it

> Nothing is in your workspace before you apply it.
";

const HOSTILE: &str = "<img src=x onerror=\"window.__pwned=1\"><script>window.__pwned=1</script>

[click](javascript:window.__pwned=1) ![pixel](http://elsewhere.invalid/p.png) [data](data:text/html,<script>1</script>) <https://elsewhere.invalid/>

<iframe src=\"http://elsewhere.invalid\"></iframe>
";

/// The words of the tests, for the tests.
pub(crate) fn say() -> Value {
    json!({"build": "Make the greeting loud and test it", "plan": "Run ls", "ask": "Ask me which one",
        "stuck": "Fix the broken build in greet.sh"})
}

/// What it says to a request.
pub(crate) fn answer(body: &Value) -> ScriptedResponse {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::SeqCst);
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let said = messages.iter().rposition(|message| {
        message["role"] == "user"
            && SCENES.iter().any(|(word, _)| text(message).to_lowercase().contains(word))
    });
    let words = said.map(|at| text(&messages[at]).to_lowercase()).unwrap_or_default();
    if body["tools"].as_array().is_none_or(Vec::is_empty) {
        let title = if words.contains("hostile") {
            "<img src=x onerror=window.__pwned=1>"
        } else {
            "A loud greeting"
        };
        return CassetteTurn::text(title).into();
    }
    let asked = |message: &&Value| message["role"] == "assistant" && message["tool_calls"].is_array();
    let round = messages.iter().skip(said.unwrap_or(0)).filter(asked).count();
    let scene = SCENES
        .iter()
        .find(|(word, _)| words.contains(word))
        .map_or(ScriptedPageScene::Hello, |(_, scene)| *scene);
    let mut turn = turn(scene, round, count, &words);
    turn.usage = Some(TokenUsage { input: 900, output: 60, ..TokenUsage::default() });
    turn.into()
}

fn text(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

#[derive(Clone, Copy)]
enum ScriptedPageScene {
    Build,
    Plan,
    Ask,
    Slow,
    Endless,
    Fail,
    Hostile,
    Module,
    Stuck,
    Hello,
}

/// Told apart by words of the message.
const SCENES: [(&str, ScriptedPageScene); 11] = [
    ("greeting loud", ScriptedPageScene::Build),
    ("run ls", ScriptedPageScene::Plan),
    ("ask me", ScriptedPageScene::Ask),
    ("explain slowly", ScriptedPageScene::Endless),
    ("slowly", ScriptedPageScene::Slow),
    ("drop the connection", ScriptedPageScene::Slow),
    ("fail please", ScriptedPageScene::Fail),
    ("hostile", ScriptedPageScene::Hostile),
    ("what does module", ScriptedPageScene::Module),
    ("broken build", ScriptedPageScene::Stuck),
    ("hello", ScriptedPageScene::Hello),
];

fn turn(scene: ScriptedPageScene, round: usize, count: usize, words: &str) -> CassetteTurn {
    let loud = format!("greet() {{\n    echo \"HELLO $1\" # {count}\n}}\n");
    match (scene, round) {
        (ScriptedPageScene::Build, 0) => steps([
            thought("The greeting lives in greet.sh. First look, then change, then test."),
            CassetteStep::Text("I look at the greeting first.".into()),
            todos(["doing", "pending", "pending"]),
            call("read_file", json!({"path": "greet.sh"})),
        ]),
        (ScriptedPageScene::Build, 1) => steps([
            call("write_file", json!({"path": "greet.sh", "content": loud})),
            call("write_file", json!({"path": "notes/loud.md", "content": format!("# Loud\n\n{count}\n")})),
        ]),
        (ScriptedPageScene::Build, 2) => {
            steps([todos(["done", "done", "doing"]), call("execute", json!({"command": "make test"}))])
        }
        (ScriptedPageScene::Build, _) => steps([CassetteStep::Text(DONE.into())]),
        (ScriptedPageScene::Plan, 0) => steps([
            CassetteStep::Text("Let me run that.".into()),
            call("execute", json!({"command": "ls -la"})),
        ]),
        (ScriptedPageScene::Ask, 0) => steps([
            CassetteStep::Text("I need to know one thing first.".into()),
            call(
                "ask_user",
                json!({"questions": [
                    {"question": "Which greeting should be the default?", "options": ["quiet", "loud"]},
                    {"question": "Anything else to know?"}]}),
            ),
        ]),
        (ScriptedPageScene::Ask, _) => steps([CassetteStep::Text("Then I know what to do.".into())]),
        (ScriptedPageScene::Slow | ScriptedPageScene::Endless, _) => {
            let word = |at: usize| [CassetteStep::Text(format!("word-{at} ")), CassetteStep::Delay(PAUSE)];
            // One that is stopped by hand goes on for as long as that may take.
            let words = if matches!(scene, ScriptedPageScene::Endless) { 600 } else { 60 };
            steps((0..words).flat_map(word))
        }
        (ScriptedPageScene::Fail, _) => {
            let error = ModelError {
                status: Some(401),
                ..ModelError::new(ModelErrorKind::Auth, "no such key (401)")
            };
            CassetteTurn::error(error)
        }
        (ScriptedPageScene::Hostile, 0) => steps([
            call("<b>x</b>", json!({"a": "<img src=x onerror=window.__pwned=1>"})),
            call("execute", json!({"command": HOSTILE_COMMAND})),
        ]),
        (ScriptedPageScene::Hostile, _) => steps([CassetteStep::Text(HOSTILE.into())]),
        (ScriptedPageScene::Module, _) => {
            let number: String = words.chars().filter(char::is_ascii_digit).collect();
            let number = &number[..number.len() / 2];
            CassetteTurn::text(format!(
                "Module {number} parses its input, checks it and returns a `Result`.\n\n- first point\n- second point with \
                 `code`\n\n```rust\nfn module_{number}() -> u32 {{\n    {number}\n}}\n```\n"
            ))
        }
        (ScriptedPageScene::Stuck, 0..4) => steps([call("execute", json!({"command": "make broken"}))]),
        (ScriptedPageScene::Stuck, 4) => steps([call("read_file", json!({"path": "greet.sh"}))]),
        (ScriptedPageScene::Stuck, 5) => {
            steps([call("write_file", json!({"path": "greet.sh", "content": loud}))])
        }
        (ScriptedPageScene::Stuck, 6) => {
            steps([CassetteStep::Delay(PAUSE * 8), call("execute", json!({"command": "make test"}))])
        }
        (ScriptedPageScene::Stuck, _) => steps([CassetteStep::Text("Repaired.".into())]),
        (ScriptedPageScene::Plan | ScriptedPageScene::Hello, _) => {
            steps([CassetteStep::Text("Hello.".into())])
        }
    }
}

const HOSTILE_COMMAND: &str = "mkdir -p '<img src=x onerror=window.__pwned=1>'; \
    printf '<script>window.__pwned=1</script>\\n' > '<img src=x onerror=window.__pwned=1>/\"><svg onload=window.__pwned=1>.txt'; \
    printf '\\033[31m<script>window.__pwned=1</script>\\033[0m'";

fn steps(steps: impl IntoIterator<Item = CassetteStep>) -> CassetteTurn {
    CassetteTurn { steps: steps.into_iter().collect(), ..CassetteTurn::default() }
}

fn thought(text: &str) -> CassetteStep {
    CassetteStep::Reasoning(Reasoning { text: text.into(), seal: None })
}

fn call(name: &str, arguments: Value) -> CassetteStep {
    CassetteStep::Call(CassetteCall {
        name: name.into(),
        arguments: arguments.to_string(),
        ..CassetteCall::default()
    })
}

fn todos(states: [&str; 3]) -> CassetteStep {
    let texts = ["Look at the greeting", "Make it loud", "Test it"];
    let todos: Vec<Value> =
        texts.iter().zip(states).map(|(text, status)| json!({"text": text, "status": status})).collect();
    call("write_todos", json!({"todos": todos}))
}
