//! Many runs, side by side.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// How many at a time.
const HANDS: usize = 2;

/// Does it for each, two at a time; the results are in the order of what they are about.
pub fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    thread::scope(|scope| {
        for _ in 0..HANDS {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { break };
                    let result = work(item);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::each;

    #[test]
    fn results_are_in_order_and_none_is_missing() {
        let numbers: Vec<u32> = (0..100).collect();
        assert_eq!(each(&numbers, |n| n * 2), numbers.iter().map(|n| n * 2).collect::<Vec<_>>());
        assert_eq!(each(&[] as &[u32], |n| *n), [] as [u32; 0]);
    }
}
