//! A key, and the pieces of it that are looked for.

use std::ops::Range;

use super::view::{MeantByte, certain, meant, paired};

/// So many characters of a key in a row are a piece of it and nothing else.
const PIECE: usize = 12;
/// So many of a key in base64, whose first and last are shared with what stands around it.
const PACKED_PIECE: usize = 14;
/// Base64 that is shorter could be a word.
const SHORTEST_PACKED: usize = 8;
/// So many of a piece stand behind what everybody's keys begin with.
const OWN: usize = 6;
/// What everybody's keys begin with is no longer than this.
const MOST_COMMON: usize = 16;
/// So many of a key's first characters at the end of a text are worth waiting for what comes.
const BEGINNING: usize = 4;

/// One way to write a key, and what of it is telling.
struct Spelling {
    bytes: Vec<u8>,
    piece: usize,
    /// How many bytes everybody's keys begin with.
    common: usize,
    /// Each byte as it stands here.
    own: [u8; 256],
    /// Where each byte stands in it.
    places: Vec<Vec<usize>>,
    /// A bit for every two bytes that stand side by side in it; nothing is looked at that does not begin with such two.
    pairs: Vec<u64>,
}

/// A value that must not pass.
pub(super) struct Needle {
    plain: Spelling,
    packed: Vec<Spelling>,
}

/// What was found in a text.
#[derive(Default)]
pub(super) struct Sighting {
    /// The bytes that say a key, or a piece of one.
    pub(super) pieces: Vec<Range<usize>>,
    /// From where on the text may be the beginning of a key.
    pub(super) beginning: Option<usize>,
}

impl Needle {
    pub(super) fn new(value: &str) -> Self {
        let bytes: Vec<u8> = meant(value.as_bytes()).iter().map(|one| one.byte).collect();
        let plain = Spelling::new(bytes.to_ascii_lowercase(), PIECE, common(&bytes), |said| {
            said.to_ascii_lowercase()
        });
        let packed = (0..3).filter_map(|shift| packed(value.as_bytes(), shift)).collect();
        Self { plain, packed }
    }

    /// How much of what was said before belongs to a text, in the longest writing we know.
    pub(super) fn reach(&self) -> usize {
        self.plain.bytes.len() * 13 + 64
    }

    /// Looks for it in every writing.
    pub(super) fn look(&self, all: &[MeantByte], into: &mut Sighting) {
        self.plain.look(all, into);
        // Runs that are too short say nothing in hex.
        if all.split(|one| !one.byte.is_ascii_hexdigit()).any(|run| run.len() >= 2 * BEGINNING) {
            for second in [false, true] {
                self.plain.look(&paired(all, second), into);
            }
        }
        for spelling in &self.packed {
            spelling.look(all, into);
        }
    }
}

impl Spelling {
    fn new(bytes: Vec<u8>, piece: usize, common: usize, own: fn(u8) -> u8) -> Self {
        let mut places = vec![Vec::new(); 256];
        for (at, byte) in bytes.iter().enumerate() {
            places[usize::from(*byte)].push(at);
        }
        let mut pairs = vec![0; 1 << 10];
        for two in bytes.windows(2) {
            let pair = pair(two[0], two[1]);
            pairs[pair / 64] |= 1 << (pair % 64);
        }
        let own = std::array::from_fn(|byte| own(u8::try_from(byte).unwrap_or_default()));
        Self { piece: piece.min(bytes.len()), bytes, common, own, places, pairs }
    }

    fn own(&self, said: u8) -> u8 {
        self.own[usize::from(said)]
    }

    /// Whether these two may be a part of it.
    fn holds(&self, said: &[MeantByte]) -> bool {
        let pair = pair(self.own(said[0].byte), self.own(said[1].byte));
        self.pairs[pair / 64] >> (pair % 64) & 1 == 1
    }

    /// How many bytes are the same from here and there on.
    fn run(&self, said: &[MeantByte], own: usize) -> usize {
        said.iter().zip(&self.bytes[own..]).take_while(|(said, own)| self.own(said.byte) == **own).count()
    }

    fn look(&self, all: &[MeantByte], into: &mut Sighting) {
        let certain = certain(all);
        let mut at = 0;
        while at + 1 < all.len() {
            let Some(next) = all[at..].windows(2).position(|two| self.holds(two)) else { break };
            at += next;
            let mut longest = 0;
            for &own in &self.places[usize::from(self.own(all[at].byte))] {
                let length = self.run(&all[at..], own);
                let telling =
                    length >= self.piece && own + length >= (self.common + OWN).min(self.bytes.len());
                if telling {
                    longest = longest.max(length);
                } else if own == 0 && length >= BEGINNING && at + length >= certain {
                    let from = MeantByte::span(&all[at..]).start;
                    into.beginning = Some(into.beginning.map_or(from, |other| other.min(from)));
                }
            }
            if longest > 0 {
                into.pieces.push(MeantByte::span(&all[at..at + longest]));
            }
            at += longest.max(1);
        }
    }
}

fn pair(first: u8, second: u8) -> usize {
    usize::from(first) << 8 | usize::from(second)
}

/// Base64 has two alphabets.
fn one_alphabet(said: u8) -> u8 {
    match said {
        b'-' => b'+',
        b'_' => b'/',
        _ => said,
    }
}

/// How many bytes a key begins with as everybody's do: short words, perhaps with a number, each with a dash behind it.
fn common(key: &[u8]) -> usize {
    let mut end = 0;
    let mut before = b'-';
    for (at, byte) in key.iter().enumerate().take(MOST_COMMON) {
        match byte {
            b'-' | b'_' if at > end => end = at + 1,
            b'a'..=b'z' if !before.is_ascii_digit() => {}
            b'0'..=b'9' if before.is_ascii_alphanumeric() => {}
            _ => break,
        }
        before = *byte;
    }
    end
}

/// The characters of base64 that are the same whatever stands around a key that begins so many bytes into a group of three.
fn packed(key: &[u8], shift: usize) -> Option<Spelling> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut shifted = vec![0; shift];
    shifted.extend_from_slice(key);
    let first = (shift * 8).div_ceil(6);
    let bytes: Vec<u8> = (first..shifted.len() * 8 / 6)
        .map(|at| {
            let bit = at * 6;
            let two =
                u16::from(shifted[bit / 8]) << 8 | u16::from(shifted.get(bit / 8 + 1).copied().unwrap_or(0));
            LETTERS[usize::from(two >> (10 - bit % 8) & 63)]
        })
        .collect();
    (bytes.len() >= SHORTEST_PACKED).then(|| Spelling::new(bytes, PACKED_PIECE, 0, one_alphabet))
}
