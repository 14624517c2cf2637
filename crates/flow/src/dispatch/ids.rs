//! New names for requests and tasks, and the clock they and the breakers go by.

use holon_core::ids::{RequestId, TaskId};

/// A new request: a random UUID.
pub fn new_request() -> RequestId {
    let mut bytes = random();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    let text = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-");
    named(text)
}

/// A new task that nothing else belongs to.
pub fn new_task() -> TaskId {
    let hex: String = random().iter().take(8).map(|b| format!("{b:02x}")).collect();
    named(format!("t-{hex}"))
}

/// Hexadecimal digits and dashes always are a name.
#[allow(clippy::expect_used)]
fn named<T: std::str::FromStr>(text: String) -> T
where
    T::Err: std::fmt::Debug,
{
    text.parse().expect("digits and dashes are a name")
}

fn random() -> [u8; 16] {
    let mut bytes = [0; 16];
    // Without randomness requests share a folder for their logs, and nothing else.
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    bytes
}

/// Milliseconds since 1970.
pub(super) fn now_ms() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0)
}

/// A moment as people read it.
pub(super) fn time(ms: u64) -> String {
    let moment = i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    moment.map(|moment| moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()).unwrap_or_default()
}

/// The day of a moment, as the ids of runs begin.
pub(super) fn day(ms: u64) -> String {
    time(ms).chars().take(10).filter(char::is_ascii_digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_random_uuids() {
        let (a, b) = (new_request(), new_request());
        assert_ne!(a, b);
        let text = a.as_str();
        assert_eq!((text.len(), &text[14..15]), (36, "4"), "{text}");
        assert!("89ab".contains(&text[19..20]), "{text}");
        assert!(new_task().as_str().starts_with("t-"));
        assert_eq!((time(0).as_str(), day(0).as_str()), ("1970-01-01T00:00:00Z", "19700101"));
    }
}
