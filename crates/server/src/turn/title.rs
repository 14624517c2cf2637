//! The title of a thread, made from its first message beside the answer.

use std::sync::Arc;
use std::time::Duration;

use holon_core::ids::ThreadId;
use holon_host::record::now;
use holon_host::thread::ChatModelSession;
use holon_model::{ModelCancel, ModelMessage, ModelRequest};
use holon_store::{StoreWrite, ThreadUpdate};
use serde_json::json;

use crate::app::AppState;
use crate::event_log::EventDraft;
use crate::live_threads::LiveThreadHandle;

/// Longest title.
const MOST: usize = 60;
/// A model that takes longer is not waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// Makes the title and tells it; a model that does not answer is no reason to have none.
pub(crate) async fn make(
    app: Arc<AppState>,
    held: LiveThreadHandle,
    thread: ThreadId,
    message: String,
    mind: Option<ChatModelSession>,
) {
    let asked = match mind {
        Some(mind) => tokio::time::timeout(PATIENCE, ask(&mind, &message)).await.ok().flatten(),
        None => None,
    };
    let title = asked.unwrap_or_else(|| from_words(&message));
    let title = app.redactor.redact_str(&title);
    let change = ThreadUpdate { title: Some(title.clone()), ..ThreadUpdate::of(thread, now()) };
    let draft = EventDraft { turn: 1, kind: "title", data: json!({"title": title}) };
    // A thread that is gone meanwhile needs no title.
    let _ = held.feed.tell(vec![draft], vec![StoreWrite::Thread(Box::new(change))]).await;
}

async fn ask(mind: &ChatModelSession, message: &str) -> Option<String> {
    let words: String = message.chars().take(2000).collect();
    let mut request = ModelRequest { model: mind.info.id.clone(), ..ModelRequest::default() };
    request.system =
        "Give this conversation a title: at most six words, in the language of the message, without quotes \
                      or a full stop. Answer with the title alone."
            .to_owned();
    request.messages = vec![ModelMessage::user(&words)];
    request.max_output = Some(40);
    let mut nobody = |_| {};
    let reply = mind.provider.stream(&request, &mut nobody, &ModelCancel::default()).await.ok()?;
    let title = from_words(&reply.text());
    Some(title).filter(|title| !title.is_empty())
}

/// The first line, cut at a word.
fn from_words(message: &str) -> String {
    let line = message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line: String = line.chars().filter(|c| !c.is_control()).collect();
    let line = line.trim_matches(|c: char| c.is_whitespace() || matches!(c, '#' | '*' | '"' | '`' | '>'));
    if line.chars().count() <= MOST {
        return line.to_owned();
    }
    let cut: String = line.chars().take(MOST - 1).collect();
    let end = cut.rfind(char::is_whitespace).filter(|end| *end > MOST / 2).unwrap_or(cut.len());
    format!("{}…", cut[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_line_in_short() {
        let check = |message: &str, expect: &str| assert_eq!(from_words(message), expect);
        check("\n\n  # Fix the *tests*\nmore", "Fix the *tests");
        check("创建一个 hello.py 文件", "创建一个 hello.py 文件");
        check("", "");
        let long = from_words(&"word ".repeat(40));
        assert!(long.ends_with("word…") && long.chars().count() <= MOST, "{long}");
        assert_eq!(from_words(&"好".repeat(100)).chars().count(), MOST);
    }
}
