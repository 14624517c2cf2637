//! What cannot be done is refused with a code, and never with silence.

use std::io::{self, BufRead, BufReader, Write};

use serde_json::{Value, json};

use crate::editor::EditorStage;

/// The answer to a request, whatever is told meanwhile.
fn ask(
    there: &mut impl Write,
    lines: &mut impl Iterator<Item = io::Result<String>>,
    method: &str,
    params: &Value,
) -> Value {
    writeln!(there, "{}", json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})).unwrap();
    let mut messages = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    messages.find(|message| message["id"] == 7).unwrap()
}

#[test]
fn images_are_refused_in_words() {
    let stage = EditorStage::new("- text: never\n");
    let (mut there, back, running) = stage.start("");
    let mut lines = BufReader::new(back).lines();
    let mut ask = |method: &str, params: Value| ask(&mut there, &mut lines, method, &params);
    let hello = ask("initialize", json!({"protocolVersion": 1}));
    assert_eq!(hello["result"]["agentCapabilities"]["promptCapabilities"]["image"], false);
    let made = ask("session/new", json!({"cwd": stage.repo.path(), "mcpServers": []}));
    let blocks =
        json!([{"type": "text", "text": "see"}, {"type": "image", "data": "aGk=", "mimeType": "image/png"}]);
    let answer = ask("session/prompt", json!({"sessionId": made["result"]["sessionId"], "prompt": blocks}));
    assert_eq!(answer["error"]["code"], -32602);
    assert!(answer["error"]["message"].as_str().unwrap().contains("`image` is not taken"), "{answer}");
    drop(there);
    running.wait().assert_code(0);
}

#[test]
fn wrong_messages_get_the_codes_of_the_protocol() {
    let stage = EditorStage::new("- text: never\n");
    let (mut there, back, running) = stage.start("");
    let mut lines = BufReader::new(back).lines();
    let mut check = |message: &str, code: i64| {
        writeln!(there, "{message}").unwrap();
        let answer: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(answer["error"]["code"], code, "{message}: {answer}");
    };
    let request = |method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string()
    };
    check("{", -32700);
    check("[]", -32600);
    check(&request("session/fly", json!({})), -32601);
    check(&request("session/new", json!({"cwd": "relative"})), -32602);
    check(&request("session/new", json!({"cwd": "/nowhere/at/all"})), -32602);
    check(&request("session/prompt", json!({"sessionId": "t-0", "prompt": []})), -32002);
    check(&request("session/load", json!({"sessionId": "t-00000000000000000000", "cwd": "/"})), -32002);
    check(&request("session/set_mode", json!({"sessionId": "../x", "modeId": "plan"})), -32002);
    // Notifications that mean nothing are no reason to say anything.
    writeln!(there, "{}", json!({"jsonrpc": "2.0", "method": "$/unknown"})).unwrap();
    writeln!(there).unwrap();
    drop(there);
    running.wait().assert_code(0);
    assert!(stage.asked().is_empty());
}

#[test]
fn refusals_say_what_is_wrong() {
    let stage = EditorStage::new("- text: never\n");
    let (mut there, back, running) = stage.start("");
    let mut lines = BufReader::new(back).lines();
    let mut ask = |method: &str, params: Value| ask(&mut there, &mut lines, method, &params);
    let nowhere = ask("session/new", json!({"cwd": "/nowhere/at/all", "mcpServers": []}));
    assert_eq!(nowhere["error"]["message"], "there is no folder `/nowhere/at/all`");
    // Far more than a request may hold: it is refused before all of it was heard.
    let made = ask("session/new", json!({"cwd": stage.repo.path(), "mcpServers": []}));
    let blocks = json!([{"type": "text", "text": "long ".repeat(1_000_000)}]);
    let answer = ask("session/prompt", json!({"sessionId": made["result"]["sessionId"], "prompt": blocks}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let words = answer["error"]["message"].as_str().unwrap();
    assert!(words.contains("large") && !words.contains("gone"), "{words}");
    drop(there);
    running.wait().assert_code(0);
    assert!(stage.asked().is_empty());
}
