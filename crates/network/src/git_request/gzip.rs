//! The wrapping in which git clients send what is longer than a few lines (RFC 1952).

use super::inflate::inflate;

const NAME: u8 = 8;
const COMMENT: u8 = 16;
const EXTRA: u8 = 4;
const CHECKED: u8 = 2;

/// What was wrapped; `None` for what is no such thing or longer than `most`. What stands behind its end is not looked at: only
/// what comes out goes further.
pub(crate) fn unpacked(bytes: &[u8], most: usize) -> Option<Vec<u8>> {
    let [0x1f, 0x8b, 8, flags, _, _, _, _, _, _, rest @ ..] = bytes else { return None };
    // Clients have no use for further parts of a head.
    if flags & (NAME | COMMENT | EXTRA | CHECKED) != 0 {
        return None;
    }
    inflate(rest, most)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use proptest::prelude::*;

    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[at * 2..at * 2 + 2], 16).unwrap()).collect()
    }

    /// Made by another program: a block as it is, one with the fixed codes, and one with codes of its own.
    const STORED: &str = "010900f6ff30303039646f6e650a";
    const FIXED: &str = "333030b04cc9cf4be50200";
    const REPEATED: &str = "33303036ca482c4b55302012701990a2c33035358d341dc62929a9a4e9304d4e4e214d8779525232693a2c131393b840744a7e5e2a1700";
    const OWN: &str = "4d90494e45410845e7aec225145045b31cda38d299ebb73431ef4f21877b396b117ef877bf671864939c489d888cea93cb6c03ef52321b61c97dded63fe1dca1691dc5368d56c2b589d6c0de1cedb11260aa1f42e4aea3a20461d5cc12cec61e955801783aa1a47c3dc4aacd1b489d9108cfa14968271e9029929dec8754e4254361b73a9ec12a93819c80358c8ac2aad5ecc04ef110e0e0d32a1a446dac0c62c7ae8b81e1e3173928b05e5a9148983b466057e09d9f90ab88a636d231bbe39c5757d5009956edbfa711b02d1503b668a242b14a1a733e445e794547925669c8ed7fbd5d454c8168f7adbdd8ce5fc6b2fafaecb71f";

    fn wrapped(deflated: &[u8]) -> Vec<u8> {
        [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3][..], deflated, &[0; 8]].concat()
    }

    #[test]
    fn what_another_program_packed_is_unpacked() {
        for packed in [STORED, FIXED] {
            assert_eq!(unpacked(&wrapped(&bytes(packed)), 1000).unwrap(), b"0009done\n", "{packed}");
        }
        let lines: String = (0..6).map(|at| format!("0032have {:040x}\n", at * 7919)).collect();
        let repeated = unpacked(&wrapped(&bytes(REPEATED)), 1000).unwrap();
        assert_eq!(String::from_utf8(repeated).unwrap(), format!("{lines}0009done\n"));
        let own = String::from_utf8(unpacked(&wrapped(&bytes(OWN)), 1000).unwrap()).unwrap();
        assert_eq!(own.len(), 9 * 50 + 9);
        assert!(own.lines().take(9).all(|line| line.starts_with("0032have ") && line.len() == 49), "{own}");
        assert!(own.ends_with("0009done\n"));
    }

    #[test]
    fn what_is_cut_off_too_long_or_otherwise_wrapped_is_not() {
        let whole = wrapped(&bytes(OWN));
        for end in 0..whole.len() - 8 {
            assert_eq!(unpacked(&whole[..end], 1000), None, "{end}");
        }
        assert_eq!(unpacked(&whole, 458), None);
        assert!(unpacked(&whole, 459).is_some());
        for flag in [NAME, COMMENT, EXTRA, CHECKED] {
            let mut other = whole.clone();
            other[3] = flag;
            assert_eq!(unpacked(&other, 1000), None, "{flag}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Some(out) = unpacked(&wrapped(&bytes), 5000) {
                prop_assert!(out.len() <= 5000);
            }
        }
    }
}
