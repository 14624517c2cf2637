//! What the page takes for the server's interface is what the server says it is.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

const CONTRACT: &str = include_str!("../../../web/src/api/contract.ts");
const REQUESTS: [&str; 3] = [
    include_str!("../../../web/src/api/client.ts"),
    include_str!("../../../web/src/api/follow.ts"),
    include_str!("../../../web/src/runs/run-timeline.tsx"),
];

/// Interfaces of the page with the schema each is about.
const PAIRS: [(&str, &str); 12] = [
    ("Thread", "ChatThread"),
    ("Turn", "ChatTurn"),
    ("Usage", "SpentUsage"),
    ("Upload", "UploadInfo"),
    ("ChangedFile", "DiffFile"),
    ("Diff", "ThreadDiff"),
    ("Run", "RunInfo"),
    ("Evidence", "EvidenceText"),
    ("ModeInfo", "ModeInfo"),
    ("AuditPage", "AuditPage"),
    ("AuditVerdict", "AuditCheckReport"),
    ("Info", "ServerInfo"),
];

struct InterfaceField {
    optional: bool,
    kind: String,
}

fn document() -> Value {
    serde_json::from_str(&holon_server::document()).unwrap()
}

/// The fields of an interface, written one in a line.
fn interface(name: &str) -> BTreeMap<String, InterfaceField> {
    let head = format!("export interface {name} {{\n");
    let body = CONTRACT.split(&head).nth(1).unwrap_or_else(|| panic!("no {name} in contract.ts"));
    let body = body.split("\n}").next().unwrap();
    let lines = body.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("/*"));
    lines
        .map(|line| {
            let (name, kind) = line.trim_end_matches(';').split_once(':').unwrap();
            let field = InterfaceField { optional: name.ends_with('?'), kind: kind.trim().to_owned() };
            (name.trim_end_matches('?').to_owned(), field)
        })
        .collect()
}

/// Whether a TypeScript type can hold what a schema allows.
fn fits(kind: &str, schema: &Value) -> bool {
    let bare = kind.trim_end_matches("| null").trim();
    let named: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        _ => vec!["object"],
    };
    named.iter().all(|name| match *name {
        "null" => kind.ends_with("| null"),
        "string" => bare == "string" || bare == "Mode" || bare.starts_with('"'),
        "integer" | "number" => bare == "number",
        "boolean" => bare == "boolean",
        "array" => bare.ends_with("[]"),
        "object" => bare.starts_with(char::is_uppercase) || bare.starts_with('{'),
        _ => false,
    })
}

#[test]
fn the_page_knows_the_servers_shapes() {
    let document = document();
    for (name, schema) in PAIRS {
        let fields = interface(name);
        let schema = &document["components"]["schemas"][schema];
        let properties = schema["properties"].as_object().unwrap();
        let required: BTreeSet<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (field, InterfaceField { optional, kind }) in &fields {
            let property =
                properties.get(field).unwrap_or_else(|| panic!("{name}.{field} is nothing the server sends"));
            let certain = required.contains(field.as_str());
            assert!(certain || *optional || kind.ends_with("| null"), "{name}.{field} may be missing");
            assert!(*optional || fits(kind, property), "{name}.{field}: {kind} does not fit {property}");
        }
        for field in required {
            assert!(fields.contains_key(field), "{name} does not know {field}");
        }
    }
}

/// A path with everything variable folded, and without what follows a question mark.
fn folded(path: &str) -> String {
    let mut out = String::new();
    let mut depth = 0;
    for c in path.chars() {
        match c {
            '{' => {
                depth += 1;
                out.push(if depth == 1 { '*' } else { ' ' });
            }
            '}' => depth -= 1,
            '$' => {}
            '?' if depth == 0 => break,
            c if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out.replace(' ', "")
}

#[test]
fn the_page_asks_for_nothing_the_server_does_not_have() {
    let document = document();
    let known: BTreeSet<String> = document["paths"].as_object().unwrap().keys().map(|p| folded(p)).collect();
    let mut asked = 0;
    for text in REQUESTS {
        for part in text.split(['"', '`']).filter(|part| part.starts_with("/api/")) {
            assert!(known.contains(&folded(part)), "{part}");
            asked += 1;
        }
    }
    assert!(asked > 20, "only {asked} addresses were found");
}
