//! Lists that are kept by writing what is new, and reads that end where somebody has enough.

use holon_core::ids::ThreadId;
use holon_store::{ListTail, StoreWrite};

use super::on_every_backend;
use super::stage::event;

fn end(thread: &ThreadId, stay: u64, then: &[&str]) -> StoreWrite {
    let then = then.iter().map(|&text| text.to_owned()).collect();
    StoreWrite::KeepFrom(Box::new(ListTail { thread: thread.clone(), name: "said", stay, then }))
}

#[test]
fn a_list_gets_longer_or_another_end() {
    on_every_backend(|stage| {
        let id = stage.thread("t-1", "local", "2026-01-01T00:00:00Z");
        let other = stage.thread("t-2", "local", "2026-01-01T00:00:00Z");
        assert!(stage.backend.kept_list(&id, "said").unwrap().is_empty());
        stage.write(vec![end(&id, 0, &["a", "b"]), end(&id, 2, &["c \u{0} 说"])]).unwrap();
        assert_eq!(stage.again().kept_list(&id, "said").unwrap(), ["a", "b", "c \u{0} 说"]);
        stage.write(vec![end(&id, 1, &["B", "C", "D"])]).unwrap();
        assert_eq!(stage.again().kept_list(&id, "said").unwrap(), ["a", "B", "C", "D"]);
        stage.write(vec![end(&id, 2, &[])]).unwrap();
        assert_eq!(stage.backend.kept_list(&id, "said").unwrap(), ["a", "B"]);
        assert!(stage.backend.kept_list(&id, "other").unwrap().is_empty());
        assert!(stage.backend.kept_list(&other, "said").unwrap().is_empty());
        stage.write(vec![StoreWrite::DeleteThread(id.clone())]).unwrap();
        assert!(stage.backend.kept_list(&id, "said").unwrap().is_empty());
    });
}

#[test]
fn a_list_has_no_gaps() {
    on_every_backend(|stage| {
        let id = stage.thread("t-1", "local", "2026-01-01T00:00:00Z");
        assert!(stage.write(vec![end(&id, 1, &["b"])]).unwrap_err().is_conflict());
        stage.write(vec![end(&id, 0, &["a"])]).unwrap();
        assert!(stage.write(vec![end(&id, 3, &["d"])]).unwrap_err().is_conflict());
        assert_eq!(stage.backend.kept_list(&id, "said").unwrap(), ["a"], "nothing was lost by trying");
        let nobody = "t-9".parse().unwrap();
        assert!(stage.write(vec![end(&nobody, 0, &["a"])]).unwrap_err().is_conflict());
    });
}

#[test]
fn no_more_events_are_read_than_somebody_takes() {
    on_every_backend(|stage| {
        let id = stage.thread("t-1", "local", "2026-01-01T00:00:00Z");
        stage.write((1..=9).map(|seq| event(&id, seq, "message")).collect()).unwrap();
        let each = stage.backend.events(&id, 0, 1, 1000).unwrap()[0].data.len();
        let read = |after, limit, bytes| {
            let events = stage.backend.events(&id, after, limit, bytes).unwrap();
            events.iter().map(|event| event.seq).collect::<Vec<_>>()
        };
        assert_eq!(read(0, 100, 3 * each), [1, 2, 3]);
        assert_eq!(read(3, 100, 4 * each - 1), [4, 5, 6]);
        assert_eq!(read(6, 2, 100 * each), [7, 8]);
        assert_eq!(read(6, 100, 0), [7], "one that is larger than all of it is read all the same");
        assert_eq!(read(9, 100, 100), [] as [u64; 0]);
    });
}
