//! Files that people sent: whose they are, how much they are together, and when they go.

use holon_store::{StoreWrite, StoredUpload, UploadOwner};

use super::on_every_backend;

fn upload(id: &str, user: &str, bytes: u64, at: &str) -> StoredUpload {
    StoredUpload {
        id: id.into(),
        user: user.into(),
        name: "x.txt".into(),
        bytes,
        sha256: "00".into(),
        at: at.into(),
        thread: None,
    }
}

#[test]
fn uploads_are_kept_for_their_user() {
    on_every_backend(|stage| {
        let file = upload("f-1", "a", 3, "2026");
        stage.write(vec![StoreWrite::Upload(file.clone())]).unwrap();
        assert_eq!(stage.backend.upload("a", "f-1").unwrap(), Some(file));
        assert_eq!(stage.backend.upload("b", "f-1").unwrap(), None, "another user's");
        assert_eq!(stage.backend.upload_ids().unwrap(), ["f-1"]);
    });
}

#[test]
fn an_upload_goes_with_the_one_thread_that_has_it() {
    on_every_backend(|stage| {
        let one = stage.thread("t-1", "a", "2026-01-01T00:00:00Z");
        let two = stage.thread("t-2", "a", "2026-01-01T00:00:00Z");
        for (id, user, bytes) in [("f-1", "a", 3), ("f-2", "a", 40), ("f-3", "b", 500)] {
            stage.write(vec![StoreWrite::Upload(upload(id, user, bytes, "2026"))]).unwrap();
        }
        let bring =
            |thread: &holon_core::ids::ThreadId, id: &str| vec![StoreWrite::Bring(thread.clone(), id.into())];
        stage.write(bring(&one, "f-1")).unwrap();
        stage.write(bring(&one, "f-1")).unwrap();
        assert!(stage.write(bring(&two, "f-1")).unwrap_err().is_conflict(), "it is the other thread's");
        assert!(stage.write(bring(&two, "f-9")).unwrap_err().is_conflict(), "there is none");
        assert_eq!(stage.again().upload("a", "f-1").unwrap().unwrap().thread, Some(one.clone()));
        let of = |stage: &super::StoreStage, whose: UploadOwner| stage.backend.upload_bytes(&whose).unwrap();
        assert_eq!(of(stage, UploadOwner::All), 543);
        assert_eq!(
            (of(stage, UploadOwner::User("a".into())), of(stage, UploadOwner::User("c".into()))),
            (43, 0)
        );
        assert_eq!(
            (of(stage, UploadOwner::Thread(one.clone())), of(stage, UploadOwner::Thread(two))),
            (3, 0)
        );
        stage.write(vec![StoreWrite::DeleteThread(one)]).unwrap();
        assert_eq!(of(stage, UploadOwner::All), 540);
        assert_eq!(stage.backend.upload("a", "f-1").unwrap(), None);
    });
}

#[test]
fn what_nobody_used_is_forgotten_and_nothing_else() {
    on_every_backend(|stage| {
        let thread = stage.thread("t-1", "a", "2026-01-01T00:00:00Z");
        for (id, at) in [("f-old", "2026-01-01"), ("f-used", "2026-01-01"), ("f-new", "2026-03-01")] {
            stage.write(vec![StoreWrite::Upload(upload(id, "a", 1, at))]).unwrap();
        }
        stage.write(vec![StoreWrite::Bring(thread, "f-used".into())]).unwrap();
        stage.write(vec![StoreWrite::ForgetUploads("2026-02-01".into())]).unwrap();
        let mut left = stage.backend.upload_ids().unwrap();
        left.sort();
        assert_eq!(left, ["f-new", "f-used"]);
    });
}
