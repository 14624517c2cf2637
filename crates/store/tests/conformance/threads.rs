//! Threads, turns, events and what hangs on them.

use holon_core::policy::ToolVerdict;
use holon_store::{
    InterruptRow, ModeSwitch, StoreWrite, ThreadFilter, ThreadState, ThreadUpdate, TurnState, TurnUpdate,
};

use super::on_every_backend;
use super::stage::{event, thread, turn};

#[test]
fn what_is_written_is_read_back_after_a_restart() {
    on_every_backend(|stage| {
        let id = stage.thread("t-1", "local", "2026-01-01T00:00:00Z");
        stage.write(vec![turn(&id, 1), event(&id, 1, "turn"), event(&id, 2, "message")]).unwrap();
        let mut change = ThreadUpdate::of(id.clone(), "2026-01-01T00:00:05Z");
        change.title = Some("A title".into());
        change.state = Some(ThreadState::Waiting);
        change.tools = Some([("execute".to_owned(), ToolVerdict::Ask)].into());
        stage
            .write(vec![
                StoreWrite::Thread(Box::new(change)),
                StoreWrite::Keep(id.clone(), "conversation", "{}".into()),
            ])
            .unwrap();

        let again = stage.again();
        let found = again.thread(&id).unwrap().unwrap();
        assert_eq!((found.title.as_deref(), found.state), (Some("A title"), ThreadState::Waiting));
        assert_eq!((found.last_seq, found.turns, found.updated_at.as_str()), (2, 1, "2026-01-01T00:00:05Z"));
        assert_eq!(found.tools["execute"], ToolVerdict::Ask);
        assert_eq!(again.kept(&id, "conversation").unwrap().as_deref(), Some("{}"));
        assert_eq!(again.busy_threads().unwrap().len(), 1);
        let turns = again.turns(&id, 1).unwrap();
        assert_eq!((turns[0].message.as_str(), turns[0].last_seq), ("说 \u{0} hello", 2));
        assert_eq!(again.events(&id, 1, 10, 1000).unwrap().iter().map(|e| e.seq).collect::<Vec<_>>(), [2]);
        assert_eq!(again.counts().unwrap(), (1, 2));
    });
}

#[test]
fn turns_can_be_read_from_a_number_on() {
    on_every_backend(|stage| {
        let id = stage.thread("t-1", "local", "2026-01-01T00:00:00Z");
        stage.write((1..=5).map(|number| turn(&id, number)).collect()).unwrap();
        let numbers =
            |from| stage.backend.turns(&id, from).unwrap().iter().map(|t| t.number).collect::<Vec<_>>();
        assert_eq!(numbers(0), [1, 2, 3, 4, 5]);
        assert_eq!(numbers(4), [4, 5]);
        assert_eq!(numbers(6), [] as [u64; 0]);
        assert_eq!(numbers(u64::MAX), [] as [u64; 0]);
    });
}

#[test]
fn events_have_no_gaps_and_no_doubles() {
    on_every_backend(|stage| {
        let id = stage.thread("t-1", "local", "2026-01-01T00:00:00Z");
        stage.write(vec![event(&id, 1, "a")]).unwrap();
        for wrong in [1, 3, 0, 7] {
            assert!(stage.write(vec![event(&id, wrong, "b")]).unwrap_err().is_conflict(), "{wrong}");
        }
        stage.write(vec![event(&id, 2, "b")]).unwrap();
        let nobody = "t-2".parse().unwrap();
        assert!(stage.write(vec![event(&nobody, 1, "a")]).unwrap_err().is_conflict());
    });
}

#[test]
fn a_group_happens_whole_or_not_at_all_and_does_not_hurt_others() {
    on_every_backend(|stage| {
        let id = stage.thread("t-1", "local", "2026-01-01T00:00:00Z");
        let groups = [
            vec![event(&id, 1, "a")],
            vec![event(&id, 2, "b"), event(&id, 9, "c")],
            vec![event(&id, 2, "d")],
        ];
        let results = stage.backend.commit(&groups).unwrap();
        assert_eq!(results.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
        let kinds: Vec<String> =
            stage.backend.events(&id, 0, 10, 1000).unwrap().into_iter().map(|e| e.kind).collect();
        assert_eq!(kinds, ["a", "d"]);
    });
}

#[test]
fn threads_are_listed_by_activity_and_user_page_by_page() {
    on_every_backend(|stage| {
        for n in 0..7 {
            stage.thread(&format!("t-{n}"), "a", &format!("2026-01-01T00:00:{:02}Z", n / 2));
        }
        stage.thread("t-other", "b", "2026-01-02T00:00:00Z");
        let mut seen = Vec::new();
        let mut cursor: Option<(String, String)> = None;
        loop {
            let before = cursor.as_ref().map(|(at, id)| (at.as_str(), id.as_str()));
            let page = stage.backend.threads("a", &ThreadFilter::default(), before, 3).unwrap();
            let Some(last) = page.last() else { break };
            cursor = Some((last.updated_at.clone(), last.id.as_str().to_owned()));
            seen.extend(page.iter().map(|t| t.id.as_str().to_owned()));
        }
        assert_eq!(seen, ["t-6", "t-5", "t-4", "t-3", "t-2", "t-1", "t-0"]);
    });
}

#[test]
fn an_id_is_given_once() {
    on_every_backend(|stage| {
        let id = stage.thread("t-1", "local", "2026-01-01T00:00:00Z");
        let twice = thread("t-1", "other", "2026-01-01T00:00:00Z");
        assert!(stage.write(vec![StoreWrite::NewThread(Box::new(twice))]).unwrap_err().is_conflict());
        stage.write(vec![turn(&id, 1)]).unwrap();
        assert!(stage.write(vec![turn(&id, 1)]).unwrap_err().is_conflict());
    });
}

#[test]
fn turns_end_are_undone_and_applied() {
    on_every_backend(|stage| {
        let id = stage.thread("t-1", "local", "2026-01-01T00:00:00Z");
        for number in 1..=3 {
            let end = TurnUpdate {
                thread: id.clone(),
                number,
                state: TurnState::Completed,
                code: None,
                ended_at: Some("2026-01-01T00:00:09Z".into()),
                changed: Some(number != 2),
            };
            stage.write(vec![turn(&id, number), StoreWrite::Turn(Box::new(end))]).unwrap();
        }
        stage.write(vec![StoreWrite::Undone(id.clone(), 3), StoreWrite::Applied(id.clone())]).unwrap();
        let turns = stage.backend.turns(&id, 1).unwrap();
        let states: Vec<(TurnState, bool)> = turns.iter().map(|t| (t.state, t.applied)).collect();
        let done = TurnState::Completed;
        assert_eq!(states, [(done, true), (done, false), (TurnState::Undone, false)]);
    });
}

#[test]
fn questions_stay_open_until_they_are_answered_once() {
    on_every_backend(|stage| {
        let id = stage.thread("t-1", "local", "2026-01-01T00:00:00Z");
        let row = InterruptRow {
            thread: id.clone(),
            id: "i".into(),
            turn: 1,
            body: "{}".into(),
            answered_at: None,
        };
        stage.write(vec![StoreWrite::Interrupt(row)]).unwrap();
        assert_eq!(stage.backend.open_interrupt(&id).unwrap().unwrap().id, "i");
        let answered = || vec![StoreWrite::Answered(id.clone(), "i".into(), "2026-01-01T00:00:01Z".into())];
        stage.write(answered()).unwrap();
        assert!(stage.write(answered()).unwrap_err().is_conflict());
        assert!(stage.backend.open_interrupt(&id).unwrap().is_none());
    });
}

#[test]
fn mode_switches_are_kept() {
    on_every_backend(|stage| {
        let id = stage.thread("t-1", "local", "2026-01-01T00:00:00Z");
        let switch = |turn, from: Option<&str>, to: &str| ModeSwitch {
            turn,
            from: from.map(Into::into),
            to: to.into(),
            at: "x".into(),
        };
        let (one, two) = (switch(1, None, "plan"), switch(4, Some("plan"), "build"));
        stage
            .write(vec![StoreWrite::Mode(id.clone(), one.clone()), StoreWrite::Mode(id.clone(), two.clone())])
            .unwrap();
        assert_eq!(stage.backend.modes(&id).unwrap(), [one, two]);
    });
}

#[test]
fn a_deleted_thread_leaves_nothing() {
    on_every_backend(|stage| {
        let id = stage.thread("t-1", "local", "2026-01-01T00:00:00Z");
        stage
            .write(vec![
                turn(&id, 1),
                event(&id, 1, "supervisor"),
                StoreWrite::Keep(id.clone(), "x", "y".into()),
            ])
            .unwrap();
        assert_eq!(stage.backend.events_of_kind("local", None, "supervisor", "2026", 10).unwrap().len(), 1);
        assert!(stage.backend.events_of_kind("other", None, "supervisor", "2026", 10).unwrap().is_empty());
        stage.write(vec![StoreWrite::DeleteThread(id.clone())]).unwrap();
        assert!(stage.backend.thread(&id).unwrap().is_none());
        assert!(stage.backend.turns(&id, 1).unwrap().is_empty());
        assert!(stage.backend.events(&id, 0, 10, 1000).unwrap().is_empty());
        assert!(stage.backend.kept(&id, "x").unwrap().is_none());
        assert!(stage.write(vec![StoreWrite::DeleteThread(id)]).unwrap_err().is_conflict());
    });
}
