//! The head of the first request on a connection, read as strictly as it can be: what two programs could read in different
//! ways is refused before anything is made of it.

/// What a client asks of the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProxyHead {
    pub(crate) method: String,
    pub(crate) target: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    /// How many bytes the head has, with the empty line.
    pub(crate) bytes: usize,
}

impl ProxyHead {
    /// Reads the head if all of it is there.
    pub(crate) fn read(bytes: &[u8]) -> Result<Option<Self>, &'static str> {
        if bytes.first().is_some_and(|byte| !byte.is_ascii_alphabetic()) {
            return Err("it is not HTTP");
        }
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let head = bytes.get(..end.map_or(bytes.len(), |end| end + 2)).unwrap_or_default();
        check_bytes(head, end.is_some())?;
        let Some(end) = end else { return Ok(None) };
        let text = std::str::from_utf8(head).map_err(|_| "its head is not plain text")?;
        let mut lines = text.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err("its first line has not three words");
        };
        if version != "HTTP/1.1" && version != "HTTP/1.0" {
            return Err("it speaks another HTTP than 1.1");
        }
        if method.is_empty() || !method.bytes().all(token) || target.is_empty() {
            return Err("its first line is none");
        }
        let headers = lines.filter(|line| !line.is_empty()).map(header).collect::<Result<Vec<_>, _>>()?;
        let head = Self { method: method.to_owned(), target: target.to_owned(), headers, bytes: end + 4 };
        head.check_framing(version)?;
        Ok(Some(head))
    }

    /// All values of a header.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.headers.iter().filter(move |(own, _)| own == name).map(|(_, value)| value.as_slice())
    }

    fn check_framing(&self, version: &str) -> Result<(), &'static str> {
        let lengths: Vec<&[u8]> = self.all("content-length").collect();
        let encodings: Vec<&[u8]> = self.all("transfer-encoding").collect();
        if lengths.len() > 1 || encodings.len() > 1 || self.all("host").count() > 1 {
            return Err("it says a length, an encoding or a host twice");
        }
        if lengths
            .iter()
            .any(|value| value.is_empty() || !value.iter().all(u8::is_ascii_digit) || value.len() > 18)
        {
            return Err("its length is no number");
        }
        if encodings.iter().any(|value| !value.eq_ignore_ascii_case(b"chunked")) {
            return Err("its encoding is not `chunked`");
        }
        if !encodings.is_empty() && (!lengths.is_empty() || version != "HTTP/1.1") {
            return Err("it says a length and an encoding");
        }
        if self.method == "CONNECT" && (!encodings.is_empty() || lengths.iter().any(|value| *value != b"0")) {
            return Err("it asks for a connection and sends a body");
        }
        Ok(())
    }
}

/// No line ends but the one, no control characters.
fn check_bytes(head: &[u8], whole: bool) -> Result<(), &'static str> {
    for (at, byte) in head.iter().enumerate() {
        let next = head.get(at + 1);
        match byte {
            b'\r' if next == Some(&b'\n') || (next.is_none() && !whole) => {}
            b'\n' if at > 0 && head.get(at - 1) == Some(&b'\r') => {}
            b'\r' | b'\n' => return Err("a line of its head ends in its own way"),
            b'\t' | 0x20..=0x7e | 0x80.. => {}
            _ => return Err("its head holds control characters"),
        }
    }
    Ok(())
}

fn header(line: &str) -> Result<(String, Vec<u8>), &'static str> {
    let (name, value) = line.split_once(':').ok_or("a line of its head is no header")?;
    if name.is_empty() || !name.bytes().all(token) {
        return Err("a header of it has no proper name");
    }
    Ok((name.to_ascii_lowercase(), value.trim_matches([' ', '\t']).as_bytes().to_vec()))
}

fn token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fuzz_http_head() {
        let words = &[
            "GET ",
            " HTTP/1.1\r\n",
            "Host: ",
            "Content-Length: ",
            "Transfer-Encoding: chunked\r\n",
            "\r\n\r\n",
            " \t",
            "\n",
        ];
        holon_testkit::fuzz::fuzz(env!("CARGO_MANIFEST_DIR"), "http_head", words, |bytes| {
            match ProxyHead::read(bytes) {
                Ok(Some(head)) => {
                    assert!(head.bytes <= bytes.len() && bytes[..head.bytes].ends_with(b"\r\n\r\n"));
                    assert!(head.all("host").count() <= 1, "two hosts");
                    // What follows a head is none of its business.
                    let alone = ProxyHead::read(&bytes[..head.bytes]).unwrap().map(|alone| alone.bytes);
                    assert_eq!(alone, Some(head.bytes));
                    format!("{} {}", head.method.len(), head.headers.len())
                }
                Ok(None) => "more".to_owned(),
                Err(what) => what.to_owned(),
            }
        });
    }

    #[test]
    fn a_clear_head_is_read() {
        let bytes = b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443 \r\nX-A:\tb\r\n\r\nrest";
        for end in 0..bytes.len() - 4 {
            assert_eq!(ProxyHead::read(&bytes[..end]), Ok(None), "{end}");
        }
        let head = ProxyHead::read(bytes).unwrap().unwrap();
        assert_eq!(
            (head.method.as_str(), head.target.as_str(), head.bytes),
            ("CONNECT", "a.test:443", bytes.len() - 4)
        );
        assert_eq!(head.all("host").collect::<Vec<_>>(), [b"a.test:443"]);
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        for head in [
            "GET http://a/ HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nContent-Length: +3\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nContent-Length: 3, 3\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
            "GET http://a/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nTransfer-Encoding : chunked\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nX: a\r\n Transfer-Encoding: chunked\r\n\r\n",
            "GET http://a/ HTTP/1.1\nHost: a\n\n\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nX: a\rTransfer-Encoding: chunked\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "GET http://a/\0 HTTP/1.1\r\n\r\n",
            "GET  http://a/ HTTP/1.1\r\n\r\n",
            "GET http://a/ b HTTP/1.1\r\n\r\n",
            "GET http://a/ HTTP/1.1 \r\n\r\n",
            "GET\thttp://a/\tHTTP/1.1\r\n\r\n",
            "GET http://a/\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\n",
            "CONNECT a:443 HTTP/1.1\r\nContent-Length: 9\r\n\r\n",
            "CONNECT a:443 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "\r\nGET http://a/ HTTP/1.1\r\n\r\n",
            "\u{16}\u{3}\u{1}",
            "G(T http://a/ HTTP/1.1\r\n\r\n",
        ] {
            assert!(ProxyHead::read(head.as_bytes()).is_err(), "{head:?}");
        }
    }

    proptest! {
        #[test]
        fn reading_never_fails_badly(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = ProxyHead::read(&bytes);
            let _ = ProxyHead::read(&[b"GET / HTTP/1.1\r\n", &bytes[..], b"\r\n\r\n"].concat());
        }
    }
}
