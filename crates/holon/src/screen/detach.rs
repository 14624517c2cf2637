//! The two keys that leave a session running: `Ctrl-]`, then `d`.
//!
//! Agents ask terminals to tell keys in different ways, so both are known in each of them. What is pasted is no key.

/// `Ctrl-]` as terminals tell it: by itself, and in the two forms that agents switch on.
const PREFIX: [&[u8]; 4] = [b"\x1d", b"\x1b[93;5u", b"\x1b[93;5:1u", b"\x1b[27;5;93~"];
/// `d` likewise.
const DETACH: [&[u8]; 4] = [b"d", b"\x1b[100u", b"\x1b[100;1u", b"\x1b[100;1:1u"];
/// Around what is pasted.
const PASTE: [&[u8]; 2] = [b"\x1b[200~", b"\x1b[201~"];

/// What came of keys.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TypedKeys {
    /// They are the agent's.
    Pass(Vec<u8>),
    /// The person leaves; what was typed before is the agent's.
    Detach(Vec<u8>),
}

/// Reads keys on their way to the agent.
#[derive(Debug, Default)]
pub(super) struct DetachKeys {
    /// The prefix that was typed and is held back.
    armed: Option<Vec<u8>>,
    pasting: bool,
}

impl DetachKeys {
    /// Takes what was typed.
    pub(super) fn take(&mut self, bytes: &[u8]) -> TypedKeys {
        let mut pass = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while !rest.is_empty() {
            let begins = |forms: &[&'static [u8]]| forms.iter().copied().find(|form| rest.starts_with(form));
            if let Some(mark) = begins(&PASTE) {
                self.pasting = mark == PASTE[0];
                pass.extend(self.armed.take().unwrap_or_default());
                pass.extend_from_slice(mark);
                rest = &rest[mark.len()..];
                continue;
            }
            if self.pasting {
                pass.push(rest[0]);
                rest = &rest[1..];
                continue;
            }
            if let Some(held) = self.armed.take() {
                if begins(&DETACH).is_some() {
                    return TypedKeys::Detach(pass);
                }
                if let Some(end) = release(rest) {
                    // Letting the first key go is not the second key.
                    pass.extend_from_slice(&rest[..end]);
                    rest = &rest[end..];
                    self.armed = Some(held);
                    continue;
                }
                if let Some(again) = begins(&PREFIX) {
                    // Twice is once for the agent.
                    pass.extend_from_slice(again);
                    rest = &rest[again.len()..];
                    continue;
                }
                pass.extend(held);
            }
            match begins(&PREFIX) {
                Some(prefix) => {
                    self.armed = Some(prefix.to_vec());
                    rest = &rest[prefix.len()..];
                }
                None => {
                    pass.push(rest[0]);
                    rest = &rest[1..];
                }
            }
        }
        TypedKeys::Pass(pass)
    }
}

/// Where the note ends that a key was let go, if this is one.
fn release(bytes: &[u8]) -> Option<usize> {
    let body = bytes.strip_prefix(b"\x1b[")?;
    let end = body.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b';' | b':'))?;
    (body[end] == b'u' && body[..end].ends_with(b":3")).then_some(end + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(pieces: &[&[u8]]) -> (Vec<u8>, bool) {
        let (mut keys, mut all) = (DetachKeys::default(), Vec::new());
        for piece in pieces {
            match keys.take(piece) {
                TypedKeys::Pass(bytes) => all.extend(bytes),
                TypedKeys::Detach(bytes) => return ([all, bytes].concat(), true),
            }
        }
        (all, false)
    }

    #[test]
    fn both_keys_leave_in_every_form() {
        for prefix in PREFIX {
            for letter in DETACH {
                assert_eq!(typed(&[b"ab", prefix, letter]), (b"ab".to_vec(), true));
                assert_eq!(typed(&[&[b"ab", prefix, letter].concat()]), (b"ab".to_vec(), true));
            }
        }
        let released = typed(&[b"\x1b[93;5u", b"\x1b[93;5:3u", b"d"]);
        assert_eq!(released, (b"\x1b[93;5:3u".to_vec(), true));
    }

    #[test]
    fn every_other_key_is_the_agents() {
        let check = |pieces: &[&[u8]], expected: &[u8]| assert_eq!(typed(pieces), (expected.to_vec(), false));
        check(&[b"d"], b"d");
        check(&[b"\x1d", b"x"], b"\x1dx");
        check(&[b"\x1d", b"\x1d", b"d"], b"\x1dd");
        check(&[b"\x1b[A", b"\x1b", b"\x1b[93;3u"], b"\x1b[A\x1b\x1b[93;3u");
        check(&[b"\x1b[200~\x1dd\x1b[201~"], b"\x1b[200~\x1dd\x1b[201~");
        check(&[b"\x1b[200~", b"\x1d", b"d", b"\x1b[201~"], b"\x1b[200~\x1dd\x1b[201~");
        check(&[&[3, 26, 28]], &[3, 26, 28]);
    }
}
