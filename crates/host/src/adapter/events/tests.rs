//! Lines of real agents, and lines of nobody.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::json;

use super::*;

const ALL: [AgentEventFormat; 6] = [
    AgentEventFormat::Claude,
    AgentEventFormat::Codex,
    AgentEventFormat::Opencode,
    AgentEventFormat::Gemini,
    AgentEventFormat::Goose,
    AgentEventFormat::Acp,
];

fn reader(format: AgentEventFormat) -> AgentEventReader {
    let classes = [("Bash".to_owned(), ToolClass::Exec), ("shell".to_owned(), ToolClass::Exec)].into();
    AgentEventReader { format, classes, heard: AgentEventSummary::default() }
}

/// Reads lines; what was told as short words, and what was heard.
fn check(format: AgentEventFormat, lines: &[Value], told: &[&str]) -> AgentEventSummary {
    let mut reader = reader(format);
    let bodies: Vec<EventBody> =
        lines.iter().flat_map(|line| reader.line(&line.to_string()).unwrap()).collect();
    let words: Vec<String> = bodies
        .iter()
        .map(|body| match body {
            EventBody::MessageDelta { text } => format!("says {}", text.trim_end()),
            EventBody::ReasoningDelta { text } => format!("thinks {text}"),
            EventBody::ToolProposed { call, tool, class, summary, .. } => {
                format!("{call} {tool} {class} {}", summary.clone().unwrap_or_default())
            }
            EventBody::ToolFinished { call, ok, exit_code, summary, .. } => {
                format!("{call} ok={ok} {exit_code:?} {}", summary.clone().unwrap_or_default())
            }
            EventBody::Warning { message } => message.clone(),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(words, told);
    reader.heard().clone()
}

#[test]
fn claude_is_understood() {
    let heard = check(
        AgentEventFormat::Claude,
        &[
            json!({"type":"system","subtype":"init","claude_code_version":"2.1.325"}),
            json!({"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"I look."},
                {"type":"tool_use","id":"tu1","name":"Bash","input":{"command":"cat a.txt"}}]},"parent_tool_use_id":null}),
            json!({"type":"user","message":{"role":"user","content":[{"tool_use_id":"tu1","type":"tool_result","content":"hello","is_error":false}]}}),
            json!({"type":"assistant","message":{"content":[{"type":"text","text":"child"}]},"parent_tool_use_id":"tu1"}),
            json!({"type":"assistant","message":{"content":[{"type":"text","text":"Done."}]},"parent_tool_use_id":null}),
            json!({"type":"result","subtype":"success","is_error":false,"result":"Done.","total_cost_usd":0.5,
                "usage":{"input_tokens":30,"cache_creation_input_tokens":1,"cache_read_input_tokens":2,"output_tokens":15}}),
        ],
        &["thinks hm", "says I look.", "tu1 Bash exec cat a.txt", "tu1 ok=true None hello", "says Done."],
    );
    assert_eq!((heard.words.as_str(), &heard.end), ("Done.", &Some(AgentEnd::Done)));
    assert_eq!(heard.version.as_deref(), Some("2.1.325"));
    let usage = UsageTotals { input: 31, cached: 2, output: 15, reasoning: 0, cost_usd: Some(0.5) };
    assert_eq!((heard.usage, heard.calls), (usage, 1));
}

#[test]
fn failures_of_claude_are_told_apart() {
    let end = |line: Value| check(AgentEventFormat::Claude, &[line], &[]).end;
    let failed = |kind, message: &str| Some(AgentEnd::Failed { kind, message: message.to_owned() });
    assert_eq!(
        end(json!({"type":"result","subtype":"success","is_error":true,"result":"API Error: 401 bad key"})),
        failed("credentials", "API Error: 401 bad key")
    );
    assert_eq!(
        end(json!({"type":"result","subtype":"success","is_error":false,"result":"[API Error: 500 broken]"})),
        failed("agent_failed", "[API Error: 500 broken]"),
        "an answer that is none"
    );
    assert_eq!(
        end(json!({"type":"result","subtype":"error_max_turns"})),
        failed("rounds", "error_max_turns")
    );
    assert_eq!(
        end(
            json!({"type":"result","subtype":"success","is_error":false,"stop_reason":"refusal","result":"No."})
        ),
        failed("refused", "No.")
    );
    assert_eq!(
        end(json!({"type":"result","subtype":"error_during_execution","errors":["it broke"]})),
        failed("agent_failed", "it broke")
    );
    assert_eq!(
        end(json!({"type":"assistant","message":{"content":[]}})),
        None,
        "no end without the last line"
    );
}

#[test]
fn codex_is_understood() {
    let heard = check(
        AgentEventFormat::Codex,
        &[
            json!({"type":"thread.started","thread_id":"x"}),
            json!({"type":"item.completed","item":{"id":"item_0","type":"error","message":"no metadata"}}),
            json!({"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"false","status":"in_progress"}}),
            json!({"type":"item.completed","item":{"id":"item_1","type":"command_execution","aggregated_output":"no\n","exit_code":1,"status":"failed"}}),
            json!({"type":"item.completed","item":{"id":"item_2","type":"file_change","changes":[{"path":"a","kind":"add"}],"status":"completed"}}),
            json!({"type":"item.completed","item":{"id":"item_3","type":"agent_message","text":"Done."}}),
            json!({"type":"turn.completed","usage":{"input_tokens":30,"cached_input_tokens":10,"output_tokens":5,"reasoning_output_tokens":2}}),
        ],
        &[
            "the agent says: no metadata",
            "item_1 command_execution unknown false",
            "item_1 ok=false Some(1) no",
            "item_2 file_change unknown a",
            "item_2 ok=true None ",
            "says Done.",
        ],
    );
    assert_eq!((heard.words.as_str(), heard.end), ("Done.", Some(AgentEnd::Done)));
    assert_eq!((heard.usage.input, heard.usage.cached, heard.usage.reasoning), (20, 10, 2));
    let failed = check(
        AgentEventFormat::Codex,
        &[json!({"type":"turn.failed","error":{"message":"unexpected status 401"}})],
        &[],
    );
    assert!(matches!(failed.end, Some(AgentEnd::Failed { kind: "credentials", .. })));
}

#[test]
fn opencode_is_understood() {
    let step = |reason: &str| json!({"type":"step_finish","part":{"reason":reason,"cost":0.25,"tokens":{"input":10,"output":5,"reasoning":1,"cache":{"read":2,"write":3}}}});
    let lines = [
        json!({"type":"step_start","part":{}}),
        json!({"type":"tool_use","part":{"tool":"bash","callID":"c1","state":{"status":"completed","input":{"command":"ls"},"output":"a","metadata":{"exit":0},"time":{"start":5,"end":9}}}}),
        step("tool-calls"),
        json!({"type":"step_start","part":{}}),
        json!({"type":"text","part":{"text":"Done."}}),
        step("stop"),
    ];
    let told = ["c1 bash unknown ls", "c1 ok=true Some(0) a", "says Done."];
    let heard = check(AgentEventFormat::Opencode, &lines, &told);
    assert_eq!((heard.words.as_str(), heard.end), ("Done.", Some(AgentEnd::Done)));
    assert_eq!((heard.usage.input, heard.usage.cached, heard.usage.cost_usd), (26, 4, Some(0.5)));
    assert_eq!(check(AgentEventFormat::Opencode, &lines[..3], &told[..2]).end, None, "calls are no end");
    let refused = check(AgentEventFormat::Opencode, &[step("content-filter")], &[]);
    assert!(matches!(refused.end, Some(AgentEnd::Failed { kind: "refused", .. })));
    let error = json!({"type":"error","error":{"name":"APIError","data":{"message":"nope"}}});
    assert!(matches!(
        check(AgentEventFormat::Opencode, &[error, step("stop")], &[]).end,
        Some(AgentEnd::Failed { .. })
    ));
}

#[test]
fn gemini_and_goose_are_understood() {
    let heard = check(
        AgentEventFormat::Gemini,
        &[
            json!({"type":"init","model":"g"}),
            json!({"type":"message","role":"user","content":"Do it"}),
            json!({"type":"tool_use","tool_name":"shell","tool_id":"s1","parameters":{"command":"ls"}}),
            json!({"type":"tool_result","tool_id":"s1","status":"success","output":"a"}),
            json!({"type":"message","role":"assistant","content":"Do","delta":true}),
            json!({"type":"message","role":"assistant","content":"ne.","delta":true}),
            json!({"type":"result","status":"success","stats":{"input_tokens":10,"cached":4,"output_tokens":5}}),
        ],
        &["s1 shell exec ls", "s1 ok=true None a", "says Do", "says ne."],
    );
    assert_eq!((heard.words.as_str(), heard.end, heard.usage.input), ("Done.", Some(AgentEnd::Done), 6));
    let text = |role: &str, part: Value| json!({"type":"message","message":{"role":role,"content":[part]}});
    let heard = check(
        AgentEventFormat::Goose,
        &[
            text("assistant", json!({"type":"text","text":"Before."})),
            text(
                "assistant",
                json!({"type":"toolRequest","id":"c1","toolCall":{"status":"success","value":{"name":"shell","arguments":{"command":"ls"}}}}),
            ),
            text(
                "user",
                json!({"type":"toolResponse","id":"c1","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"a"}],"structuredContent":{"exit_code":0},"isError":false}}}),
            ),
            text("assistant", json!({"type":"text","text":"Done."})),
            json!({"type":"complete","total_tokens":45,"input_tokens":30,"output_tokens":15}),
        ],
        &["says Before.", "c1 shell exec ls", "c1 ok=true Some(0) a", "says Done."],
    );
    assert_eq!((heard.words.as_str(), heard.end, heard.usage.output), ("Done.", Some(AgentEnd::Done), 15));
}

#[test]
fn the_agent_client_protocol_is_understood() {
    let update = |update: Value| json!({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":update}});
    let chunk = |text: &str| {
        update(json!({"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":text}}))
    };
    let heard = check(
        AgentEventFormat::Acp,
        &[
            json!({"holon":"agent","agentInfo":{"name":"x","version":"3.2.1"}}),
            update(json!({"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}})),
            chunk("I look."),
            update(
                json!({"sessionUpdate":"tool_call","toolCallId":"c1","title":"ls","kind":"shell","status":"pending","rawInput":{"command":"ls"}}),
            ),
            update(json!({"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress"})),
            update(json!({"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"failed",
                "content":[{"type":"content","content":{"type":"text","text":"no"}}]})),
            update(json!({"sessionUpdate":"current_mode_update","currentModeId":"code"})),
            chunk("All "),
            chunk("done."),
            json!({"holon":"end","stopReason":"end_turn"}),
        ],
        &[
            "thinks hm",
            "says I look.",
            "c1 shell exec ls",
            "c1 ok=false None no",
            "the agent says: I changed my own mode to code",
            "says All",
            "says done.",
        ],
    );
    assert_eq!((heard.words.as_str(), &heard.end), ("All done.", &Some(AgentEnd::Done)));
    assert_eq!((heard.version.as_deref(), heard.calls), (Some("3.2.1"), 1));
    for (reason, kind) in [("refusal", "refused"), ("max_turn_requests", "rounds"), ("odd", "agent_failed")] {
        let heard = check(AgentEventFormat::Acp, &[json!({"holon":"end","stopReason":reason})], &[]);
        assert!(matches!(heard.end, Some(AgentEnd::Failed { kind: told, .. }) if told == kind), "{reason}");
    }
}

#[test]
fn ids_of_any_kind_become_ours() {
    for (id, expect) in [
        ("tu1", "tu1"),
        ("", "call-"),
        ("-x", "call--x"),
        ("a b/é", "a-b--"),
        (&"x".repeat(90), &"x".repeat(56)),
    ] {
        assert_eq!(call_id(id).unwrap().as_str(), expect);
    }
}

/// Values in which the words that readers look for turn up in any place.
fn value() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "assistant",
        "user",
        "result",
        "text",
        "tool_use",
        "tool_result",
        "item.completed",
        "item.started",
        "turn.completed",
        "command_execution",
        "step_finish",
        "stop",
        "message",
        "toolRequest",
        "toolResponse",
        "complete",
        "error",
        "é\u{0}\n",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        word.prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        let key = prop::sample::select(vec![
            "type",
            "message",
            "content",
            "part",
            "item",
            "state",
            "usage",
            "tokens",
            "id",
            "name",
            "input",
            "toolCall",
            "value",
            "toolResult",
            "role",
            "status",
            "reason",
            "subtype",
            "result",
            "errors",
            "is_error",
            "time",
            "start",
            "end",
            "changes",
            "items",
            "cost",
            "input_tokens",
            "output_tokens",
            "delta",
            "stats",
            "exit_code",
            "metadata",
            "error",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..8)
                .prop_map(|map| Value::Object(map.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_line_is_too_strange(lines in prop::collection::vec(value(), 1..6), noise in ".{0,80}") {
        for format in ALL {
            let mut reader = reader(format);
            for line in &lines {
                reader.line(&line.to_string());
            }
            reader.line(&noise);
            for line in &lines {
                let text = line.to_string();
                let half = cut(&text, text.len() / 2);
                reader.line(half);
            }
            prop_assert!(reader.heard().words.len() <= MAX_WORDS);
        }
    }
}

#[test]
fn a_call_that_is_only_asked_leave_for_is_told_once() {
    let asked = json!({"method":"session/request_permission","id":1,"params":{"toolCall":{"toolCallId":"c1","kind":"shell","title":"echo two"}}});
    let done = json!({"method":"session/update","params":{"update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed"}}});
    let end = json!({"holon":"end","stopReason":"end_turn"});
    let heard = check(
        AgentEventFormat::Acp,
        &[asked.clone(), done.clone(), end.clone()],
        &["c1 shell exec echo two", "c1 ok=true None "],
    );
    assert_eq!(heard.calls, 1);
    let told = json!({"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","toolCallId":"c1","kind":"shell","title":"echo two"}}});
    let heard = check(
        AgentEventFormat::Acp,
        &[told, asked, done, end],
        &["c1 shell exec echo two", "c1 ok=true None "],
    );
    assert_eq!(heard.calls, 1, "asking leave is no second call");
}

#[test]
fn goose_that_ran_out_of_turns_is_not_done() {
    let words = "I've reached the maximum number of actions I can do without user input. Would you like me to continue?";
    let said =
        json!({"type":"message","message":{"role":"assistant","content":[{"type":"text","text":words}]}});
    let heard =
        check(AgentEventFormat::Goose, &[said, json!({"type":"complete"})], &[&format!("says {words}")]);
    assert!(matches!(heard.end, Some(AgentEnd::Failed { kind: "rounds", .. })), "{:?}", heard.end);
}
