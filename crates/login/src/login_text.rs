//! What stands in a login file: read by the places the list names, and written back with everything else left as it is.

use std::path::Path;

use jiff::Timestamp;
use serde_json::Value;

use crate::error::LoginError;
use crate::json_comments::without_comments;
use crate::known_login::{EndForm, KnownLogin, known_logins};
use crate::secret::Secret;
use crate::token_answer::TokenAnswer;
use crate::token_claims;

/// What a login file holds.
#[derive(Debug, Clone, PartialEq)]
pub struct LoginTokens {
    /// The token for requests.
    pub access: Secret,
    /// The token for renewals.
    pub refresh: Option<Secret>,
    /// When the first one ends, where that is said.
    pub ends: Option<Timestamp>,
    /// The account it is for.
    pub account: Option<String>,
    /// Who logged in, where the file says it.
    pub who: Option<String>,
    /// What it was allowed to do.
    pub scopes: Vec<String>,
    /// What was subscribed to.
    pub plan: Option<String>,
}

impl LoginTokens {
    /// Whether the token has ended.
    pub fn has_ended(&self, now: Timestamp) -> bool {
        self.ends.is_some_and(|ends| ends <= now)
    }

    /// Whether the token ends within so many seconds.
    pub fn ends_within(&self, seconds: i64, now: Timestamp) -> bool {
        self.ends.is_some_and(|ends| ends.as_second().saturating_sub(seconds) <= now.as_second())
    }
}

/// Reads a login; `path` is only for words.
pub fn parse(login: &KnownLogin, path: &Path, bytes: &[u8]) -> Result<LoginTokens, LoginError> {
    let whole = json(login, path, bytes)?;
    let unknown =
        |field: &str, what| LoginError::UnknownForm { path: path.into(), field: field.into(), what };
    if !whole.is_object() {
        return Err(unknown("/", kind_of(&whole)));
    }
    let fields = &login.fields;
    let text = |field: &Option<String>| -> Result<Option<String>, LoginError> {
        let Some(field) = field else { return Ok(None) };
        match find(&whole, field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.trim().is_empty())),
            Some(other) => Err(unknown(field, kind_of(other))),
        }
    };
    let access = text(&Some(fields.access.clone()))?;
    let Some(access) = access.map(|token| Secret::new(&token)) else {
        return Err(missing(login, path, &whole));
    };
    if access.expose().bytes().any(|byte| !byte.is_ascii_graphic()) {
        return Err(unknown(&fields.access, "no token, since it has characters that no header can hold"));
    }
    let id = text(&fields.id)?;
    let said = text(&fields.account)?;
    let claimed = || id.as_deref().and_then(token_claims::account);
    let account = said.or_else(|| token_claims::account(access.expose())).or_else(claimed);
    let who = id.as_deref().and_then(token_claims::email);
    let ends = match fields.expires.as_deref().and_then(|field| Some((field, find(&whole, field)?))) {
        None | Some((_, Value::Null)) => token_claims::end(access.expose()).and_then(at_second),
        Some((field, value)) => {
            Some(end(fields.expires_as, value).ok_or_else(|| unknown(field, "no time that is known here"))?)
        }
    };
    let scopes = match fields.scopes.as_deref().and_then(|field| find(&whole, field)) {
        Some(Value::Array(scopes)) => scopes.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(Value::String(scopes)) => scopes.split_whitespace().map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let refresh = text(&fields.refresh)?.map(|token| Secret::new(&token));
    // A plan is shown to people; one in a form nobody knows is no reason to refuse the login.
    let plan = fields.plan.as_deref().and_then(|field| find(&whole, field)).and_then(Value::as_str);
    Ok(LoginTokens { access, refresh, ends, account, who, scopes, plan: plan.map(str::to_owned) })
}

/// The same file with the tokens of an answer in it: whatever the answer does not say stays as it is.
pub(crate) fn renewed(
    login: &KnownLogin,
    path: &Path,
    bytes: &[u8],
    answer: &TokenAnswer,
) -> Result<Vec<u8>, LoginError> {
    let mut whole = json(login, path, bytes)?;
    let fields = &login.fields;
    let text = |secret: &Secret| Value::String(secret.expose().to_owned());
    let ends = answer.ends.map(|ends| match fields.expires_as {
        EndForm::Milliseconds => Value::from(ends.as_millisecond()),
        EndForm::Seconds => Value::from(ends.as_second()),
        EndForm::Text | EndForm::Jwt => Value::from(ends.to_string()),
    });
    let news = [
        (Some(&fields.access), Some(text(&answer.access))),
        (fields.refresh.as_ref(), answer.refresh.as_ref().map(text)),
        (fields.id.as_ref(), answer.id.as_ref().map(text)),
        (fields.expires.as_ref(), ends),
        (fields.renewed.as_ref(), Some(Value::from(answer.received.to_string()))),
    ];
    for (field, value) in news {
        if let (Some(field), Some(value)) = (field, value)
            && !put(&mut whole, field, value)
        {
            let what = "not where it was a moment ago";
            return Err(LoginError::UnknownForm { path: path.into(), field: field.clone(), what });
        }
    }
    let indent = bytes.windows(3).take(16).any(|three| three == b"\n  ");
    let text = if indent { serde_json::to_vec_pretty(&whole) } else { serde_json::to_vec(&whole) };
    let mut text = text.map_err(|error| LoginError::Rules(error.to_string()))?;
    text.extend(bytes.ends_with(b"\n").then_some(b'\n'));
    Ok(text)
}

fn json(login: &KnownLogin, path: &Path, bytes: &[u8]) -> Result<Value, LoginError> {
    let log_in = || login.log_in.clone();
    let half = || LoginError::HalfWritten { path: path.into(), log_in: log_in() };
    // Some agents write in place, and between emptying and filling there is nothing.
    if bytes.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0) {
        return Err(half());
    }
    let read = match login.comments {
        true => serde_json::from_str(&without_comments(&String::from_utf8_lossy(bytes))),
        false => serde_json::from_slice(bytes),
    };
    read.map_err(|error: serde_json::Error| match error.is_eof() {
        true => half(),
        false => LoginError::Broken { path: path.into(), line: error.line(), log_in: log_in() },
    })
}

/// Why there is no token: nobody logged in, or the form is another.
fn missing(login: &KnownLogin, path: &Path, whole: &Value) -> LoginError {
    let field = &login.fields.access;
    let unknown =
        |field: &str, what| LoginError::UnknownForm { path: path.into(), field: field.into(), what };
    let logged_out = || LoginError::LoggedOut { path: path.into(), log_in: login.log_in.clone() };
    if find(whole, field).is_some() {
        return logged_out();
    }
    let mut outer = field.as_str();
    let mut direct = true;
    let top = field.split('/').nth(1).unwrap_or_default();
    let place_is_there = whole.get(top).is_some();
    if !place_is_there && has_another_form(login, whole) {
        return unknown(field, "missing");
    }
    while let Some((above, _)) = outer.rsplit_once('/') {
        match find(whole, above) {
            // The place for the token is there, and the token goes by another name.
            Some(Value::Object(there)) if direct && !there.is_empty() => return unknown(field, "missing"),
            Some(Value::Object(_) | Value::Null) => return logged_out(),
            Some(other) => return unknown(above, kind_of(other)),
            None => (outer, direct) = (above, false),
        }
    }
    logged_out()
}

/// Whether a file without the place for a token holds a login all the same, in a form that is not known here: it tells its
/// version, the place has moved or goes by a longer name, or a token lies somewhere else. A file of several logins lacks one
/// of them every day, and tokens for tool servers are no login.
fn has_another_form(login: &KnownLogin, whole: &Value) -> bool {
    let Some(object) = whole.as_object() else { return false };
    let says_version = object.iter().any(|(key, value)| {
        let key = key.to_ascii_lowercase();
        (key == "v" || key.ends_with("version")) && (value.is_number() || value.is_string())
    });
    let shared =
        known_logins().iter().filter(|other| other.file == login.file && other.folder == login.folder);
    if shared.count() > 1 {
        return says_version;
    }
    let mut parts = login.fields.access.split('/').filter(|part| !part.is_empty() && *part != "*");
    let (Some(first), last) = (parts.next(), parts.next_back()) else { return says_version };
    let own = object.iter().filter(|(key, _)| !key.to_ascii_lowercase().starts_with("mcp"));
    says_version
        || own.into_iter().any(|(key, value)| {
            names(key, first)
                || has_key(value, &|key, value| {
                    let token = last.is_some_and(|last| key == last)
                        && value.as_str().is_some_and(|text| !text.is_empty());
                    names(key, first) || token
                })
        })
}

/// Whether a key is that name, or the name with more behind it.
fn names(key: &str, name: &str) -> bool {
    key.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name))
}

fn has_key(value: &Value, is: &dyn Fn(&str, &Value) -> bool) -> bool {
    match value {
        Value::Object(object) => object.iter().any(|(key, value)| is(key, value) || has_key(value, is)),
        Value::Array(list) => list.iter().any(|value| has_key(value, is)),
        _ => false,
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The value at a pointer; `*` is the first entry of an object in which the rest of the pointer leads somewhere.
fn find<'a>(value: &'a Value, pointer: &str) -> Option<&'a Value> {
    let Some(rest) = pointer.strip_prefix('/') else { return pointer.is_empty().then_some(value) };
    let (key, rest) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let object = value.as_object()?;
    match key {
        "*" => object.values().find_map(|entry| find(entry, rest)),
        key => find(object.get(key)?, rest),
    }
}

/// Puts a value at a pointer whose parent is there.
fn put(whole: &mut Value, pointer: &str, value: Value) -> bool {
    let Some((parent, key)) = pointer.rsplit_once('/') else { return false };
    let Some(Value::Object(parent)) = whole.pointer_mut(parent) else { return false };
    parent.insert(key.to_owned(), value);
    true
}

fn end(form: EndForm, value: &Value) -> Option<Timestamp> {
    let number = || value.as_i64().or_else(|| value.as_f64().filter(|n| n.is_finite()).map(|n| n as i64));
    match form {
        EndForm::Milliseconds => number().and_then(|n| Timestamp::from_millisecond(n).ok()),
        EndForm::Seconds => number().and_then(at_second),
        EndForm::Text | EndForm::Jwt => value.as_str()?.parse().ok(),
    }
}

fn at_second(second: i64) -> Option<Timestamp> {
    Timestamp::from_second(second).ok()
}

#[cfg(test)]
mod tests;
