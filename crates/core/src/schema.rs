//! JSON Schemas of everything people and programs exchange with Holon, generated from the types.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use crate::artifact::orchestration::{Orchestration, OrchestrationGraph};
use crate::artifact::{
    debug::DebugReport, ethics::EthicsReport, findings::FindingsReport, plan::PlanDocument,
    review::ReviewReport,
};
use crate::event::RunEvent;
use crate::manifest::Manifest;
use crate::mode::ModeFile;
use crate::spec::Spec;

/// A schema's name and the function that makes it.
pub type NamedSchema = (&'static str, fn() -> Value);

const SCHEMAS: &[NamedSchema] = &[
    ("spec", of::<Spec>),
    ("manifest", of::<Manifest>),
    ("plan", of::<PlanDocument>),
    ("review", of::<ReviewReport>),
    ("findings", of::<FindingsReport>),
    ("debug", of::<DebugReport>),
    ("ethics", of::<EthicsReport>),
    ("tasks", of::<OrchestrationGraph>),
    ("orchestration", of::<Orchestration>),
    ("event", of::<RunEvent>),
    ("mode", of::<ModeFile>),
    ("config", crate::config::schema),
];

fn of<T: JsonSchema>() -> Value {
    SchemaGenerator::default().into_root_schema_for::<T>().to_value()
}

/// All schemas, in the order they are listed.
pub fn schemas() -> &'static [NamedSchema] {
    SCHEMAS
}

/// One schema as pretty JSON with a final newline.
pub fn render(name: &str) -> Option<String> {
    let schema = find(name)?;
    serde_json::to_string_pretty(&schema).ok().map(|text| text + "\n")
}

/// One schema in as few bytes as possible, for prompts.
pub fn compact(name: &str) -> Option<String> {
    let mut schema = find(name)?;
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
    }
    serde_json::to_string(&schema).ok()
}

fn find(name: &str) -> Option<Value> {
    SCHEMAS.iter().find(|(known, _)| *known == name).map(|(_, make)| make())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    macro_rules! committed {
        ($($name:literal),*) => { [$(($name, include_str!(concat!("../../../schemas/", $name, ".json")))),*] };
    }

    #[test]
    fn committed_schemas_are_current() {
        let committed = committed![
            "spec",
            "manifest",
            "plan",
            "review",
            "findings",
            "debug",
            "ethics",
            "tasks",
            "orchestration",
            "event",
            "mode",
            "config"
        ];
        assert_eq!(committed.len(), SCHEMAS.len());
        for (name, text) in committed {
            if render(name).as_deref() != Some(text) {
                panic!("schemas/{name}.json is out of date: run `cargo xtask codegen`");
            }
        }
    }

    #[test]
    fn every_public_field_is_described() {
        fn walk(value: &Value, place: &str, missing: &mut Vec<String>) {
            match value {
                Value::Object(map) => {
                    if let Some(Value::Object(properties)) = map.get("properties") {
                        for (name, property) in properties {
                            let plain =
                                property.get("description").is_some() || property.get("$ref").is_some();
                            if !plain && property.get("const").is_none() {
                                missing.push(format!("{place}.{name}"));
                            }
                        }
                    }
                    map.iter().for_each(|(key, inner)| walk(inner, &format!("{place}/{key}"), missing));
                }
                Value::Array(items) => items.iter().for_each(|inner| walk(inner, place, missing)),
                _ => {}
            }
        }
        for (name, make) in SCHEMAS {
            let mut missing = Vec::new();
            walk(&make(), name, &mut missing);
            assert_eq!(missing, Vec::<String>::new());
        }
    }

    #[test]
    fn unknown_names_have_no_schema() {
        assert_eq!(render("nope"), None);
        assert!(compact("review").unwrap().len() < render("review").unwrap().len());
    }
}
