//! `gemini -o stream-json`.

use holon_core::manifest::UsageTotals;
use serde_json::Value;

use super::{AgentEnd, AgentLineEvents, kind_of, text_of};

pub(super) fn read(line: &Value, told: &mut AgentLineEvents<'_>) {
    match line["type"].as_str() {
        Some("message") if line["role"] == "assistant" => {
            goes_on(told);
            // Pieces of a message follow each other; a call in between begins a new one.
            told.words(&text_of(&line["content"]), line["delta"] == true);
        }
        Some("tool_use") => {
            goes_on(told);
            told.heard.words.clear();
            let name = line["tool_name"].as_str().unwrap_or_default();
            told.call(line["tool_id"].as_str().unwrap_or_default(), name, &line["parameters"]);
        }
        Some("tool_result") => {
            let text = line["output"].as_str().filter(|text| !text.is_empty());
            let text = text.or(line["error"]["message"].as_str()).unwrap_or_default();
            told.result(
                line["tool_id"].as_str().unwrap_or_default(),
                line["status"] == "success",
                text,
                None,
                0,
            );
        }
        // The last line may call this a success, or an error without saying which.
        Some("error") if line["severity"] == "error" => {
            let message = line["message"].as_str().unwrap_or_default();
            told.failed(kind("", message), message);
        }
        Some("error") => told.warn(line["message"].as_str().unwrap_or_default()),
        Some("result") => result(line, told),
        _ => {}
    }
}

/// Whatever went wrong before was not the end.
fn goes_on(told: &mut AgentLineEvents<'_>) {
    told.heard.end = None;
}

/// The last line.
fn result(line: &Value, told: &mut AgentLineEvents<'_>) {
    let count = |key: &str| line["stats"][key].as_u64().unwrap_or(0);
    let cached = count("cached");
    told.heard.usage = UsageTotals {
        input: count("input_tokens").saturating_sub(cached),
        cached,
        output: count("output_tokens"),
        reasoning: 0,
        cost_usd: None,
    };
    if line["status"] == "success" {
        return told.done();
    }
    let error = &line["error"];
    match error["message"].as_str() {
        Some(message) => told.failed(kind(error["type"].as_str().unwrap_or_default(), message), message),
        None if matches!(told.heard.end, Some(AgentEnd::Failed { .. })) => {}
        None => told.failed("agent_failed", "it says that it failed"),
    }
}

/// What kind of failure it is, by the name of its error if that says enough.
fn kind(name: &str, message: &str) -> &'static str {
    match name {
        "FatalAuthenticationError" => "credentials",
        "FatalTurnLimitedError" => "rounds",
        _ if message.to_lowercase().contains("max session turns") => "rounds",
        _ if message.to_lowercase().contains("maximum session turns") => "rounds",
        _ => kind_of(message),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::{AgentEventFormat, AgentEventReader, AgentEventSummary};
    use super::*;

    fn heard(lines: &[Value]) -> AgentEventSummary {
        let mut reader = AgentEventReader {
            format: AgentEventFormat::Gemini,
            classes: [].into(),
            heard: AgentEventSummary::default(),
        };
        lines.iter().for_each(|line| drop(reader.line(&line.to_string()).unwrap()));
        reader.heard().clone()
    }

    fn said(text: &str) -> Value {
        json!({"type": "message", "role": "assistant", "content": text, "delta": true})
    }

    fn success() -> Value {
        json!({"type": "result", "status": "success", "stats": {"input_tokens": 10, "output_tokens": 5, "cached": 4}})
    }

    #[test]
    fn only_the_last_line_is_an_end() {
        let call =
            json!({"type": "tool_use", "tool_name": "replace", "tool_id": "replace__1", "parameters": {}});
        let lines =
            [json!({"type": "init", "model": "m"}), said("First."), call, said("La"), said("st."), success()];
        let all = heard(&lines);
        assert_eq!((all.words.as_str(), all.end, all.calls), ("Last.", Some(AgentEnd::Done), 1));
        assert_eq!((all.usage.input, all.usage.cached, all.usage.output), (6, 4, 5));
        assert_eq!(heard(&lines[..5]).end, None);
    }

    #[test]
    fn failures_are_told_apart() {
        let result = |name: &str, message: &str| json!({"type": "result", "status": "error", "error": {"type": name, "message": message}});
        let error = |message: &str| json!({"type": "error", "severity": "error", "message": message});
        let bare = json!({"type": "result", "status": "error", "stats": {}});
        for (lines, kind, words) in [
            (vec![result("FatalAuthenticationError", "no")], "credentials", "no"),
            (vec![result("FatalTurnLimitedError", "Reached max session turns")], "rounds", "Reached"),
            (vec![result("ApiError", "[API Error: the model refused to answer]")], "refused", "refused"),
            (vec![result("Error", "it broke")], "agent_failed", "it broke"),
            (vec![error("blocked due to safety settings"), bare.clone()], "refused", "blocked"),
            (vec![error("Maximum session turns exceeded"), success()], "rounds", "Maximum"),
            (vec![bare], "agent_failed", "failed"),
        ] {
            let end = heard(&lines).end;
            assert!(
                matches!(&end, Some(AgentEnd::Failed { kind: told, message }) if *told == kind && message.contains(words)),
                "{lines:?}: {end:?}"
            );
        }
        let warning = json!({"type": "error", "severity": "warning", "message": "slow"});
        assert_eq!(heard(&[warning, error("quota"), said("On."), success()]).end, Some(AgentEnd::Done));
    }

    proptest! {
        #[test]
        fn nothing_but_a_last_line_ends_it(
            kinds in prop::collection::vec(prop::sample::select(vec!["init", "message", "tool_use", "tool_result", "odd"]), 0..8),
            text in ".{0,20}", number in any::<i64>(),
        ) {
            let lines: Vec<Value> = kinds
                .iter()
                .map(|kind| json!({
                    "type": kind, "role": "assistant", "content": text, "tool_id": text, "tool_name": number,
                    "parameters": number, "output": text, "status": text, "delta": number % 2 == 0,
                }))
                .collect();
            prop_assert_eq!(heard(&lines).end, None);
            let ended: Vec<Value> = lines.into_iter().chain([success()]).collect();
            prop_assert_eq!(heard(&ended).end, Some(AgentEnd::Done));
        }
    }
}
