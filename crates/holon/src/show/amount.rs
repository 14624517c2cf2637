//! Sizes and times as people read them.

/// `934 B`, `1.2 kB`, `50 MB`.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut value = count as f64;
    let mut unit = 0;
    // 999.5 would be shown as 1000 of the smaller unit.
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 || value >= 99.5 {
        format!("{value:.0} {}", UNITS[unit])
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}

/// `12 ms`, `3.4 s`, `2 min 05 s`, `1 h 02 min`.
pub(crate) fn millis(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        60_000..3_600_000 => format!("{} min {:02} s", ms / 60_000, ms / 1000 % 60),
        _ => format!("{} h {:02} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}

/// `128k`, `1.0M`.
pub(crate) fn tokens(count: u64) -> String {
    if count < 999_500 { format!("{}k", (count + 500) / 1000) } else { format!("{:.1}M", count as f64 / 1e6) }
}

/// `1 file`, `2 files`.
pub(crate) fn count(number: u64, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let check = |count, expect: &str| assert_eq!(bytes(count), expect);
        check(0, "0 B");
        check(934, "934 B");
        check(1000, "1.0 kB");
        check(1234, "1.2 kB");
        check(999_600, "1.0 MB");
        check(50_000_000, "50.0 MB");
        check(123_000_000_000, "123 GB");
        assert_eq!([tokens(8192), tokens(131_072), tokens(1_048_576)], ["8k", "131k", "1.0M"]);
    }

    #[test]
    fn times() {
        let check = |ms, expect: &str| assert_eq!(millis(ms), expect);
        check(12, "12 ms");
        check(3456, "3.4 s");
        check(125_000, "2 min 05 s");
        check(3_725_000, "1 h 02 min");
    }
}
