//! The variables and files themselves, client by client.

use super::java::PASSWORD;

/// What a process inside gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSettings {
    /// Variables of the environment, by name.
    pub variables: Vec<(String, String)>,
    /// Files, for the host to place before anything starts.
    pub files: Vec<SettingsFile>,
}

/// A file that variables name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsFile {
    /// Its path inside.
    pub path: String,
    /// What it holds.
    pub bytes: Vec<u8>,
}

/// Where things are inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsPlaces {
    /// A folder that the run may read and not write, for the files.
    pub folder: String,
    /// The private HOME, which Java would not find by itself.
    pub home: String,
    /// Hosts that are reached without the proxy, besides loopback.
    pub direct: Vec<String>,
}

/// Every variable that names the file of certificates; one that a client does not know does it no harm.
const BUNDLES: [&str; 12] = [
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "npm_config_cafile",
    "YARN_HTTPS_CA_FILE_PATH",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "PIP_CERT",
    "CARGO_HTTP_CAINFO",
    "GIT_SSL_CAINFO",
    "DENO_CERT",
    "COMPOSER_CAFILE",
    "NIX_SSL_CERT_FILE",
];

/// Every variable that names the proxy. Bundler reads `HTTP_PROXY` for encrypted hosts as well, and yarn's later versions only
/// their own.
const PROXIES: [&str; 8] = [
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "YARN_HTTP_PROXY",
    "YARN_HTTPS_PROXY",
];

/// What is told to whom.
pub(super) fn settings(port: u16, places: &SettingsPlaces, bundle: String, java: Vec<u8>) -> ClientSettings {
    let proxy = format!("http://127.0.0.1:{port}");
    let at = |name: &str| format!("{}/{name}", places.folder.trim_end_matches('/'));
    let (certificates, trusted, wget, apt) = (at("ca.pem"), at("ca.jks"), at("wgetrc"), at("apt.conf"));
    let mut direct = vec!["127.0.0.1".to_owned(), "localhost".to_owned(), "::1".to_owned()];
    direct.extend(places.direct.iter().cloned());
    let mut variables: Vec<(String, String)> = Vec::new();
    let mut set = |name: &str, value: &str| variables.push((name.to_owned(), value.to_owned()));
    PROXIES.iter().for_each(|name| set(name, &proxy));
    BUNDLES.iter().for_each(|name| set(name, &certificates));
    for name in ["NO_PROXY", "no_proxy"] {
        set(name, &direct.join(","));
    }
    // Node's own requests ask no proxy unless told to, and uv reads the file only when it is the system's.
    set("NODE_USE_ENV_PROXY", "1");
    set("UV_SYSTEM_CERTS", "1");
    set("WGETRC", &wget);
    set("APT_CONFIG", &apt);
    set("GIT_TERMINAL_PROMPT", "0");
    set("JAVA_TOOL_OPTIONS", &java_options(port, places, &trusted, &direct));
    let file = |path: &str, bytes: Vec<u8>| SettingsFile { path: path.to_owned(), bytes };
    let wget_text = format!(
        "use_proxy = on\nhttp_proxy = {proxy}/\nhttps_proxy = {proxy}/\nno_proxy = {}\nca_certificate = {certificates}\n",
        direct.join(",")
    );
    let apt_text = format!(
        "Acquire::http::Proxy \"{proxy}/\";\nAcquire::https::Proxy \"{proxy}/\";\nAcquire::https::CAInfo \"{certificates}\";\n"
    );
    let files = vec![
        file(&certificates, bundle.into_bytes()),
        file(&trusted, java),
        file(&wget, wget_text.into_bytes()),
        file(&apt, apt_text.into_bytes()),
    ];
    ClientSettings { variables, files }
}

/// Java reads neither the variables nor HOME.
fn java_options(port: u16, places: &SettingsPlaces, trusted: &str, direct: &[String]) -> String {
    let home = &places.home;
    let hosts: Vec<&str> = direct.iter().map(String::as_str).filter(|host| !host.contains(':')).collect();
    [
        "-Dhttp.proxyHost=127.0.0.1".to_owned(),
        format!("-Dhttp.proxyPort={port}"),
        "-Dhttps.proxyHost=127.0.0.1".to_owned(),
        format!("-Dhttps.proxyPort={port}"),
        format!("-Dhttp.nonProxyHosts={}", hosts.join("|")),
        format!("-Djavax.net.ssl.trustStore={trusted}"),
        format!("-Djavax.net.ssl.trustStorePassword={PASSWORD}"),
        "-Djavax.net.ssl.trustStoreType=JKS".to_owned(),
        format!("-Duser.home={home}"),
        format!("-Dmaven.repo.local={home}/.m2/repository"),
    ]
    .join(" ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use std::collections::BTreeMap;
    use std::time::SystemTime;

    use super::super::*;

    fn made() -> (ClientSettings, RunAuthority) {
        let authority = RunAuthority::new(SystemTime::now()).unwrap();
        let other = RunAuthority::new(SystemTime::now()).unwrap();
        let places = SettingsPlaces {
            folder: "/net/".into(),
            home: "/home/run".into(),
            direct: vec!["model.test".into()],
        };
        (ClientSettings::new(3129, &places, &authority, &other.certificate_pem(), &[]), authority)
    }

    #[test]
    fn every_client_is_told_the_proxy_and_one_file_of_certificates() {
        let (settings, authority) = made();
        let all: BTreeMap<&str, &str> =
            settings.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(all.len(), settings.variables.len(), "one is told twice");
        for name in
            ["HTTPS_PROXY", "https_proxy", "http_proxy", "HTTP_PROXY", "ALL_PROXY", "YARN_HTTPS_PROXY"]
        {
            assert_eq!(all[name], "http://127.0.0.1:3129", "{name}");
        }
        for name in [
            "SSL_CERT_FILE",
            "npm_config_cafile",
            "PIP_CERT",
            "GIT_SSL_CAINFO",
            "NODE_EXTRA_CA_CERTS",
            "CARGO_HTTP_CAINFO",
        ] {
            assert_eq!(all[name], "/net/ca.pem", "{name}");
        }
        // yarn's later versions stop at names they do not know.
        assert!(!all.contains_key("YARN_CAFILE"));
        assert_eq!(all["no_proxy"], "127.0.0.1,localhost,::1,model.test");
        assert!(all["JAVA_TOOL_OPTIONS"].contains("-Dhttps.proxyPort=3129"));
        let bundle = String::from_utf8(settings.files[0].bytes.clone()).unwrap();
        assert_eq!(bundle.matches("BEGIN CERTIFICATE").count(), 2);
        assert!(bundle.ends_with(&authority.certificate_pem()));
        let named: Vec<&str> = settings.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(named, ["/net/ca.pem", "/net/ca.jks", "/net/wgetrc", "/net/apt.conf"]);
        for path in named {
            assert!(all.values().any(|value| value.contains(path)), "{path}");
        }
    }
}
