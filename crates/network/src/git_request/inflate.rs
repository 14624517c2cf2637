//! The inverse of DEFLATE (RFC 1951), for bytes that are all there; bounded by what may come out.

/// Bits in the order in which the format holds them.
struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
    held: u32,
    count: u32,
}

impl BitReader<'_> {
    fn bits(&mut self, wanted: u32) -> Option<u32> {
        while self.count < wanted {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            self.held |= u32::from(byte) << self.count;
            self.count += 8;
        }
        let value = self.held & ((1 << wanted) - 1);
        self.held >>= wanted;
        self.count -= wanted;
        Some(value)
    }

    /// Bytes from the next whole one on.
    fn bytes(&mut self, wanted: usize) -> Option<&[u8]> {
        (self.held, self.count) = (0, 0);
        let found = self.bytes.get(self.at..self.at.checked_add(wanted)?)?;
        self.at += wanted;
        Some(found)
    }
}

/// A code by the lengths of its symbols.
struct HuffmanCode {
    counts: [u16; 16],
    symbols: Vec<u16>,
}

impl HuffmanCode {
    /// `None` for lengths that are too many for any code.
    fn new(lengths: &[u8]) -> Option<Self> {
        let mut counts = [0_u16; 16];
        for length in lengths {
            *counts.get_mut(usize::from(*length))? += 1;
        }
        counts[0] = 0;
        let mut left = 1_i32;
        for count in counts.iter().skip(1) {
            left = left * 2 - i32::from(*count);
            if left < 0 {
                return None;
            }
        }
        let mut symbols: Vec<(u8, u16)> =
            lengths.iter().zip(0_u16..).filter(|(length, _)| **length > 0).map(|(l, s)| (*l, s)).collect();
        symbols.sort_unstable();
        Some(Self { counts, symbols: symbols.into_iter().map(|(_, symbol)| symbol).collect() })
    }

    fn symbol(&self, bits: &mut BitReader<'_>) -> Option<u16> {
        let (mut code, mut first, mut index) = (0_i32, 0_i32, 0_i32);
        for count in self.counts.iter().skip(1) {
            code |= i32::try_from(bits.bits(1)?).ok()?;
            let count = i32::from(*count);
            if code - count < first {
                return self.symbols.get(usize::try_from(index + code - first).ok()?).copied();
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        None
    }
}

const LENGTH_BASE: [u16; 29] = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195,
    227, 258,
];
const LENGTH_EXTRA: [u8; 29] =
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const DISTANCE_BASE: [u16; 30] = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073,
    4097, 6145, 8193, 12289, 16385, 24577,
];
const DISTANCE_EXTRA: [u8; 30] =
    [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13];
const LENGTHS_ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// What the bytes stand for, if they are whole and it is not longer than `most`.
pub(super) fn inflate(bytes: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut bits = BitReader { bytes, at: 0, held: 0, count: 0 };
    let mut out = Vec::new();
    loop {
        let last = bits.bits(1)? == 1;
        match bits.bits(2)? {
            0 => {
                let head = bits.bytes(4)?;
                let [a, b, c, d] = head.try_into().ok()?;
                let length = u16::from_le_bytes([a, b]);
                if length != !u16::from_le_bytes([c, d]) || out.len() + usize::from(length) > most {
                    return None;
                }
                out.extend_from_slice(bits.bytes(usize::from(length))?);
            }
            1 => {
                let (literals, distances) = fixed()?;
                block(&mut bits, &mut out, most, &literals, &distances)?;
            }
            2 => {
                let (literals, distances) = own(&mut bits)?;
                block(&mut bits, &mut out, most, &literals, &distances)?;
            }
            _ => return None,
        }
        if last {
            return Some(out);
        }
    }
}

fn fixed() -> Option<(HuffmanCode, HuffmanCode)> {
    let mut lengths = [8_u8; 288];
    lengths.get_mut(144..256)?.fill(9);
    lengths.get_mut(256..280)?.fill(7);
    Some((HuffmanCode::new(&lengths)?, HuffmanCode::new(&[5; 30])?))
}

/// The codes that a block brings along.
fn own(bits: &mut BitReader<'_>) -> Option<(HuffmanCode, HuffmanCode)> {
    let literals = usize::try_from(bits.bits(5)?).ok()? + 257;
    let distances = usize::try_from(bits.bits(5)?).ok()? + 1;
    let given = usize::try_from(bits.bits(4)?).ok()? + 4;
    if literals > 286 || distances > 30 {
        return None;
    }
    let mut lengths = [0_u8; 19];
    for place in LENGTHS_ORDER.iter().take(given) {
        *lengths.get_mut(*place)? = u8::try_from(bits.bits(3)?).ok()?;
    }
    let code = HuffmanCode::new(&lengths)?;
    let mut all: Vec<u8> = Vec::with_capacity(literals + distances);
    while all.len() < literals + distances {
        let (value, times) = match code.symbol(bits)? {
            symbol @ 0..=15 => (u8::try_from(symbol).ok()?, 1),
            16 => (*all.last()?, 3 + bits.bits(2)?),
            17 => (0, 3 + bits.bits(3)?),
            _ => (0, 11 + bits.bits(7)?),
        };
        all.extend((0..times).map(|_| value));
    }
    let whole = all.len() == literals + distances;
    let (front, back) = all.split_at_checked(literals).filter(|_| whole)?;
    Some((HuffmanCode::new(front)?, HuffmanCode::new(back)?))
}

fn block(
    bits: &mut BitReader<'_>,
    out: &mut Vec<u8>,
    most: usize,
    literals: &HuffmanCode,
    distances: &HuffmanCode,
) -> Option<()> {
    loop {
        let symbol = literals.symbol(bits)?;
        if let Ok(byte) = u8::try_from(symbol) {
            if out.len() >= most {
                return None;
            }
            out.push(byte);
            continue;
        }
        if symbol == 256 {
            return Some(());
        }
        let at = usize::from(symbol) - 257;
        let length = u32::from(*LENGTH_BASE.get(at)?) + bits.bits(u32::from(*LENGTH_EXTRA.get(at)?))?;
        let at = usize::from(distances.symbol(bits)?);
        let distance = u32::from(*DISTANCE_BASE.get(at)?) + bits.bits(u32::from(*DISTANCE_EXTRA.get(at)?))?;
        let (length, distance) = (usize::try_from(length).ok()?, usize::try_from(distance).ok()?);
        let from = out.len().checked_sub(distance)?;
        if out.len() + length > most {
            return None;
        }
        for step in 0..length {
            out.push(*out.get(from + step)?);
        }
    }
}
