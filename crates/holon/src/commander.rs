//! Who gives this command, as the audit log names them.

use std::fs;

/// The person at the keyboard, or the account a program runs under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Commander {
    /// The account's name; its number where it has none.
    pub(crate) name: String,
    /// The account's number.
    pub(crate) uid: u32,
    /// The terminal, when there is one.
    pub(crate) terminal: Option<String>,
}

impl Commander {
    /// Whoever runs this process. The name comes from the system's list and not from a variable anybody can set.
    pub(crate) fn of_process() -> Self {
        let uid = rustix::process::getuid().as_raw();
        let list = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let terminal = rustix::termios::ttyname(rustix::stdio::stdin(), Vec::new())
            .or_else(|_| rustix::termios::ttyname(rustix::stdio::stderr(), Vec::new()));
        Self {
            name: name_in(&list, uid).unwrap_or_else(|| format!("uid {uid}")),
            uid,
            terminal: terminal.ok().map(|name| name.to_string_lossy().into_owned()),
        }
    }
}

fn name_in(list: &str, uid: u32) -> Option<String> {
    list.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        (fields.nth(1)?.parse::<u32>().ok()? == uid).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_the_list_of_accounts() {
        let list =
            "root:x:0:0:root:/root:/bin/sh\nbroken\nada:x:1000:1000::/h/ada:/bin/sh\n:x:7:7::/:/bin/sh\n";
        for (uid, expect) in [(0, Some("root")), (1000, Some("ada")), (7, None), (5, None)] {
            assert_eq!(name_in(list, uid).as_deref(), expect, "{uid}");
        }
    }
}
