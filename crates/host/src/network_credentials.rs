//! Credentials for hosts that a run may read: described in the user's configuration, read by the host when the run begins, and put on
//! requests outside. A plan names the hosts and holds no value; a workspace has no say.

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;

use holon_core::redact::Redactor;
use holon_login::{CommandCredential, CredentialProvider, TokenHeader};
use holon_network::{CredentialForm, HostCredential, HostTarget, Permit, PermitBook};
use toml::{Table, Value};

use crate::config::{ConfigurationFiles, WorkspaceConfiguration};
use crate::error::HostError;
use crate::run::HostEnvironment;

const SECTION: &str = "credentials";
/// No secret in a file is longer.
const MOST_BYTES: u64 = 64 * 1024;
const KEYS: [&str; 6] = ["command", "file", "header", "prefix", "user", "variable"];

/// How the value of one host's credential is found, and put on a request.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DescribedCredential {
    target: HostTarget,
    form: CredentialForm,
    value: CredentialValue,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum CredentialValue {
    Variable(String),
    File(String),
    Command(Vec<String>),
}

/// What the configuration says about the hosts of a run.
#[derive(Debug, Default)]
pub(crate) struct WantedCredentials {
    /// Hosts that are permitted and have one, with their ports.
    pub(crate) hosts: Vec<String>,
    /// What has no effect.
    pub(crate) warnings: Vec<String>,
}

/// Chooses those of hosts that are permitted. All of the section has to be sound.
pub(crate) fn wanted(
    configuration: &WorkspaceConfiguration,
    permits: &[Permit],
) -> Result<WantedCredentials, HostError> {
    let mut wanted = WantedCredentials::default();
    if configuration.project_section(SECTION).ok().flatten().is_some() {
        wanted
            .warnings
            .push(format!("[{SECTION}] of this repository's holon.toml has no effect: only yours counts"));
    }
    let book = PermitBook::new(permits.iter().cloned());
    for described in described(configuration)? {
        if book.judge(&described.target).is_ok() {
            wanted.hosts.push(described.target.to_string());
        }
    }
    Ok(wanted)
}

/// Reads the values for the hosts of a plan.
pub(crate) fn values(
    hosts: &[String],
    files: &ConfigurationFiles,
    workspace: &std::path::Path,
    env: &HostEnvironment,
) -> Result<Vec<HostCredential>, HostError> {
    if hosts.is_empty() {
        return Ok(Vec::new());
    }
    let known = described(&files.of(workspace)?)?;
    let one = |host: &String| {
        let found = known.iter().find(|described| described.target.to_string() == *host);
        let found = found.ok_or_else(|| {
            HostError::usage(
                format!("the run was planned with a credential for {host}, which your configuration does not have now"),
                format!("put [{SECTION}.\"{host}\"] into your config.toml, or plan the run anew"),
            )
        })?;
        let secret = found.value.read(host, env)?;
        HostCredential::new(found.target.clone(), &found.form, &secret).map_err(|error| {
            HostError::usage(error.to_string(), format!("look at [{SECTION}.\"{host}\"] of your config.toml"))
        })
    };
    hosts.iter().map(one).collect()
}

/// Everything that must not be written anywhere, with a name for it.
pub(crate) fn redactor(secrets: &[(String, String)], credentials: &[HostCredential]) -> Redactor {
    let own = credentials.iter().flat_map(|credential| {
        let name = format!("credential of {}", credential.target());
        credential.secrets().map(move |secret| (name.clone(), secret.to_owned()))
    });
    Redactor::new(secrets.iter().cloned().chain(own))
}

fn described(configuration: &WorkspaceConfiguration) -> Result<Vec<DescribedCredential>, HostError> {
    let section = configuration.user_section(SECTION)?.unwrap_or_default();
    section.iter().map(|(host, value)| described_one(host, value)).collect()
}

fn described_one(host: &str, value: &Value) -> Result<DescribedCredential, HostError> {
    let wrong = |what: String| {
        HostError::usage(
            format!("[{SECTION}.\"{host}\"] of your config.toml {what}"),
            "docs/network.md shows what it can say",
        )
    };
    let target =
        HostTarget::parse(host, Some(443)).map_err(|error| wrong(format!("is for no host: {error}")))?;
    let table = value.as_table().ok_or_else(|| wrong("is not a table".into()))?;
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(wrong(format!("has a key `{key}` that means nothing: there are {}", KEYS.join(", "))));
    }
    let text = |key: &str| match table.get(key) {
        None => Ok(None),
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.clone())),
        Some(_) => Err(wrong(format!("has a `{key}` that is no text"))),
    };
    let command = command(table).map_err(&wrong)?;
    let values = [
        text("variable")?.map(CredentialValue::Variable),
        text("file")?.map(CredentialValue::File),
        command.map(CredentialValue::Command),
    ];
    let mut given: Vec<CredentialValue> = values.into_iter().flatten().collect();
    let (Some(value), true) = (given.pop(), given.is_empty()) else {
        return Err(wrong("needs one of `variable`, `file` and `command`".into()));
    };
    let form = match (text("user")?, text("header")?, table.get("prefix")) {
        (Some(user), None, None) => CredentialForm::Basic { user },
        (Some(_), ..) => return Err(wrong("has a `user`, so `header` and `prefix` mean nothing".into())),
        (None, None, None) => {
            CredentialForm::Header { name: "authorization".into(), prefix: "Bearer ".into() }
        }
        (None, header, prefix) => {
            let prefix = match prefix {
                None => "",
                Some(Value::String(prefix)) => prefix.as_str(),
                Some(_) => return Err(wrong("has a `prefix` that is no text".into())),
            };
            let name = header.unwrap_or_else(|| "authorization".into());
            CredentialForm::Header { name: name.to_ascii_lowercase(), prefix: prefix.to_owned() }
        }
    };
    Ok(DescribedCredential { target, form, value })
}

fn command(table: &Table) -> Result<Option<Vec<String>>, String> {
    let Some(value) = table.get("command") else { return Ok(None) };
    let words =
        value.as_array().map(|words| words.iter().filter_map(Value::as_str).map(str::to_owned).collect());
    let words: Vec<String> = words.unwrap_or_default();
    let whole = value.as_array().is_some_and(|all| all.len() == words.len() && !words.is_empty());
    whole.then_some(Some(words)).ok_or_else(|| "has a `command` that is no list of texts".to_owned())
}

impl CredentialValue {
    /// The value as it is now; an error names where it was looked for and nothing of it.
    fn read(&self, host: &str, env: &HostEnvironment) -> Result<String, HostError> {
        let missing = |what: String, remedy: &str| {
            HostError::usage(format!("the credential for {host} cannot be read: {what}"), remedy)
        };
        let found = match self {
            Self::Variable(name) => env(name)
                .and_then(|value| value.into_string().ok())
                .ok_or_else(|| missing(format!("the variable {name} is not set"), "set it"))?,
            Self::File(path) => {
                let path = match (path.strip_prefix("~/"), env("HOME")) {
                    (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
                    _ => PathBuf::from(path),
                };
                let failed = |what: String| {
                    missing(format!("{}: {what}", path.display()), "name a file that holds it")
                };
                let file = fs::File::open(&path).map_err(|error| failed(error.to_string()))?;
                let plain = file.metadata().is_ok_and(|data| data.is_file() && data.len() <= MOST_BYTES);
                let mut text = String::new();
                let read = file.take(MOST_BYTES).read_to_string(&mut text);
                if !plain || read.is_err() {
                    return Err(failed("it is no file of text, or too large".into()));
                }
                text
            }
            Self::Command(words) => {
                let (program, rest) =
                    words.split_first().ok_or_else(|| missing("no command".into(), "give one"))?;
                let provider = CommandCredential::new(program, rest.iter().cloned(), TokenHeader::ApiKey);
                let credential =
                    provider.credential().map_err(|error| missing(error.to_string(), "run it yourself"))?;
                let token = credential.headers().iter().find(|header| header.name == "x-api-key");
                token.map(|token| token.value.expose().to_owned()).unwrap_or_default()
            }
        };
        let found = found.trim().to_owned();
        if found.is_empty() {
            Err(missing("it is empty".into(), "look where it comes from"))
        } else {
            Ok(found)
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    fn one(text: &str) -> Result<DescribedCredential, String> {
        let value: Table = text.parse().unwrap();
        described_one("npm.test", &Value::Table(value)).map_err(|error| error.to_string())
    }

    #[test]
    fn each_form_is_read() {
        let bearer = CredentialForm::Header { name: "authorization".into(), prefix: "Bearer ".into() };
        let token = one("variable = 'TOKEN'").unwrap();
        assert_eq!((token.form, token.value), (bearer, CredentialValue::Variable("TOKEN".into())));
        assert_eq!(token.target.to_string(), "npm.test:443");
        let basic = one("file = '~/x'\nuser = 'me'").unwrap();
        assert_eq!(basic.form, CredentialForm::Basic { user: "me".into() });
        let header = one("command = ['pass', 'show', 'x']\nheader = 'X-Key'").unwrap();
        assert_eq!(header.form, CredentialForm::Header { name: "x-key".into(), prefix: String::new() });
        for (text, said) in [
            ("", "needs one of"),
            ("variable = 'A'\nfile = 'b'", "needs one of"),
            ("variable = 1", "no text"),
            ("variable = 'A'\nvalue = 's3cret'", "`value`"),
            ("variable = 'A'\nuser = 'me'\nheader = 'x'", "mean nothing"),
            ("command = 'pass show'", "no list"),
            ("command = []", "no list"),
            ("variable = 'A'\nprefix = 1", "no text"),
        ] {
            let error = one(text).unwrap_err();
            assert!(error.contains(said) && !error.contains("s3cret"), "{text}: {error}");
        }
        assert!(described_one("https://npm.test/", &Value::Table(Table::new())).is_err());
    }

    #[test]
    fn values_come_from_where_they_are_and_errors_do_not_show_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, "canary-file\n").unwrap();
        let env = |name: &str| (name == "TOKEN").then(|| "canary-variable".into());
        let read =
            |value: CredentialValue| value.read("npm.test:443", &env).map_err(|error| error.to_string());
        assert_eq!(read(CredentialValue::Variable("TOKEN".into())).unwrap(), "canary-variable");
        assert_eq!(read(CredentialValue::File(path.display().to_string())).unwrap(), "canary-file");
        let print = |text: &str| vec!["sh".to_owned(), "-c".to_owned(), format!("printf '%s' '{text}'")];
        let token = r#"{"token": "canary-command"}"#;
        assert_eq!(read(CredentialValue::Command(print(token))).unwrap(), "canary-command");
        for wrong in [
            CredentialValue::Variable("OTHER".into()),
            CredentialValue::File(folder.path().display().to_string()),
            CredentialValue::File(folder.path().join("none").display().to_string()),
            CredentialValue::Command(print("canary-plain")),
            CredentialValue::Command(vec!["no-such-program".into()]),
        ] {
            let error = read(wrong.clone()).unwrap_err();
            assert!(error.contains("npm.test:443") && !error.contains("canary"), "{wrong:?}: {error}");
        }
    }
}
