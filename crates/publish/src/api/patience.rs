//! Waiting as long as the forge asks, and no longer than the user allows.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{ApiRequest, ApiResponse, ForgeApi, HttpMethod};
use crate::error::PublishError;

/// GitHub asks for at least this pause when it gives no other.
const SECONDARY: Duration = Duration::from_secs(60);
/// How often a reading request is repeated that got no clear answer.
const READS: u32 = 3;
/// Changes that are made without a pause between them; after that GitHub wants one per second.
const BURST: u32 = 10;

/// Time, so that tests have their own.
pub trait Clock {
    /// Seconds since 1970.
    fn now(&self) -> u64;
    /// Waits.
    fn wait(&mut self, time: Duration);
}

/// The time of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
    }

    fn wait(&mut self, time: Duration) {
        // The forge's own limit says how long.
        std::thread::sleep(time);
    }
}

/// An API that waits out rate limits and repeats what can be repeated safely.
#[derive(Debug)]
pub struct PatientApi<A, C> {
    api: A,
    clock: C,
    left: Duration,
    changes: u32,
}

impl<A: ForgeApi, C: Clock> PatientApi<A, C> {
    /// Waits at most `allowed` in all.
    pub fn new(api: A, clock: C, allowed: Duration) -> Self {
        Self { api, clock, left: allowed, changes: 0 }
    }

    /// What is behind it.
    pub fn into_inner(self) -> A {
        self.api
    }

    fn pause(&mut self, request: &ApiRequest, wait: Duration) -> Result<(), PublishError> {
        if wait > self.left {
            return Err(PublishError::RateLimited { call: request.shown(), wait });
        }
        self.left -= wait;
        self.clock.wait(wait);
        Ok(())
    }
}

impl<A: ForgeApi, C: Clock> ForgeApi for PatientApi<A, C> {
    fn send(&mut self, request: &ApiRequest) -> Result<ApiResponse, PublishError> {
        let reads = request.method == HttpMethod::Get;
        if !reads {
            self.changes += 1;
            if self.changes > BURST {
                self.pause(request, Duration::from_secs(1))?;
            }
        }
        let mut unclear = 0;
        let mut limited = 0;
        loop {
            let sent = self.api.send(request);
            let repeat = match &sent {
                Err(error) => reads && error.is_unclear(),
                Ok(answer) => reads && answer.status >= 500,
            };
            if repeat && unclear + 1 < READS {
                unclear += 1;
                self.pause(request, Duration::from_millis(250 << unclear))?;
                continue;
            }
            let answer = sent?;
            // A refused request was not carried out, so it may be sent again whatever it does.
            match limit(&answer, self.clock.now(), limited) {
                None => return Ok(answer),
                Some(wait) => self.pause(request, wait)?,
            }
            limited += 1;
        }
    }
}

/// How long an answer says to wait, if it speaks of a rate limit.
fn limit(answer: &ApiResponse, now: u64, before: u32) -> Option<Duration> {
    if !matches!(answer.status, 403 | 429) {
        return None;
    }
    let number = |name: &str| answer.header(name).and_then(|value| value.trim().parse::<u64>().ok());
    if let Some(seconds) = number("retry-after") {
        return Some(Duration::from_secs(seconds));
    }
    if number("x-ratelimit-remaining") == Some(0)
        && let Some(reset) = number("x-ratelimit-reset")
    {
        // One second more, because clocks differ.
        return Some(Duration::from_secs(reset.saturating_sub(now) + 1));
    }
    let said = answer.message().to_lowercase();
    let secondary = answer.status == 429 || said.contains("rate limit") || said.contains("abuse");
    secondary.then(|| SECONDARY * 2u32.saturating_pow(before.min(6)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    struct ScriptedApi(Vec<Result<ApiResponse, ()>>);

    impl ForgeApi for ScriptedApi {
        fn send(&mut self, request: &ApiRequest) -> Result<ApiResponse, PublishError> {
            let next = if self.0.is_empty() { Ok(answer(200, &[], "")) } else { self.0.remove(0) };
            next.map_err(|()| PublishError::Unclear { call: request.shown(), why: "cut".into() })
        }
    }

    #[derive(Clone, Default)]
    struct FakeClock(Rc<RefCell<Vec<u64>>>);

    impl Clock for FakeClock {
        fn now(&self) -> u64 {
            1000
        }
        fn wait(&mut self, time: Duration) {
            self.0.borrow_mut().push(time.as_millis() as u64);
        }
    }

    fn answer(status: u16, headers: &[(&str, &str)], message: &str) -> ApiResponse {
        let headers = headers.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        ApiResponse { status, headers, body: format!("{{\"message\":\"{message}\"}}").into_bytes() }
    }

    /// The script, whether it changes something, seconds allowed; what came of it and the waits in milliseconds.
    fn check(
        script: Vec<Result<ApiResponse, ()>>,
        method: HttpMethod,
        allowed: u64,
        expect: Option<u16>,
        waits: &[u64],
    ) {
        let clock = FakeClock::default();
        let mut api = PatientApi::new(ScriptedApi(script), clock.clone(), Duration::from_secs(allowed));
        let request = ApiRequest { method, ..ApiRequest::get("/x") };
        assert_eq!(api.send(&request).ok().map(|a| a.status), expect);
        assert_eq!(*clock.0.borrow(), waits);
    }

    #[test]
    fn limits_are_waited_out_within_bounds() {
        use HttpMethod::{Get, Post};
        let retry = || Ok(answer(429, &[("retry-after", "7")], "slow down"));
        check(vec![retry()], Post, 10, Some(200), &[7000]);
        check(vec![retry()], Post, 5, None, &[]);
        check(vec![retry(), retry()], Post, 10, None, &[7000]);
        let primary = Ok(answer(
            403,
            &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1030")],
            "API rate limit",
        ));
        check(vec![primary], Get, 60, Some(200), &[31_000]);
        let secondary = || Ok(answer(403, &[], "You have exceeded a secondary rate limit."));
        check(vec![secondary(), secondary()], Post, 300, Some(200), &[60_000, 120_000]);
        // A plain refusal is no limit.
        check(
            vec![Ok(answer(403, &[("x-ratelimit-remaining", "4999")], "Resource not accessible"))],
            Post,
            60,
            Some(403),
            &[],
        );
    }

    #[test]
    fn only_reading_is_repeated_after_an_unclear_answer() {
        use HttpMethod::{Get, Post};
        check(vec![Err(()), Ok(answer(502, &[], ""))], Get, 60, Some(200), &[500, 1000]);
        check(vec![Err(()), Err(()), Err(())], Get, 60, None, &[500, 1000]);
        check(vec![Err(())], Post, 60, None, &[]);
        check(vec![Ok(answer(502, &[], ""))], Post, 60, Some(502), &[]);
    }

    #[test]
    fn many_changes_are_paced() {
        let clock = FakeClock::default();
        let mut api = PatientApi::new(ScriptedApi(Vec::new()), clock.clone(), Duration::from_secs(60));
        for _ in 0..13 {
            api.send(&ApiRequest { method: HttpMethod::Patch, ..ApiRequest::get("/x") }).unwrap();
        }
        assert_eq!(*clock.0.borrow(), [1000, 1000, 1000]);
    }
}
