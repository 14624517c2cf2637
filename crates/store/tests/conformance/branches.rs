//! Threads that go on from the middle of others: everything before is there, nothing after, and neither touches the other.

use holon_core::ids::ThreadId;
use holon_store::{BranchOrigin, ListTail, StoreBackend, StoreWrite, ThreadBranching, ThreadFilter};

use super::on_every_backend;
use super::stage::{StoreStage, answer, thread, turn_at};

const NAME: &str = "conversation";

/// What a turn leaves of a conversation: everything from a place on is new.
fn said(thread: &ThreadId, stay: u64, then: &[&str], rest: &str) -> Vec<StoreWrite> {
    let then = then.iter().map(|text| (*text).to_owned()).collect();
    vec![
        StoreWrite::KeepFrom(Box::new(ListTail { thread: thread.clone(), name: NAME, stay, then })),
        StoreWrite::Keep(thread.clone(), NAME, rest.to_owned()),
    ]
}

fn branch(
    stage: &mut StoreStage,
    name: &str,
    from: &ThreadId,
    turn: u64,
    seq: u64,
) -> Result<ThreadId, holon_store::StoreError> {
    let mut new = thread(name, "a", "2026-02-01T00:00:00Z");
    new.branch = Some(BranchOrigin { thread: from.clone(), turn });
    new.family = "t-1".parse().unwrap();
    (new.turns, new.last_seq) = (turn - 1, seq);
    let id = new.id.clone();
    let order = ThreadBranching { thread: new, from: from.clone(), turn };
    stage.write(vec![StoreWrite::Branch(Box::new(order))]).map(|()| id)
}

fn talk(backend: &dyn StoreBackend, id: &ThreadId) -> (Option<String>, String) {
    (backend.kept(id, NAME).unwrap(), backend.kept_list(id, NAME).unwrap().join(" "))
}

/// Three turns; the second adds, the third puts a summary in the place of what was said before.
fn three_turns(stage: &mut StoreStage) -> ThreadId {
    let id = stage.thread("t-1", "a", "2026-01-01T00:00:00Z");
    let turns: [(u64, &[&str], &str); 3] = [
        (0, &["q1", "a1"], "after 1"),
        (2, &["q2", "half"], "after 2"),
        (0, &["summary", "q3", "a3"], "after 3"),
    ];
    for (number, (stay, then, rest)) in (1..).zip(turns) {
        let mut writes = vec![turn_at(&id, number, number), answer(&id, number, &format!("answer {number}"))];
        writes.extend(said(&id, stay, then, rest));
        stage.write(writes).unwrap();
        if number == 2 {
            // In the same turn the last one is said differently.
            stage.write(said(&id, 3, &["a2"], "after 2")).unwrap();
        }
    }
    id
}

#[test]
fn a_branch_has_what_was_there_before_its_turn() {
    on_every_backend(|stage| {
        let id = three_turns(stage);
        let third = branch(stage, "t-b3", &id, 3, 2).unwrap();
        let second = branch(stage, "t-b2", &id, 2, 1).unwrap();
        let first = branch(stage, "t-b1", &id, 1, 0).unwrap();
        let of_branch = branch(stage, "t-bb", &third, 2, 1).unwrap();
        let again = stage.again();
        let backend = again.as_ref();
        assert_eq!(talk(backend, &third), (Some("after 2".into()), "q1 a1 q2 a2".into()));
        assert_eq!(talk(backend, &second), (Some("after 1".into()), "q1 a1".into()));
        assert_eq!(talk(backend, &first), (None, String::new()));
        assert_eq!(talk(backend, &of_branch), talk(backend, &second));
        assert_eq!(
            talk(backend, &id),
            (Some("after 3".into()), "summary q3 a3".into()),
            "it stays as it was"
        );
        assert_eq!(backend.turns(&third, 1).unwrap().len(), 2);
        assert_eq!(backend.events(&third, 0, 10, 10_000).unwrap().len(), 2);
        let found = backend.thread(&third).unwrap().unwrap();
        assert_eq!((found.turns, found.last_seq), (2, 2));
        assert_eq!(found.branch, Some(BranchOrigin { thread: id.clone(), turn: 3 }));
        // It goes on by itself.
        let mut writes = vec![turn_at(&third, 3, 3), answer(&third, 3, "other")];
        writes.extend(said(&third, 4, &["q3b"], "after 3b"));
        stage.write(writes).unwrap();
        assert_eq!(talk(stage.backend.as_ref(), &third).1, "q1 a1 q2 a2 q3b");
        assert_eq!(talk(stage.backend.as_ref(), &id).1, "summary q3 a3");
        // And stays when where it comes from is gone.
        stage.write(vec![StoreWrite::DeleteThread(id.clone())]).unwrap();
        assert_eq!(talk(stage.backend.as_ref(), &third).1, "q1 a1 q2 a2 q3b");
    });
}

#[test]
fn a_family_is_one_line_in_the_list() {
    on_every_backend(|stage| {
        let id = three_turns(stage);
        branch(stage, "t-b2", &id, 2, 1).unwrap();
        stage.thread("t-9", "a", "2026-03-01T00:00:00Z");
        let listed = |filter: &ThreadFilter| {
            let found = stage.backend.threads("a", filter, None, 10).unwrap();
            found.iter().map(|thread| thread.id.as_str().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(
            listed(&ThreadFilter::default()),
            ["t-9", "t-b2"],
            "the one in which something happened last"
        );
        assert_eq!(listed(&ThreadFilter { branches: true, ..Default::default() }).len(), 3);
        let family = stage.backend.family("a", &"t-1".parse().unwrap()).unwrap();
        assert_eq!(family.iter().map(|thread| thread.id.as_str()).collect::<Vec<_>>(), ["t-1", "t-b2"]);
        assert_eq!(stage.backend.family("b", &"t-1".parse().unwrap()).unwrap().len(), 0);
        // What both have is found once, and in the branch when the other is gone.
        let found = |backend: &dyn StoreBackend| backend.search("a", "hello", 10).unwrap().len();
        assert_eq!(found(stage.backend.as_ref()), 3);
        stage.write(vec![StoreWrite::DeleteThread(id)]).unwrap();
        assert_eq!(found(stage.backend.as_ref()), 1);
    });
}

#[test]
fn nothing_is_made_up_about_a_turn_that_is_not_known() {
    on_every_backend(|stage| {
        let id = three_turns(stage);
        assert!(branch(stage, "t-b", &id, 4, 3).unwrap_err().is_conflict());
        assert!(
            stage.backend.thread(&"t-b".parse().unwrap()).unwrap().is_none(),
            "nothing half made is left"
        );
    });
}
