//! What is served where.

use holon_model::WireFormat;
use hyper::Method;

use crate::client_wire::ClientWire;

/// A place that is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GatewayRoute {
    /// A short greeting, for clients that look whether somebody is there.
    Hello,
    /// A request to a model, and whether its answer comes piece by piece where the path and not the body says so.
    Ask(ClientWire, Option<bool>),
    /// An estimate of a request's tokens.
    CountTokens(ClientWire),
    /// The models there are.
    Models,
    /// One model, by its id.
    Model(String),
}

/// Why a place is not served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RouteError {
    NotFound,
    Method,
}

/// The route of a request; `/v1` in front, once or (as some clients add their own) twice, makes no difference.
pub(crate) fn find(method: &Method, path: &str) -> Result<GatewayRoute, RouteError> {
    let reads = [Method::GET, Method::HEAD].contains(method);
    let posts = *method == Method::POST;
    let (route, fits) = match inner(path) {
        "" | "/" => (GatewayRoute::Hello, reads),
        "/messages/count_tokens" => (GatewayRoute::CountTokens(ClientWire::Messages), posts),
        "/models" => (GatewayRoute::Models, reads),
        other => {
            let ask = wire_at(path).map(|wire| (GatewayRoute::Ask(wire.into(), None), posts));
            let google = || Some((google(path)?, posts));
            let model =
                || other.strip_prefix("/models/").map(|id| (GatewayRoute::Model(id.to_owned()), reads));
            ask.or_else(google).or_else(model).ok_or(RouteError::NotFound)?
        }
    };
    if fits { Ok(route) } else { Err(RouteError::Method) }
}

/// The wire that a path belongs to, also where nothing is served there.
fn wire_at(path: &str) -> Option<WireFormat> {
    [WireFormat::Chat, WireFormat::Responses, WireFormat::Messages]
        .into_iter()
        .find(|wire| wire.path() == inner(path))
}

/// What a path in Google's form asks for. The model in it makes no difference, and its name may hold anything.
fn google(path: &str) -> Option<GatewayRoute> {
    let (model, verb) = inner(path).strip_prefix("/models/")?.rsplit_once(':')?;
    match verb {
        _ if model.is_empty() => None,
        "generateContent" => Some(GatewayRoute::Ask(ClientWire::Gemini, Some(false))),
        "streamGenerateContent" => Some(GatewayRoute::Ask(ClientWire::Gemini, Some(true))),
        "countTokens" => Some(GatewayRoute::CountTokens(ClientWire::Gemini)),
        _ => None,
    }
}

/// In whose words an answer at a path is told, errors too.
pub(crate) fn words_at(path: &str) -> Option<ClientWire> {
    let messages = || inner(path).starts_with("/messages").then_some(ClientWire::Messages);
    let gemini = || (google(path).is_some() || googles_own(path).is_some()).then_some(ClientWire::Gemini);
    wire_at(path).map(ClientWire::from).or_else(messages).or_else(gemini)
}

/// The path behind a version that only Google's addresses have.
fn googles_own(path: &str) -> Option<&str> {
    ["/v1beta", "/v1beta1", "/v1alpha"].iter().find_map(|version| below(path, version))
}

fn below<'a>(path: &'a str, version: &str) -> Option<&'a str> {
    path.strip_prefix(version).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn inner(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    if let Some(rest) = googles_own(path) {
        return rest;
    }
    let once = below(path, "/v1").unwrap_or(path);
    below(once, "/v1").unwrap_or(once)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes() {
        let ask = |wire| Ok(GatewayRoute::Ask(wire, None));
        let gemini = |stream| Ok(GatewayRoute::Ask(ClientWire::Gemini, Some(stream)));
        for (method, path, expect) in [
            (Method::POST, "/v1/chat/completions", ask(ClientWire::Chat)),
            (Method::POST, "/chat/completions", ask(ClientWire::Chat)),
            (Method::POST, "/v1/v1/responses", ask(ClientWire::Responses)),
            (Method::POST, "/v1/messages/", ask(ClientWire::Messages)),
            (Method::GET, "/v1/messages", Err(RouteError::Method)),
            (Method::DELETE, "/v1/responses", Err(RouteError::Method)),
            (Method::POST, "/v1/messages/count_tokens", Ok(GatewayRoute::CountTokens(ClientWire::Messages))),
            (Method::GET, "/v1/models", Ok(GatewayRoute::Models)),
            (Method::GET, "/models/a/b", Ok(GatewayRoute::Model("a/b".into()))),
            (Method::GET, "/", Ok(GatewayRoute::Hello)),
            (Method::HEAD, "/v1", Ok(GatewayRoute::Hello)),
            (Method::POST, "/", Err(RouteError::Method)),
            (Method::POST, "/v1/embeddings", Err(RouteError::NotFound)),
            (Method::POST, "/v1/messages/batches", Err(RouteError::NotFound)),
            (Method::POST, "/v1x/messages", Err(RouteError::NotFound)),
            (Method::POST, "//v1/messages", Err(RouteError::NotFound)),
            (Method::GET, "/v1/chat/completions/../models", Err(RouteError::NotFound)),
            (Method::POST, "/v1beta/models/gemini-2.5-pro:generateContent", gemini(false)),
            (Method::POST, "/v1/models/a/b:free:streamGenerateContent", gemini(true)),
            (
                Method::POST,
                "/v1alpha/models/x:countTokens",
                Ok(GatewayRoute::CountTokens(ClientWire::Gemini)),
            ),
            (Method::GET, "/v1beta/models/x:generateContent", Err(RouteError::Method)),
            (Method::POST, "/v1beta/models/:generateContent", Err(RouteError::Method)),
            (Method::POST, "/v1beta/models/x:embedContent", Err(RouteError::Method)),
            (Method::POST, "/v1beta/files", Err(RouteError::NotFound)),
            (Method::POST, "/v1betax/models/x:generateContent", Err(RouteError::NotFound)),
            (Method::GET, "/v1beta1/models", Ok(GatewayRoute::Models)),
            (Method::GET, "/v1/models/qwen:7b", Ok(GatewayRoute::Model("qwen:7b".into()))),
        ] {
            assert_eq!(find(&method, path), expect, "{method} {path}");
        }
    }

    #[test]
    fn errors_are_told_in_the_words_of_the_place() {
        for (path, words) in [
            ("/v1/responses", Some(ClientWire::Responses)),
            ("/v1/messages/batches", Some(ClientWire::Messages)),
            ("/v1beta/cachedContents", Some(ClientWire::Gemini)),
            ("/models/x:generateContent", Some(ClientWire::Gemini)),
            ("/v1/models", None),
            ("/nowhere", None),
        ] {
            assert_eq!(words_at(path), words, "{path}");
        }
    }
}
