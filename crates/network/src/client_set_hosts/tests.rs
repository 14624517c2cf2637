#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::*;

/// A machine with these programs, files and variables.
#[derive(Default)]
struct ScriptedQueries {
    answers: HashMap<&'static str, &'static str>,
    files: HashMap<&'static str, &'static str>,
    folders: HashMap<&'static str, Vec<&'static str>>,
    variables: HashMap<&'static str, &'static str>,
    /// What indexes say, in which form.
    pages: HashMap<&'static str, (&'static str, &'static str)>,
}

impl ClientQueries for ScriptedQueries {
    fn ask(&self, program: &str, arguments: &[&str]) -> Result<String, ClientQueryError> {
        let command = format!("{program} {}", arguments.join(" "));
        let installed = self.answers.keys().any(|own| own.starts_with(&format!("{program} ")));
        match self.answers.get(command.as_str()) {
            Some(answer) => Ok((*answer).to_owned()),
            None if installed => {
                Err(ClientQueryError::Failed { program: program.to_owned(), said: "no".into() })
            }
            None => Err(ClientQueryError::Missing { program: program.to_owned() }),
        }
    }

    fn read(&self, path: &Path) -> Option<String> {
        self.files.get(path.to_str()?).map(|text| (*text).to_owned())
    }

    fn list(&self, folder: &Path) -> Vec<String> {
        let names = self.folders.get(folder.to_str().unwrap()).cloned().unwrap_or_default();
        names.into_iter().map(str::to_owned).collect()
    }

    fn fetch(&self, url: &str, _: &str) -> Result<IndexAnswer, ClientQueryError> {
        let page = self
            .pages
            .get(url)
            .map(|(form, text)| IndexAnswer { form: (*form).into(), text: (*text).into() });
        page.ok_or_else(|| ClientQueryError::Index { host: url.to_owned(), what: "it is not there".into() })
    }

    fn variable(&self, name: &str) -> Option<String> {
        if name == "HOME" {
            return Some("/home/me".into());
        }
        self.variables.get(name).map(|value| (*value).to_owned())
    }
}

fn shown(set: &str, queries: &ScriptedQueries) -> String {
    let set = ClientSet::parse(set).unwrap().unwrap();
    SetHosts::work_out(&set, queries, &PathBuf::from("/project")).to_string()
}

#[test]
fn npm_says_its_registries_and_a_project_only_asks() {
    let mut queries = ScriptedQueries::default();
    let json = r#"{"registry":"https://npm.test/","@own:registry":"http://10.0.0.5:4873/x/","//npm.test/:_authToken":"s3cret","cafile":"/x"}"#;
    queries.answers.insert("npm config ls --json", json);
    queries.files.insert(
        "/project/.npmrc",
        "registry = https://evil.test/\n@a:registry=http://169.254.169.254/\nregistry=https://npm.test\n",
    );
    assert_eq!(
        shown("npm", &queries),
        "npm:\n  npm.test:443  (`npm config ls --json`, registry)\n  10.0.0.5:4873  (`npm config ls --json`, @own:registry)\n  \
         evil.test:443  (.npmrc)  asked for by the project, not permitted\n  \
         169.254.169.254:80  (.npmrc)  asked for by the project, not permitted"
    );
    let set = SetHosts::work_out(&ClientSet::Npm, &queries, Path::new("/project"));
    let permits: Vec<String> = set.permits().map(|permit| permit.rule.to_string()).collect();
    assert_eq!(permits, ["npm.test:443", "10.0.0.5:4873"]);
}

#[test]
fn pnpm_and_yarn_say_theirs() {
    let mut queries = ScriptedQueries::default();
    queries.answers.insert(
        "pnpm config list --json",
        "{\"registry\":\"https://pnpm.test/\",\"//pnpm.test/:_authToken\":\"s3cret\"}",
    );
    assert_eq!(shown("pnpm", &queries), "pnpm:\n  pnpm.test:443  (`pnpm config list --json`, registry)");
    queries.answers.insert("yarn --version", "1.22.22\n");
    queries.answers.insert("yarn config get registry", "https://yarn.test\n");
    queries.answers.insert("npm --version", "11\n");
    queries.answers.insert("npm config ls --json", "no JSON");
    assert_eq!(
        shown("yarn", &queries),
        "yarn:\n  yarn.test:443  (`yarn config get registry`)\n  note: `npm config ls --json` printed no JSON"
    );
    queries.answers.insert("yarn --version", "4.18.0\n");
    queries.answers.insert("yarn config get npmRegistryServer", "\"https://berry.test\"\n");
    assert_eq!(shown("yarn", &queries), "yarn:\n  berry.test:443  (`yarn config get npmRegistryServer`)");
}

#[test]
fn pip_says_what_is_configured_or_what_its_help_says() {
    let mut queries = ScriptedQueries::default();
    queries.answers.insert("pip --version", "pip 26\n");
    queries.answers.insert("pip config list", "global.index-url='https://me:s3cret@pip.test/simple'\nglobal.extra-index-url='https://a.test/x\\nhttps://b.test'\nglobal.cert='/x'\n");
    let said = shown("pip", &queries);
    for host in ["pip.test:443", "a.test:443", "b.test:443"] {
        assert!(said.contains(host), "{said}");
    }
    assert!(
        said.contains("holds a user name or password for pip.test:443") && !said.contains("s3cret"),
        "{said}"
    );
    queries.answers.insert("pip config list", "global.find-links='/opt/wheels'\n");
    queries.answers.insert("pip install --help", "  -i, --index-url <url>  Base URL of the Python Package\n   Index (default https://index.test/simple). This\n   should point to a repository");
    let said = shown("pip", &queries);
    assert!(
        said.starts_with(
            "pip:\n  index.test:443  (`pip install --help` index-url)\n  note: where its files are is not known"
        ),
        "{said}"
    );
    assert!(shown("pip", &ScriptedQueries::default()).contains("pip is not installed here"));
}

#[test]
fn an_index_is_asked_by_the_host_where_its_files_are() {
    let mut queries = ScriptedQueries::default();
    queries.answers.insert("pip --version", "pip 26\n");
    queries.answers.insert("pip config list", "global.index-url='https://pip.test/simple/'\n");
    let page = "<a href=\"https://files.test/pip-26.0-py3-none-any.whl\">pip</a><a href=\"https://other.test/x-1.0.zip\">x</a>";
    queries.pages.insert("https://pip.test/simple/pip/", ("text/html", page));
    let expect =
        "pip:\n  pip.test:443  (`pip config list` index-url)\n  files.test:443  (the index, for its files)";
    assert_eq!(shown("pip", &queries), expect);
    let set = SetHosts::work_out(&ClientSet::Pip, &queries, Path::new("/project"));
    let sources: Vec<crate::permit::PermitSource> = set.permits().map(|permit| permit.source).collect();
    use crate::permit::PermitSource::{ClientConfiguration, RegistryAnswer};
    assert_eq!(sources, [ClientConfiguration(ClientSet::Pip), RegistryAnswer(ClientSet::Pip)]);
    // A page in another form is none of an index.
    queries.pages.insert("https://pip.test/simple/pip/", ("application/octet-stream", page));
    assert!(!shown("pip", &queries).contains("files.test"));
    // Nobody's password goes along.
    queries.answers.insert("pip config list", "global.index-url='https://me:s3cret@pip.test/simple/'\n");
    assert!(shown("pip", &queries).contains("wants a password"));

    let mut queries = ScriptedQueries::default();
    queries
        .files
        .insert("/home/me/.cargo/config.toml", "[source.m]\nregistry = \"sparse+https://own.test/index/\"\n");
    queries.pages.insert(
        "https://own.test/index/config.json",
        ("text/plain", "{\"dl\":\"https://crates.test/{crate}\"}"),
    );
    let expect =
        "cargo:\n  own.test:443  (cargo's config.toml)\n  crates.test:443  (the registry, for its files)";
    assert_eq!(shown("cargo", &queries), expect);
}

#[test]
fn clients_inside_are_told_what_the_user_has_configured_without_passwords() {
    let told = |set: &str, queries: &ScriptedQueries| {
        let set = ClientSet::parse(set).unwrap().unwrap();
        let settings = SetHosts::work_out(&set, queries, Path::new("/project")).settings;
        settings.into_iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>()
    };
    let mut queries = ScriptedQueries::default();
    let json = r#"{"registry":"https://me:s3cret@npm.test/x/","@own:registry":"https://own.test/","//npm.test/:_authToken":"s3cret"}"#;
    queries.answers.insert("npm config ls --json", json);
    queries.files.insert("/project/.npmrc", "registry=https://project.test\n");
    assert_eq!(told("npm", &queries), ["@own:registry=https://own.test/", "registry=https://npm.test/x/"]);
    let odd = r#"{"registry":"https://me:s3/cret@npm.test/","@b:registry":"https://b.test/@x/y"}"#;
    queries.answers.insert("npm config ls --json", odd);
    assert_eq!(told("npm", &queries), ["@b:registry=https://b.test/@x/y"]);
    queries.answers.insert("pip --version", "pip 26\n");
    queries.answers.insert("pip config list", "global.index-url='http://me:s3cret@pip.test/simple'\nglobal.extra-index-url='https://a.test\\nhttps://u@b.test/x'\nglobal.trusted-host='pip.test'\n");
    assert_eq!(
        told("pip", &queries),
        [
            "extra-index-url=https://a.test https://b.test/x",
            "index-url=http://pip.test/simple",
            "trusted-host=pip.test"
        ]
    );
    queries.files.insert("/home/me/.config/uv/uv.toml", "[[index]]\nurl = \"https://u:s3cret@own.test/simple\"\n[[index]]\nurl = \"https://main.test\"\ndefault = true\n");
    assert_eq!(
        told("uv", &queries),
        ["UV_DEFAULT_INDEX=https://main.test", "UV_INDEX=https://own.test/simple"]
    );
    let command = "go env -json GOPROXY GOSUMDB GONOPROXY GOPRIVATE";
    queries.answers.insert(command, r#"{"GOPROXY":"https://me:s3cret@proxy.test|http://b.test,direct","GOSUMDB":"off","GOPRIVATE":"own.test/*"}"#);
    assert_eq!(
        told("go", &queries),
        ["GOPRIVATE=own.test/*", "GOPROXY=https://proxy.test|http://b.test,direct", "GOSUMDB=off"]
    );
}

#[test]
fn uv_says_what_its_files_and_its_help_say() {
    let mut queries = ScriptedQueries::default();
    queries.files.insert(
        "/home/me/.config/uv/uv.toml",
        "[[index]]\nurl = \"https://own.test/simple\"\n[pip]\nindex-url = \"https://pip.test/simple\"\n",
    );
    queries.answers.insert(
        "uv help pip install",
        "  The URL of the Python package index (by default: <https://index.test/simple>).",
    );
    let said = shown("uv", &queries);
    for host in ["own.test:443", "pip.test:443", "index.test:443"] {
        assert!(said.contains(host), "{said}");
    }
    queries.variables.insert("UV_DEFAULT_INDEX", "https://chosen.test/simple");
    let said = shown("uv", &queries);
    assert!(said.contains("chosen.test:443  (UV_DEFAULT_INDEX)") && !said.contains("index.test"), "{said}");
}

#[test]
fn cargo_says_what_its_files_and_its_cache_say() {
    let mut queries = ScriptedQueries::default();
    assert!(shown("cargo", &queries).contains("has used no registry"));
    queries.files.insert("/home/me/.cargo/config.toml", "[registries.own]\nindex = \"sparse+https://own.test/index/\"\n[source.mirror]\nregistry = \"http://mirror.test:8080/index\"\n");
    queries.folders.insert(
        "/home/me/.cargo/registry/index",
        vec!["index.test-1949cf8c6b5b557f", "odd", "x-1949cf8c6b5b557f"],
    );
    queries.files.insert(
        "/home/me/.cargo/registry/index/index.test-1949cf8c6b5b557f/config.json",
        "{\"dl\":\"https://files.test/crates\",\"api\":\"https://api.test\"}",
    );
    queries.files.insert("/project/.cargo/config.toml", "[source.evil]\nregistry = \"https://evil.test\"\n");
    assert_eq!(
        shown("cargo", &queries),
        "cargo:\n  own.test:443  (cargo's config.toml)\n  mirror.test:8080  (cargo's config.toml)\n  index.test:443  (cargo's cache)\n  \
         files.test:443  (the index in cargo's cache)\n  evil.test:443  (.cargo/config.toml)  asked for by the project, not permitted\n  \
         note: where its files are is not known (https://own.test/index/config.json could not be asked: it is not there): if that is another host, name it with --allow-net"
    );
    queries.files.insert("/home/me/.cargo/config.toml", "no = = toml");
    assert!(shown("cargo", &queries).contains("it is no TOML"));
}

#[test]
fn go_says_its_proxies_and_its_checksums() {
    let mut queries = ScriptedQueries::default();
    assert_eq!(shown("go", &queries), "go: no host is known\n  note: go is not installed here");
    let command = "go env -json GOPROXY GOSUMDB GONOPROXY GOPRIVATE";
    queries.answers.insert(command, r#"{"GOPROXY":"https://proxy.test|http://athens.test:3000,direct","GOSUMDB":"sum.test","GOPRIVATE":"own.test/*"}"#);
    let said = shown("go", &queries);
    for expect in
        ["proxy.test:443", "athens.test:3000", "sum.test:443", "module's own host", "modules of own.test/*"]
    {
        assert!(said.contains(expect), "{said}");
    }
    queries
        .answers
        .insert(command, r#"{"GOPROXY":"off","GOSUMDB":"sum.test+123+abc https://mirror.test/sum"}"#);
    assert_eq!(shown("go", &queries), "go:\n  mirror.test:443  (`go env GOSUMDB`)");
}

#[test]
fn maven_says_what_its_settings_say() {
    let mut queries = ScriptedQueries::default();
    queries.files.insert(
        "/home/me/.m2/settings.xml",
        "<settings><!-- <mirror><url>https://old.test</url></mirror> --><mirrors><mirror><url>http://0.0.0.0/</url><blocked>true</blocked></mirror><mirror><id>a</id><url>https://mirror.test/maven2</url></mirror></mirrors>\
         <profiles><profile><repositories><repository><url> http://own.test:8081/repository </url></repository></repositories></profile></profiles></settings>",
    );
    assert_eq!(
        shown("maven", &queries),
        "maven:\n  mirror.test:443  (settings.xml)\n  own.test:8081  (settings.xml)"
    );
    assert!(shown("maven", &ScriptedQueries::default()).contains("name no repository"));
}

#[test]
fn a_remote_says_its_host() {
    let mut queries = ScriptedQueries::default();
    let command = "git -C /project remote get-url --all origin";
    queries.answers.insert(command, "https://me:s3cret@git.test/a.git\nhttp://git.test:3000/a.git\n");
    let said = shown("git:origin", &queries);
    assert!(
        said.contains("git.test:443/a.git")
            && said.contains("git.test:3000/a.git")
            && !said.contains("s3cret"),
        "{said}"
    );
    queries.answers.insert(command, "git@git.test:a/b.git\n");
    assert!(shown("git:origin", &queries).contains("not reached over HTTP"));
    queries.answers.insert(command, "/srv/a.git\n");
    assert!(shown("git:origin", &queries).contains("a folder of this machine"));
    assert!(shown("git:upstream", &queries).contains("no remote `upstream`"));
}

#[test]
fn a_client_that_gives_no_answer_is_not_waited_for() {
    let queries = SystemQueries { patience: std::time::Duration::from_millis(50) };
    let late = queries.ask("sleep", &["30"]);
    assert!(matches!(late, Err(ClientQueryError::Late { .. })), "{late:?}");
    assert!(matches!(queries.ask("no-such-client", &[]), Err(ClientQueryError::Missing { .. })));
    let queries = SystemQueries::default();
    assert_eq!(queries.ask("sh", &["-c", "pwd; echo out"]), Ok("/\nout\n".into()));
    let failed =
        queries.ask("sh", &["-c", "echo https://me:s3cret@a.test >&2; exit 3"]).unwrap_err().to_string();
    assert_eq!(failed, "sh failed: it complains of an address");
}
