#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use holon_core::redact::Redactor;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::cancel::ModelCancel;
use crate::error::ModelErrorKind;
use crate::message::{MessagePart, ModelMessage, Seal, ToolResult};
use crate::provider::{BlockingProvider, Provider};
use crate::reply::{ModelReply, ReplyDelta};
use crate::request::{ModelRequest, ToolSpec};
use crate::wire::WireFormat;

fn read(text: &str) -> Cassette {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn ask(
    provider: &impl Provider,
    request: &ModelRequest,
) -> (Vec<ReplyDelta>, Result<ModelReply, ModelError>) {
    let mut deltas = Vec::new();
    let mut sink = |delta| deltas.push(delta);
    let blocking = BlockingProvider::new(provider).unwrap();
    let reply = blocking.stream(request, &mut sink, &ModelCancel::default());
    (deltas, reply)
}

impl<P: Provider + ?Sized> Provider for &P {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn stream<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a mut dyn crate::DeltaSink,
        cancel: &'a ModelCancel,
    ) -> crate::provider::PendingReply<'a> {
        (**self).stream(request, sink, cancel)
    }
}

#[test]
fn the_short_forms_say_what_they_look_like() {
    let cassette = read(
        "# by hand
- text: Let me look.
  tool: read_file
  args: { path: src/lib.rs }
- reasoning: hm
  tools:
    - edit_file: { path: a.rs, old: x, new: y }
    - ls:
    - tool: { path: 1 }
- error: rate_limit
- error: { kind: overloaded, message: busy, status: 529, retry_after: 2s }
- text: half
  cut: true
- reply: [{ text: a }, { delay: 20ms }, { text: b }, { tool: ls, id: call_7, raw: '{oops' }]
  stop: max_tokens
  usage: { input: 10, output: 5, cost_usd: 0.25 }
",
    );
    let outcomes: Vec<_> = cassette.turns.iter().enumerate().map(|(n, turn)| turn.outcome(n + 1)).collect();
    let first = outcomes[0].as_ref().unwrap();
    assert_eq!(first.text(), "Let me look.");
    let call = first.calls().next().unwrap();
    assert_eq!((call.id.as_str(), call.arguments.as_str()), ("call_1_1", r#"{"path":"src/lib.rs"}"#));
    assert_eq!(first.stop, ReplyStop::ToolUse);
    let names: Vec<_> =
        outcomes[1].as_ref().unwrap().calls().map(|c| (c.name.clone(), c.arguments.clone())).collect();
    let expect =
        [("edit_file", r#"{"path":"a.rs","old":"x","new":"y"}"#), ("ls", "{}"), ("tool", r#"{"path":1}"#)];
    assert_eq!(names, expect.map(|(name, arguments)| (name.to_owned(), arguments.to_owned())));
    assert_eq!(outcomes[2].as_ref().unwrap_err().kind, ModelErrorKind::RateLimit);
    let busy = outcomes[3].as_ref().unwrap_err();
    assert_eq!((busy.status, busy.retry_after), (Some(529), Some(Duration::from_secs(2))));
    assert_eq!(outcomes[4].as_ref().unwrap_err().kind, ModelErrorKind::Cut);
    let last = outcomes[5].as_ref().unwrap();
    assert_eq!(
        (last.text().as_str(), last.stop, last.usage.unwrap().cost_usd),
        ("ab", ReplyStop::MaxTokens, Some(0.25))
    );
    assert_eq!(last.calls().next().unwrap().arguments, "{oops");
    assert_eq!(read("# nothing\n\n").turns.len(), 0);
}

#[test]
fn mistakes_are_pointed_out() {
    for (text, words) in [
        ("- txt: x\n", "txt"),
        ("- text: a\n  args: {a: 1}\n", "`args` without `tool`"),
        ("- tool: [a]\n", "tool: NAME"),
        ("- reply: [{text: a}]\n  text: b\n", "not both"),
        ("- reply: [{text: a, tool: b}]\n", "one thing"),
        ("- reply: [{cut: true}, {text: a}]\n", "nothing can follow"),
        ("- text: a\n- text: b\n  tool: {a: 1, b: 2}\n", "turn 2"),
        ("text: a\n", "cannot be read"),
        ("- error: whatever\n", "cannot be read"),
        ("- text: a\n  text: b\n", "cannot be read"),
    ] {
        let error = text.parse::<Cassette>().unwrap_err().to_string();
        assert!(error.contains(words), "{text}: {error}");
    }
}

#[test]
fn replay_delivers_pieces_and_then_the_reply() {
    let replay = ReplayProvider::new(
        read("- reply: [{reasoning: r}, {text: t}, {tool: ls, args: {a: 1}}]\n"),
        Normaliser::default(),
    );
    let (deltas, reply) = ask(&replay, &ModelRequest::new("m", "hi"));
    assert_eq!(
        deltas,
        [
            ReplyDelta::Reasoning("r".into()),
            ReplyDelta::Text("t".into()),
            ReplyDelta::CallStarted { index: 0, name: "ls".into() },
            ReplyDelta::CallArguments { index: 0, text: r#"{"a":1}"#.into() },
        ]
    );
    assert_eq!(reply.unwrap().stop, ReplyStop::ToolUse);
    assert_eq!(replay.left(), 0);
    let (_, over) = ask(&replay, &ModelRequest::new("m", "more"));
    let over = over.unwrap_err();
    assert_eq!(over.kind, ModelErrorKind::Replay);
    assert!(over.to_string().contains("ends after 1 turns") && over.to_string().contains("`more`"), "{over}");
}

#[test]
fn expectations_about_the_request() {
    let check = |expect: &str, words: Option<&str>| {
        let replay =
            ReplayProvider::new(read(&format!("- expect: {expect}\n  text: ok\n")), Normaliser::default());
        let mut request = ModelRequest::new("m", "first");
        request.tools = vec![ToolSpec::new("b", "", json!({})), ToolSpec::new("a", "", json!({}))];
        request.messages.push(ModelMessage::results([ToolResult::ok("1", "the result")]));
        let outcome = ask(&replay, &request).1;
        match words {
            None => assert_eq!(outcome.unwrap().text(), "ok", "{expect}"),
            Some(words) => {
                let error = outcome.unwrap_err().to_string();
                assert!(error.contains(words) && error.contains("request 1"), "{expect}: {error}");
            }
        }
    };
    check("{ contains: first, last: [the, result], lacks: nothing, tools: [a, b], model: m }", None);
    check("{ contains: second }", Some("should contain `second`"));
    check("{ last: first }", Some("last message should contain `first`"));
    check("{ lacks: result }", Some("should not contain `result`"));
    check("{ tools: [a] }", Some("should offer the tools"));
    check("{ model: x }", Some("should be for the model `x`"));
}

/// Records a conversation with a cassette as the model and gives the recording and the replies.
fn recorded(
    source: Cassette,
    requests: &[ModelRequest],
    normaliser: Normaliser,
) -> (String, Vec<Result<ModelReply, ModelError>>) {
    let tape = Arc::new(Mutex::new(String::new()));
    let writes = Arc::clone(&tape);
    let replay = ReplayProvider::new(source, Normaliser::default());
    let recorder = RecordingProvider::new(replay, normaliser, move |text| {
        writes.lock().unwrap().push_str(text);
        Ok(())
    });
    let replies = requests.iter().map(|request| ask(&recorder, request).1).collect();
    assert_eq!(recorder.problem(), None);
    let text = tape.lock().unwrap().clone();
    (text, replies)
}

fn conversation() -> [ModelRequest; 3] {
    let mut first = ModelRequest::new("m", "Fix the test.");
    first.system = "Be brief.\nBe right.".into();
    let mut second = first.clone();
    second.messages.push(ModelMessage::assistant("Reading."));
    second.messages.push(ModelMessage::user("line one\nline two"));
    let mut third = second.clone();
    third.messages.push(ModelMessage::user("again"));
    [first, second, third]
}

#[test]
fn a_recording_replays_to_the_same_replies_and_reads_well() {
    let source = "
- reply:
    - reasoning: hm
      seal: { wire: messages, value: { signature: abc } }
    - text: \"Two\\nlines\"
    - tool: write_file
      id: toolu_1
      args: { path: a.md, content: \"# A\\n\\nText\\n\", n: 3 }
    - { tool: odd, id: toolu_2, raw: '{ \"a\" : 1.50 }' }
  usage: { input: 10, cache_read: 3, cost_usd: 0.0125 }
  id: msg_1
  model: claude
- text: half
  cut: true
- text: done
";
    let requests = conversation();
    let (tape, replies) = recorded(read(source), &requests, Normaliser::default());
    assert_eq!(
        tape,
        r#"# A conversation with a model, recorded. Without its `request` a turn matches by its order alone.
- request:
    digest: "DIGEST-1"
    keeps: 0
    text: |
      model m
      system
        Be brief.
        Be right.
      user
        Fix the test.
  reply:
    - reasoning: "hm"
      seal:
        wire: "messages"
        value: {"signature": "abc"}
    - text: |-
        Two
        lines
    - tool: "write_file"
      id: "toolu_1"
      args:
        path: "a.md"
        content: |
          # A

          Text
        "n": 3
    - tool: "odd"
      id: "toolu_2"
      raw: "{ \"a\" : 1.50 }"
  stop: "tool_use"
  usage: {"input": 10, "cache_read": 3, "cost_usd": 0.0125}
  id: "msg_1"
  model: "claude"
- request:
    digest: "DIGEST-2"
    keeps: 6
    text: |
      assistant
        Reading.
      user
        line one
        line two
  reply:
    - text: "half"
    - error: {"kind": "cut", "message": "the stream ended without its end, as the cassette says"}
- request:
    digest: "DIGEST-3"
    keeps: 11
    text: |
      user
        again
  reply:
    - text: "done"
  stop: "end_turn"
"#
        .replace("DIGEST-1", &read(&tape).turns[0].asked.as_ref().unwrap().digest)
        .replace("DIGEST-2", &read(&tape).turns[1].asked.as_ref().unwrap().digest)
        .replace("DIGEST-3", &read(&tape).turns[2].asked.as_ref().unwrap().digest)
    );
    let replay = ReplayProvider::new(read(&tape), Normaliser::default());
    for (request, reply) in requests.iter().zip(replies) {
        assert_eq!(ask(&replay, request).1, reply);
    }
}

#[test]
fn the_first_difference_stops_a_replay_and_is_shown() {
    let requests = conversation();
    let (tape, _) = recorded(read("- text: a\n- text: b\n- text: c\n"), &requests, Normaliser::default());
    let replay = ReplayProvider::new(read(&tape), Normaliser::default());
    ask(&replay, &requests[0]).1.unwrap();
    let mut other = requests[1].clone();
    other.messages[2] = ModelMessage::user("line one\nline 2");
    let error = ask(&replay, &other).1.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Replay);
    let text = error.to_string();
    assert!(text.contains("request 2") && text.contains("-   line two\n+   line 2\n"), "{text}");
    // Without its request the turn matches by order.
    let mut loose = read(&tape);
    loose.turns[1].asked = None;
    let replay = ReplayProvider::new(loose, Normaliser::default());
    ask(&replay, &requests[0]).1.unwrap();
    assert_eq!(ask(&replay, &other).1.unwrap().text(), "b");
}

#[test]
fn a_redacted_recording_replays_against_its_own_redacted_replies() {
    let normaliser = Normaliser::new(Redactor::new([("key", "s3cret-value-1")]));
    let first = ModelRequest::new("m", "my key is s3cret-value-1");
    let mut second = first.clone();
    second.messages.push(ModelMessage::assistant("you said s3cret-value-1"));
    second.messages.push(ModelMessage::user("yes"));
    let source = read("- text: you said s3cret-value-1\n- text: bye\n");
    let (tape, _) = recorded(source, &[first.clone(), second.clone()], normaliser.clone());
    assert!(!tape.contains("s3cret-value-1"), "{tape}");
    let replay = ReplayProvider::new(read(&tape), normaliser);
    let reply = ask(&replay, &first).1.unwrap();
    assert_eq!(reply.text(), "you said [redacted:key]");
    second.messages[1] = reply.message();
    assert_eq!(ask(&replay, &second).1.unwrap().text(), "bye");
}

#[tokio::test(start_paused = true)]
async fn requests_side_by_side_are_recorded_in_the_order_they_began_and_replayed_in_any() {
    let tape = Arc::new(Mutex::new(String::new()));
    let writes = Arc::clone(&tape);
    let source = read("- reply: [{delay: 2s}, {text: slow}]\n- text: quick\n- reply: [{delay: 1h}]\n");
    let recorder = RecordingProvider::new(
        ReplayProvider::new(source, Normaliser::default()),
        Normaliser::default(),
        move |text| {
            writes.lock().unwrap().push_str(text);
            Ok(())
        },
    );
    let (one, two) = (ModelRequest::new("m", "one"), ModelRequest::new("m", "two"));
    let cancel = ModelCancel::default();
    let (mut first_sink, mut second_sink, mut third_sink) =
        (|_: ReplyDelta| {}, |_: ReplyDelta| {}, |_: ReplyDelta| {});
    let first = recorder.stream(&one, &mut first_sink, &cancel);
    let second = recorder.stream(&two, &mut second_sink, &cancel);
    let (first, second) = tokio::join!(first, second);
    assert_eq!((first.unwrap().text(), second.unwrap().text()), ("slow".to_owned(), "quick".to_owned()));
    // A request that is given up leaves no gap.
    let given_up = recorder.stream(&one, &mut third_sink, &cancel);
    assert!(tokio::time::timeout(Duration::from_secs(1), given_up).await.is_err());
    let recorded = read(&tape.lock().unwrap());
    assert_eq!(
        recorded.turns.iter().map(|t| t.outcome(1).unwrap().text()).collect::<Vec<_>>(),
        ["slow", "quick"]
    );
    let replay = ReplayProvider::new(recorded, Normaliser::default());
    let mut sink = |_: ReplyDelta| {};
    assert_eq!(replay.stream(&two, &mut sink, &cancel).await.unwrap().text(), "quick");
    assert_eq!(replay.left(), 1);
    assert_eq!(replay.stream(&one, &mut sink, &cancel).await.unwrap().text(), "slow");
}

#[test]
fn a_full_disk_does_not_stop_the_run() {
    let recorder = RecordingProvider::new(
        ReplayProvider::new(read("- text: a\n"), Normaliser::default()),
        Normaliser::default(),
        |_| Err(std::io::Error::other("disk full")),
    );
    assert_eq!(ask(&recorder, &ModelRequest::new("m", "x")).1.unwrap().text(), "a");
    assert!(recorder.problem().unwrap().contains("disk full"));
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        r"[a-z:#'\x22\\\-|>&*!%@`{}\[\],?~ \n\t]{0,24}",
        r"[ \n]{0,4}[a-z]{0,3}\n{0,3}",
        any::<String>(),
        Just("true".to_owned()),
        Just("1.0".to_owned()),
        Just("null".to_owned()),
        Just("\u{feff}a\u{2028}\u{85}\r\n\u{7f}".to_owned()),
    ]
}

fn arguments() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|b| json!(b)),
        any::<i64>().prop_map(|n| json!(n)),
        any::<u64>().prop_map(|n| json!(n)),
        any::<f64>().prop_map(|n| json!(n)),
        text().prop_map(|t| json!(t)),
    ];
    let value = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|list| json!(list)),
            prop::collection::btree_map(text(), inner, 0..4).prop_map(|map| json!(map)),
        ]
    });
    prop_oneof![
        prop::collection::btree_map(text(), value, 0..4).prop_map(|map| json!(map).to_string()),
        text()
    ]
}

fn step() -> impl Strategy<Value = CassetteStep> {
    prop_oneof![
        text().prop_map(CassetteStep::Text),
        (text(), prop::option::of(text())).prop_map(|(text, seal)| CassetteStep::Reasoning(Reasoning {
            text,
            seal: seal.map(|value| Seal { wire: WireFormat::Chat, value: json!([{"data": value}]) }),
        })),
        (prop::option::of(text()), text(), arguments(), any::<bool>()).prop_map(
            |(id, name, arguments, custom)| CassetteStep::Call(CassetteCall { id, name, arguments, custom })
        ),
        (0u64..5000).prop_map(|ms| CassetteStep::Delay(Duration::from_millis(ms))),
    ]
}

fn turn() -> impl Strategy<Value = CassetteTurn> {
    let expect = (prop::collection::vec(text(), 0..3), prop::option::of(prop::collection::vec(text(), 0..3)));
    let asked = prop::option::of((text(), 0usize..9).prop_map(|(text, keeps)| RecordedRequest {
        digest: "d".into(),
        keeps,
        text,
    }));
    (expect, asked, prop::collection::vec(step(), 0..4), prop::option::of(text()), any::<bool>()).prop_map(
        |((contains, tools), asked, mut steps, id, cut)| {
            if cut {
                let error =
                    ModelError { retry_after: Some(Duration::from_millis(1500)), ..ModelError::cut("x") };
                steps.push(if id.is_some() { CassetteStep::Error(error) } else { CassetteStep::Cut });
            }
            CassetteTurn {
                expect: TurnExpectation { contains, tools, ..TurnExpectation::default() },
                asked,
                steps,
                stop: Some(ReplyStop::Pause),
                usage: Some(TokenUsage { input: 3, cost_usd: Some(1e-7), ..TokenUsage::default() }),
                id,
                model: None,
                window: Some(4096),
            }
        },
    )
}

proptest! {
    #[test]
    fn any_cassette_is_read_back_as_it_was(turns in prop::collection::vec(turn(), 0..3)) {
        let cassette = Cassette { turns };
        let yaml = cassette.to_yaml();
        match yaml.parse::<Cassette>() {
            Ok(back) => prop_assert_eq!(back, cassette, "{}", yaml),
            Err(error) => return Err(TestCaseError::fail(format!("{error}\n{yaml}"))),
        }
    }

    #[test]
    fn any_text_is_survived(text in r"(- |text: |reply:|tool: |args:|\n|  |[{}\[\]a:|&*]){0,20}") {
        let _ = text.parse::<Cassette>();
    }

    #[test]
    fn no_secret_survives_a_recording(
        secret in r"[A-Za-z0-9+/=]{12,30}",
        place in 0usize..7,
        around in r"[a-z \n\x22]{0,6}",
    ) {
        let said = format!("{around}{secret}{around}");
        let call = |arguments: String| CassetteStep::Call(CassetteCall { id: Some("c".into()), name: "t".into(), arguments, custom: false });
        let step = match place {
            0 => CassetteStep::Text(said.clone()),
            1 => CassetteStep::Reasoning(Reasoning { text: said.clone(), seal: None }),
            2 => CassetteStep::Reasoning(Reasoning {
                text: String::new(),
                seal: Some(Seal { wire: WireFormat::Chat, value: json!({"a": [said.clone()], said.clone(): 1}) }),
            }),
            3 => call(json!({"a": {"b": said.clone()}}).to_string()),
            4 => call(format!("{{ broken {said}")),
            5 => call(json!({said.clone(): 1}).to_string()),
            _ => CassetteStep::Error(ModelError::new(ModelErrorKind::BadRequest, said.clone())),
        };
        let turn = CassetteTurn { steps: vec![step], id: Some(said.clone()), model: Some(said.clone()), ..CassetteTurn::default() };
        let mut request = ModelRequest::new("m", said.clone());
        request.messages.push(ModelMessage { role: crate::Role::Assistant, parts: vec![
            MessagePart::Call(crate::ToolCall::new("c", "t", json!({"x": said.clone()}).to_string())),
        ] });
        request.messages.push(ModelMessage::results([ToolResult::ok("c", said)]));
        let normaliser = Normaliser::new(Redactor::new([("key", secret.as_str())]));
        let (tape, _) = recorded(Cassette { turns: vec![turn] }, &[request], normaliser);
        prop_assert!(!tape.contains(&secret), "{}", tape);
        prop_assert!(tape.parse::<Cassette>().is_ok(), "{}", tape);
    }
}
