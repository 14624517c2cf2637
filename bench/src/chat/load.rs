//! Many clients at once, beginning one after the other at a steady pace.

use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use super::{LoadClient, MeasuredServer, MeasuredTurn};
use crate::BenchFailure;

/// Memory for the thread of a client.
const STACK: usize = 96 << 10;

/// What a load came to.
#[derive(Debug, Default)]
pub(crate) struct LoadResult {
    pub(crate) heard: Vec<MeasuredTurn>,
    pub(crate) errors: Vec<BenchFailure>,
}

impl LoadResult {
    /// So many streams, each on a thread of its own, begun at this pace.
    pub(crate) fn streams(
        served: &MeasuredServer,
        threads: &[String],
        message: &str,
        pace: Duration,
    ) -> Self {
        let start = Instant::now();
        let mut clients: Vec<JoinHandle<Result<MeasuredTurn, BenchFailure>>> = Vec::new();
        let mut load = Self::default();
        for (number, thread) in threads.iter().enumerate() {
            let at = start + pace * u32::try_from(number).unwrap_or(u32::MAX);
            std::thread::sleep(at.saturating_duration_since(Instant::now()));
            let client = LoadClient { port: served.port, user: number };
            let (thread, message) = (thread.clone(), message.to_owned());
            let work = move || client.say(&thread, &message);
            match Builder::new().stack_size(STACK).spawn(work) {
                Ok(handle) => clients.push(handle),
                Err(e) => load.errors.push(format!("no thread for a client: {e}")),
            }
        }
        for client in clients {
            match client.join() {
                Ok(Ok(heard)) => load.heard.push(heard),
                Ok(Err(failure)) => load.errors.push(failure),
                Err(_) => load.errors.push("a client panicked".to_owned()),
            }
        }
        load
    }

    /// Times of one kind, in milliseconds.
    pub(crate) fn milliseconds(&self, of: fn(&MeasuredTurn) -> Duration) -> Vec<f64> {
        self.heard.iter().map(|heard| of(heard).as_secs_f64() * 1000.0).collect()
    }
}

/// The value that one in a hundred is above.
pub(crate) fn p99(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len() as f64 * 0.99).ceil() as usize;
    sorted.get(at.saturating_sub(1)).copied().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::p99;

    #[test]
    fn one_in_a_hundred_is_above() {
        let samples: Vec<f64> = (1..=1000).rev().map(f64::from).collect();
        assert_eq!(p99(&samples), 990.0);
        assert_eq!(p99(&[3.0]), 3.0);
        assert!(p99(&[]).is_infinite());
    }
}
