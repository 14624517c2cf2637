//! Places of which there are only so many, and of which nobody gets all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// So many places.
#[derive(Debug, Clone)]
pub(crate) struct ConcurrencyLimit {
    free: Arc<Semaphore>,
    all: usize,
    each: usize,
    users: Arc<Mutex<HashMap<String, usize>>>,
}

/// A place, given back when dropped.
#[derive(Debug)]
pub(crate) struct ConcurrencyPermit {
    user: String,
    users: Arc<Mutex<HashMap<String, usize>>>,
    _permit: OwnedSemaphorePermit,
}

impl ConcurrencyLimit {
    /// Among several users, nobody takes more than half of them.
    pub(crate) fn new(all: usize, several: bool) -> Self {
        let each = if several { (all / 2).max(1) } else { all };
        Self { free: Arc::new(Semaphore::new(all)), all, each, users: Arc::default() }
    }

    /// A place, if one is free for this user.
    pub(crate) fn take(&self, user: &str) -> Option<ConcurrencyPermit> {
        let mut users = lock(&self.users);
        if users.get(user).is_some_and(|taken| *taken >= self.each) {
            return None;
        }
        let permit = Arc::clone(&self.free).try_acquire_owned().ok()?;
        *users.entry(user.to_owned()).or_default() += 1;
        Some(ConcurrencyPermit { user: user.to_owned(), users: Arc::clone(&self.users), _permit: permit })
    }

    /// How many are taken.
    pub(crate) fn taken(&self) -> usize {
        self.all - self.free.available_permits()
    }
}

impl Drop for ConcurrencyPermit {
    fn drop(&mut self) {
        let mut users = lock(&self.users);
        match users.get_mut(&self.user) {
            Some(taken) if *taken > 1 => *taken -= 1,
            _ => {
                users.remove(&self.user);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn nobody_takes_what_others_need() {
        let seats = ConcurrencyLimit::new(4, true);
        let (first, second) = (seats.take("ann").unwrap(), seats.take("ann").unwrap());
        assert!(seats.take("ann").is_none());
        let others = (seats.take("bob").unwrap(), seats.take("eve").unwrap());
        assert!(seats.take("zoe").is_none(), "all are taken");
        assert_eq!(seats.taken(), 4);
        drop((first, second));
        assert!(seats.take("ann").is_some());
        drop(others);
        assert_eq!((seats.taken(), lock(&seats.users).len()), (0, 0));
    }

    #[test]
    fn a_single_user_may_have_them_all() {
        let seats = ConcurrencyLimit::new(3, false);
        let all: Vec<ConcurrencyPermit> = (0..3).map(|_| seats.take("local").unwrap()).collect();
        assert!(seats.take("local").is_none());
        drop(all);
        assert!(ConcurrencyLimit::new(1, true).take("ann").is_some(), "one place is for whoever comes first");
    }
}
