//! Many files at once: the system does most of the work for each, so every processor takes a part of them.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Fewer than this are done before a thread would have started.
const WORTH_IT: usize = 64;
/// More threads than this only wait for one another.
const MOST: usize = 4;
/// How many one thread takes at a time: neighbours share a folder, and no thread waits long for the last of another.
const AT_ONCE: usize = 32;

/// Does something about every item, neighbours by the same thread and in their order: `work` gets the number of its first
/// item and a part of them. The results are in the order of the items; the first failure stands for all, and what nobody
/// began by then is left.
pub(crate) fn in_parts<T: Sync, R: Send, E: Send>(
    items: &[T],
    work: impl Fn(usize, &[T]) -> Result<Vec<R>, E> + Sync,
) -> Result<Vec<R>, E> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST);
    if items.len() < WORTH_IT || threads == 1 {
        return work(0, items);
    }
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        loop {
            let first = next.fetch_add(AT_ONCE, Ordering::Relaxed);
            let Some(rest) = items.get(first..).filter(|rest| !rest.is_empty()) else { return done };
            let result = work(first, &rest[..rest.len().min(AT_ONCE)]);
            if result.is_err() {
                next.store(items.len(), Ordering::Relaxed);
            }
            done.push((first, result));
        }
    };
    let mut parts: Vec<(usize, Result<Vec<R>, E>)> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(take)).collect();
        let mut parts = take();
        for other in others {
            parts.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        parts
    });
    parts.sort_unstable_by_key(|(first, _)| *first);
    let mut all = Vec::with_capacity(items.len());
    for (_, part) in parts {
        all.extend(part?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_item_is_done_once_and_in_order() {
        for count in [0, 1, WORTH_IT - 1, WORTH_IT, 1001] {
            let items: Vec<usize> = (0..count).collect();
            let done: Result<Vec<(usize, usize)>, ()> = in_parts(&items, |first, part| {
                Ok(part.iter().enumerate().map(|(at, item)| (first + at, *item)).collect())
            });
            let expected: Vec<(usize, usize)> = items.iter().map(|item| (*item, *item)).collect();
            assert_eq!(done.unwrap(), expected);
        }
    }

    #[test]
    fn the_first_failure_stands_for_all() {
        let items: Vec<usize> = (0..1000).collect();
        let done: Result<Vec<()>, usize> = in_parts(&items, |first, part| {
            // Only the part with this item fails, whoever does it.
            if part.contains(&500) { Err(first) } else { Ok(Vec::new()) }
        });
        assert_eq!(done, Err(500 / AT_ONCE * AT_ONCE));
    }
}
