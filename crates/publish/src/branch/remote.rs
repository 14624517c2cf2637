//! A repository somewhere else, and the credential for it.
//!
//! The credential travels in git's environment alone: not on a command line, which every user of the machine can read, and
//! not in any file.

use base64::Engine;
use base64::prelude::BASE64_STANDARD as STANDARD;
use holon_git::command::GitCall;

use crate::token::ForgeToken;

/// Where to fetch from and push to.
#[derive(Debug, Clone)]
pub struct GitRemote {
    /// Its address: https, http on loopback, or file.
    pub url: String,
    /// The credential, when the address belongs to the forge that gave it.
    pub token: Option<ForgeToken>,
    /// Variables of the network that git shall see as well, such as a proxy.
    pub network: Vec<(&'static str, String)>,
}

impl GitRemote {
    /// The protocol's name for git.
    fn protocol(&self) -> &'static str {
        match self.url.split(':').next() {
            Some("https") => "https",
            Some("http") => "http",
            Some("file") => "file",
            _ => "none",
        }
    }

    /// Arguments that open the one door this remote needs.
    pub(super) fn door(&self) -> [String; 4] {
        let allow = format!("protocol.{}.allow=always", self.protocol());
        ["-c".into(), allow, "-c".into(), "http.followRedirects=false".into()]
    }

    /// Gives a call what it needs to reach this remote.
    pub(super) fn reach<'g>(&self, mut call: GitCall<'g>) -> GitCall<'g> {
        for (name, value) in &self.network {
            call = call.env(name, value);
        }
        let Some(token) = &self.token else { return call };
        let login = STANDARD.encode(format!("x-access-token:{}", token.reveal()));
        call.env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", format!("http.{}.extraHeader", self.url))
            .env("GIT_CONFIG_VALUE_0", format!("Authorization: Basic {login}"))
    }

    /// What git said, without the credential should it ever be in there.
    pub(super) fn clean(&self, said: &str) -> String {
        let Some(token) = &self.token else { return said.to_owned() };
        let login = STANDARD.encode(format!("x-access-token:{}", token.reveal()));
        said.replace(token.reveal(), "[token]").replace(&login, "[token]")
    }
}
