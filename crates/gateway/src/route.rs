//! What is served where.

use holon_model::Wire;
use hyper::Method;

use crate::tongue::Tongue;

/// A place that is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    /// A short greeting, for clients that look whether somebody is there.
    Hello,
    /// A request to a model, and whether its answer comes piece by piece where the path and not the body says so.
    Ask(Tongue, Option<bool>),
    /// An estimate of a request's tokens.
    CountTokens(Tongue),
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
    let posts = *method == Method::POST;
    let (route, fits) = match inner(path) {
        "" | "/" => (Route::Hello, reads),
        "/messages/count_tokens" => (Route::CountTokens(Tongue::Messages), posts),
        "/models" => (Route::Models, reads),
        other => {
            let ask = wire_at(path).map(|wire| (Route::Ask(wire.into(), None), posts));
            let google = || Some((google(path)?, posts));
            let model = || other.strip_prefix("/models/").map(|id| (Route::Model(id.to_owned()), reads));
            ask.or_else(google).or_else(model).ok_or(Lost::NotFound)?
        }
    };
    if fits { Ok(route) } else { Err(Lost::Method) }
}

/// The wire that a path belongs to, also where nothing is served there.
fn wire_at(path: &str) -> Option<Wire> {
    [Wire::Chat, Wire::Responses, Wire::Messages].into_iter().find(|wire| wire.path() == inner(path))
}

/// What a path in Google's form asks for. The model in it makes no difference, and its name may hold anything.
fn google(path: &str) -> Option<Route> {
    let (model, verb) = inner(path).strip_prefix("/models/")?.rsplit_once(':')?;
    match verb {
        _ if model.is_empty() => None,
        "generateContent" => Some(Route::Ask(Tongue::Gemini, Some(false))),
        "streamGenerateContent" => Some(Route::Ask(Tongue::Gemini, Some(true))),
        "countTokens" => Some(Route::CountTokens(Tongue::Gemini)),
        _ => None,
    }
}

/// In whose words an answer at a path is told, errors too.
pub(crate) fn words_at(path: &str) -> Option<Tongue> {
    let messages = || inner(path).starts_with("/messages").then_some(Tongue::Messages);
    let gemini = || (google(path).is_some() || googles_own(path).is_some()).then_some(Tongue::Gemini);
    wire_at(path).map(Tongue::from).or_else(messages).or_else(gemini)
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
        let ask = |wire| Ok(Route::Ask(wire, None));
        let gemini = |stream| Ok(Route::Ask(Tongue::Gemini, Some(stream)));
        for (method, path, expect) in [
            (Method::POST, "/v1/chat/completions", ask(Tongue::Chat)),
            (Method::POST, "/chat/completions", ask(Tongue::Chat)),
            (Method::POST, "/v1/v1/responses", ask(Tongue::Responses)),
            (Method::POST, "/v1/messages/", ask(Tongue::Messages)),
            (Method::GET, "/v1/messages", Err(Lost::Method)),
            (Method::DELETE, "/v1/responses", Err(Lost::Method)),
            (Method::POST, "/v1/messages/count_tokens", Ok(Route::CountTokens(Tongue::Messages))),
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
            (Method::POST, "/v1beta/models/gemini-2.5-pro:generateContent", gemini(false)),
            (Method::POST, "/v1/models/a/b:free:streamGenerateContent", gemini(true)),
            (Method::POST, "/v1alpha/models/x:countTokens", Ok(Route::CountTokens(Tongue::Gemini))),
            (Method::GET, "/v1beta/models/x:generateContent", Err(Lost::Method)),
            (Method::POST, "/v1beta/models/:generateContent", Err(Lost::Method)),
            (Method::POST, "/v1beta/models/x:embedContent", Err(Lost::Method)),
            (Method::POST, "/v1beta/files", Err(Lost::NotFound)),
            (Method::POST, "/v1betax/models/x:generateContent", Err(Lost::NotFound)),
            (Method::GET, "/v1beta1/models", Ok(Route::Models)),
            (Method::GET, "/v1/models/qwen:7b", Ok(Route::Model("qwen:7b".into()))),
        ] {
            assert_eq!(find(&method, path), expect, "{method} {path}");
        }
    }

    #[test]
    fn errors_are_told_in_the_words_of_the_place() {
        for (path, words) in [
            ("/v1/responses", Some(Tongue::Responses)),
            ("/v1/messages/batches", Some(Tongue::Messages)),
            ("/v1beta/cachedContents", Some(Tongue::Gemini)),
            ("/models/x:generateContent", Some(Tongue::Gemini)),
            ("/v1/models", None),
            ("/nowhere", None),
        ] {
            assert_eq!(words_at(path), words, "{path}");
        }
    }
}
