//! Whether and when something is sent again.

use std::time::Duration;

/// How often one thing is sent at most.
const TRIES: u32 = 4;
/// The first pause; each further one is twice as long.
const FIRST: Duration = Duration::from_millis(100);
/// Whoever wants to be asked again later than this is not asked again.
const LONGEST: Duration = Duration::from_secs(60);

/// Whether a status says that the same may be taken another time.
pub(crate) fn is_passing(status: u16) -> bool {
    matches!(status, 429 | 502 | 503 | 504)
}

/// How long to wait after the try with this number, from 1; nothing when it was the last. `asked` is what the other side
/// wants, and `chance` (0 to 255) keeps many processes from coming back at the same moment.
pub(crate) fn pause(tried: u32, asked: Option<Duration>, chance: u8) -> Option<Duration> {
    if tried == 0 || tried >= TRIES || asked.is_some_and(|asked| asked > LONGEST) {
        return None;
    }
    let whole = FIRST * 2_u32.pow(tried - 1);
    let own = whole / 2 + whole * u32::from(chance) / 510;
    Some(asked.map_or(own, |asked| asked.max(own)))
}

/// Reads `Retry-After`: seconds, or a moment, of which `now_s` (seconds since 1970) is taken.
pub(crate) fn asked(header: &str, now_s: i64) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let moment = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(header).ok()?;
    Some(Duration::from_secs(u64::try_from(moment.as_second().saturating_sub(now_s)).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pauses_grow_and_end() {
        let ms = |tried, chance| pause(tried, None, chance).map(|pause| pause.as_millis());
        assert_eq!([ms(1, 255), ms(2, 255), ms(3, 255), ms(4, 255)], [Some(100), Some(200), Some(400), None]);
        assert_eq!([ms(1, 0), ms(2, 0), ms(3, 0)], [Some(50), Some(100), Some(200)]);
        let long = Some(Duration::from_secs(7));
        assert_eq!(pause(1, long, 9), long, "who says when is asked then");
        assert_eq!(pause(1, Some(Duration::ZERO), 0), Some(FIRST / 2), "but not at once");
        assert_eq!(pause(1, Some(LONGEST * 2), 0), None);
        assert_eq!(pause(4, long, 0), None);
    }

    #[test]
    fn only_what_passes_is_tried_again() {
        assert!([429, 502, 503, 504].into_iter().all(is_passing));
        assert!(![200, 301, 400, 401, 403, 404, 413, 500, 501].into_iter().any(is_passing));
    }

    #[test]
    fn a_moment_is_read_too() {
        assert_eq!(asked(" 120 ", 0), Some(Duration::from_secs(120)));
        let (date, at) = ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777);
        assert_eq!(asked(date, at - 30), Some(Duration::from_secs(30)));
        assert_eq!(asked(date, at + 30), Some(Duration::ZERO));
        assert_eq!(asked("soon", 0), None);
    }

    proptest! {
        #[test]
        fn anything_can_be_asked(header in ".{0,40}", now in any::<i64>(), tried in any::<u32>(), chance in any::<u8>()) {
            let pause = pause(tried, asked(&header, now), chance);
            prop_assert!(pause.is_none_or(|pause| pause <= LONGEST));
        }
    }
}
