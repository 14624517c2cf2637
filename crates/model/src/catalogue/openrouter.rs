//! OpenRouter's list of models, read with patience: its rows are written by many hands.

use serde_json::Value;

use super::CatalogueError;
use super::row::{DataPolicy, ModelRow};
use crate::error::excerpt;
use crate::usage::Prices;

/// The name rows of this catalogue carry as their provider.
pub const OPENROUTER: &str = "openrouter";

/// No price per token is higher than this in US dollars; what is, is a mistake or a price per million.
const HIGHEST_PRICE: f64 = 0.01;

/// The rows of an answer of `/models`; a row without an id is left out, whatever else is odd becomes unknown.
pub fn parse(body: &[u8]) -> Result<Vec<ModelRow>, CatalogueError> {
    let found = || excerpt(&String::from_utf8_lossy(&body[..body.len().min(400)]));
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| CatalogueError::Malformed { problem: error.to_string(), found: found() })?;
    let list = value.get("data").and_then(Value::as_array).ok_or_else(|| CatalogueError::Malformed {
        problem: "there is no list `data`".to_owned(),
        found: found(),
    })?;
    let mut rows: Vec<ModelRow> = list.iter().filter_map(row).collect();
    rows.sort_by(|a, b| a.id.cmp(&b.id));
    rows.dedup_by(|a, b| a.id == b.id);
    if rows.is_empty() {
        return Err(CatalogueError::Malformed { problem: "it lists no model".to_owned(), found: found() });
    }
    Ok(rows)
}

fn row(value: &Value) -> Option<ModelRow> {
    let id = value.get("id")?.as_str()?.trim();
    if id.is_empty() || id.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return None;
    }
    let pricing = value.get("pricing").unwrap_or(&Value::Null);
    let top = value.get("top_provider").unwrap_or(&Value::Null);
    let prices = prices(pricing);
    let parameters = value.get("supported_parameters").and_then(Value::as_array);
    let supports = |names: &[&str]| {
        parameters.map(|list| list.iter().filter_map(Value::as_str).any(|name| names.contains(&name)))
    };
    // The model's own figure and that of the host that serves it: the smaller one is what can be used.
    let context = [tokens(value.get("context_length")), tokens(top.get("context_length"))];
    Some(ModelRow {
        context: context.into_iter().flatten().min(),
        max_output: tokens(top.get("max_completion_tokens")),
        request_price: price(pricing.get("request")).unwrap_or(0.0),
        tools: supports(&["tools"]),
        reasoning: supports(&["reasoning", "include_reasoning"]),
        structured: supports(&["structured_outputs"]),
        text_output: answers_in_text(value.get("architecture").unwrap_or(&Value::Null)),
        moderated: top.get("is_moderated").and_then(Value::as_bool).unwrap_or(false),
        router: id.starts_with("openrouter/") || asks_per_request(pricing),
        free: id.ends_with(":free") || prices.is_some_and(|p| p.input == 0.0 && p.output == 0.0),
        data: DataPolicy::Any,
        created: value.get("created").and_then(Value::as_i64).filter(|seconds| *seconds > 0),
        prices,
        ..ModelRow::new(OPENROUTER, id)
    })
}

/// Routers say "-1" where a price should be.
fn asks_per_request(pricing: &Value) -> bool {
    ["prompt", "completion"].iter().any(|key| number(pricing.get(*key)).is_some_and(|price| price < 0.0))
}

fn prices(pricing: &Value) -> Option<Prices> {
    let mut output = price(pricing.get("completion"))?;
    // Thoughts are counted as output; where they cost more, so does the bucket they are in.
    if let Some(thoughts) = price(pricing.get("internal_reasoning")) {
        output = output.max(thoughts);
    }
    Some(Prices {
        input: price(pricing.get("prompt"))?,
        output,
        cache_read: price(pricing.get("input_cache_read")),
        cache_write: price(pricing.get("input_cache_write")),
    })
}

/// A price that can be one.
fn price(value: Option<&Value>) -> Option<f64> {
    number(value).filter(|price| (0.0..=HIGHEST_PRICE).contains(price))
}

/// Numbers come as text, or as numbers.
fn number(value: Option<&Value>) -> Option<f64> {
    let number = match value? {
        Value::String(text) => text.trim().parse().ok()?,
        Value::Number(number) => number.as_f64()?,
        _ => return None,
    };
    number.is_finite().then_some(number)
}

fn tokens(value: Option<&Value>) -> Option<u64> {
    let count = match value? {
        Value::Number(number) if number.is_u64() => number.as_u64()?,
        other => {
            let number = number(Some(other))?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the range is checked"
            )]
            let whole = if (0.0..1e15).contains(&number) { number as u64 } else { return None };
            whole
        }
    };
    (count > 0).then_some(count)
}

/// By the list of outputs, else by the older `text->text`; text unless something else is said.
fn answers_in_text(architecture: &Value) -> bool {
    if let Some(outputs) = architecture.get("output_modalities").and_then(Value::as_array) {
        return outputs.iter().any(|output| output == "text");
    }
    match architecture.get("modality").and_then(Value::as_str).and_then(|m| m.split_once("->")) {
        Some((_, output)) => output.split('+').any(|one| one == "text"),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn one(row: Value) -> ModelRow {
        parse(json!({"data": [row]}).to_string().as_bytes()).unwrap().remove(0)
    }

    #[test]
    fn a_whole_row() {
        let row = one(json!({
            "id": "maker/model", "name": "Maker: Model", "created": 1790000000, "context_length": 200000,
            "architecture": {"output_modalities": ["text"], "tokenizer": "Other"},
            "pricing": {"prompt": "0.000003", "completion": "0.000015", "request": "0", "image": "0.0048",
                "input_cache_read": "0.0000003", "input_cache_write": "0.00000375"},
            "top_provider": {"context_length": 128000, "max_completion_tokens": 64000, "is_moderated": true},
            "supported_parameters": ["tools", "tool_choice", "reasoning", "include_reasoning", "structured_outputs"],
            "per_request_limits": null, "something_new": {"deep": []},
        }));
        assert_eq!((row.context, row.max_output), (Some(128_000), Some(64_000)));
        let prices = row.prices.unwrap();
        assert_eq!((prices.input, prices.output), (3e-6, 1.5e-5));
        assert_eq!((prices.cache_read, prices.cache_write), (Some(3e-7), Some(3.75e-6)));
        assert_eq!((row.tools, row.reasoning, row.structured), (Some(true), Some(true), Some(true)));
        assert!(row.text_output && row.moderated && !row.router && !row.free);
        assert_eq!(row.created, Some(1_790_000_000));
        assert!((row.blended_price().unwrap() - 6.0).abs() < 1e-9);
    }

    #[test]
    fn every_trap() {
        let check = |row: Value, expect: fn(&ModelRow) -> bool| {
            let row = one(row);
            assert!(expect(&row), "{row:?}");
        };
        check(json!({"id": "openrouter/auto", "pricing": {"prompt": "-1", "completion": "-1"}}), |row| {
            row.router && row.prices.is_none() && !row.free
        });
        check(json!({"id": "a/b", "pricing": {"prompt": "-1", "completion": "-1"}}), |row| row.router);
        check(json!({"id": "a/b:free", "pricing": {"prompt": "0", "completion": "0"}}), |row| row.free);
        check(json!({"id": "a/b", "pricing": {"prompt": "0", "completion": "0"}}), |row| row.free);
        check(json!({"id": "a/b"}), |row| {
            row.text_output && row.tools.is_none() && row.prices.is_none() && row.context.is_none()
        });
        check(
            json!({"id": "a/b", "context_length": null, "top_provider": {"context_length": 8192, "max_completion_tokens": null}}),
            |row| row.context == Some(8192) && row.max_output.is_none(),
        );
        check(json!({"id": "a/b", "context_length": 0, "top_provider": null}), |row| row.context.is_none());
        check(json!({"id": "a/b", "context_length": "32768"}), |row| row.context == Some(32_768));
        check(json!({"id": "a/b", "pricing": {"prompt": 1e-6, "completion": 2e-6}}), |row| {
            row.prices.is_some()
        });
        check(json!({"id": "a/b", "pricing": {"prompt": "3", "completion": "15"}}), |row| {
            row.prices.is_none()
        });
        check(json!({"id": "a/b", "pricing": {"prompt": "NaN", "completion": "inf"}}), |row| {
            row.prices.is_none()
        });
        check(
            json!({"id": "a/b", "pricing": {"prompt": "0.000001", "completion": "0.000002", "internal_reasoning": "0.000008"}}),
            |row| row.prices.is_some_and(|prices| prices.output == 8e-6),
        );
        check(json!({"id": "a/b", "supported_parameters": ["max_tokens"]}), |row| row.tools == Some(false));
        check(json!({"id": "a/b", "supported_parameters": null}), |row| row.tools.is_none());
        check(json!({"id": "a/b", "architecture": {"output_modalities": ["image"]}}), |row| !row.text_output);
        check(json!({"id": "a/b", "architecture": {"modality": "text+image->text"}}), |row| row.text_output);
        check(json!({"id": "a/b", "architecture": {"modality": "text->image"}}), |row| !row.text_output);
    }

    #[test]
    fn rows_without_an_id_are_left_out_and_the_rest_is_in_order() {
        let body = json!({"data": [
            {"id": "z/z"}, {"name": "no id"}, 7, null, {"id": ""}, {"id": "a b"}, {"id": "a/a"}, {"id": "z/z"},
        ]});
        let ids: Vec<String> =
            parse(body.to_string().as_bytes()).unwrap().into_iter().map(|r| r.id).collect();
        assert_eq!(ids, ["a/a", "z/z"]);
    }

    #[test]
    fn what_is_no_catalogue_is_refused_with_a_look_at_it() {
        for body in [
            "",
            "<html>busy</html>",
            "[]",
            "{\"data\": {}}",
            "{\"error\": {\"code\": 503}}",
            "{\"data\": []}",
        ] {
            let error = parse(body.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(body), "{error}");
        }
    }

    /// Any JSON, with the field names of a row more often than chance would have it.
    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(|n| json!(n)),
            "[-0-9.e]{0,8}".prop_map(Value::from),
            "\\PC{0,12}".prop_map(Value::from),
            Just(json!("-1")),
        ];
        let key = prop_oneof![
            Just("id".to_owned()),
            Just("pricing".to_owned()),
            Just("prompt".to_owned()),
            Just("completion".to_owned()),
            Just("top_provider".to_owned()),
            Just("context_length".to_owned()),
            Just("architecture".to_owned()),
            Just("supported_parameters".to_owned()),
            "[a-z]{1,6}",
        ];
        leaf.prop_recursive(4, 48, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(key.clone(), inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_answer_makes_it_stumble(rows in prop::collection::vec(any_json(), 0..6)) {
            if let Ok(rows) = parse(json!({"data": rows}).to_string().as_bytes()) {
                for row in rows {
                    prop_assert!(!row.id.is_empty());
                    prop_assert!(row.context != Some(0) && row.max_output != Some(0));
                    if let Some(prices) = row.prices {
                        prop_assert!(prices.input >= 0.0 && prices.output.is_finite());
                    }
                }
            }
        }

        #[test]
        fn no_bytes_make_it_stumble(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }
    }
}
