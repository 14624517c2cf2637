//! What is special about the SQLite backend: tampering with its file, several users of it, being killed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use holon_store::sqlite::Sqlite;
use holon_store::{
    AuditNote, ChainVerdict, ChatStore, LogBacklog, StoreBackend, StoreConnector, StoreError, StoreWrite,
    StoredThread, ThreadBranching, ThreadFilter, ThreadState,
};
use rusqlite::Connection;
use serde_json::json;

fn note(n: usize) -> StoreWrite {
    StoreWrite::Audit(Box::new(AuditNote {
        at: "2026-01-01T00:00:00Z".into(),
        actor: "a".into(),
        action: n.to_string(),
        thread: None,
        turn: None,
        detail: json!({}),
    }))
}

fn thread(name: &str) -> StoreWrite {
    let at = "2026-01-01T00:00:00Z";
    StoreWrite::NewThread(Box::new(StoredThread {
        id: name.parse().unwrap(),
        user: "local".into(),
        workspace: "/w".into(),
        agent: "native".into(),
        model: None,
        title: None,
        mode: None,
        tools: Default::default(),
        state: ThreadState::Idle,
        created_at: at.into(),
        updated_at: at.into(),
        last_seq: 0,
        turns: 0,
        usage: Default::default(),
        pinned: false,
        archived: false,
        branch: None,
        family: name.parse().unwrap(),
    }))
}

#[test]
fn inv_13_tampering_with_the_file_is_found() {
    let check = |sql: &str, at: u64| {
        let folder = tempfile::tempdir().unwrap();
        let sqlite = Sqlite::open(folder.path()).unwrap();
        let mut backend = sqlite.connect().unwrap();
        backend.commit(&[(0..5).map(note).collect()]).unwrap();
        let raw = Connection::open(folder.path().join("holon.db")).unwrap();
        raw.execute_batch("DROP TRIGGER audit_is_never_changed; DROP TRIGGER audit_is_never_shortened")
            .unwrap();
        raw.execute_batch(sql).unwrap();
        match backend.verify_audit().unwrap() {
            ChainVerdict::Broken { at: found, .. } => assert_eq!(found, at, "{sql}"),
            whole => panic!("{sql}: {whole:?}"),
        }
    };
    check("UPDATE audit SET actor = 'b' WHERE seq = 3", 3);
    check("DELETE FROM audit WHERE seq = 2", 2);
    check("DELETE FROM audit WHERE seq = 5", 5);
    check("DELETE FROM audit", 1);
}

#[test]
fn entries_cannot_be_changed_by_mistake() {
    let folder = tempfile::tempdir().unwrap();
    let mut backend = Sqlite::open(folder.path()).unwrap().connect().unwrap();
    backend.commit(&[vec![note(0)]]).unwrap();
    let raw = Connection::open(folder.path().join("holon.db")).unwrap();
    raw.execute_batch("UPDATE audit SET actor = 'b'").unwrap_err();
    raw.execute_batch("DELETE FROM audit").unwrap_err();
}

#[test]
fn a_newer_database_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    Sqlite::open(folder.path()).unwrap();
    let raw = Connection::open(folder.path().join("holon.db")).unwrap();
    raw.pragma_update(None, "user_version", 99).unwrap();
    assert!(matches!(Sqlite::open(folder.path()), Err(StoreError::Newer { found: 99, .. })));
}

#[test]
fn an_older_database_is_brought_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let raw = Connection::open(folder.path().join("holon.db")).unwrap();
    raw.execute_batch(include_str!("../src/sqlite/migrations/0001_threads.sql")).unwrap();
    raw.pragma_update(None, "user_version", 1).unwrap();
    let insert = "INSERT INTO audit VALUES (1, 'a', 'b', 'c', NULL, NULL, '{}', '', 'h')";
    raw.execute_batch(insert).unwrap();
    for _ in 0..2 {
        Sqlite::open(folder.path()).unwrap();
    }
    let version: i64 = raw.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert!(version > 1);
    let kept = Sqlite::open(folder.path()).unwrap().connect().unwrap().audit(0, 10, None).unwrap();
    assert_eq!(kept.len(), 1, "nothing is lost on the way");
}

/// Every step there has been; a database of each version is brought up to date.
const STEPS: [&str; 6] = [
    include_str!("../src/sqlite/migrations/0001_threads.sql"),
    include_str!("../src/sqlite/migrations/0002_open_interrupts.sql"),
    include_str!("../src/sqlite/migrations/0003_lists.sql"),
    include_str!("../src/sqlite/migrations/0004_tool_outputs.sql"),
    include_str!("../src/sqlite/migrations/0005_thread_list.sql"),
    include_str!("../src/sqlite/migrations/0006_branches.sql"),
];

#[test]
fn a_database_of_every_version_keeps_its_threads() {
    for version in 1..STEPS.len() {
        let folder = tempfile::tempdir().unwrap();
        let raw = Connection::open(folder.path().join("holon.db")).unwrap();
        STEPS[..version].iter().for_each(|step| raw.execute_batch(step).unwrap());
        raw.pragma_update(None, "user_version", version as i64).unwrap();
        raw.execute_batch(
            "INSERT INTO threads (id, user, workspace, agent, model, title, mode, tools, state, created_at, updated_at, last_seq,
             turns, usage) VALUES ('t-1', 'local', '/w', 'native', NULL, 'A title', 'plan', '{}', 'idle', '2026', '2026', 3, 1, '{}'),
             ('t-2', 'local', '/w', 'native', NULL, NULL, NULL, '{}', 'idle', '2025', '2025', 0, 0, '{}');
             INSERT INTO turns VALUES ('t-1', 1, 'plan', 'What is it?', '[]', 'completed', NULL, 1, 3, '2026', '2026', 0, 0);
             INSERT INTO events VALUES ('t-1', 1, 1, 'turn', '{}', '2026'),
             ('t-1', 2, 1, 'message', '{\"text\":\"It is a lo\"}', '2026'), ('t-1', 3, 1, 'message', '{\"text\":\"gin.\"}', '2026');
             INSERT INTO kept (thread, name, body) VALUES ('t-1', 'conversation', '{\"goal\":\"g\"}');",
        )
        .unwrap();
        if version >= 3 {
            raw.execute_batch("INSERT INTO kept_items (thread, name, place, body) VALUES ('t-1', 'conversation', 0, '\"q\"')")
                .unwrap();
        }
        drop(raw);
        let mut backend = Sqlite::open(folder.path()).unwrap().connect().unwrap();
        let list = backend.threads("local", &ThreadFilter::default(), None, 10).unwrap();
        assert_eq!(
            list.iter().map(|thread| thread.id.as_str()).collect::<Vec<_>>(),
            ["t-1", "t-2"],
            "{version}"
        );
        let id = list[0].id.clone();
        assert_eq!(
            (list[0].title.as_deref(), list[0].pinned, list[0].archived),
            (Some("A title"), false, false)
        );
        assert_eq!(backend.events(&id, 0, 10, 10_000).unwrap().len(), 3);
        assert_eq!(backend.turns(&id, 1).unwrap()[0].message, "What is it?");
        assert_eq!(backend.kept(&id, "conversation").unwrap().as_deref(), Some("{\"goal\":\"g\"}"));
        assert_eq!(backend.kept_list(&id, "conversation").unwrap().len(), usize::from(version >= 3));
        if version < 6 {
            assert_eq!(list[0].family, id, "each is a family of its own");
            // Nobody knows how the conversation stood then.
            let mut new = list[0].clone();
            new.id = "t-b".parse().unwrap();
            let order = ThreadBranching { thread: new, from: id.clone(), turn: 1 };
            let told = backend.commit(&[vec![StoreWrite::Branch(Box::new(order))]]).unwrap().remove(0);
            assert!(told.unwrap_err().is_conflict(), "{version}");
        }
        if version < 5 {
            assert_eq!(
                backend.search("local", "a login", 10).unwrap()[0].text,
                "It is a login.",
                "{version}"
            );
        }
    }
}

#[test]
fn conversations_of_before_become_lists() {
    let folder = tempfile::tempdir().unwrap();
    let raw = Connection::open(folder.path().join("holon.db")).unwrap();
    for step in [
        include_str!("../src/sqlite/migrations/0001_threads.sql"),
        include_str!("../src/sqlite/migrations/0002_open_interrupts.sql"),
    ] {
        raw.execute_batch(step).unwrap();
    }
    raw.pragma_update(None, "user_version", 2).unwrap();
    let said = json!({"goal": "g", "messages": [
        {"role": "user", "parts": [{"text": "说 \u{0} \"hi\"\n"}], "n": 0.1},
        {"role": "assistant", "parts": []},
    ], "rounds": 7});
    for (id, body) in [("t-1", said.to_string()), ("t-2", "{".to_owned()), ("t-3", "{}".to_owned())] {
        raw.execute(
            "INSERT INTO threads (id, user, workspace, agent, tools, state, created_at, updated_at, last_seq, turns, usage)
             VALUES (?1, 'local', '/w', 'native', '{}', 'idle', '', '', 0, 0, '{}')",
            [id],
        )
        .unwrap();
        raw.execute("INSERT INTO kept (thread, name, body) VALUES (?1, 'conversation', ?2)", [id, &body])
            .unwrap();
        raw.execute("INSERT INTO kept (thread, name, body) VALUES (?1, 'supervisor', ?2)", [id, &body])
            .unwrap();
    }
    raw.execute("INSERT INTO uploads VALUES ('f-1', 'local', 'x', 5, '00', 'at')", []).unwrap();
    let backend = Sqlite::open(folder.path()).unwrap().connect().unwrap();
    let read = |id: &str| {
        let id = id.parse().unwrap();
        let list = backend.kept_list(&id, "conversation").unwrap();
        (backend.kept(&id, "conversation").unwrap().unwrap(), list)
    };
    let (rest, list) = read("t-1");
    let parsed: Vec<serde_json::Value> =
        list.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    assert_eq!(json!(parsed), said["messages"]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&rest).unwrap(), json!({"goal": "g", "rounds": 7}));
    assert_eq!(read("t-2"), ("{".to_owned(), Vec::new()), "what is damaged stays as it is");
    assert_eq!(read("t-3"), ("{}".to_owned(), Vec::new()));
    assert_eq!(backend.kept(&"t-1".parse().unwrap(), "supervisor").unwrap(), Some(said.to_string()));
    assert_eq!(backend.upload("local", "f-1").unwrap().unwrap().thread, None);
}

#[test]
fn no_commit_waits_for_what_was_committed_before() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::open(folder.path()).unwrap();
    let (mut writer, beside) = (sqlite.connect().unwrap(), sqlite.connect().unwrap());
    let size = || std::fs::metadata(folder.path().join("holon.db")).unwrap().len();
    // Never the same twice: what does not change is not written.
    let mut letters = "ab".chars().cycle();
    let mut large = || letters.next().map(String::from).unwrap().repeat(1 << 20);
    let mut until = |writer: &mut dyn StoreBackend, wanted: LogBacklog| {
        let commits = (1..200).find(|_| {
            let write = StoreWrite::Keep("t-1".parse().unwrap(), "large", large());
            writer.commit(&[vec![write]]).unwrap().remove(0).unwrap();
            writer.ahead() == wanted
        });
        commits.unwrap_or_else(|| panic!("never {wanted:?}"))
    };
    writer.commit(&[vec![thread("t-1")]]).unwrap().remove(0).unwrap();
    let before = size();
    until(writer.as_mut(), LogBacklog::Much);
    assert_eq!(size(), before, "brought in by a commit");
    beside.settle().unwrap();
    assert!(size() > before, "brought in by nobody");
    // The log begins anew, so the same again is needed for the next wish.
    assert!(until(writer.as_mut(), LogBacklog::Much) > 1);
    // When nobody does it, the writer does.
    until(writer.as_mut(), LogBacklog::TooMuch);
    writer.settle().unwrap();
    until(writer.as_mut(), LogBacklog::Little);
    let kept = beside.kept(&"t-1".parse().unwrap(), "large").unwrap();
    assert_eq!(kept.map(|text| text.len()), Some(1 << 20));
}

#[test]
fn many_writers_and_readers_get_along() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(ChatStore::open(folder.path()).unwrap());
    runtime.block_on(async {
        let mut waiting = Vec::new();
        for n in 0..200 {
            waiting.push(store.write(vec![note(n)]));
        }
        for done in waiting {
            done.await.unwrap();
        }
        let head = store.read(|backend| backend.audit_head()).await.unwrap().unwrap();
        assert_eq!(head.seq, 200);
    });
    // What nobody waits for is done all the same, and in order.
    for n in 200..300 {
        drop(store.write(vec![note(n)]));
    }
    store.close();
    runtime.block_on(async {
        assert!(matches!(store.write(vec![note(0)]).await, Err(StoreError::Closed)));
        assert!(matches!(store.read(|backend| backend.audit_head()).await, Err(StoreError::Closed)));
    });
    let entries = Sqlite::open(folder.path()).unwrap().connect().unwrap().audit(0, 1000, None).unwrap();
    let actions: Vec<String> = entries.into_iter().map(|e| e.note.action).collect();
    assert_eq!(actions, (0..300).map(|n| n.to_string()).collect::<Vec<_>>());
}
