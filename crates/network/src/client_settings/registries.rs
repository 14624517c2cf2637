//! What the user has configured, told again to the clients inside: they see none of the user's own files.
//!
//! Where a client reads a file below the project's own, it is a file, so that a project's own word still counts.

use std::collections::BTreeMap;

use super::variables::SettingsFile;
use crate::permit::ClientSet;

/// What the user has configured a client to, in its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistrySettings {
    /// The client.
    pub set: ClientSet,
    /// Its keys and values, such as `registry`.
    pub values: BTreeMap<String, String>,
}

/// Variables and files for these clients, in a folder inside.
pub(super) fn told(all: &[RegistrySettings], folder: &str) -> (Vec<(String, String)>, Vec<SettingsFile>) {
    let at = |name: &str| format!("{}/{name}", folder.trim_end_matches('/'));
    let mut told = (BTreeMap::new(), Vec::new());
    let mut npmrc: BTreeMap<&str, &str> = BTreeMap::new();
    for one in all {
        let value = |key: &str| one.values.get(key).map(String::as_str);
        let own = one.values.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        match one.set {
            ClientSet::Npm | ClientSet::Pnpm => npmrc.extend(own),
            ClientSet::Yarn => {
                let scopes = own.filter(|(key, _)| key.starts_with('@'));
                npmrc.extend(scopes);
                // The first yarn reads npm's variable, the later ones their own alone.
                for (key, variable) in
                    [("registry", "npm_config_registry"), ("npmRegistryServer", "YARN_NPM_REGISTRY_SERVER")]
                {
                    let registry = value(key).map(|registry| (variable.to_owned(), registry.to_owned()));
                    told.0.extend(registry);
                }
            }
            ClientSet::Pip if !one.values.is_empty() => {
                let lines =
                    own.map(|(key, value)| format!("{key} =\n    {}\n", value.replace(' ', "\n    ")));
                let text = format!("[global]\n{}", lines.collect::<String>());
                told.0.insert("PIP_CONFIG_FILE".to_owned(), at("pip.conf"));
                told.1.push(SettingsFile { path: at("pip.conf"), bytes: text.into_bytes() });
            }
            ClientSet::Uv | ClientSet::Go => {
                told.0.extend(own.map(|(key, value)| (key.to_owned(), value.to_owned())));
            }
            ClientSet::Pip | ClientSet::Cargo | ClientSet::Maven | ClientSet::Git(_) => {}
        }
    }
    // Who is told a registry for npm is not told another one by a variable, which would win.
    if npmrc.contains_key("registry") {
        told.0.remove("npm_config_registry");
    }
    if !npmrc.is_empty() {
        let text: String = npmrc.iter().map(|(key, value)| format!("{key}={value}\n")).collect();
        told.0.insert("npm_config_userconfig".to_owned(), at("npmrc"));
        told.1.push(SettingsFile { path: at("npmrc"), bytes: text.into_bytes() });
    }
    (told.0.into_iter().collect(), told.1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    fn settings(set: &str, values: &[(&str, &str)]) -> RegistrySettings {
        let values = values.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        RegistrySettings { set: ClientSet::parse(set).unwrap().unwrap(), values: values.collect() }
    }

    fn shown(all: &[RegistrySettings]) -> Vec<String> {
        let (variables, files) = told(all, "/net/");
        let variables = variables.into_iter().map(|(name, value)| format!("{name}={value}"));
        let files = files
            .into_iter()
            .map(|file| format!("{}: {}", file.path, String::from_utf8(file.bytes).unwrap()));
        variables.chain(files).collect()
    }

    #[test]
    fn each_client_is_told_where_it_looks() {
        assert_eq!(
            shown(&[settings(
                "npm",
                &[("@own:registry", "https://own.test/"), ("registry", "https://npm.test/")]
            )]),
            [
                "npm_config_userconfig=/net/npmrc",
                "/net/npmrc: @own:registry=https://own.test/\nregistry=https://npm.test/\n"
            ]
        );
        assert_eq!(
            shown(&[settings("yarn", &[("registry", "https://y.test")])]),
            ["npm_config_registry=https://y.test"]
        );
        assert_eq!(
            shown(&[settings("yarn", &[("npmRegistryServer", "https://y.test")])]),
            ["YARN_NPM_REGISTRY_SERVER=https://y.test"]
        );
        let both = [
            settings("npm", &[("registry", "https://npm.test/")]),
            settings("yarn", &[("registry", "https://y.test")]),
        ];
        assert_eq!(
            shown(&both),
            ["npm_config_userconfig=/net/npmrc", "/net/npmrc: registry=https://npm.test/\n"]
        );
        assert_eq!(
            shown(&[settings(
                "pip",
                &[
                    ("extra-index-url", "https://a.test https://b.test"),
                    ("index-url", "https://i.test/simple")
                ]
            )]),
            [
                "PIP_CONFIG_FILE=/net/pip.conf",
                "/net/pip.conf: [global]\nextra-index-url =\n    https://a.test\n    https://b.test\nindex-url =\n    https://i.test/simple\n"
            ]
        );
        assert_eq!(shown(&[settings("uv", &[("UV_INDEX", "https://a.test")])]), ["UV_INDEX=https://a.test"]);
        assert_eq!(
            shown(&[settings("go", &[("GOPROXY", "https://a.test,direct")])]),
            ["GOPROXY=https://a.test,direct"]
        );
        assert_eq!(
            shown(&[settings("pip", &[]), settings("cargo", &[]), settings("git:origin", &[])]),
            Vec::<String>::new()
        );
    }
}
