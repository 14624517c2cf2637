#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn problems(schema: Value, value: Value) -> Vec<String> {
    let schema = ArtifactSchema::new(schema).unwrap();
    schema.problems(&value).iter().map(ToString::to_string).collect()
}

#[test]
fn inv_19_every_keyword_that_is_read_is_checked() {
    // Each with a value that satisfies it and one that does not.
    for (schema, good, bad) in [
        (json!({"type": "object"}), json!({}), json!([])),
        (json!({"type": ["string", "null"]}), json!(null), json!(1)),
        (json!({"type": "integer"}), json!(1.0), json!(1.5)),
        (json!({"type": "number"}), json!(1), json!("1")),
        (json!({"enum": [1, "a"]}), json!(1.0), json!("b")),
        (json!({"const": {"a": 1}}), json!({"a": 1.0}), json!({"a": 2})),
        (json!({"required": ["a"]}), json!({"a": 0}), json!({})),
        (json!({"properties": {"a": {"type": "string"}}}), json!({"a": ""}), json!({"a": 1})),
        (json!({"properties": {"a": true}, "additionalProperties": false}), json!({"a": 1}), json!({"b": 1})),
        (json!({"additionalProperties": {"type": "null"}}), json!({"b": null}), json!({"b": 1})),
        (json!({"patternProperties": {"^x": {"type": "null"}}}), json!({"y": 1}), json!({"xy": 1})),
        (json!({"propertyNames": {"maxLength": 1}}), json!({"a": 1}), json!({"ab": 1})),
        (json!({"minProperties": 1}), json!({"a": 1}), json!({})),
        (json!({"maxProperties": 0}), json!({}), json!({"a": 1})),
        (json!({"dependentRequired": {"a": ["b"]}}), json!({"b": 1}), json!({"a": 1})),
        (json!({"items": {"type": "null"}}), json!([null]), json!([1])),
        (json!({"prefixItems": [{"const": 1}], "items": false}), json!([1]), json!([1, 2])),
        (json!({"contains": {"const": 1}}), json!([0, 1]), json!([0])),
        (json!({"minItems": 1}), json!([0]), json!([])),
        (json!({"maxItems": 1}), json!([0]), json!([0, 0])),
        (json!({"uniqueItems": true}), json!([1, 2]), json!([1, 1.0])),
        (json!({"minLength": 2}), json!("äö"), json!("ä")),
        (json!({"maxLength": 1}), json!("ä"), json!("äö")),
        (json!({"pattern": "^a+$"}), json!("aa"), json!("ab")),
        (json!({"minimum": 2}), json!(2), json!(1)),
        (json!({"maximum": 2}), json!(2), json!(3)),
        (json!({"exclusiveMinimum": 2}), json!(3), json!(2)),
        (json!({"exclusiveMaximum": 2}), json!(1), json!(2)),
        (json!({"multipleOf": 0.1}), json!(0.3), json!(0.35)),
        (json!({"allOf": [{"minimum": 1}, {"maximum": 2}]}), json!(1), json!(3)),
        (json!({"anyOf": [{"const": 1}, {"const": 2}]}), json!(2), json!(3)),
        (json!({"oneOf": [{"minimum": 1}, {"minimum": 2}]}), json!(1), json!(2)),
        (json!({"not": {"const": 1}}), json!(2), json!(1)),
        (json!({"if": {"const": 1}, "then": false}), json!(2), json!(1)),
        (json!({"if": {"const": 1}, "else": false}), json!(1), json!(2)),
        (json!({"$ref": "#/$defs/a", "$defs": {"a": {"const": 1}}}), json!(1), json!(2)),
        (json!({"$ref": "#/definitions/a", "definitions": {"a": false}}), json!(null), json!(2)),
    ] {
        let bad_only = schema["$ref"] == json!("#/definitions/a");
        assert!(bad_only || problems(schema.clone(), good).is_empty(), "{schema}");
        assert!(!problems(schema.clone(), bad).is_empty(), "{schema}");
    }
}

#[test]
fn inv_19_what_is_not_checked_is_refused_by_name() {
    for (schema, word) in [
        (json!({"unevaluatedProperties": false}), "unevaluatedProperties"),
        (json!({"properties": {"a": {"tpye": "string"}}}), "#/properties/a: the keyword `tpye`"),
        (json!({"$ref": "https://example.org/x.json"}), "https://example.org/x.json"),
        (json!({"$dynamicRef": "#x"}), "$dynamicRef"),
        (json!({"$ref": "#/$defs/none"}), "leads nowhere"),
        (json!({"pattern": "("}), "pattern"),
        (json!({"type": "text"}), "#/type"),
        (json!({"minLength": -1}), "#/minLength"),
        (json!({"multipleOf": 0}), "#/multipleOf"),
        (json!({"required": [1]}), "#/required"),
        (json!([]), "must be an object"),
    ] {
        let error = ArtifactSchema::new(schema).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn problems_say_where() {
    let schema = json!({"type": "object", "properties": {"rows": {"items": {"required": ["id"]}}}});
    assert_eq!(problems(schema, json!({"rows": [{"id": 1}, {}]})), ["rows[1]: `id` is missing"]);
}

#[test]
fn a_schema_that_never_ends_or_multiplies_is_given_up() {
    let endless = json!({"$ref": "#"});
    assert!(problems(endless, json!(1))[0].contains("takes too long"));
    let mut defs = serde_json::Map::new();
    for n in 0..60 {
        let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
        defs.insert(format!("d{n}"), json!({"allOf": [next.clone(), next]}));
    }
    defs.insert("d60".into(), json!(true));
    let multiplying = json!({"$ref": "#/$defs/d0", "$defs": defs});
    assert!(problems(multiplying, json!(1))[0].contains("takes too long"));
}

#[test]
fn our_own_schemas_are_schemas() {
    for (name, make) in crate::schema::schemas() {
        assert!(ArtifactSchema::new(make()).is_ok(), "{name}: {:?}", ArtifactSchema::new(make()).err());
    }
}

proptest! {
    #[test]
    fn no_schema_and_no_value_makes_it_panic(schema in "[\\x20-\\x7e]{0,80}", value in "[\\x20-\\x7e]{0,40}") {
        if let (Ok(schema), Ok(value)) = (serde_json::from_str(&schema), serde_json::from_str(&value)) {
            let _ = ArtifactSchema::new(schema).map(|schema| schema.problems(&value));
        }
    }
}
