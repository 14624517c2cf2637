//! Bytes as somebody could read them: escapes, percent signs and entities taken off, hex put together, blanks left out.

use std::ops::Range;

/// How often what was written in escapes is read again.
const LAYERS: usize = 3;
/// No escape has more characters.
const LONGEST_ESCAPE: usize = 9;

/// A character that is meant, and the bytes that say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MeantByte {
    pub(super) byte: u8,
    from: u32,
    to: u32,
}

impl MeantByte {
    /// The bytes from the first to the last of several.
    pub(super) fn span(all: &[Self]) -> Range<usize> {
        let from = all.first().map_or(0, |first| first.from);
        let to = all.last().map_or(0, |last| last.to);
        from as usize..to as usize
    }

    fn over(byte: u8, all: &[Self]) -> Self {
        let from = all.first().map_or(0, |first| first.from);
        Self { byte, from, to: all.last().map_or(from, |last| last.to) }
    }
}

/// What is meant, without what no key holds: blanks, and everything that is not ASCII.
pub(super) fn meant(bytes: &[u8]) -> Vec<MeantByte> {
    let mut all: Vec<MeantByte> = (0_u32..)
        .zip(bytes)
        .filter(|(_, byte)| byte.is_ascii_graphic())
        .map(|(at, byte)| MeantByte { byte: *byte, from: at, to: at + 1 })
        .collect();
    for _ in 0..LAYERS {
        if !all.iter().any(|one| matches!(one.byte, b'\\' | b'%' | b'&')) {
            break;
        }
        all = unwrapped(&all);
    }
    all
}

/// How much of it is certain: what comes next may make something else of an escape that only begins.
pub(super) fn certain(all: &[MeantByte]) -> usize {
    let from = all.len().saturating_sub(LONGEST_ESCAPE);
    let begins = all[from..].iter().position(|one| matches!(one.byte, b'\\' | b'%' | b'&'));
    begins.map_or(all.len(), |at| from + at)
}

/// One layer of escapes taken off.
fn unwrapped(all: &[MeantByte]) -> Vec<MeantByte> {
    let mut out = Vec::with_capacity(all.len());
    let mut at = 0;
    while let Some(one) = all.get(at) {
        let (byte, length) = escape(&all[at..]).unwrap_or((one.byte, 1));
        if byte.is_ascii_graphic() {
            out.push(MeantByte::over(byte, &all[at..at + length]));
        }
        at += length;
    }
    out
}

/// The character an escape stands for, and how long the escape is.
fn escape(rest: &[MeantByte]) -> Option<(u8, usize)> {
    let is = |at: usize, byte: u8| rest.get(at).is_some_and(|one| one.byte == byte);
    let hex = |from: usize, digits: usize| Some((number(rest.get(from..from + digits)?, 16)?, from + digits));
    match rest.first()?.byte {
        b'%' => hex(1, 2),
        b'\\' if is(1, b'u') && is(2, b'{') => until_end(rest, 3, b'}', 16),
        b'\\' if is(1, b'u') => hex(2, 4),
        b'\\' if is(1, b'x') => hex(2, 2),
        b'\\' => {
            let byte = rest.get(1)?.byte;
            // A line end or a tab within a key says nothing.
            Some((if matches!(byte, b'n' | b'r' | b't') { b' ' } else { byte }, 2))
        }
        b'&' if is(1, b'#') && (is(2, b'x') || is(2, b'X')) => until_end(rest, 3, b';', 16),
        b'&' if is(1, b'#') => until_end(rest, 2, b';', 10),
        _ => None,
    }
}

fn until_end(rest: &[MeantByte], from: usize, end: u8, radix: u32) -> Option<(u8, usize)> {
    let length = rest.get(from..)?.iter().take(8).position(|one| one.byte == end)?;
    Some((number(&rest[from..from + length], radix)?, from + length + 1))
}

fn number(digits: &[MeantByte], radix: u32) -> Option<u8> {
    let mut sum = 0_u32;
    for digit in digits {
        sum = sum.checked_mul(radix)?.checked_add(char::from(digit.byte).to_digit(radix)?)?;
    }
    u8::try_from(sum).ok().filter(|byte| byte.is_ascii() && !digits.is_empty())
}

/// Pairs of hex digits as what they mean, from the first or the second digit of each run on.
pub(super) fn paired(all: &[MeantByte], second: bool) -> Vec<MeantByte> {
    let mut out = Vec::new();
    for (at, run) in all.split(|one| !one.byte.is_ascii_hexdigit()).enumerate() {
        if at > 0 {
            // What stands between two runs keeps them apart.
            out.push(MeantByte::over(0, &[]));
        }
        let run = run.get(usize::from(second)..).unwrap_or_default();
        out.extend(run.chunks_exact(2).map(|two| MeantByte::over(number(two, 16).unwrap_or(0), two)));
    }
    out
}
