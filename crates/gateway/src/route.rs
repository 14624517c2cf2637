//! What is served where.

use holon_model::Wire;
use hyper::Method;

/// A place that is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    /// A short greeting, for clients that look whether somebody is there.
    Hello,
    /// A request to a model.
    Ask(Wire),
    /// An estimate of a request's tokens.
    CountTokens,
    /// The models there are.
    Models,
    /// One model, by its id.
    Model(String),
}

/// Why a place is not served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lost {
    NotFound,
    Method,
}

/// The route of a request; `/v1` in front, once or (as some clients add their own) twice, makes no difference.
pub(crate) fn find(method: &Method, path: &str) -> Result<Route, Lost> {
    let reads = [Method::GET, Method::HEAD].contains(method);
    let (route, fits) = match inner(path) {
        "" | "/" => (Route::Hello, reads),
        "/messages/count_tokens" => (Route::CountTokens, *method == Method::POST),
        "/models" => (Route::Models, reads),
        other => {
            let ask = wire_at(path).map(|wire| (Route::Ask(wire), *method == Method::POST));
            let model = || other.strip_prefix("/models/").map(|id| (Route::Model(id.to_owned()), reads));
            ask.or_else(model).ok_or(Lost::NotFound)?
        }
    };
    if fits { Ok(route) } else { Err(Lost::Method) }
}

/// The wire that a path belongs to, also where nothing is served there.
pub(crate) fn wire_at(path: &str) -> Option<Wire> {
    [Wire::Chat, Wire::Responses, Wire::Messages].into_iter().find(|wire| wire.path() == inner(path))
}

/// The wire in whose words an error at a path is told.
pub(crate) fn words_at(path: &str) -> Option<Wire> {
    wire_at(path).or_else(|| inner(path).starts_with("/messages").then_some(Wire::Messages))
}

fn inner(path: &str) -> &str {
    let mut path = path.trim_end_matches('/');
    for _ in 0..2 {
        path = match path.strip_prefix("/v1") {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
            _ => path,
        };
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes() {
        let ask = |wire| Ok(Route::Ask(wire));
        for (method, path, expect) in [
            (Method::POST, "/v1/chat/completions", ask(Wire::Chat)),
            (Method::POST, "/chat/completions", ask(Wire::Chat)),
            (Method::POST, "/v1/v1/responses", ask(Wire::Responses)),
            (Method::POST, "/v1/messages/", ask(Wire::Messages)),
            (Method::GET, "/v1/messages", Err(Lost::Method)),
            (Method::DELETE, "/v1/responses", Err(Lost::Method)),
            (Method::POST, "/v1/messages/count_tokens", Ok(Route::CountTokens)),
            (Method::GET, "/v1/models", Ok(Route::Models)),
            (Method::GET, "/models/a/b", Ok(Route::Model("a/b".into()))),
            (Method::GET, "/", Ok(Route::Hello)),
            (Method::HEAD, "/v1", Ok(Route::Hello)),
            (Method::POST, "/", Err(Lost::Method)),
            (Method::POST, "/v1/embeddings", Err(Lost::NotFound)),
            (Method::POST, "/v1/messages/batches", Err(Lost::NotFound)),
            (Method::POST, "/v1x/messages", Err(Lost::NotFound)),
            (Method::POST, "//v1/messages", Err(Lost::NotFound)),
            (Method::GET, "/v1/chat/completions/../models", Err(Lost::NotFound)),
        ] {
            assert_eq!(find(&method, path), expect, "{method} {path}");
        }
    }
}
