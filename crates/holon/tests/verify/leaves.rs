//! Every field of a manifest: whoever changes its value or leaves it out is found out.

use std::fs;

use serde_json::Value;

use crate::runs::{FinishedTestRun, change, orchestration, verify};

/// The places of all values in a document, containers included.
fn places(value: &Value, at: &str, all: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.replace('~', "~0").replace('/', "~1"), value)).collect()
        }
        Value::Array(list) => {
            list.iter().enumerate().map(|(number, value)| (number.to_string(), value)).collect()
        }
        _ => return,
    };
    for (name, value) in inner {
        let place = format!("{at}/{name}");
        places(value, &place, all);
        all.push(place);
    }
}

fn changed(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Bool(yes) => Value::Bool(!yes),
        Value::Number(number) => Value::from(number.as_u64()? + 1),
        Value::String(text) => Value::String(format!("{text}0")),
        Value::Null => Value::String("0".into()),
        _ => return None,
    })
}

fn without(mut manifest: Value, place: &str) -> Value {
    let (above, name) = place.rsplit_once('/').unwrap();
    match manifest.pointer_mut(above).unwrap() {
        Value::Object(fields) => drop(fields.remove(&name.replace("~1", "/").replace("~0", "~"))),
        Value::Array(list) => drop(list.remove(name.parse().unwrap())),
        _ => unreachable!("{place}"),
    }
    manifest
}

fn unnoticed(made: &FinishedTestRun) -> Vec<String> {
    made.env.leave_unverified("every field of its manifest is falsified");
    let (path, manifest) = (made.manifest_path(), made.manifest());
    let sound = fs::read(&path).unwrap();
    let mut all = Vec::new();
    places(&manifest, "", &mut all);
    let mut missed = Vec::new();
    for place in &all {
        let other = changed(manifest.pointer(place).unwrap()).map(|value| {
            let mut manifest = manifest.clone();
            *manifest.pointer_mut(place).unwrap() = value;
            ("changed", manifest)
        });
        for (how, lie) in other.into_iter().chain([("left out", without(manifest.clone(), place))]) {
            fs::write(&path, serde_json::to_vec_pretty(&lie).unwrap()).unwrap();
            // One that cannot even be read is found out, too.
            if verify(&made.env, &made.folder).is_ok_and(|found| found.is_empty()) {
                missed.push(format!("{place} {how}"));
            }
        }
    }
    fs::write(&path, sound).unwrap();
    assert_eq!(made.verify(), []);
    assert!(all.len() > 80, "{} values", all.len());
    missed
}

#[test]
fn every_field_that_is_changed_or_left_out_is_noticed() {
    assert_eq!(unnoticed(&change()), Vec::<String>::new());
}

#[test]
fn every_field_of_a_whole_that_is_changed_or_left_out_is_noticed() {
    assert_eq!(unnoticed(&orchestration()), Vec::<String>::new());
}
