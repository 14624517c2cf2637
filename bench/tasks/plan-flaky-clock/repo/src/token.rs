use std::time::{SystemTime, UNIX_EPOCH};

const DAY: u64 = 24 * 60 * 60;

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// A token that is good until the end of the day it was issued on.
pub struct Token {
    day: u64,
}

pub fn issue() -> Token {
    Token { day: seconds() / DAY }
}

impl Token {
    pub fn is_expired(&self) -> bool {
        seconds() / DAY > self.day
    }
}
