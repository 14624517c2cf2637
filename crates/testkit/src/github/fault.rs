//! Things that go wrong, at a chosen request.

/// What happens to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForgeFault {
    /// The connection is cut before anything is done.
    CutBefore,
    /// It is carried out, and the connection is cut before the answer.
    CutAfter,
    /// It is carried out, and a gateway answers 502.
    BadGateway,
    /// It is refused for being too fast: 403 with these seconds in `retry-after`.
    Secondary(u64),
    /// The hourly limit is used up until this time (seconds since 1970): 403 without `retry-after`.
    Primary(u64),
}

/// When which fault happens; requests are counted from 1, those of git included.
#[derive(Debug, Clone, Default)]
pub struct FaultSchedule {
    once: Vec<(usize, ForgeFault)>,
    from: Option<(usize, ForgeFault)>,
}

impl FaultSchedule {
    /// One request goes wrong.
    pub fn at(request: usize, fault: ForgeFault) -> Self {
        Self { once: vec![(request, fault)], from: None }
    }

    /// This request goes wrong, and nothing is reachable after it: what a crash looks like from outside.
    pub fn crash_at(request: usize, fault: ForgeFault) -> Self {
        Self { once: vec![(request, fault)], from: Some((request + 1, ForgeFault::CutBefore)) }
    }

    /// The same with one more.
    pub fn and(mut self, request: usize, fault: ForgeFault) -> Self {
        self.once.push((request, fault));
        self
    }

    pub(super) fn of(&self, request: usize) -> Option<ForgeFault> {
        let once = self.once.iter().find(|(at, _)| *at == request);
        let from = self.from.as_ref().filter(|(at, _)| request >= *at);
        once.or(from).map(|(_, fault)| fault.clone())
    }
}
