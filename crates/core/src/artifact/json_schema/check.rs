//! A value against a schema: problems in words, with their place, bounded in number, depth and time.

use std::collections::{BTreeMap, HashSet};

use regex::Regex;
use serde_json::{Map, Value};

use super::super::ArtifactProblem;
use super::resolve;

/// More than these help nobody.
pub(super) const MOST_PROBLEMS: usize = 20;
/// Deepest way through references and nesting; a schema that refers to itself without end stops here.
const MAX_DEPTH: usize = 256;
/// How many schemas are tried before it is given up: references can multiply.
const MAX_STEPS: usize = 2_000_000;

pub(super) fn problems(
    root: &Value,
    patterns: &BTreeMap<String, Regex>,
    value: &Value,
) -> Vec<ArtifactProblem> {
    let mut checker = SchemaChecker { root, patterns, problems: Vec::new(), steps: 0, gave_up: false };
    checker.check(root, value, &mut String::new(), 0);
    if checker.gave_up {
        let message = "checking it against its schema takes too long or never ends; make the schema simpler";
        return vec![ArtifactProblem::new("", message)];
    }
    checker.problems
}

struct SchemaChecker<'a> {
    root: &'a Value,
    patterns: &'a BTreeMap<String, Regex>,
    problems: Vec<ArtifactProblem>,
    steps: usize,
    gave_up: bool,
}

impl SchemaChecker<'_> {
    fn report(&mut self, place: &str, message: impl Into<String>) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(ArtifactProblem::new(place, message));
        }
    }

    /// Whether a value satisfies a schema, with nothing reported.
    fn satisfies(&mut self, schema: &Value, value: &Value, place: &mut String, depth: usize) -> bool {
        let before = std::mem::take(&mut self.problems);
        self.check(schema, value, place, depth);
        std::mem::replace(&mut self.problems, before).is_empty()
    }

    fn check(&mut self, schema: &Value, value: &Value, place: &mut String, depth: usize) {
        self.steps += 1;
        if depth > MAX_DEPTH || self.steps > MAX_STEPS {
            self.gave_up = true;
        }
        if self.gave_up {
            return;
        }
        let Some(keywords) = schema.as_object() else {
            if *schema == Value::Bool(false) {
                self.report(place, "must not be here");
            }
            return;
        };
        if let Some(to) = keywords.get("$ref").and_then(Value::as_str)
            && let Some(meant) = resolve(self.root, to)
        {
            self.check(meant, value, place, depth + 1);
        }
        self.plain(keywords, value, place);
        self.combined(keywords, value, place, depth);
        match value {
            Value::Object(object) => self.object(keywords, object, place, depth),
            Value::Array(items) => self.array(keywords, items, place, depth),
            Value::String(text) => self.text(keywords, text, place),
            Value::Number(_) => self.number(keywords, value.as_f64().unwrap_or(f64::NAN), place),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn plain(&mut self, keywords: &Map<String, Value>, value: &Value, place: &str) {
        if let Some(wanted) = keywords.get("type") {
            let names: Vec<&str> = match wanted {
                Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
                one => one.as_str().into_iter().collect(),
            };
            if !names.iter().any(|name| is_a(value, name)) {
                self.report(
                    place,
                    format!("must be of type {}, and is {}", names.join(" or "), type_of(value)),
                );
            }
        }
        if let Some(list) = keywords.get("enum").and_then(Value::as_array)
            && !list.iter().any(|one| same(one, value))
        {
            let shown: Vec<String> = list.iter().take(12).map(ToString::to_string).collect();
            self.report(place, format!("must be one of {}", shown.join(", ")));
        }
        if let Some(only) = keywords.get("const").filter(|only| !same(only, value)) {
            self.report(place, format!("must be {only}"));
        }
    }

    fn combined(&mut self, keywords: &Map<String, Value>, value: &Value, place: &mut String, depth: usize) {
        let list = |name: &str| keywords.get(name).and_then(Value::as_array);
        for schema in list("allOf").into_iter().flatten() {
            self.check(schema, value, place, depth + 1);
        }
        if let Some(schemas) = list("anyOf")
            && !schemas.iter().any(|schema| self.satisfies(schema, value, place, depth + 1))
        {
            self.report(place, "fits none of the forms that are allowed (anyOf)");
        }
        if let Some(schemas) = list("oneOf") {
            let fits =
                schemas.iter().filter(|schema| self.satisfies(schema, value, place, depth + 1)).count();
            if fits != 1 {
                self.report(
                    place,
                    format!("fits {fits} of the forms of which exactly one is allowed (oneOf)"),
                );
            }
        }
        if let Some(schema) = keywords.get("not")
            && self.satisfies(schema, value, place, depth + 1)
        {
            self.report(place, "has a form that is not allowed (not)");
        }
        if let Some(condition) = keywords.get("if") {
            let branch = if self.satisfies(condition, value, place, depth + 1) { "then" } else { "else" };
            if let Some(schema) = keywords.get(branch) {
                self.check(schema, value, place, depth + 1);
            }
        }
    }

    fn object(
        &mut self,
        keywords: &Map<String, Value>,
        object: &Map<String, Value>,
        place: &mut String,
        depth: usize,
    ) {
        let missing = |names: &Value| -> Vec<String> {
            let names = names.as_array().into_iter().flatten().filter_map(Value::as_str);
            names.filter(|name| !object.contains_key(*name)).map(str::to_owned).collect()
        };
        for name in keywords.get("required").map(missing).unwrap_or_default() {
            self.report(place, format!("`{name}` is missing"));
        }
        for (name, others) in
            keywords.get("dependentRequired").and_then(Value::as_object).into_iter().flatten()
        {
            for other in object.get(name).map(|_| missing(others)).unwrap_or_default() {
                self.report(place, format!("`{other}` is missing, which `{name}` needs"));
            }
        }
        self.count(keywords, ("minProperties", "maxProperties"), object.len(), "keys", place);
        let named = keywords.get("properties").and_then(Value::as_object);
        let by_pattern = keywords.get("patternProperties").and_then(Value::as_object);
        for (name, value) in object {
            let before = place.len();
            if !place.is_empty() {
                place.push('.');
            }
            place.push_str(name);
            if let Some(schema) = keywords.get("propertyNames") {
                self.check(schema, &Value::String(name.clone()), place, depth + 1);
            }
            let mut known = false;
            if let Some(schema) = named.and_then(|named| named.get(name)) {
                known = true;
                self.check(schema, value, place, depth + 1);
            }
            for (pattern, schema) in by_pattern.into_iter().flatten() {
                if self.matches(pattern, name) {
                    known = true;
                    self.check(schema, value, place, depth + 1);
                }
            }
            match keywords.get("additionalProperties").filter(|_| !known) {
                Some(Value::Bool(false)) => self.report(place, "is no key that is allowed here"),
                Some(schema) => self.check(schema, value, place, depth + 1),
                None => {}
            }
            place.truncate(before);
        }
    }

    fn array(&mut self, keywords: &Map<String, Value>, items: &[Value], place: &mut String, depth: usize) {
        self.count(keywords, ("minItems", "maxItems"), items.len(), "items", place);
        if keywords.get("uniqueItems") == Some(&Value::Bool(true)) {
            let mut seen = HashSet::new();
            if !items.iter().all(|item| seen.insert(canonical(item))) {
                self.report(place, "has the same item twice");
            }
        }
        if let Some(schema) = keywords.get("contains")
            && !items.iter().any(|item| self.satisfies(schema, item, place, depth + 1))
        {
            self.report(place, "has no item of the form that must be among them (contains)");
        }
        let first =
            keywords.get("prefixItems").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for (at, item) in items.iter().enumerate() {
            let Some(schema) = first.get(at).or_else(|| keywords.get("items")) else { continue };
            let before = place.len();
            place.push_str(&format!("[{at}]"));
            self.check(schema, item, place, depth + 1);
            place.truncate(before);
        }
    }

    fn text(&mut self, keywords: &Map<String, Value>, text: &str, place: &str) {
        self.count(keywords, ("minLength", "maxLength"), text.chars().count(), "characters", place);
        if let Some(pattern) = keywords.get("pattern").and_then(Value::as_str)
            && !self.matches(pattern, text)
        {
            self.report(place, format!("does not match `{pattern}`"));
        }
    }

    fn number(&mut self, keywords: &Map<String, Value>, number: f64, place: &str) {
        let bound = |name: &str| keywords.get(name).and_then(Value::as_f64);
        if let Some(least) = bound("minimum").filter(|least| number < *least) {
            self.report(place, format!("must be at least {least}"));
        }
        if let Some(most) = bound("maximum").filter(|most| number > *most) {
            self.report(place, format!("must be at most {most}"));
        }
        if let Some(least) = bound("exclusiveMinimum").filter(|least| number <= *least) {
            self.report(place, format!("must be more than {least}"));
        }
        if let Some(most) = bound("exclusiveMaximum").filter(|most| number >= *most) {
            self.report(place, format!("must be less than {most}"));
        }
        if let Some(part) = bound("multipleOf") {
            let times = number / part;
            if (times - times.round()).abs() > 1e-9 * times.abs().max(1.0) {
                self.report(place, format!("must be a multiple of {part}"));
            }
        }
    }

    fn count(
        &mut self,
        keywords: &Map<String, Value>,
        (least, most): (&str, &str),
        count: usize,
        what: &str,
        place: &str,
    ) {
        let bound = |name: &str| keywords.get(name).and_then(Value::as_u64);
        let count = count as u64;
        if let Some(least) = bound(least).filter(|least| count < *least) {
            self.report(place, format!("has {count} {what}, at least {least} are needed"));
        }
        if let Some(most) = bound(most).filter(|most| count > *most) {
            self.report(place, format!("has {count} {what}, at most {most} are allowed"));
        }
    }

    fn matches(&self, pattern: &str, text: &str) -> bool {
        self.patterns.get(pattern).is_some_and(|compiled| compiled.is_match(text))
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) if is_a(value, "integer") => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
        "number" => value.is_number(),
        other => !value.is_number() && type_of(value) == other,
    }
}

/// Equal as JSON Schema means it: 1 and 1.0 are the same number.
fn same(one: &Value, other: &Value) -> bool {
    one == other || canonical(one) == canonical(other)
}

fn canonical(value: &Value) -> String {
    match value {
        Value::Number(number) if !number.is_i64() && !number.is_u64() => {
            let float = number.as_f64().unwrap_or(f64::NAN);
            if float.fract() == 0.0 && float.abs() < 9e15 { format!("{float:.0}") } else { float.to_string() }
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            let parts =
                keys.iter().map(|key| format!("{}:{}", Value::String((*key).clone()), canonical(&map[*key])));
            format!("{{{}}}", parts.collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}
