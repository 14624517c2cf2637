//! The lines of a request to `git-upload-pack`, of which only what fetching needs may pass.

/// A whole request has no more lines than the largest round of a client.
const LINES: usize = 40_000;
/// Lines with words in them, such as the names of branches.
const WORDS: usize = 256;
/// No such line is longer.
const WORD_BYTES: usize = 300;
/// Nor are all of them together.
const ALL_WORD_BYTES: usize = 16 * 1024;

/// What a client can do, as it says in the first versions behind what it wants, and in the second one in lines of its own.
const ABILITIES: [&str; 16] = [
    "multi_ack",
    "multi_ack_detailed",
    "no-done",
    "side-band",
    "side-band-64k",
    "thin-pack",
    "include-tag",
    "ofs-delta",
    "no-progress",
    "deepen-since",
    "deepen-not",
    "deepen-relative",
    "allow-tip-sha1-in-want",
    "allow-reachable-sha1-in-want",
    "filter",
    "shallow",
];

/// Lines of one word.
const ALONE: [&str; 12] = [
    "done",
    "thin-pack",
    "no-progress",
    "include-tag",
    "ofs-delta",
    "deepen-relative",
    "peel",
    "symrefs",
    "unborn",
    "sideband-all",
    "wait-for-done",
    "command=fetch",
];

/// Says why a request may not pass; `Ok` means that every byte of it is a line that fetching needs.
pub(crate) fn judge_upload_pack(mut bytes: &[u8]) -> Result<(), &'static str> {
    let (mut lines, mut words, mut word_bytes) = (0, 0, 0);
    while !bytes.is_empty() {
        let (line, rest) = next(bytes)?;
        bytes = rest;
        lines += 1;
        if lines > LINES {
            return Err("it has more lines than fetching needs");
        }
        let Some(line) = line else { continue };
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = std::str::from_utf8(line).map_err(|_| "a line of it is no text")?;
        match judge_line(line) {
            Some(LineKind::Plain) => {}
            Some(LineKind::Words) => {
                (words, word_bytes) = (words + 1, word_bytes + line.len());
                if words > WORDS || line.len() > WORD_BYTES || word_bytes > ALL_WORD_BYTES {
                    return Err("it has more words in it than fetching needs");
                }
            }
            None => return Err("a line of it is not one that fetching needs"),
        }
    }
    Ok(())
}

/// One line, or the mark between parts, and what follows.
fn next(bytes: &[u8]) -> Result<(Option<&[u8]>, &[u8]), &'static str> {
    let cut = "it does not consist of git's lines";
    let (length, rest) = bytes.split_at_checked(4).ok_or(cut)?;
    let digits = length.iter().all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(digit));
    let length = std::str::from_utf8(length).ok().filter(|_| digits);
    let length = length.and_then(|text| usize::from_str_radix(text, 16).ok()).ok_or(cut)?;
    match length {
        0..=2 => Ok((None, rest)),
        3 | 4 => Err(cut),
        _ => rest.split_at_checked(length - 4).map(|(line, rest)| (Some(line), rest)).ok_or(cut),
    }
}

/// Whether a line says names of somebody's choice.
enum LineKind {
    Plain,
    Words,
}

fn judge_line(line: &str) -> Option<LineKind> {
    if ALONE.contains(&line) || matches!(line, "command=ls-refs" | "command=object-info" | "size") {
        return Some(LineKind::Plain);
    }
    if let Some(version) = line.strip_prefix("agent=") {
        return is_words(version).then_some(LineKind::Words);
    }
    if line == "object-format=sha1" || line == "object-format=sha256" {
        return Some(LineKind::Plain);
    }
    let (word, rest) = line.split_once(' ')?;
    match word {
        "want" => {
            let (id, abilities) = rest.split_once(' ').unwrap_or((rest, ""));
            let fine = is_id(id) && abilities.split(' ').filter(|word| !word.is_empty()).all(is_ability);
            let kind = if abilities.is_empty() { LineKind::Plain } else { LineKind::Words };
            fine.then_some(kind)
        }
        "have" | "shallow" | "oid" => is_id(rest).then_some(LineKind::Plain),
        "deepen" | "deepen-since" => is_number(rest).then_some(LineKind::Plain),
        "filter" => is_filter(rest).then_some(LineKind::Words),
        "ref-prefix" | "want-ref" | "deepen-not" => is_words(rest).then_some(LineKind::Words),
        _ => None,
    }
}

fn is_ability(word: &str) -> bool {
    let named = word.strip_prefix("agent=").is_some_and(|version| !version.is_empty() && is_words(version));
    named || matches!(word, "object-format=sha1" | "object-format=sha256") || ABILITIES.contains(&word)
}

fn is_id(text: &str) -> bool {
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    matches!(text.len(), 40 | 64) && text.bytes().all(hex)
}

fn is_number(text: &str) -> bool {
    (1..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The name of a branch, a tag or a program.
fn is_words(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| !c.is_control() && c != ' ')
}

fn is_filter(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:=+%/".contains(c);
    ["blob:", "tree:", "object:type=", "sparse:oid=", "combine:"].iter().any(|kind| text.starts_with(kind))
        && text.chars().all(plain)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use proptest::prelude::*;

    use super::*;

    fn lines(all: &[&str]) -> Vec<u8> {
        let one = |line: &&str| match *line {
            "0000" | "0001" | "0002" => (*line).to_owned(),
            line => format!("{:04x}{line}\n", line.len() + 5),
        };
        all.iter().map(one).collect::<String>().into_bytes()
    }

    const ID: &str = "1234567890123456789012345678901234567890";

    #[test]
    fn what_clients_say_passes() {
        let want = format!(
            "want {ID} multi_ack_detailed no-done side-band-64k thin-pack ofs-delta deepen-since deepen-not agent=git/2.47.3"
        );
        let (more, have, shallow) = (format!("want {ID}"), format!("have {ID}"), format!("shallow {ID}"));
        for fine in [
            lines(&[&want, &more, "0000", &have, &have, "done"]),
            lines(&[&want, &shallow, "deepen 1", "0000", "done"]),
            lines(&[
                "command=ls-refs",
                "agent=git/2.47.3-Linux",
                "object-format=sha1",
                "0001",
                "peel",
                "symrefs",
                "unborn",
                "ref-prefix refs/heads/main",
                "ref-prefix HEAD",
                "0000",
            ]),
            lines(&[
                "command=fetch",
                "agent=git/2.47.3",
                "object-format=sha1",
                "0001",
                "thin-pack",
                "no-progress",
                "include-tag",
                "ofs-delta",
                "filter blob:none",
                &more,
                &have,
                "done",
                "0000",
            ]),
            lines(&["0000"]),
            Vec::new(),
        ] {
            assert_eq!(judge_upload_pack(&fine), Ok(()), "{}", String::from_utf8_lossy(&fine));
        }
    }

    #[test]
    fn anything_else_does_not() {
        let many: Vec<String> = (0..300).map(|at| format!("ref-prefix refs/heads/{at}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let long = format!("ref-prefix {}", "a".repeat(400));
        for (what, other) in [
            ("no lines", b"secret".to_vec()),
            ("behind the end", [lines(&["command=ls-refs", "0000"]), b"secret".to_vec()].concat()),
            ("a length that is longer", b"00ffwant".to_vec()),
            ("a length in upper case", b"000Adone\n".to_vec()),
            ("a length with a sign", b"+009done\n".to_vec()),
            ("an empty line", b"0004".to_vec()),
            ("another command", lines(&["command=bundle-uri"])),
            ("a comment", lines(&["secret"])),
            ("an id that is none", lines(&["have secret"])),
            ("an id in upper case", lines(&[&format!("have {}", "A".repeat(40))])),
            ("words behind an id", lines(&[&format!("have {ID} secret")])),
            ("abilities nobody has", lines(&[&format!("want {ID} secret")])),
            ("an option for the server", lines(&["server-option=secret"])),
            ("a session", lines(&["session-id=secret"])),
            ("two words", lines(&["ref-prefix a b"])),
            ("no text", b"0009\xff\xfe\xfd\xfc\n".to_vec()),
            ("many names", lines(&many)),
            ("a long name", lines(&[&long])),
            ("a filter of text", lines(&["filter secret text"])),
            ("a pack", b"PACK\0\0\0\x02".to_vec()),
        ] {
            assert!(judge_upload_pack(&other).is_err(), "{what}");
        }
        let haves = vec![format!("have {ID}"); LINES + 1];
        let haves: Vec<&str> = haves.iter().map(String::as_str).collect();
        assert!(judge_upload_pack(&lines(&haves)).is_err());
        assert!(judge_upload_pack(&lines(&haves[1..])).is_ok());
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = judge_upload_pack(&bytes);
        }
    }
}
