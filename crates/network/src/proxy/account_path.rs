//! Addresses at which tokens, logins and accounts are handed out, or things published, by a mere `GET`.
//!
//! A package may have any of these words for its name, so the word alone decides nothing: it is where it stands.

use crate::arrival::recognise;
use crate::permit::PackageFamily;

/// Questions that nobody asks who reads packages; some servers hand tokens out for them.
const ASKING: [&str; 21] = [
    ":action",
    "access_token",
    "account",
    "action",
    "assertion",
    "client_assertion",
    "client_id",
    "client_secret",
    "code",
    "code_challenge",
    "grant_type",
    "login",
    "offline_token",
    "password",
    "redirect_uri",
    "refresh_token",
    "response_type",
    "scope",
    "subject_token",
    "username",
    "write",
];

/// Ends of addresses that hand something out.
const WORDS: [&str; 34] = [
    "access_token",
    "account",
    "accounts",
    "auth",
    "authorize",
    "device",
    "jwt",
    "login",
    "logout",
    "me",
    "mint-token",
    "oauth",
    "oauth2",
    "oidc",
    "password",
    "publish",
    "register",
    "session",
    "sessions",
    "sign-in",
    "sign_in",
    "sign_up",
    "signin",
    "signup",
    "sso",
    "token",
    "tokens",
    "unpublish",
    "upload",
    "uploads",
    "user",
    "users",
    "whoami",
    "yank",
];

/// What stands before such a word where it is no package's name.
const BEFORE: [&str; 20] = [
    "-", "_", "account", "accounts", "api", "auth", "identity", "jwt", "login", "manage", "oauth", "oauth2",
    "oidc", "rest", "security", "service", "session", "user", "v1", "v2",
];

/// Those of them that hand tokens out at any host: at one that a person named, accounts may be what there is to read.
const TOKENS: [&str; 6] = ["access_token", "authorize", "jwt", "mint-token", "token", "tokens"];

/// What npm's registries tell everybody below `/-/`.
const NPM_OPEN: [&str; 6] =
    ["v1/search", "ping", "all", "npm/v1/keys", "npm/v1/attestations/", "npm/v1/security/advisories"];

/// Where npm's registries keep accounts, wherever they are.
const NPM_SHUT: [&str; 8] =
    ["npm/v1/tokens", "npm/v1/user", "user/", "v1/login", "v1/done", "whoami", "org/", "team/"];

/// Whether a request is for such a place. Path and query are as a server may read them at most: decoded, in lower case.
pub(super) fn is_account(
    family: Option<PackageFamily>,
    path: &str,
    query: Option<&str>,
    with_credential: bool,
) -> bool {
    if query.is_some_and(asks) {
        return true;
    }
    let segments: Vec<&str> =
        path.split(['/', '\\']).filter(|segment| !matches!(*segment, "" | ".")).collect();
    if family.is_some_and(|family| recognise(family, path).is_some()) && !segments.contains(&"..") {
        return false;
    }
    // Nobody who reads packages goes up.
    if segments.contains(&"..") || is_npm_account(family, &segments) || is_crates_account(&segments) {
        return true;
    }
    if family == Some(PackageFamily::Go) && segments.iter().any(|segment| segment.starts_with('@')) {
        return false;
    }
    let last = segments.last().copied().unwrap_or_default();
    let Some(family) = family else { return TOKENS.contains(&last) };
    let pair = segments.windows(2).any(|pair| match pair {
        [before, word] => BEFORE.contains(before) && WORDS.contains(word),
        _ => false,
    });
    let ends_so = WORDS.contains(&last);
    let asked = query.is_some_and(|query| !query.is_empty());
    let named = match family {
        PackageFamily::Npm => true,
        PackageFamily::Python => segments.len() >= 2,
        PackageFamily::Cargo => {
            is_crate_page(&segments, last) || segments.starts_with(&["api", "v1", "crates"])
        }
        PackageFamily::Go | PackageFamily::Maven | PackageFamily::Git => false,
    };
    pair || (ends_so && (asked || with_credential || !named))
}

fn asks(query: &str) -> bool {
    query.split(['&', ';']).any(|part| {
        let key = part.split('=').next().unwrap_or_default().trim();
        ASKING.contains(&key)
    })
}

/// Below `/-/`, npm's registries keep everything that is no package; a few things of that are for all.
fn is_npm_account(family: Option<PackageFamily>, segments: &[&str]) -> bool {
    let Some(at) = segments.iter().position(|segment| *segment == "-") else { return false };
    let rest = segments.get(at + 1..).unwrap_or_default().join("/");
    let open = NPM_OPEN
        .iter()
        .any(|open| rest == open.trim_end_matches('/') || (open.ends_with('/') && rest.starts_with(open)));
    let tags = rest.starts_with("package/") && rest.ends_with("/dist-tags");
    let file = at > 0 && rest.ends_with(".tgz");
    match family {
        Some(PackageFamily::Npm) => !(open || tags || file),
        None => NPM_SHUT.iter().any(|shut| rest.starts_with(shut)),
        Some(_) => false,
    }
}

/// The interface of crates' registries, of which only the crates are for all.
fn is_crates_account(segments: &[&str]) -> bool {
    match segments {
        ["me", ..] => segments.len() == 1,
        ["api", "private", ..] => true,
        ["api", "v1", "crates", "new", ..] => true,
        ["api", "v1", "crates", ..] | ["api", "v1"] => false,
        ["api", "v1", other, ..] => {
            WORDS.contains(other) || matches!(*other, "trusted_publishing" | "confirm")
        }
        _ => false,
    }
}

/// Whether the end of a path is the name of a crate, by the folders before it: `1`, `2`, `3/n`, or `na/me`.
fn is_crate_page(segments: &[&str], name: &str) -> bool {
    let folders: Vec<String> = match name.len() {
        0 => return false,
        1 | 2 => vec![name.len().to_string()],
        3 => vec!["3".to_owned(), name.chars().take(1).collect()],
        _ => vec![name.chars().take(2).collect(), name.chars().skip(2).take(2).collect()],
    };
    let before = segments.len().checked_sub(1 + folders.len());
    before.is_some_and(|from| segments.iter().skip(from).zip(&folders).all(|(own, folder)| own == folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hands_tokens_out_is_known_and_packages_of_that_name_are_not_taken_for_it() {
        use PackageFamily::{Cargo, Go, Maven, Npm, Python};
        for (family, address, expect) in [
            (Npm, "/token?service=registry&scope=repository:a/b:push", true),
            (Npm, "/v2/token?account=me", true),
            (Npm, "/token?x=1", true),
            (Npm, "/token", false),
            (Npm, "/oauth", false),
            (Npm, "/login/1.0.0", false),
            (Npm, "/oauth/-/oauth-0.9.15.tgz", false),
            (Npm, "/@types/oauth", false),
            (Npm, "/left-pad?write=true", true),
            (Npm, "/-/v1/search?text=oauth", false),
            (Npm, "/-/v1/login", true),
            (Npm, "/-/npm/v1/keys", false),
            (Npm, "/-/npm/v1/attestations/a@1.0.0", false),
            (Npm, "/-/npm/v1/oidc/token/exchange/package/a", true),
            (Npm, "/-/user/org.couchdb.user:me", true),
            (Npm, "/-/package/left-pad/dist-tags", false),
            (Npm, "/-/package/left-pad/collaborators", true),
            (Npm, "/-/anything", true),
            (Npm, "/artifactory/api/security/token", true),
            (Npm, "/artifactory/api/npm/npm/login", false),
            (Npm, "/service/token", true),
            (Npm, "/jwt/auth?service=x", true),
            (Npm, "/a/../-/whoami", true),
            (Python, "/simple/token/", false),
            (Python, "/simple/oauth2", false),
            (Python, "/login/", true),
            (Python, "/token", true),
            (Python, "/account/login/", true),
            (Python, "/_/oidc/mint-token", true),
            (Python, "/_/oidc/audience", true),
            (Python, "/pypi?:action=file_upload", true),
            (Python, "/packages/token-1.0.tar.gz", false),
            (Cargo, "/to/ke/token", false),
            (Cargo, "/us/er/users", false),
            (Cargo, "/2/me", false),
            (Cargo, "/me", true),
            (Cargo, "/api/v1/me", true),
            (Cargo, "/api/v1/me/tokens", true),
            (Cargo, "/api/v1/crates/new", true),
            (Cargo, "/api/v1/crates/token", false),
            (Cargo, "/api/v1/crates/token/1.0.0/download", false),
            (Cargo, "/api/v1/trusted_publishing/tokens", true),
            (Cargo, "/api/private/session/begin", true),
            (Cargo, "/tokens", true),
            (Go, "/golang.test/x/oauth2/@v/list", false),
            (Go, "/golang.test/x/oauth2/@latest", false),
            (Go, "/oauth/token", true),
            (Go, "/token", true),
            (Maven, "/maven2/org/oauth/maven-metadata.xml", false),
            (Maven, "/service/rest/v1/security/users", true),
        ] {
            let (path, query) =
                address.split_once('?').map_or((address, None), |(path, query)| (path, Some(query)));
            assert_eq!(is_account(Some(family), path, query, false), expect, "{family} {address}");
        }
        // Where a credential is put in, a word alone is enough.
        for (family, address, expect) in [
            (Some(Npm), "/token", true),
            (Some(Npm), "/users", true),
            (Some(Npm), "/-/whoami", true),
            (Some(Npm), "/left-pad", false),
            (None, "/token", true),
            (None, "/user/tokens", true),
            (None, "/-/whoami", true),
            (None, "/group/project/-/jobs", false),
            (None, "/users", false),
        ] {
            assert_eq!(is_account(family, address, None, true), expect, "{family:?} {address}");
        }
    }
}
