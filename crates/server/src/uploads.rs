//! Files that people sent: kept until a message brings them into its thread, and only so much of them.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use axum::body::Bytes;
use axum::http::StatusCode;
use holon_core::ids::ThreadId;
use holon_host::HostError;
use holon_store::{ChatStore, StoreError, StoreWrite, StoredUpload, UploadOwner};
use tokio::sync::{Mutex, Semaphore, SemaphorePermit};

use crate::problem::{ApiProblem, ApiResult};
use crate::setup::ServerLimits;

/// How long an upload waits for its message.
const KEPT_DAYS: i64 = 30;

/// All uploads of a server.
pub(crate) struct Uploads {
    folder: PathBuf,
    /// Places for those that are in memory; others wait.
    places: Semaphore,
    /// Held from the look at how much there is to the moment when more is there.
    counting: Mutex<()>,
    all: u64,
    user: u64,
    thread: u64,
}

impl Uploads {
    /// Those below a folder; among several users, nobody has more than half of the room.
    pub(crate) fn new(folder: PathBuf, limits: ServerLimits, several: bool) -> Self {
        let all = limits.kept;
        Self {
            folder,
            places: Semaphore::new(limits.uploads),
            counting: Mutex::default(),
            all,
            user: if several { all / 2 } else { all },
            thread: all / 4,
        }
    }

    /// A place in memory.
    pub(crate) async fn place(&self) -> ApiResult<SemaphorePermit<'_>> {
        self.places.acquire().await.map_err(|_| ApiProblem::ending())
    }

    /// Whether the bytes of one wait for a message.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.path(id).is_file()
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(id)
    }

    /// Whether a user may send so many bytes.
    pub(crate) async fn room(&self, store: &ChatStore, user: &str, bytes: u64) -> ApiResult<()> {
        let _counting = self.counting.lock().await;
        self.has_room(store, user, bytes).await
    }

    /// Keeps one, or says that there is no room for it.
    pub(crate) async fn keep(
        &self,
        store: &ChatStore,
        row: StoredUpload,
        bytes: Bytes,
        audit: StoreWrite,
    ) -> ApiResult<()> {
        let _counting = self.counting.lock().await;
        self.has_room(store, &row.user, row.bytes).await?;
        let path = self.path(&row.id);
        let written = tokio::task::spawn_blocking(move || {
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            fs::write(&path, &bytes)
        });
        written.await.map_err(|e| ApiProblem::internal(e.to_string()))?.map_err(|e| {
            let words = format!("the file could not be kept: {e}");
            let full = e.kind() == io::ErrorKind::StorageFull;
            if full { ApiProblem::full(words) } else { ApiProblem::internal(words) }
        })?;
        Ok(store.write(vec![StoreWrite::Upload(row), audit]).await?)
    }

    async fn has_room(&self, store: &ChatStore, user: &str, bytes: u64) -> ApiResult<()> {
        if self.fits(store, user, bytes).await? {
            return Ok(());
        }
        // What nobody used for long makes room.
        self.tidy_now(store).await?;
        if self.fits(store, user, bytes).await? {
            return Ok(());
        }
        Err(full(format!("uploads may take {} together, and there is no room for this one", size(self.user))))
    }

    async fn fits(&self, store: &ChatStore, user: &str, bytes: u64) -> Result<bool, StoreError> {
        let name = UploadOwner::User(user.to_owned());
        let (all, own) = store
            .read(move |backend| Ok((backend.upload_bytes(&UploadOwner::All)?, backend.upload_bytes(&name)?)))
            .await?;
        Ok(all.saturating_add(bytes) <= self.all && own.saturating_add(bytes) <= self.user)
    }

    /// Whether a thread may have these, too.
    pub(crate) async fn fit(
        &self,
        store: &ChatStore,
        thread: &ThreadId,
        files: &[StoredUpload],
    ) -> ApiResult<()> {
        let new: u64 = files.iter().filter(|file| file.thread.is_none()).map(|file| file.bytes).sum();
        if new == 0 {
            return Ok(());
        }
        let of = UploadOwner::Thread(thread.clone());
        let there = store.read(move |backend| backend.upload_bytes(&of)).await?;
        if there.saturating_add(new) <= self.thread {
            return Ok(());
        }
        Err(full(format!("the files of one thread may take {} together", size(self.thread))))
    }

    /// Moves one to where its thread sees it; one that is there already stays.
    pub(crate) fn bring(&self, id: &str, to: &Path) -> Result<(), HostError> {
        let from = self.path(id);
        match fs::rename(&from, to) {
            Err(e) if e.kind() == io::ErrorKind::NotFound && to.is_file() => Ok(()),
            moved => moved.map_err(HostError::io("move", &from)),
        }
    }

    /// Takes away what waited too long for a message, and bytes that belong to nothing: a thread that is gone, or an
    /// upload that a killed server was taking in.
    pub(crate) async fn tidy(&self, store: &ChatStore) -> Result<(), StoreError> {
        let _counting = self.counting.lock().await;
        self.tidy_now(store).await
    }

    async fn tidy_now(&self, store: &ChatStore) -> Result<(), StoreError> {
        let oldest = jiff::Timestamp::now().as_second() - KEPT_DAYS * 24 * 60 * 60;
        let oldest = jiff::Timestamp::from_second(oldest).map(|at| at.to_string()).unwrap_or_default();
        store.write(vec![StoreWrite::ForgetUploads(oldest)]).await?;
        let known: HashSet<String> = store.read(|backend| backend.upload_ids()).await?.into_iter().collect();
        let folder = self.folder.clone();
        let _ = tokio::task::spawn_blocking(move || sweep(&folder, &known)).await;
        Ok(())
    }
}

/// Removes what is not known; what cannot be removed now is tried again.
fn sweep(folder: &Path, known: &HashSet<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_name().to_str().is_some_and(|name| known.contains(name)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn full(message: String) -> ApiProblem {
    ApiProblem::new(StatusCode::PAYLOAD_TOO_LARGE, "quota", message).with_hint(
        "delete a thread whose files are not needed, or start the server with a larger --uploads-mb",
    )
}

/// A size in words.
fn size(bytes: u64) -> String {
    match bytes {
        0..=1_048_575 => format!("{bytes} bytes"),
        _ => format!("{} MB", bytes >> 20),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use holon_store::StoredThread;

    use super::*;

    struct UploadStage {
        folder: tempfile::TempDir,
        store: ChatStore,
        uploads: Uploads,
    }

    impl UploadStage {
        fn new(kept: u64, several: bool) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let store = ChatStore::open(folder.path()).unwrap();
            let limits = ServerLimits { kept, ..ServerLimits::default() };
            let uploads = Uploads::new(folder.path().join("uploads"), limits, several);
            Self { folder, store, uploads }
        }

        async fn send(&self, id: &str, user: &str, bytes: usize, at: &str) -> ApiResult<()> {
            let row = StoredUpload {
                id: id.into(),
                user: user.into(),
                name: "x".into(),
                bytes: bytes as u64,
                sha256: String::new(),
                at: at.into(),
                thread: None,
            };
            let audit = StoreWrite::ForgetUploads(String::new());
            self.uploads.keep(&self.store, row, Bytes::from(vec![0; bytes]), audit).await
        }

        async fn thread(&self, id: &str) -> ThreadId {
            let thread: StoredThread = serde_json::from_value(serde_json::json!({
                "id": id, "user": "a", "workspace": "/w", "agent": "native", "model": null, "title": null, "mode": null,
                "tools": {}, "state": "idle", "created_at": "", "updated_at": "", "last_seq": 0, "turns": 0,
                "pinned": false, "archived": false, "branch": null, "family": id,
                "usage": holon_core::manifest::UsageTotals::default(),
            }))
            .unwrap();
            let id = thread.id.clone();
            self.store.write(vec![StoreWrite::NewThread(Box::new(thread))]).await.unwrap();
            id
        }

        fn there(&self) -> Vec<String> {
            let entries = fs::read_dir(self.folder.path().join("uploads")).unwrap();
            let mut names: Vec<String> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    const NOW: &str = "9999";

    #[tokio::test]
    async fn there_is_only_so_much_room_and_a_deleted_thread_gives_its_own_back() {
        let stage = UploadStage::new(1000, false);
        stage.send("f-1", "a", 200, NOW).await.unwrap();
        stage.send("f-2", "a", 700, NOW).await.unwrap();
        let refused = stage.send("f-3", "a", 101, NOW).await.unwrap_err();
        assert_eq!(
            (refused.code.as_str(), stage.there()),
            ("quota", vec!["f-1".to_owned(), "f-2".to_owned()])
        );
        stage.uploads.room(&stage.store, "a", 101).await.unwrap_err();
        let thread = stage.thread("t-1").await;
        stage.store.write(vec![StoreWrite::Bring(thread.clone(), "f-1".into())]).await.unwrap();
        let to = stage.folder.path().join("brought");
        stage.uploads.bring("f-1", &to).unwrap();
        stage.uploads.bring("f-1", &to).unwrap();
        assert_eq!((stage.there(), to.metadata().unwrap().len()), (vec!["f-2".to_owned()], 200));
        stage.send("f-3", "a", 101, NOW).await.unwrap_err();
        stage.store.write(vec![StoreWrite::DeleteThread(thread)]).await.unwrap();
        stage.send("f-3", "a", 101, NOW).await.unwrap();
    }

    #[tokio::test]
    async fn a_thread_has_a_quarter_and_a_user_among_several_a_half() {
        let stage = UploadStage::new(1000, true);
        let thread = stage.thread("t-1").await;
        let file = async |id: &str, bytes: usize| {
            stage.send(id, "a", bytes, NOW).await.unwrap();
            let id = id.to_owned();
            stage.store.read(move |backend| backend.upload("a", &id)).await.unwrap().unwrap()
        };
        let (one, two) = (file("f-1", 200).await, file("f-2", 51).await);
        stage.uploads.fit(&stage.store, &thread, std::slice::from_ref(&one)).await.unwrap();
        stage.uploads.fit(&stage.store, &thread, &[one.clone(), two.clone()]).await.unwrap_err();
        stage.store.write(vec![StoreWrite::Bring(thread.clone(), "f-1".into())]).await.unwrap();
        let refused = stage.uploads.fit(&stage.store, &thread, &[two]).await.unwrap_err();
        assert_eq!(refused.code, "quota");
        stage.send("f-3", "a", 250, NOW).await.unwrap_err();
        stage.send("f-4", "b", 500, NOW).await.unwrap();
    }

    #[tokio::test]
    async fn what_waited_too_long_or_belongs_to_nothing_is_gone() {
        let stage = UploadStage::new(1000, false);
        stage.send("f-old", "a", 900, "2020-01-01T00:00:00Z").await.unwrap();
        // Room is made before anything is refused.
        stage.send("f-new", "a", 900, NOW).await.unwrap();
        assert_eq!(stage.there(), ["f-new"]);
        fs::write(stage.folder.path().join("uploads/f-half"), "x").unwrap();
        stage.uploads.tidy(&stage.store).await.unwrap();
        assert_eq!(stage.there(), ["f-new"]);
    }
}
