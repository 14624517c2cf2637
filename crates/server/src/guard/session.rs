//! Browsers that signed in: each has a cookie that scripts cannot read, and it ends when its user signs out.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderValue, header};
use holon_core::digest::sha256;

use super::kept::random;

/// So many browsers are signed in; the oldest goes first.
const MOST: usize = 1000;
/// After so long a browser has to sign in again.
const LIFETIME: Duration = Duration::from_secs(7 * 24 * 3600);

struct SignedIn {
    digest: String,
    user: String,
    since: Instant,
}

/// Who is signed in, and the one way in that was put into an address.
pub(crate) struct Sessions {
    /// What the cookie is called: cookies know no ports, and another server of this machine must not take this one's away.
    name: String,
    known: Mutex<Vec<SignedIn>>,
    /// Good for one browser, once.
    ticket: Mutex<Option<String>>,
}

impl Sessions {
    pub(crate) fn new(port: Option<u16>) -> Self {
        let name = format!("holon_session_{}", port.unwrap_or(0));
        Self { name, known: Mutex::default(), ticket: Mutex::default() }
    }

    /// Signs somebody in and gives the header that sets the cookie.
    pub(crate) fn begin(&self, user: &str) -> Option<HeaderValue> {
        let value = random().ok()?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|one| one.since.elapsed() < LIFETIME);
        if known.len() >= MOST {
            known.remove(0);
        }
        let digest = sha256(value.as_bytes());
        known.push(SignedIn { digest, user: user.to_owned(), since: Instant::now() });
        self.cookie(&value, LIFETIME)
    }

    /// The user whose cookie a request shows.
    pub(crate) fn user(&self, headers: &HeaderMap) -> Option<String> {
        let digests = self.shown(headers);
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().find(|one| one.since.elapsed() < LIFETIME && digests.contains(&one.digest));
        found.map(|one| one.user.clone())
    }

    /// Signs out: the browser that asks, or all of a user's.
    pub(crate) fn end(&self, headers: &HeaderMap, everywhere: Option<&str>) -> Option<HeaderValue> {
        let digests = self.shown(headers);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|one| !digests.contains(&one.digest) && everywhere != Some(one.user.as_str()));
        self.cookie("", Duration::ZERO)
    }

    /// Makes the way in for the browser that is opened.
    pub(crate) fn ticket(&self) -> Option<String> {
        let fresh = random().ok();
        self.ticket.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&fresh);
        fresh
    }

    /// Takes the ticket; nobody else comes in with it.
    pub(crate) fn take_ticket(&self, shown: &str) -> bool {
        let mut ticket = self.ticket.lock().unwrap_or_else(PoisonError::into_inner);
        let right = ticket.as_ref().is_some_and(|known| sha256(known.as_bytes()) == sha256(shown.as_bytes()));
        if right {
            *ticket = None;
        }
        right
    }

    fn cookie(&self, value: &str, lasts: Duration) -> Option<HeaderValue> {
        let text =
            format!("{}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}", self.name, lasts.as_secs());
        HeaderValue::from_str(&text).ok()
    }

    /// The digests of all values under our name; only digests are compared.
    fn shown(&self, headers: &HeaderMap) -> Vec<String> {
        let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        lines
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(|(name, value)| *name == self.name && !value.is_empty())
            .map(|(_, value)| sha256(value.as_bytes()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn shows(cookie: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, cookie.parse().unwrap());
        headers
    }

    #[test]
    fn a_cookie_is_its_users_until_they_sign_out() {
        let sessions = Sessions::new(Some(7070));
        let set = sessions.begin("ann").unwrap().to_str().unwrap().to_owned();
        assert!(set.contains("; HttpOnly; SameSite=Strict;"), "{set}");
        let pair = set.split(';').next().unwrap();
        assert_eq!(sessions.user(&shows(&format!("a=b; {pair}"))).as_deref(), Some("ann"));
        assert_eq!(Sessions::new(Some(7070)).user(&shows(pair)), None, "another server does not know it");
        assert_eq!(sessions.user(&shows(&pair.replace("7070", "7071"))), None);
        assert_eq!(sessions.user(&shows("holon_session_7070=")), None);
        sessions.end(&shows(pair), None);
        assert_eq!(sessions.user(&shows(pair)), None);
    }

    #[test]
    fn everywhere_is_every_browser_of_one_user() {
        let sessions = Sessions::new(None);
        let pairs = ["ann", "ann", "bob"].map(|user| {
            let set = sessions.begin(user).unwrap().to_str().unwrap().to_owned();
            set.split(';').next().unwrap().to_owned()
        });
        sessions.end(&shows(&pairs[0]), Some("ann"));
        assert_eq!(pairs.each_ref().map(|pair| sessions.user(&shows(pair)).is_some()), [false, false, true]);
    }

    #[test]
    fn a_ticket_is_good_once() {
        let sessions = Sessions::new(None);
        assert!(!sessions.take_ticket(""));
        let ticket = sessions.ticket().unwrap();
        assert!(!sessions.take_ticket("wrong"));
        assert!(sessions.take_ticket(&ticket) && !sessions.take_ticket(&ticket));
    }
}
