//! How often a user may ask: a bucket each, filled steadily.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Buckets of all users.
#[derive(Debug)]
pub(crate) struct RateLimiter {
    each_second: f64,
    burst: f64,
    buckets: Mutex<HashMap<String, RateBucket>>,
}

#[derive(Debug, Clone, Copy)]
struct RateBucket {
    left: f64,
    at: Instant,
}

impl RateLimiter {
    pub(crate) fn new(each_second: u32, burst: u32) -> Self {
        let buckets = Mutex::default();
        Self { each_second: f64::from(each_second.max(1)), burst: f64::from(burst.max(1)), buckets }
    }

    /// Takes one request from a user's bucket; if it is empty, says in how many seconds one is there.
    pub(crate) fn take(&self, user: &str, now: Instant) -> Result<(), u64> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if !buckets.contains_key(user) {
            buckets.insert(user.to_owned(), RateBucket { left: self.burst, at: now });
        }
        let Some(bucket) = buckets.get_mut(user) else { return Ok(()) };
        let filled = now.saturating_duration_since(bucket.at).as_secs_f64() * self.each_second;
        bucket.left = (bucket.left + filled).min(self.burst);
        bucket.at = now;
        if bucket.left < 1.0 {
            return Err(((1.0 - bucket.left) / self.each_second).ceil().max(1.0) as u64);
        }
        bucket.left -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_is_fine_and_then_it_is_so_many_a_second() {
        let rates = RateLimiter::new(2, 3);
        let start = Instant::now();
        assert!((0..3).all(|_| rates.take("a", start).is_ok()));
        assert_eq!(rates.take("a", start), Err(1));
        assert_eq!(rates.take("b", start), Ok(()), "everybody has a bucket");
        assert_eq!(rates.take("a", start + Duration::from_millis(500)), Ok(()));
        assert_eq!(rates.take("a", start + Duration::from_millis(500)), Err(1));
    }
}
