//! Paths as git's C-style quoted strings.

/// Quotes any path for a fast-import stream; only NUL, which no path has, cannot be expressed.
pub(crate) fn quote(path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len() + 2);
    out.push(b'"');
    for &byte in path {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            b' '..=b'~' => out.push(byte),
            other => out.extend(format!("\\{other:03o}").bytes()),
        }
    }
    out.push(b'"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_bytes_are_escaped() {
        let check = |path: &[u8], expect: &str| assert_eq!(String::from_utf8_lossy(&quote(path)), expect);
        check(b"plain name.txt", r#""plain name.txt""#);
        check(b"a\"b\\c", r#""a\"b\\c""#);
        check(b"new\nline\ttab", r#""new\012line\011tab""#);
        check(b"latin\xe9", r#""latin\351""#);
    }
}
