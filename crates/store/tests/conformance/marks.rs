//! What people do with their list: names, pins, the archive, and words that are looked for.

use holon_store::{StoreWrite, ThreadFilter, ThreadMarks, ThreadUpdate, TurnState, TurnUpdate};
use serde_json::json;

use super::on_every_backend;
use super::stage::{StoreStage, answer, turn};

fn listed(stage: &StoreStage, filter: &ThreadFilter) -> Vec<String> {
    let found = stage.backend.threads("a", filter, None, 10).unwrap();
    found.iter().map(|thread| thread.id.as_str().to_owned()).collect()
}

#[test]
fn a_mark_changes_no_place_in_the_list() {
    on_every_backend(|stage| {
        for (name, at) in [
            ("t-1", "2026-01-01T00:00:01Z"),
            ("t-2", "2026-01-01T00:00:02Z"),
            ("t-3", "2026-01-01T00:00:03Z"),
        ] {
            stage.thread(name, "a", at);
        }
        let mark = |id: &str, title: Option<&str>, pinned, archived| {
            let (id, title) = (id.parse().unwrap(), title.map(str::to_owned));
            StoreWrite::Marks(ThreadMarks { id, title, pinned, archived })
        };
        let writes = vec![mark("t-1", Some("Named"), Some(true), None), mark("t-2", None, None, Some(true))];
        stage.write(writes).unwrap();
        let first = stage.again().thread(&"t-1".parse().unwrap()).unwrap().unwrap();
        assert_eq!((first.title.as_deref(), first.pinned, first.archived), (Some("Named"), true, false));
        assert_eq!(first.updated_at, "2026-01-01T00:00:01Z", "nothing has happened in it");
        assert_eq!(listed(stage, &ThreadFilter::default()), ["t-3", "t-1"]);
        assert_eq!(listed(stage, &ThreadFilter { pinned: Some(true), ..Default::default() }), ["t-1"]);
        assert_eq!(listed(stage, &ThreadFilter { pinned: Some(false), ..Default::default() }), ["t-3"]);
        assert_eq!(listed(stage, &ThreadFilter { archived: true, ..Default::default() }), ["t-2"]);
        stage
            .write(vec![mark("t-1", None, Some(false), None), mark("t-2", None, None, Some(false))])
            .unwrap();
        assert_eq!(listed(stage, &ThreadFilter::default()), ["t-3", "t-2", "t-1"]);
        stage.write(vec![mark("t-9", None, Some(true), None)]).unwrap_err();
    });
}

#[test]
fn words_are_found_in_titles_messages_and_answers_of_their_user() {
    on_every_backend(|stage| {
        let id = stage.thread("t-1", "a", "2026-01-01T00:00:00Z");
        stage.thread("t-2", "b", "2026-01-01T00:00:00Z");
        let title = ThreadUpdate {
            title: Some("100% done_ \\ 修复登录".into()),
            ..ThreadUpdate::of(id.clone(), "2026")
        };
        let ended = TurnUpdate {
            thread: id.clone(),
            number: 1,
            state: TurnState::Completed,
            code: None,
            ended_at: Some("2026".into()),
            changed: None,
        };
        // The words stand across two events.
        let writes = vec![
            StoreWrite::Thread(Box::new(title)),
            turn(&id, 1),
            answer(&id, 1, "It is the Lo"),
            answer(&id, 2, "gin page. "),
            StoreWrite::Turn(Box::new(ended)),
        ];
        stage.write(writes).unwrap();
        let again = stage.again();
        let found = |user: &str, words: &str| {
            let places = again.search(user, words, 10).unwrap();
            places.into_iter().map(|found| (found.turn, found.said, found.text)).collect::<Vec<_>>()
        };
        assert_eq!(found("a", "login"), [(1, false, "It is the Login page. ".to_owned())]);
        assert_eq!(found("a", "HELLO"), [(1, true, "说 \u{0} hello".to_owned())]);
        assert_eq!(found("a", "登录").len(), 1);
        assert_eq!(found("a", "0% done_ \\ ").len(), 1);
        assert_eq!((found("a", "0_ done").len(), found("a", "1%e").len(), found("a", "xx").len()), (0, 0, 0));
        assert!(found("b", "login").is_empty());
        let (all, first) =
            (again.search("a", "o", 10).unwrap().len(), again.search("a", "o", 1).unwrap().len());
        assert_eq!((all, first), (3, 1));
        assert_eq!(json!(again.search("a", "login", 10).unwrap()[0].title), json!("100% done_ \\ 修复登录"));
    });
}
