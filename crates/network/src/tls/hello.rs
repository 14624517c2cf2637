//! The first message of an encrypted connection, read as strictly as it can be: what two programs could read in different
//! ways is refused, because the server behind may be the other one.

/// What a client asks for before anything is encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientHello {
    /// The server it names.
    pub(crate) server_name: Option<String>,
    /// Whether the true name is hidden in an encrypted part.
    pub(crate) hidden: bool,
}

/// How far reading has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HelloProgress {
    /// More bytes are needed.
    Incomplete,
    /// It is something else, or no program would read it so.
    Malformed(&'static str),
    /// All of it is there.
    Whole(ClientHello),
}

/// The type of a record that carries handshake messages.
pub(crate) const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
/// Larger first messages are not made by clients.
const MOST: usize = 32 * 1024;
const SERVER_NAME: u16 = 0;
const ENCRYPTED_HELLO: u16 = 0xfe0d;
/// An older draft's way to hide the name.
const ENCRYPTED_NAME: u16 = 0xffce;

impl ClientHello {
    /// Reads as much as is there.
    pub(crate) fn read(bytes: &[u8]) -> HelloProgress {
        let message = match message(bytes) {
            Ok(Some(message)) => message,
            Ok(None) => return HelloProgress::Incomplete,
            Err(what) => return HelloProgress::Malformed(what),
        };
        match parse(&message) {
            Some(Ok(hello)) => HelloProgress::Whole(hello),
            Some(Err(what)) => HelloProgress::Malformed(what),
            None => HelloProgress::Malformed("its first message has wrong lengths"),
        }
    }
}

/// Puts the message together from its records; `None` while a part is missing.
fn message(bytes: &[u8]) -> Result<Option<Vec<u8>>, &'static str> {
    let mut message = Vec::new();
    let mut rest = Cursor(bytes);
    loop {
        let Some(kind) = rest.byte() else { return Ok(None) };
        if kind != HANDSHAKE {
            return Err("it is not encrypted");
        }
        let Some(version) = rest.number() else { return Ok(None) };
        if version >> 8 != 3 {
            return Err("its version is unknown");
        }
        let Some(length) = rest.number().map(usize::from) else { return Ok(None) };
        if length == 0 || length > 16 * 1024 {
            return Err("a record of it has a wrong length");
        }
        let Some(part) = rest.take(length) else {
            return if rest.0.len() > MOST { Err("its first message is too large") } else { Ok(None) };
        };
        message.extend_from_slice(part);
        if let Some(kind) = message.first().filter(|kind| **kind != CLIENT_HELLO) {
            return Err(if *kind == 0 {
                "it begins with nothing"
            } else {
                "its first message is another one"
            });
        }
        if let Some(length) = message.get(1..4) {
            let length = length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            if length > MOST {
                return Err("its first message is too large");
            }
            match message.len().cmp(&(4 + length)) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal if rest.0.is_empty() => return Ok(Some(message.split_off(4))),
                _ => return Err("more stands behind its first message"),
            }
        }
    }
}

fn parse(message: &[u8]) -> Option<Result<ClientHello, &'static str>> {
    let mut rest = Cursor(message);
    rest.number()?;
    rest.take(32)?;
    rest.short_list()?;
    rest.list()?;
    rest.short_list()?;
    let mut hello = ClientHello { server_name: None, hidden: false };
    if rest.0.is_empty() {
        return Some(Ok(hello));
    }
    let mut extensions = Cursor(rest.list()?);
    if !rest.0.is_empty() {
        return None;
    }
    let mut seen = Vec::new();
    while !extensions.0.is_empty() {
        let kind = extensions.number()?;
        let body = extensions.list()?;
        if seen.contains(&kind) {
            return Some(Err("its first message says something twice"));
        }
        seen.push(kind);
        match kind {
            SERVER_NAME => hello.server_name = Some(server_name(body)?),
            ENCRYPTED_HELLO | ENCRYPTED_NAME => hello.hidden = true,
            _ => {}
        }
    }
    Some(Ok(hello))
}

/// The one name of a list of exactly one.
fn server_name(body: &[u8]) -> Option<String> {
    let mut rest = Cursor(body);
    let mut list = Cursor(rest.list()?);
    let kind = list.byte()?;
    let name = list.list()?;
    let alone = rest.0.is_empty() && list.0.is_empty() && kind == 0;
    let plain = !name.is_empty() && name.iter().all(u8::is_ascii_graphic);
    (alone && plain).then(|| String::from_utf8_lossy(name).into_owned())
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(front)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn number(&mut self) -> Option<u16> {
        let two = self.take(2)?;
        two.try_into().ok().map(u16::from_be_bytes)
    }

    /// Bytes behind a length of one byte.
    fn short_list(&mut self) -> Option<&'a [u8]> {
        let length = self.byte()?;
        self.take(usize::from(length))
    }

    /// Bytes behind a length of two.
    fn list(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(usize::from(length))
    }
}

#[cfg(test)]
mod tests;
