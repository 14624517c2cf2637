//! Why a text names nothing that could be permitted.

/// What is wrong with a permit, a host or an authority; each says what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PermitError {
    /// There is nothing.
    #[error("a permit names a host, an address or a client: it is empty")]
    Empty,
    /// An address with a scheme or a path.
    #[error("`{text}` is a whole address: name its host alone, such as `{host}`")]
    WholeUrl {
        /// What was written.
        text: String,
        /// The host in it.
        host: String,
    },
    /// A user name in front of the host.
    #[error("`{text}` holds a user name: name the host alone; credentials belong into your configuration")]
    UserName {
        /// What was written, without what stands before the `@`.
        text: String,
    },
    /// A character that no host name has.
    #[error("`{name}` is no host name: {character:?} cannot be part of one")]
    Character {
        /// What was written, shortened.
        name: String,
        /// The first such character.
        character: char,
    },
    /// An empty label, one that is too long, or one that begins or ends with a dash.
    #[error(
        "`{name}` is no host name: each part between dots has 1 to 63 characters and no dash at its ends"
    )]
    Label {
        /// What was written, shortened.
        name: String,
    },
    /// Longer than any host name.
    #[error("`{name}…` is no host name: it has more than 253 characters")]
    TooLong {
        /// Its beginning.
        name: String,
    },
    /// A name in another script that has no form in ASCII.
    #[error("`{name}` is no host name: it breaks the rules for international names")]
    International {
        /// What was written, shortened.
        name: String,
    },
    /// A number that programs read as an address in different ways.
    #[error("`{name}` could be read as different addresses: write four decimal numbers, such as 192.0.2.7")]
    OddAddress {
        /// What was written, shortened.
        name: String,
    },
    /// Brackets without an address in them.
    #[error("`{name}` is no IPv6 address: write it as in [2001:db8::7]:443, without a zone")]
    OddIpv6 {
        /// What was written, shortened.
        name: String,
    },
    /// A port that is none.
    #[error("`{port}` is no port: use a number from 1 to 65535")]
    Port {
        /// What was written, shortened.
        port: String,
    },
    /// A request that names no port where one is needed.
    #[error("`{name}` names no port")]
    NoPort {
        /// What was written, shortened.
        name: String,
    },
    /// A star where none may be.
    #[error("`{text}`: a star stands for everything below one domain, as in `*.example.org`{hint}")]
    Star {
        /// What was written, shortened.
        text: String,
        /// What to do instead.
        hint: &'static str,
    },
    /// A word that is no client.
    #[error(
        "`{word}` is no client that is known{hint}: the clients are {known}; a host without a dot is written with its port, as in `{word}:443`"
    )]
    UnknownSet {
        /// What was written, shortened.
        word: String,
        /// The nearest client, as a question.
        hint: String,
        /// All clients.
        known: String,
    },
    /// A git set without a usable remote.
    #[error("`{text}` names no remote: write `git:origin`, with the name of a remote of this repository")]
    Remote {
        /// What was written, shortened.
        text: String,
    },
    /// A name that means another machine inside than outside.
    #[error(
        "`{name}` is the run itself for whatever is inside: for a server of this machine write its address and port, as in `127.0.0.1:8080`"
    )]
    ThisMachine {
        /// What was written.
        name: String,
    },
}

/// The beginning of a text, for a message.
pub(crate) fn shortened(text: &str) -> String {
    let mut out: String =
        text.chars().take(80).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(80).is_some() {
        out.push('…');
    }
    out
}
