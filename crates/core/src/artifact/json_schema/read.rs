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
enum KeywordForm {
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
const KEYWORDS: &[(&str, KeywordForm)] = &[
    ("$comment", KeywordForm::Note),
    ("$defs", KeywordForm::Named),
    ("$id", KeywordForm::Note),
    ("$ref", KeywordForm::Reference),
    ("$schema", KeywordForm::Note),
    ("additionalProperties", KeywordForm::Schema),
    ("allOf", KeywordForm::Schemas),
    ("anyOf", KeywordForm::Schemas),
    ("const", KeywordForm::Any),
    ("contains", KeywordForm::Schema),
    ("default", KeywordForm::Note),
    ("definitions", KeywordForm::Named),
    ("dependentRequired", KeywordForm::TextsByName),
    ("deprecated", KeywordForm::Note),
    ("description", KeywordForm::Note),
    ("else", KeywordForm::Schema),
    ("enum", KeywordForm::List),
    ("examples", KeywordForm::Note),
    ("exclusiveMaximum", KeywordForm::Number),
    ("exclusiveMinimum", KeywordForm::Number),
    // A note in draft 2020-12: whoever wants it checked writes a pattern.
    ("format", KeywordForm::Note),
    ("if", KeywordForm::Schema),
    ("items", KeywordForm::Schema),
    ("maxItems", KeywordForm::Count),
    ("maxLength", KeywordForm::Count),
    ("maxProperties", KeywordForm::Count),
    ("maximum", KeywordForm::Number),
    ("minItems", KeywordForm::Count),
    ("minLength", KeywordForm::Count),
    ("minProperties", KeywordForm::Count),
    ("minimum", KeywordForm::Number),
    ("multipleOf", KeywordForm::Number),
    ("not", KeywordForm::Schema),
    ("oneOf", KeywordForm::Schemas),
    ("pattern", KeywordForm::Pattern),
    ("patternProperties", KeywordForm::ByPattern),
    ("prefixItems", KeywordForm::Schemas),
    ("properties", KeywordForm::Named),
    ("propertyNames", KeywordForm::Schema),
    ("readOnly", KeywordForm::Note),
    ("required", KeywordForm::Texts),
    ("then", KeywordForm::Schema),
    ("title", KeywordForm::Note),
    ("type", KeywordForm::Types),
    ("uniqueItems", KeywordForm::Flag),
    ("writeOnly", KeywordForm::Note),
];

const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// The patterns of a schema, compiled; an error names the first thing that cannot be checked.
pub(super) fn patterns(root: &Value) -> Result<BTreeMap<String, Regex>, SchemaError> {
    let mut reader = SchemaReader { root, patterns: BTreeMap::new() };
    reader.schema(root, "#", 0)?;
    Ok(reader.patterns)
}

struct SchemaReader<'a> {
    root: &'a Value,
    patterns: BTreeMap<String, Regex>,
}

fn wrong(place: &str, message: impl Into<String>) -> SchemaError {
    SchemaError { place: place.to_owned(), message: message.into() }
}

impl SchemaReader<'_> {
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

    fn keyword(
        &mut self,
        form: &KeywordForm,
        value: &Value,
        place: &str,
        depth: usize,
    ) -> Result<(), SchemaError> {
        let need = |what: &str| wrong(place, format!("must be {what}"));
        let below = |key: &str| format!("{place}/{}", key.replace('~', "~0").replace('/', "~1"));
        match form {
            KeywordForm::Note | KeywordForm::Any => {}
            KeywordForm::Schema => self.schema(value, place, depth + 1)?,
            KeywordForm::Schemas => {
                let list = value.as_array().filter(|list| !list.is_empty());
                for (at, inner) in list.ok_or_else(|| need("a list of schemas"))?.iter().enumerate() {
                    self.schema(inner, &below(&at.to_string()), depth + 1)?;
                }
            }
            KeywordForm::Named | KeywordForm::ByPattern => {
                for (name, inner) in value.as_object().ok_or_else(|| need("an object of schemas"))? {
                    if matches!(form, KeywordForm::ByPattern) {
                        self.pattern(name, &below(name))?;
                    }
                    self.schema(inner, &below(name), depth + 1)?;
                }
            }
            KeywordForm::Pattern => self.pattern(value.as_str().ok_or_else(|| need("a text"))?, place)?,
            KeywordForm::Reference => {
                let to = value.as_str().ok_or_else(|| need("a text"))?;
                if resolve(self.root, to).is_none() {
                    let message = format!(
                        "`{to}` leads nowhere; only places in the same schema, such as `#/$defs/x`, can be meant"
                    );
                    return Err(wrong(place, message));
                }
            }
            KeywordForm::Count => {
                if value.as_u64().is_none() {
                    return Err(need("a whole number that is not negative"));
                }
            }
            KeywordForm::Number
                if place.ends_with("/multipleOf") && value.as_f64().is_none_or(|n| n <= 0.0) =>
            {
                return Err(need("a number above zero"));
            }
            KeywordForm::Number => drop(value.as_f64().ok_or_else(|| need("a number"))?),
            KeywordForm::Texts => texts(value).ok_or_else(|| need("a list of texts"))?,
            KeywordForm::TextsByName => {
                let lists = value.as_object().ok_or_else(|| need("an object of lists of texts"))?;
                lists.values().try_for_each(texts).ok_or_else(|| need("an object of lists of texts"))?;
            }
            KeywordForm::Types => {
                types(value).ok_or_else(|| need(&format!("one of {}", TYPES.join(", "))))?
            }
            KeywordForm::List => drop(value.as_array().ok_or_else(|| need("a list"))?),
            KeywordForm::Flag => drop(value.as_bool().ok_or_else(|| need("true or false"))?),
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
