//! Words in all threads of a user: titles, messages, answers.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use holon_store::FoundText;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::extract::QueryPart;
use crate::app::AppState;
use crate::guard::RequestUser;
use crate::problem::{ApiProblem, ApiResult};

/// Places that are shown.
const MOST: usize = 60;
/// Longest words that are looked for, in characters.
const MOST_WORDS: usize = 200;
/// Characters before and after what was found.
const AROUND: usize = 60;

/// What to look for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchQuery {
    /// The words, as they stand one after the other; the case of Latin letters does not matter.
    q: String,
}

/// Places, those of the latest turns first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SearchResult {
    places: Vec<FoundPlace>,
    /// Whether there are more.
    more: bool,
}

/// A place where the words stand.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FoundPlace {
    thread: String,
    title: Option<String>,
    /// The turn; 0 where the title has the words.
    turn: u64,
    /// `title`, `message` or `answer`.
    part: String,
    /// What stands before the words.
    before: String,
    /// The words as they stand there.
    words: String,
    /// What stands after them.
    after: String,
    at: String,
}

/// Looks for words in all threads.
#[utoipa::path(get, path = "/api/search", tag = "threads", params(SearchQuery),
    responses((status = 200, body = SearchResult), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn search(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    QueryPart(SearchQuery { q }): QueryPart<SearchQuery>,
) -> ApiResult<Json<SearchResult>> {
    let words = q.trim().to_owned();
    if words.is_empty() || words.chars().count() > MOST_WORDS {
        return Err(ApiProblem::invalid(format!("`q` must have 1 to {MOST_WORDS} characters")));
    }
    let asked = words.clone();
    let mut found = app.store.read(move |backend| backend.search(&user.0, &asked, MOST + 1)).await?;
    let more = found.len() > MOST;
    found.truncate(MOST);
    let places = found.into_iter().map(|found| place(found, &words)).collect();
    Ok(Json(SearchResult { places, more }))
}

fn place(found: FoundText, words: &str) -> FoundPlace {
    let (before, inside, after) = excerpt(&found.text, words);
    let part = match (found.turn, found.said) {
        (0, _) => "title",
        (_, true) => "message",
        (_, false) => "answer",
    };
    FoundPlace {
        thread: found.thread.as_str().to_owned(),
        title: found.title,
        turn: found.turn,
        part: part.to_owned(),
        before,
        words: inside,
        after,
        at: found.at,
    }
}

/// The words where they stand first, and what is around them in one line.
fn excerpt(text: &str, words: &str) -> (String, String, String) {
    let (text_low, words_low) = (text.to_ascii_lowercase(), words.to_ascii_lowercase());
    // Only Latin letters are folded, and those keep their length: places are the same in both.
    let at = text_low.find(&words_low).unwrap_or(0);
    let end = (at + words.len()).min(text.len());
    let end = text.ceil_char_boundary(end);
    let line = |part: &str| part.split_whitespace().collect::<Vec<_>>().join(" ");
    let before = &text[..at];
    let from = before.char_indices().rev().nth(AROUND).map_or(0, |(at, _)| at);
    let to = text[end..].char_indices().nth(AROUND).map_or(text.len(), |(at, _)| end + at);
    let mut left = line(&before[from..]);
    if before.ends_with(char::is_whitespace) && !left.is_empty() {
        left.push(' ');
    }
    let mut right = line(&text[end..to]);
    if text[end..].starts_with(char::is_whitespace) && !right.is_empty() {
        right.insert(0, ' ');
    }
    (
        if from > 0 { format!("…{left}") } else { left },
        text[at..end].to_owned(),
        if to < text.len() { format!("{right}…") } else { right },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_is_shown_with_what_stands_around_it() {
        let check = |text: &str, words: &str, expect: (&str, &str, &str)| {
            let (before, inside, after) = excerpt(text, words);
            assert_eq!((before.as_str(), inside.as_str(), after.as_str()), expect);
        };
        check("Make the\n  Greeting loud", "greeting", ("Make the ", "Greeting", " loud"));
        check("修复登录页面的错误", "登录", ("修复", "登录", "页面的错误"));
        check("x", "x", ("", "x", ""));
        let long = format!("{} here {}", "a".repeat(200), "好".repeat(200));
        let (before, inside, after) = excerpt(&long, "HERE");
        assert_eq!(inside, "here");
        assert!(before.starts_with('…') && before.chars().count() <= AROUND + 2, "{before}");
        assert!(after.ends_with('…') && after.chars().count() <= AROUND + 2, "{after}");
        // What cannot be found again is no reason to fail.
        check("ÄB", "äb", ("", "ÄB", ""));
    }
}
