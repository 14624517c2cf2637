//! GitHub's own description of its interface, from the npm package `@octokit/openapi`.
//!
//! `cargo xtask setup` puts the package into the user's cache, by name, version and digest. The description has 13 MB, and
//! every test is a process of its own, so the part that is needed is cut out once and kept beside it.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::{Map, Value, json};

use super::http::IncomingRequest;
use super::schema::{SchemaDirection, check, resolve};

/// Every operation this server knows, as the description names it.
const OPERATIONS: [(&str, &str); 26] = [
    ("get", "/app"),
    ("post", "/app/installations/{installation_id}/access_tokens"),
    ("get", "/user"),
    ("get", "/repos/{owner}/{repo}"),
    ("get", "/repos/{owner}/{repo}/installation"),
    ("get", "/repos/{owner}/{repo}/issues/{issue_number}"),
    ("get", "/repos/{owner}/{repo}/issues/{issue_number}/comments"),
    ("post", "/repos/{owner}/{repo}/issues/{issue_number}/comments"),
    ("patch", "/repos/{owner}/{repo}/issues/comments/{comment_id}"),
    ("get", "/repos/{owner}/{repo}/pulls"),
    ("post", "/repos/{owner}/{repo}/pulls"),
    ("get", "/repos/{owner}/{repo}/pulls/{pull_number}"),
    ("patch", "/repos/{owner}/{repo}/pulls/{pull_number}"),
    ("get", "/repos/{owner}/{repo}/pulls/{pull_number}/files"),
    ("get", "/repos/{owner}/{repo}/pulls/{pull_number}/reviews"),
    ("post", "/repos/{owner}/{repo}/pulls/{pull_number}/reviews"),
    ("put", "/repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}"),
    ("get", "/repos/{owner}/{repo}/pulls/{pull_number}/comments"),
    ("patch", "/repos/{owner}/{repo}/pulls/comments/{comment_id}"),
    ("get", "/repos/{owner}/{repo}/commits/{ref}/check-runs"),
    ("post", "/repos/{owner}/{repo}/check-runs"),
    ("patch", "/repos/{owner}/{repo}/check-runs/{check_run_id}"),
    ("get", "/repos/{owner}/{repo}/commits/{ref}/status"),
    ("get", "/repos/{owner}/{repo}/labels"),
    ("get", "/repos/{owner}/{repo}/branches/{branch}"),
    ("get", "/rate_limit"),
];

/// An operation that a request asks for.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    /// The path of the description.
    pub template: &'static str,
    /// The values in the path, by name.
    pub values: Vec<(String, String)>,
}

impl Operation {
    pub(super) fn value(&self, name: &str) -> &str {
        self.values.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    pub(super) fn number(&self, name: &str) -> u64 {
        self.value(name).parse().unwrap_or_default()
    }
}

/// Finds the operation of a request; a literal segment beats a value.
pub(super) fn find(method: &str, path: &str) -> Option<Operation> {
    let method = method.to_ascii_lowercase();
    let asked: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let mut best: Option<(usize, Operation)> = None;
    for (_, template) in OPERATIONS.iter().filter(|(of, _)| *of == method) {
        let parts: Vec<&str> = template.trim_start_matches('/').split('/').collect();
        if parts.len() != asked.len() {
            continue;
        }
        let name = |part: &str| part.strip_prefix('{').and_then(|p| p.strip_suffix('}')).map(str::to_owned);
        let fits = parts.iter().zip(&asked).all(|(part, text)| name(part).is_some() || part == text);
        let values: Vec<(String, String)> = parts
            .iter()
            .zip(&asked)
            .filter_map(|(part, text)| Some((name(part)?, super::http::decoded(text))))
            .collect();
        if fits && best.as_ref().is_none_or(|(least, _)| values.len() < *least) {
            best = Some((values.len(), Operation { template, values }));
        }
    }
    best.map(|(_, operation)| operation)
}

/// What is wrong with a request, as the description sees it.
pub(super) fn check_request(incoming: &IncomingRequest, operation: &Operation) -> Vec<String> {
    let root = description();
    let described = &root["paths"][operation.template][incoming.method.to_ascii_lowercase()];
    let mut found = Vec::new();
    let parameters: Vec<&Value> =
        described["parameters"].as_array().into_iter().flatten().map(|p| resolve(p, root)).collect();
    let of = |place: &str, name: &str| {
        parameters.iter().find(|p| p["in"] == place && p["name"] == name).map(|p| &p["schema"])
    };
    let mut given: Vec<(&str, String, String)> = Vec::new();
    given.extend(operation.values.iter().map(|(k, v)| ("path", k.clone(), v.clone())));
    given.extend(incoming.parameters().into_iter().map(|(k, v)| ("query", k, v)));
    for (place, name, value) in given {
        match of(place, &name) {
            Some(schema) => {
                let text = Value::String(value.clone());
                let typed = match resolve(schema, root)["type"].as_str() {
                    Some("integer") => value.parse::<i64>().map_or(text, Value::from),
                    Some("boolean") => value.parse::<bool>().map_or(text, Value::from),
                    _ => text,
                };
                found.extend(
                    check(&typed, schema, root, SchemaDirection::Request)
                        .into_iter()
                        .map(|f| format!("{place} {name} {f}")),
                );
            }
            None => found.push(format!("{place} parameter {name} is not described")),
        }
    }
    let body = &described["requestBody"];
    let schema = &body["content"]["application/json"]["schema"];
    match (incoming.body.is_empty(), schema.is_null()) {
        (true, _) if body["required"] == true => found.push("a body is required".into()),
        (true, _) => {}
        (false, true) => found.push("no body is described".into()),
        (false, false) => match serde_json::from_slice::<Value>(&incoming.body) {
            Ok(value) => found.extend(check(&value, schema, root, SchemaDirection::Request)),
            Err(error) => found.push(format!("the body is no JSON: {error}")),
        },
    }
    if incoming.header("accept").is_none_or(|accept| !accept.starts_with("application/")) {
        found.push("no form of the answer is asked for".into());
    }
    if incoming.header("x-github-api-version").is_none() {
        found.push("no version of the interface is named".into());
    }
    if incoming.header("user-agent").is_none_or(str::is_empty) {
        found.push("GitHub refuses requests without a user agent".into());
    }
    found
}

/// What is wrong with an answer of this server, so that it does not lie about GitHub.
pub(super) fn check_answer(method: &str, operation: &Operation, status: u16, body: &Value) -> Vec<String> {
    let root = description();
    let described = &root["paths"][operation.template][method.to_ascii_lowercase()];
    let answer = resolve(&described["responses"][status.to_string()], root);
    let schema = &answer["content"]["application/json"]["schema"];
    if schema.is_null() {
        // Refusals are described for some operations only.
        return if status < 400 { vec![format!("no answer {status} is described")] } else { Vec::new() };
    }
    check(body, schema, root, SchemaDirection::Answer)
}

fn description() -> &'static Value {
    static LOADED: OnceLock<Value> = OnceLock::new();
    LOADED.get_or_init(load)
}

fn load() -> Value {
    let folder = folder();
    let mut hash = DefaultHasher::new();
    (OPERATIONS, 1).hash(&mut hash);
    let slice = folder.join(format!("slice-{:016x}.json", hash.finish()));
    if let Some(found) = std::fs::read(&slice).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
        return found;
    }
    let path = folder.join("generated/api.github.com.json");
    let bytes = std::fs::read(&path).unwrap_or_else(|error| {
        panic!(
            "GitHub's description of its interface is not there ({}: {error}); `cargo xtask setup` fetches it",
            path.display()
        )
    });
    let whole: Value = serde_json::from_slice(&bytes).expect("the description is JSON");
    let cut = cut(&whole);
    // Written beside and renamed, because other tests may be doing the same.
    if let Ok(mut file) = tempfile::NamedTempFile::new_in(&folder) {
        let written = std::io::Write::write_all(&mut file, cut.to_string().as_bytes());
        if written.is_ok() {
            let _ = file.persist(&slice);
        }
    }
    cut
}

/// The folder `cargo xtask setup` fills; the version stands in `xtask/packages.toml` alone.
fn folder() -> PathBuf {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/packages.toml");
    let text = std::fs::read_to_string(&list).expect("the list of packages is in the source tree");
    let after = text.split("name = \"@octokit/openapi\"").nth(1).expect("the package is in the list");
    let version =
        after.split("version = \"").nth(1).and_then(|rest| rest.split('"').next()).expect("with a version");
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || PathBuf::from(std::env::var_os("HOME").expect("HOME is set")).join(".cache");
    cache.unwrap_or_else(home).join(format!("holon-xtask/npm/@octokit+openapi@{version}"))
}

/// The operations and everything they refer to.
fn cut(whole: &Value) -> Value {
    let mut paths = Map::new();
    let mut wanted: BTreeSet<String> = BTreeSet::new();
    for (method, template) in OPERATIONS {
        let operation = &whole["paths"][template][method];
        assert!(operation.is_object(), "GitHub describes no {method} {template}");
        let entry = paths.entry(template).or_insert_with(|| json!({}));
        entry[method] = operation.clone();
        references(operation, whole, &mut wanted);
    }
    let mut cut = json!({"paths": paths, "components": {}});
    for name in wanted {
        let mut parts = name.trim_start_matches("#/components/").splitn(2, '/');
        let (group, item) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        cut["components"][group][item] = whole["components"][group][item].clone();
    }
    cut
}

fn references(value: &Value, whole: &Value, wanted: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match (name.as_str(), field.as_str()) {
                    ("examples" | "example", _) => {}
                    ("$ref", Some(target)) => {
                        if wanted.insert(target.to_owned()) {
                            let found = whole.pointer(target.trim_start_matches('#'));
                            references(found.expect("a reference leads somewhere"), whole, wanted);
                        }
                    }
                    _ => references(field, whole, wanted),
                }
            }
        }
        Value::Array(entries) => entries.iter().for_each(|entry| references(entry, whole, wanted)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, path: &str, query: &str, body: Value) -> Vec<String> {
        let operation = find(method, path).expect("a known operation");
        let headers = [("accept", "application/json"), ("x-github-api-version", "x"), ("user-agent", "x")];
        let incoming = IncomingRequest {
            method: method.into(),
            path: path.into(),
            query: query.into(),
            headers: headers.map(|(k, v)| (k.to_owned(), v.to_owned())).to_vec(),
            body: if body.is_null() { Vec::new() } else { body.to_string().into_bytes() },
        };
        check_request(&incoming, &operation)
    }

    #[test]
    fn requests_are_held_against_githubs_description() {
        let check = |method, path, query, body, expect: &[&str]| {
            let found = request(method, path, query, body);
            assert_eq!(found.len(), expect.len(), "{found:?}");
            found
                .iter()
                .zip(expect)
                .for_each(|(found, part)| assert!(found.contains(part), "{found} lacks {part}"));
        };
        let pulls = "/repos/o/r/pulls";
        check("GET", pulls, "state=all&head=o%3Ab&per_page=100&page=2", Value::Null, &[]);
        check("GET", pulls, "state=some", Value::Null, &["none of"]);
        check("GET", pulls, "stat=all", Value::Null, &["stat is not described"]);
        check("POST", pulls, "", json!({"title": "t", "head": "h", "base": "b", "draft": true}), &[]);
        check("POST", pulls, "", json!({"title": "t", "head": "h"}), &["\"base\" is missing"]);
        check(
            "POST",
            pulls,
            "",
            json!({"head": "h", "base": "b", "daft": true}),
            &["daft: is not described"],
        );
        let review =
            json!({"event": "COMMENT", "body": "x", "comments": [{"path": "a", "body": "b", "line": "1"}]});
        check("POST", "/repos/o/r/pulls/1/reviews", "", review, &["line: expected \"integer\""]);
        check("POST", "/repos/o/r/pulls/1/reviews", "", json!({"event": "REJECT"}), &["none of"]);
        check("GET", "/repos/o/r/issues/x", "", Value::Null, &["issue_number"]);
        check("POST", "/repos/o/r/issues/1/comments", "", Value::Null, &["a body is required"]);
    }

    #[test]
    fn a_literal_segment_beats_a_value() {
        let found = find("PATCH", "/repos/o/r/pulls/comments/5").unwrap();
        assert_eq!(found.template, "/repos/{owner}/{repo}/pulls/comments/{comment_id}");
        assert_eq!((found.value("owner"), found.number("comment_id")), ("o", 5));
        assert!(find("DELETE", "/repos/o/r").is_none());
    }
}
