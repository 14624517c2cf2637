#![allow(clippy::unwrap_used)]
use super::*;
use crate::serve;
use proptest::prelude::*;

/// Bodies in the shapes that real clients send: a first turn, a reply with two calls and a signed thought, their results.
fn recorded(wire: ClientWire) -> Value {
    match wire {
        ClientWire::Messages => json!({
            "model": "m", "max_tokens": 32000, "stream": true,
            "system": [{"type": "text", "text": "You are.", "cache_control": {"type": "ephemeral"}}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "<system-reminder>x</system-reminder>"}, {"type": "text", "text": "Fix it"}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"},
                    {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "make test"}},
                    {"type": "tool_use", "id": "toolu_2", "name": "Read", "input": {"file_path": "/a"}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Exit code 2\nno", "is_error": true},
                    {"type": "tool_result", "tool_use_id": "toolu_2", "content": [{"type": "text", "text": "1\tx"}], "cache_control": {"type": "ephemeral"}},
                ]},
            ],
            "tools": [{"name": "Bash", "input_schema": {"type": "object"}}],
        }),
        ClientWire::Chat => json!({
            "model": "m", "stream": true,
            "messages": [
                {"role": "system", "content": "You are."},
                {"role": "user", "content": "Fix it"},
                {"role": "assistant", "content": "", "reasoning_content": "Hm.", "tool_calls": [
                    {"id": "call_1", "type": "function", "function": {"name": "bash", "arguments": "{\"command\":\"make test\"}"}},
                    {"id": "call_2", "type": "function", "function": {"name": "read", "arguments": "{}"}},
                ]},
                {"role": "tool", "tool_call_id": "call_1", "content": "no"},
                {"role": "tool", "tool_call_id": "call_2", "content": "x"},
            ],
            "tools": [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}],
        }),
        ClientWire::Responses => json!({
            "model": "m", "stream": true, "store": false, "instructions": "You are.",
            "input": [
                {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "<permissions>"}]},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix it"}]},
                {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbGVk"},
                {"type": "function_call", "call_id": "call_1", "name": "exec_command", "arguments": "{\"cmd\":\"make test\"}"},
                {"type": "custom_tool_call", "call_id": "call_2", "name": "apply_patch", "input": "*** Begin Patch"},
                {"type": "function_call_output", "call_id": "call_1", "output": "no"},
                {"type": "custom_tool_call_output", "call_id": "call_2", "output": "x"},
            ],
            "tools": [{"type": "function", "name": "exec_command", "parameters": {"type": "object"}}],
        }),
        ClientWire::Gemini => json!({
            "systemInstruction": {"role": "user", "parts": [{"text": "You are."}]},
            "contents": [
                {"role": "user", "parts": [{"text": "Fix it"}]},
                {"role": "model", "parts": [
                    {"text": "Hm.", "thought": true, "thoughtSignature": "c2lnbmVk"},
                    {"functionCall": {"id": "call_1", "name": "run_shell_command", "args": {"command": "make test"}}},
                ]},
                {"role": "user", "parts": [{"functionResponse": {"id": "call_1", "name": "run_shell_command", "response": {"output": "no"}}}]},
            ],
            "tools": [{"functionDeclarations": [{"name": "run_shell_command"}]}],
        }),
    }
}

const ALL: [ClientWire; 4] =
    [ClientWire::Messages, ClientWire::Chat, ClientWire::Responses, ClientWire::Gemini];

/// The conversation as text.
fn told(wire: ClientWire, body: &Value) -> String {
    body[key_of(wire)].to_string()
}

/// Whether `after` is `before` with something more at its end: only closing brackets come later in `before`.
fn only_adds(before: &str, after: &str) -> bool {
    let same = before.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
    before[same..].bytes().all(|byte| b"]}".contains(&byte))
}

/// What the model says next, and what is answered.
fn go_on(wire: ClientWire, body: &mut Value, number: usize) {
    let id = format!("next_{number}");
    let more = match wire {
        ClientWire::Messages => vec![
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "Bash", "input": {}}]}),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "y"}]}),
        ],
        ClientWire::Chat => vec![
            json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": {"name": "bash", "arguments": "{}"}}]}),
            json!({"role": "tool", "tool_call_id": id, "content": "y"}),
        ],
        ClientWire::Responses => vec![
            json!({"type": "function_call", "call_id": id, "name": "exec_command", "arguments": "{}"}),
            json!({"type": "function_call_output", "call_id": id, "output": "y"}),
        ],
        ClientWire::Gemini => vec![
            json!({"role": "model", "parts": [{"functionCall": {"id": id, "name": "x", "args": {}}}]}),
            json!({"role": "user", "parts": [{"functionResponse": {"id": id, "name": "x", "response": {}}}]}),
        ],
    };
    body[key_of(wire)].as_array_mut().unwrap().extend(more);
}

fn note(wire: ClientWire, body: &Value, number: u32, text: &str) -> InsertedNote {
    InsertedNote::new(number, last_key(wire, body).unwrap(), text)
}

#[test]
fn a_text_stands_at_the_end_on_every_wire() {
    let text = "[System Recovery] Noticed.";
    for wire in ALL {
        let mut body = recorded(wire);
        let before = body.clone();
        let note = note(wire, &body, 1, text);
        assert_eq!(put(wire, &mut body, std::slice::from_ref(&note)), [1]);
        let last = body[key_of(wire)].as_array().unwrap().last().unwrap().clone();
        match wire {
            ClientWire::Messages => {
                assert_eq!(last["content"].as_array().unwrap().len(), 3);
                assert_eq!(last["content"][2], json!({"type": "text", "text": note.text}));
                assert_eq!(last["content"][1]["cache_control"], json!({"type": "ephemeral"}));
            }
            ClientWire::Chat => assert_eq!(last, json!({"role": "user", "content": note.text})),
            ClientWire::Responses => {
                let content = json!([{"type": "input_text", "text": note.text}]);
                assert_eq!(last, json!({"type": "message", "role": "user", "content": content}));
            }
            ClientWire::Gemini => assert_eq!(last["parts"][1], json!({"text": note.text})),
        }
        assert!(only_adds(&told(wire, &before), &told(wire, &body)), "{wire:?}");
        // Whoever reads it in the common form finds the words last, and everything else as it was.
        let (asked, was) = (serve::read(wire, &body).unwrap(), serve::read(wire, &before).unwrap());
        let words = asked.request.messages.last().unwrap().text();
        assert!(words.ends_with(&note.text) && words.contains(text), "{wire:?}: {words}");
        assert_eq!(asked.request.messages[..2], was.request.messages[..2], "{wire:?}");
    }
}

#[test]
fn plain_words_are_left_in_their_form() {
    let mut body = json!({"messages": [{"role": "user", "content": "Fix it"}]});
    let before = body.clone();
    let note = note(ClientWire::Messages, &body, 1, "x");
    put(ClientWire::Messages, &mut body, &[note]);
    assert_eq!(body["messages"][0], before["messages"][0]);
    assert_eq!(body["messages"][1]["role"], "user");
    let mut body =
        json!({"contents": [{"role": "function", "parts": [{"functionResponse": {"name": "x"}}]}]});
    let note = self::note(ClientWire::Gemini, &body, 1, "x");
    put(ClientWire::Gemini, &mut body, &[note]);
    assert_eq!(body["contents"][1]["role"], "user");
}

#[test]
fn words_of_the_system_after_the_results_are_left_as_they_are() {
    let wire = ClientWire::Messages;
    let mut body = recorded(wire);
    let system = json!({"role": "system", "content": [{"type": "text", "text": "Keep them updated.", "cache_control": {}}]});
    body["messages"].as_array_mut().unwrap().push(system.clone());
    let note = note(wire, &body, 1, "x");
    assert_eq!(put(wire, &mut body, std::slice::from_ref(&note)), [1]);
    let all = body["messages"].as_array().unwrap();
    assert_eq!(all.last().unwrap(), &system);
    assert_eq!(all[2]["content"][2], json!({"type": "text", "text": note.text}));
    // Told in another form, or taken away, they do not take the text along.
    let mut later = recorded(wire);
    go_on(wire, &mut later, 1);
    assert_eq!(put(wire, &mut later, &[note]), [1]);
}

#[test]
fn who_spoke_last_is_the_user_or_nothing_is_put_there() {
    for wire in ALL {
        let mut body = recorded(wire);
        let all = body[key_of(wire)].as_array_mut().unwrap();
        let results = all.iter().rev().take_while(|entry| !is_models(wire, entry)).count();
        all.truncate(all.len() - results);
        assert_eq!(last_key(wire, &body), None, "{wire:?}");
    }
    assert_eq!(last_key(ClientWire::Responses, &json!({"input": "words alone"})), None);
    assert_eq!(last_key(ClientWire::Chat, &json!({})), None);
    let scenery = json!({"messages": [{"role": "system", "content": "You are."}]});
    assert_eq!(last_key(ClientWire::Chat, &scenery), None);
}

#[test]
fn a_turn_that_is_gone_takes_its_text_along() {
    for wire in ALL {
        let body = recorded(wire);
        let note = note(wire, &body, 1, "x");
        let mut other = body.clone();
        let all = other[key_of(wire)].as_array_mut().unwrap();
        all.truncate(2);
        let before = other.clone();
        assert_eq!(put(wire, &mut other, &[note]), [0; 0], "{wire:?}");
        assert_eq!(other, before);
    }
}

proptest! {
    #[test]
    fn what_was_sent_is_only_ever_added_to(
        texts in proptest::collection::vec(proptest::option::of("[a-z\"\\\\{}\\]\n ü]{1,40}"), 1..8),
        wire in 0_usize..4,
    ) {
        let wire = ALL[wire];
        let mut client = recorded(wire);
        let mut notes: Vec<InsertedNote> = Vec::new();
        let mut sent: Option<String> = None;
        for (round, text) in texts.iter().enumerate() {
            if let Some(text) = text {
                notes.push(note(wire, &client, notes.len() as u32 + 1, text));
            }
            let mut body = client.clone();
            let numbers: Vec<u32> = notes.iter().map(|note| note.number).collect();
            prop_assert_eq!(put(wire, &mut body, &notes), numbers);
            let now = told(wire, &body);
            // Each text once, and once only, also when it is put into what holds it already.
            for note in &notes {
                prop_assert_eq!(now.matches(note.mark.as_str()).count(), 1);
            }
            let mut again = body.clone();
            prop_assert_eq!(put(wire, &mut again, &notes), Vec::<u32>::new());
            prop_assert_eq!(&again, &body);
            // Bytes before the newest text are those of the request without it.
            let mut without = client.clone();
            let old = notes.len() - usize::from(text.is_some());
            put(wire, &mut without, &notes[..old]);
            prop_assert!(only_adds(&told(wire, &without), &now));
            // And the whole of what was sent before is the beginning of what is sent now.
            if let Some(sent) = &sent {
                prop_assert!(only_adds(sent, &now), "{}\n{}", sent, now);
            }
            sent = Some(now);
            go_on(wire, &mut client, round);
        }
    }
}
