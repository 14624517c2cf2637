//! Whoever asked for work, when they have a trace of their own: the W3C's `traceparent` and `tracestate`.

use crate::span::{SpanId, SpanParent, TraceId, TraceSpan};

/// The longest state that is carried on; the standard asks for no more.
const LONGEST_STATE: usize = 512;
/// The most members of a state.
const MOST_MEMBERS: usize = 32;
/// Version, trace, span and flags with the dashes between them.
const LENGTH: usize = 2 + 1 + 32 + 1 + 16 + 1 + 2;

/// The span on whose behalf something is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceCaller {
    place: SpanParent,
    sampled: bool,
    state: Option<String>,
}

impl TraceCaller {
    /// Reads the two headers, or the variables of the same names; nothing when the first is not what the standard says.
    pub fn read(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let text = traceparent.trim();
        let known = text.get(..LENGTH)?;
        let mut parts = known.split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let version = byte(version).filter(|version| *version != 0xff && parts.next().is_none())?;
        // A later version may say more, after another dash.
        let more = &text[LENGTH..];
        if !more.is_empty() && (version == 0 || !more.starts_with('-')) {
            return None;
        }
        let place = SpanParent { trace: TraceId::read(trace)?, parent: Some(SpanId::read(span)?) };
        let state = tracestate.map(str::trim).filter(|state| is_state(state)).map(str::to_owned);
        Some(Self { place, sampled: byte(flags)? & 1 == 1, state })
    }

    /// Where work belongs that is done for it.
    pub fn place(&self) -> SpanParent {
        self.place
    }

    /// Whether anybody wants to see its trace.
    pub fn is_sampled(&self) -> bool {
        self.sampled
    }

    /// Lets spans carry the state on.
    pub fn mark(&self, spans: &mut [TraceSpan]) {
        spans.iter_mut().for_each(|span| span.state.clone_from(&self.state));
    }
}

/// Two small hexadecimal digits.
fn byte(text: &str) -> Option<u8> {
    let small = text.len() == 2 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    small.then(|| u8::from_str_radix(text, 16).ok()).flatten()
}

/// Whether a text is a list of names and values as the standard wants them; half a list is none.
fn is_state(text: &str) -> bool {
    let members: Vec<&str> = text.split(',').map(str::trim).filter(|member| !member.is_empty()).collect();
    text.len() <= LONGEST_STATE
        && (1..=MOST_MEMBERS).contains(&members.len())
        && members.iter().all(|member| {
            member.split_once('=').is_some_and(|(name, value)| {
                let first = name.bytes().next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
                let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-*/@".contains(&b);
                let fine = |b: u8| matches!(b, b' '..=b'~') && b != b'=';
                first
                    && name.len() <= 256
                    && name.bytes().all(plain)
                    && (1..=256).contains(&value.len())
                    && value.bytes().all(fine)
            })
        })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;
    use crate::span::SpanKind;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn the_standard_s_own_example_is_read() {
        let caller =
            TraceCaller::read(&format!("00-{TRACE}-{SPAN}-01"), Some("congo=t61rcWkgMzE, rojo=00f0"))
                .unwrap();
        assert_eq!(caller.place().trace.to_string(), TRACE);
        assert_eq!(caller.place().parent.unwrap().to_string(), SPAN);
        assert!(caller.is_sampled());
        let mut spans = [TraceSpan::new(caller.place(), "x", SpanKind::Internal, 1, 2)];
        caller.mark(&mut spans);
        assert_eq!(spans[0].state.as_deref(), Some("congo=t61rcWkgMzE, rojo=00f0"));
        assert!(!TraceCaller::read(&format!("00-{TRACE}-{SPAN}-00"), None).unwrap().is_sampled());
        // Other flags say nothing about it.
        assert!(!TraceCaller::read(&format!("00-{TRACE}-{SPAN}-02"), None).unwrap().is_sampled());
        // A later version may have more to say.
        assert!(TraceCaller::read(&format!("cc-{TRACE}-{SPAN}-01-what-comes"), None).unwrap().is_sampled());
    }

    #[test]
    fn what_is_not_that_names_nobody() {
        let zeros = "0".repeat(32);
        for wrong in [
            String::new(),
            "00".into(),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("00-{TRACE}-{SPAN}-01."),
            format!("cc-{TRACE}-{SPAN}-01more"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{zeros}-{SPAN}-01"),
            format!("00-{TRACE}-{}-01", &zeros[..16]),
            format!("00-{TRACE}-{SPAN}-0g"),
            format!("00_{TRACE}_{SPAN}_01"),
            format!("00-{SPAN}-{TRACE}-01"),
            format!("00-{}ä-{SPAN}-01", &TRACE[..30]),
        ] {
            assert_eq!(TraceCaller::read(&wrong, None), None, "{wrong}");
        }
    }

    #[test]
    fn a_state_that_is_none_is_not_carried_on() {
        let state =
            |text: &str| TraceCaller::read(&format!("00-{TRACE}-{SPAN}-01"), Some(text)).unwrap().state;
        for fine in ["a=1", "a=1,b@c=2", "tenant@vendor=x y", ",a=1,"] {
            assert_eq!(state(fine).as_deref(), Some(fine));
        }
        let long = format!("a={}", "x".repeat(LONGEST_STATE));
        let many = (0..=MOST_MEMBERS).map(|n| format!("k{n}=1")).collect::<Vec<_>>().join(",");
        for wrong in
            ["", "a", "A=1", "a=", "=1", "a=1,b", "a=1\n2", "a=ä", "a=b=c", long.as_str(), many.as_str()]
        {
            assert_eq!(state(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn anything_can_be_said(parent in ".{0,70}", state in ".{0,40}") {
            let _ = TraceCaller::read(&parent, Some(&state));
        }

        #[test]
        fn what_is_read_is_what_was_written(trace in "[0-9a-f]{31}[1-9a-f]", span in "[0-9a-f]{15}[1-9a-f]", flags in 0_u8..) {
            let caller = TraceCaller::read(&format!("00-{trace}-{span}-{flags:02x}"), None).unwrap();
            prop_assert_eq!(caller.place().trace.to_string(), trace);
            prop_assert_eq!(caller.place().parent.unwrap().to_string(), span);
            prop_assert_eq!(caller.is_sampled(), flags % 2 == 1);
        }
    }
}
