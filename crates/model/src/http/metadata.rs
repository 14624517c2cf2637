//! Asks a server elsewhere what it says about a model.

use std::time::Duration;

use serde_json::{Value, json};

use super::HttpTimeouts;
use super::connection::{client, read_body};
use crate::ability::{DeclaredAbilities, ServerMetadata, read};
use crate::endpoint::Endpoint;
use crate::error::ModelError;

/// The most bytes of an answer that are read.
const MOST: usize = 4 * 1024 * 1024;

/// What the server says, all questions at once, within `limit`; one that says nothing in time has said nothing.
///
/// The key goes along, to the same host that every request of a run goes to.
pub fn tell(endpoint: &Endpoint, model: &str, limit: Duration) -> DeclaredAbilities {
    let asked = std::thread::scope(|scope| scope.spawn(|| answers(endpoint, model, limit)).join());
    asked.ok().and_then(Result::ok).map_or_else(DeclaredAbilities::default, |answers| read(&answers, model))
}

fn answers(endpoint: &Endpoint, model: &str, limit: Duration) -> Result<ServerMetadata, ModelError> {
    let timeouts = HttpTimeouts { connect: limit, head: limit, idle: limit };
    let client = client(endpoint, timeouts)?;
    let runtime = super::runtime()?;
    let root = endpoint.base.strip_suffix("/v1").unwrap_or(&endpoint.base);
    let ask = |url: String, body: Option<Value>| {
        let call = match body {
            None => client.get(url),
            Some(body) => client.post(url).header("content-type", "application/json").body(body.to_string()),
        };
        let headers = endpoint.request_headers().into_iter().filter(|(name, _)| name == "authorization");
        let call = headers.fold(call, |call, (name, value)| call.header(name, value));
        runtime.spawn(tokio::time::timeout(limit, get(call, limit)))
    };
    let tasks = [
        ask(format!("{}/models", endpoint.base), None),
        ask(format!("{root}/props"), None),
        ask(format!("{root}/api/v0/models"), None),
        ask(format!("{root}/api/show"), Some(json!({ "model": model }))),
        ask(format!("{root}/api/ps"), None),
    ];
    let mut answered = Vec::new();
    for task in tasks {
        answered.push(runtime.block_on(task).ok().and_then(Result::ok).flatten());
    }
    let mut next = answered.into_iter();
    let mut next = || next.next().flatten();
    Ok(ServerMetadata { models: next(), props: next(), studio: next(), shown: next(), running: next() })
}

async fn get(call: reqwest::RequestBuilder, limit: Duration) -> Option<Value> {
    let mut answer = call.send().await.ok().filter(|answer| answer.status().is_success())?;
    let body = read_body(&mut answer, MOST, limit).await.ok()?;
    serde_json::from_slice(&body).ok()
}
