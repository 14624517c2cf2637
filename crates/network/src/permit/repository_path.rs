//! The path of a repository at its host, and what belongs to it there.

use std::fmt;

/// A repository's path as its remote writes it, without a slash at its end.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RepositoryPath(String);

/// What a path asks of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RepositoryRequest {
    /// What there is to fetch.
    Refs,
    /// The fetch itself.
    UploadPack,
    /// A file, as simple servers hold it.
    File,
}

/// No path is longer.
const LONGEST: usize = 500;

impl RepositoryPath {
    /// Reads the path of a remote; one that a server could take for another path is none.
    pub fn parse(path: &str) -> Option<Self> {
        let path = path.trim_end_matches('/');
        let fine = path.len() <= LONGEST
            && path.starts_with('/')
            && path.get(1..).is_some_and(|rest| rest.split('/').all(is_plain));
        fine.then(|| Self(path.to_owned()))
    }

    /// What a request's path asks of this repository; `None` is another repository, or nothing that fetching needs.
    ///
    /// Servers know a repository with and without `.git` behind its name, and lead from one to the other.
    pub(crate) fn request(&self, path: &str) -> Option<RepositoryRequest> {
        let bare = self.0.strip_suffix(".git").unwrap_or(&self.0);
        let rest = path.strip_prefix(bare)?;
        let rest = rest.strip_prefix(".git").unwrap_or(rest).strip_prefix('/')?;
        match rest {
            "info/refs" => Some(RepositoryRequest::Refs),
            "git-upload-pack" => Some(RepositoryRequest::UploadPack),
            "HEAD" => Some(RepositoryRequest::File),
            _ => {
                let file = rest.starts_with("objects/") && rest.split('/').all(is_plain);
                let plain = file && !rest.contains('%');
                plain.then_some(RepositoryRequest::File)
            }
        }
    }
}

/// A name between slashes that means itself, to every server.
fn is_plain(name: &str) -> bool {
    let bytes = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~+@,=%:!$&'()*".contains(&byte);
    let lower = name.to_ascii_lowercase();
    let coded = ["%2e", "%2f", "%5c", "%25", "%00"].iter().any(|code| lower.contains(code));
    !matches!(name, "" | "." | "..") && name.bytes().all(bytes) && !coded
}

impl fmt::Display for RepositoryPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn a_repository_is_its_own_path_and_no_other() {
        for written in ["/me/a.git", "/me/a", "/me/a/", "/me/a.git/"] {
            let path = RepositoryPath::parse(written).unwrap();
            for (asked, expect) in [
                ("/me/a.git/info/refs", Some(RepositoryRequest::Refs)),
                ("/me/a/info/refs", Some(RepositoryRequest::Refs)),
                ("/me/a/git-upload-pack", Some(RepositoryRequest::UploadPack)),
                ("/me/a.git/git-upload-pack", Some(RepositoryRequest::UploadPack)),
                ("/me/a/HEAD", Some(RepositoryRequest::File)),
                ("/me/a/objects/info/packs", Some(RepositoryRequest::File)),
                ("/me/a/objects/../../b/git-upload-pack", None),
                ("/me/a/objects/%2e%2e/x", None),
                ("/me/a/objects//x", None),
                ("/me/ab/info/refs", None),
                ("/me/a.gitx/info/refs", None),
                ("/me/b.git/git-upload-pack", None),
                ("/x/me/a.git/git-upload-pack", None),
                ("/me/a.git", None),
                ("/me/a.git/", None),
                ("/me/a.git/x/git-upload-pack", None),
                ("/me/a.git/git-upload-pack/", None),
                ("/me/a.git//git-upload-pack", None),
                ("/me/a.git.git/git-upload-pack", None),
                ("/me/a.git/info/lfs/objects/batch", None),
                ("/me/a.git/git-receive-pack", None),
                ("/me/a/raw/main/objects/x", None),
                ("/ME/a.git/info/refs", None),
            ] {
                assert_eq!(path.request(asked), expect, "{written} {asked}");
            }
        }
        for none in
            ["", "a.git", "/", "/a/../b", "/a//b", "/a b", "/a?x", "/a#x", "/a/%2e%2e/b", "/a%2Fb", "/a\\b"]
        {
            assert_eq!(RepositoryPath::parse(none), None, "{none}");
        }
    }
}
