//! A model that answers by what it is asked: the same words bring the same scene about, in any thread and any number of
//! times.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use holon_model::cassette::{Call, Step, Turn};
use holon_model::{ErrorKind, ModelError, Reasoning, Usage};
use holon_testkit::model::Scripted;
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
pub(crate) fn answer(body: &Value) -> Scripted {
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
        return Turn::text(title).into();
    }
    let asked = |message: &&Value| message["role"] == "assistant" && message["tool_calls"].is_array();
    let round = messages.iter().skip(said.unwrap_or(0)).filter(asked).count();
    let scene =
        SCENES.iter().find(|(word, _)| words.contains(word)).map_or(Scene::Hello, |(_, scene)| *scene);
    let mut turn = turn(scene, round, count, &words);
    turn.usage = Some(Usage { input: 900, output: 60, ..Usage::default() });
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
enum Scene {
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
const SCENES: [(&str, Scene); 11] = [
    ("greeting loud", Scene::Build),
    ("run ls", Scene::Plan),
    ("ask me", Scene::Ask),
    ("explain slowly", Scene::Endless),
    ("slowly", Scene::Slow),
    ("drop the connection", Scene::Slow),
    ("fail please", Scene::Fail),
    ("hostile", Scene::Hostile),
    ("what does module", Scene::Module),
    ("broken build", Scene::Stuck),
    ("hello", Scene::Hello),
];

fn turn(scene: Scene, round: usize, count: usize, words: &str) -> Turn {
    let loud = format!("greet() {{\n    echo \"HELLO $1\" # {count}\n}}\n");
    match (scene, round) {
        (Scene::Build, 0) => steps([
            thought("The greeting lives in greet.sh. First look, then change, then test."),
            Step::Text("I look at the greeting first.".into()),
            todos(["doing", "pending", "pending"]),
            call("read_file", json!({"path": "greet.sh"})),
        ]),
        (Scene::Build, 1) => steps([
            call("write_file", json!({"path": "greet.sh", "content": loud})),
            call("write_file", json!({"path": "notes/loud.md", "content": format!("# Loud\n\n{count}\n")})),
        ]),
        (Scene::Build, 2) => {
            steps([todos(["done", "done", "doing"]), call("execute", json!({"command": "make test"}))])
        }
        (Scene::Build, _) => steps([Step::Text(DONE.into())]),
        (Scene::Plan, 0) => {
            steps([Step::Text("Let me run that.".into()), call("execute", json!({"command": "ls -la"}))])
        }
        (Scene::Ask, 0) => steps([
            Step::Text("I need to know one thing first.".into()),
            call(
                "ask_user",
                json!({"questions": [
                    {"question": "Which greeting should be the default?", "options": ["quiet", "loud"]},
                    {"question": "Anything else to know?"}]}),
            ),
        ]),
        (Scene::Ask, _) => steps([Step::Text("Then I know what to do.".into())]),
        (Scene::Slow | Scene::Endless, _) => {
            let word = |at: usize| [Step::Text(format!("word-{at} ")), Step::Delay(PAUSE)];
            // One that is stopped by hand goes on for as long as that may take.
            let words = if matches!(scene, Scene::Endless) { 600 } else { 60 };
            steps((0..words).flat_map(word))
        }
        (Scene::Fail, _) => {
            let error =
                ModelError { status: Some(401), ..ModelError::new(ErrorKind::Auth, "no such key (401)") };
            Turn::error(error)
        }
        (Scene::Hostile, 0) => steps([
            call("<b>x</b>", json!({"a": "<img src=x onerror=window.__pwned=1>"})),
            call("execute", json!({"command": HOSTILE_COMMAND})),
        ]),
        (Scene::Hostile, _) => steps([Step::Text(HOSTILE.into())]),
        (Scene::Module, _) => {
            let number: String = words.chars().filter(char::is_ascii_digit).collect();
            let number = &number[..number.len() / 2];
            Turn::text(format!(
                "Module {number} parses its input, checks it and returns a `Result`.\n\n- first point\n- second point with \
                 `code`\n\n```rust\nfn module_{number}() -> u32 {{\n    {number}\n}}\n```\n"
            ))
        }
        (Scene::Stuck, 0..4) => steps([call("execute", json!({"command": "make broken"}))]),
        (Scene::Stuck, 4) => steps([call("read_file", json!({"path": "greet.sh"}))]),
        (Scene::Stuck, 5) => steps([call("write_file", json!({"path": "greet.sh", "content": loud}))]),
        (Scene::Stuck, 6) => {
            steps([Step::Delay(PAUSE * 8), call("execute", json!({"command": "make test"}))])
        }
        (Scene::Stuck, _) => steps([Step::Text("Repaired.".into())]),
        (Scene::Plan | Scene::Hello, _) => steps([Step::Text("Hello.".into())]),
    }
}

const HOSTILE_COMMAND: &str = "mkdir -p '<img src=x onerror=window.__pwned=1>'; \
    printf '<script>window.__pwned=1</script>\\n' > '<img src=x onerror=window.__pwned=1>/\"><svg onload=window.__pwned=1>.txt'; \
    printf '\\033[31m<script>window.__pwned=1</script>\\033[0m'";

fn steps(steps: impl IntoIterator<Item = Step>) -> Turn {
    Turn { steps: steps.into_iter().collect(), ..Turn::default() }
}

fn thought(text: &str) -> Step {
    Step::Reasoning(Reasoning { text: text.into(), seal: None })
}

fn call(name: &str, arguments: Value) -> Step {
    Step::Call(Call { name: name.into(), arguments: arguments.to_string(), ..Call::default() })
}

fn todos(states: [&str; 3]) -> Step {
    let texts = ["Look at the greeting", "Make it loud", "Test it"];
    let todos: Vec<Value> =
        texts.iter().zip(states).map(|(text, status)| json!({"text": text, "status": status})).collect();
    call("write_todos", json!({"todos": todos}))
}
