//! Places of which there are only so many.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// So many places.
#[derive(Debug, Clone)]
pub(crate) struct Seats {
    free: Arc<Semaphore>,
    all: usize,
}

/// A place, given back when dropped.
#[derive(Debug)]
pub(crate) struct Seat(#[expect(dead_code, reason = "held, not looked at")] OwnedSemaphorePermit);

impl Seats {
    pub(crate) fn new(all: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(all)), all }
    }

    /// A place, if one is free.
    pub(crate) fn take(&self) -> Option<Seat> {
        Arc::clone(&self.free).try_acquire_owned().ok().map(Seat)
    }

    /// How many are taken.
    pub(crate) fn taken(&self) -> usize {
        self.all - self.free.available_permits()
    }
}
