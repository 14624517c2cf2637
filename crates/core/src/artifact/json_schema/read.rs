//! Reading a schema: every keyword is known, every reference leads somewhere, every pattern compiles.

use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::{SchemaError, resolve};

/// Longest nesting of a schema.
const MAX_DEPTH: usize = 64;
/// The largest compiled pattern, in bytes.
const MAX_PATTERN: usize = 1 << 20;

/// What a keyword's value is made of.
enum Form {
    /// Says nothing about a value: notes for people.
    Note,
    /// One schema.
    Schema,
    /// A list of schemas.
    Schemas,
    /// Schemas by name.
    Named,
    /// Schemas by a pattern for names.
    ByPattern,
    /// A pattern.
    Pattern,
    /// A place in the same schema.
    Reference,
    /// A whole number that is not negative.
    Count,
    /// A number.
    Number,
    /// A list of texts.
    Texts,
    /// Lists of texts by name.
    TextsByName,
    /// The name of a type, or a list of them.
    Types,
    /// A list of anything.
    List,
    /// True or false.
    Flag,
    /// Anything.
    Any,
}

/// Every keyword that is checked, or that says nothing.
const KEYWORDS: &[(&str, Form)] = &[
    ("$comment", Form::Note),
    ("$defs", Form::Named),
    ("$id", Form::Note),
    ("$ref", Form::Reference),
    ("$schema", Form::Note),
    ("additionalProperties", Form::Schema),
    ("allOf", Form::Schemas),
    ("anyOf", Form::Schemas),
    ("const", Form::Any),
    ("contains", Form::Schema),
    ("default", Form::Note),
    ("definitions", Form::Named),
    ("dependentRequired", Form::TextsByName),
    ("deprecated", Form::Note),
    ("description", Form::Note),
    ("else", Form::Schema),
    ("enum", Form::List),
    ("examples", Form::Note),
    ("exclusiveMaximum", Form::Number),
    ("exclusiveMinimum", Form::Number),
    // A note in draft 2020-12: whoever wants it checked writes a pattern.
    ("format", Form::Note),
    ("if", Form::Schema),
    ("items", Form::Schema),
    ("maxItems", Form::Count),
    ("maxLength", Form::Count),
    ("maxProperties", Form::Count),
    ("maximum", Form::Number),
    ("minItems", Form::Count),
    ("minLength", Form::Count),
    ("minProperties", Form::Count),
    ("minimum", Form::Number),
    ("multipleOf", Form::Number),
    ("not", Form::Schema),
    ("oneOf", Form::Schemas),
    ("pattern", Form::Pattern),
    ("patternProperties", Form::ByPattern),
    ("prefixItems", Form::Schemas),
    ("properties", Form::Named),
    ("propertyNames", Form::Schema),
    ("readOnly", Form::Note),
    ("required", Form::Texts),
    ("then", Form::Schema),
    ("title", Form::Note),
    ("type", Form::Types),
    ("uniqueItems", Form::Flag),
    ("writeOnly", Form::Note),
];

const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// The patterns of a schema, compiled; an error names the first thing that cannot be checked.
pub(super) fn patterns(root: &Value) -> Result<BTreeMap<String, Regex>, SchemaError> {
    let mut reader = Reader { root, patterns: BTreeMap::new() };
    reader.schema(root, "#", 0)?;
    Ok(reader.patterns)
}

struct Reader<'a> {
    root: &'a Value,
    patterns: BTreeMap<String, Regex>,
}

fn wrong(place: &str, message: impl Into<String>) -> SchemaError {
    SchemaError { place: place.to_owned(), message: message.into() }
}

impl Reader<'_> {
    fn schema(&mut self, schema: &Value, place: &str, depth: usize) -> Result<(), SchemaError> {
        if depth > MAX_DEPTH {
            return Err(wrong(place, format!("is nested more than {MAX_DEPTH} deep")));
        }
        let keywords = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(keywords) => keywords,
            _ => return Err(wrong(place, "must be an object, true or false")),
        };
        for (name, value) in keywords {
            let Some((_, form)) = KEYWORDS.iter().find(|(known, _)| known == name) else {
                let hint = crate::suggest::hint(name, KEYWORDS.iter().map(|(known, _)| *known));
                return Err(wrong(place, format!("the keyword `{name}` is not checked here{hint}")));
            };
            self.keyword(form, value, &format!("{place}/{name}"), depth)?;
        }
        Ok(())
    }

    fn keyword(&mut self, form: &Form, value: &Value, place: &str, depth: usize) -> Result<(), SchemaError> {
        let need = |what: &str| wrong(place, format!("must be {what}"));
        let below = |key: &str| format!("{place}/{}", key.replace('~', "~0").replace('/', "~1"));
        match form {
            Form::Note | Form::Any => {}
            Form::Schema => self.schema(value, place, depth + 1)?,
            Form::Schemas => {
                let list = value.as_array().filter(|list| !list.is_empty());
                for (at, inner) in list.ok_or_else(|| need("a list of schemas"))?.iter().enumerate() {
                    self.schema(inner, &below(&at.to_string()), depth + 1)?;
                }
            }
            Form::Named | Form::ByPattern => {
                for (name, inner) in value.as_object().ok_or_else(|| need("an object of schemas"))? {
                    if matches!(form, Form::ByPattern) {
                        self.pattern(name, &below(name))?;
                    }
                    self.schema(inner, &below(name), depth + 1)?;
                }
            }
            Form::Pattern => self.pattern(value.as_str().ok_or_else(|| need("a text"))?, place)?,
            Form::Reference => {
                let to = value.as_str().ok_or_else(|| need("a text"))?;
                if resolve(self.root, to).is_none() {
                    let message = format!(
                        "`{to}` leads nowhere; only places in the same schema, such as `#/$defs/x`, can be meant"
                    );
                    return Err(wrong(place, message));
                }
            }
            Form::Count => drop(value.as_u64().ok_or_else(|| need("a whole number that is not negative"))?),
            Form::Number if place.ends_with("/multipleOf") && value.as_f64().is_none_or(|n| n <= 0.0) => {
                return Err(need("a number above zero"));
            }
            Form::Number => drop(value.as_f64().ok_or_else(|| need("a number"))?),
            Form::Texts => texts(value).ok_or_else(|| need("a list of texts"))?,
            Form::TextsByName => {
                let lists = value.as_object().ok_or_else(|| need("an object of lists of texts"))?;
                lists.values().try_for_each(texts).ok_or_else(|| need("an object of lists of texts"))?;
            }
            Form::Types => types(value).ok_or_else(|| need(&format!("one of {}", TYPES.join(", "))))?,
            Form::List => drop(value.as_array().ok_or_else(|| need("a list"))?),
            Form::Flag => drop(value.as_bool().ok_or_else(|| need("true or false"))?),
        }
        Ok(())
    }

    fn pattern(&mut self, pattern: &str, place: &str) -> Result<(), SchemaError> {
        if !self.patterns.contains_key(pattern) {
            let compiled = RegexBuilder::new(pattern).size_limit(MAX_PATTERN).build();
            let compiled =
                compiled.map_err(|_| wrong(place, format!("the pattern `{pattern}` cannot be used")))?;
            self.patterns.insert(pattern.to_owned(), compiled);
        }
        Ok(())
    }
}

fn texts(value: &Value) -> Option<()> {
    value.as_array()?.iter().all(Value::is_string).then_some(())
}

fn types(value: &Value) -> Option<()> {
    let known = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    let all = match value {
        Value::Array(list) => !list.is_empty() && list.iter().all(known),
        one => known(one),
    };
    all.then_some(())
}
