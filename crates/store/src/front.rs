//! What callers hold: a few threads that do the blocking work, and futures to wait for it.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use tokio::sync::oneshot;

use crate::backend::{LogBacklog, StoreBackend, StoreConnector};
use crate::error::StoreError;
use crate::sqlite::Sqlite;
use crate::write::StoreWrite;

/// Connections that only read.
const READERS: usize = 3;
/// Groups of writes that are committed at once.
const MOST_AT_ONCE: usize = 512;

/// The store; closing (or dropping) it waits for what was begun.
pub struct ChatStore {
    writer: Mutex<Option<Sender<WriteGroup>>>,
    reader: Mutex<Option<Sender<StoreQuery>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

type StoreQuery = Box<dyn FnOnce(&dyn StoreBackend) + Send>;

struct WriteGroup {
    writes: Vec<StoreWrite>,
    done: oneshot::Sender<Result<(), StoreError>>,
}

impl ChatStore {
    /// The store in a folder, on SQLite.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        Self::over(&Sqlite::open(folder)?)
    }

    /// The store on any database.
    pub fn over(database: &dyn StoreConnector) -> Result<Self, StoreError> {
        let (writer, groups) = channel();
        let (reader, questions) = channel();
        let questions = Arc::new(Mutex::new(questions));
        let mut threads = Vec::new();
        let (connection, beside) = (database.connect()?, database.connect()?);
        let (wish, wishes) = sync_channel(1);
        threads.push(spawn("store-write", move || write_all(connection, &groups, &wish))?);
        threads.push(spawn("store-settle", move || settle_all(beside.as_ref(), &wishes))?);
        for _ in 0..READERS {
            let (connection, questions) = (database.connect()?, Arc::clone(&questions));
            threads.push(spawn("store-read", move || answer_all(connection.as_ref(), &questions))?);
        }
        let (writer, reader) = (Mutex::new(Some(writer)), Mutex::new(Some(reader)));
        Ok(Self { writer, reader, threads: Mutex::new(threads) })
    }

    /// Writes everything or nothing; done means that a killed process loses none of it. Groups are carried out in the order
    /// of the calls, whether or not anyone waits.
    pub fn write(
        &self,
        writes: Vec<StoreWrite>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send + use<> {
        let (done, told) = oneshot::channel();
        // Sent when called, not when waited for: order matters more than interest.
        let sent = match lock(&self.writer).as_ref() {
            Some(writer) => writer.send(WriteGroup { writes, done }).is_ok(),
            None => false,
        };
        async move {
            match sent {
                true => told.await.unwrap_or(Err(StoreError::Closed)),
                false => Err(StoreError::Closed),
            }
        }
    }

    /// Asks the database something.
    pub async fn read<T: Send + 'static>(
        &self,
        question: impl FnOnce(&dyn StoreBackend) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (done, told) = oneshot::channel();
        let ask: StoreQuery = Box::new(move |backend| {
            // Nobody waits any longer: then nobody needs to know.
            let _ = done.send(question(backend));
        });
        let sent = lock(&self.reader).as_ref().is_some_and(|reader| reader.send(ask).is_ok());
        match sent {
            true => told.await.unwrap_or(Err(StoreError::Closed)),
            false => Err(StoreError::Closed),
        }
    }

    /// Takes nothing more and waits until everything begun is done.
    pub fn close(&self) {
        drop(lock(&self.writer).take());
        drop(lock(&self.reader).take());
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            let _ = thread.join();
        }
    }
}

impl Drop for ChatStore {
    fn drop(&mut self) {
        self.close();
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, StoreError> {
    Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map_err(|e| StoreError::Database(format!("no thread for it: {e}")))
}

fn write_all(mut backend: Box<dyn StoreBackend>, groups: &Receiver<WriteGroup>, wish: &SyncSender<()>) {
    while let Ok(first) = groups.recv() {
        let mut waiting = vec![first];
        waiting.extend(groups.try_iter().take(MOST_AT_ONCE - 1));
        let (writes, done): (Vec<_>, Vec<_>) = waiting.into_iter().map(|g| (g.writes, g.done)).unzip();
        let results = backend.commit(&writes).unwrap_or_else(|e| vec![Err(e); done.len()]);
        for (done, result) in done.into_iter().zip(results) {
            let _ = done.send(result);
        }
        match backend.ahead() {
            LogBacklog::Little => {}
            // One wish is enough for everything that has been committed.
            LogBacklog::Much => drop(wish.try_send(())),
            // What went wrong here goes wrong again at the next commit, which tells it.
            LogBacklog::TooMuch => drop(backend.settle()),
        }
    }
}

/// Settles what was committed whenever somebody wishes it, until nobody can any more.
fn settle_all(backend: &dyn StoreBackend, wishes: &Receiver<()>) {
    while wishes.recv().is_ok() {
        // Nothing is lost when it fails: it is tried again after more commits.
        let _ = backend.settle();
    }
}

fn answer_all(backend: &dyn StoreBackend, questions: &Mutex<Receiver<StoreQuery>>) {
    loop {
        let next = lock(questions).recv();
        match next {
            Ok(question) => question(backend),
            Err(_) => return,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
