#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use holon_core::config::{ConfigLayer, merge};
use holon_core::mode::ModeCatalog;
use holon_network::{ClientQueryError, IndexAnswer, PermitAccess, PermitSource};

use super::*;

/// A machine with npm, and a project that would like another registry.
struct OneClient;

impl ClientQueries for OneClient {
    fn ask(&self, program: &str, arguments: &[&str]) -> Result<String, ClientQueryError> {
        match (program, arguments) {
            ("npm", ["config", ..]) => {
                Ok(r#"{"registry":"https://npm.test/","@own:registry":"http://localhost:4873/"}"#.into())
            }
            _ => Err(ClientQueryError::Missing { program: program.to_owned() }),
        }
    }

    fn read(&self, path: &Path) -> Option<String> {
        path.ends_with("project/.npmrc").then(|| "registry=https://other.test/".to_owned())
    }

    fn list(&self, _: &Path) -> Vec<String> {
        Vec::new()
    }

    fn fetch(&self, url: &str, _: &str) -> Result<IndexAnswer, ClientQueryError> {
        Err(ClientQueryError::Index { host: url.to_owned(), what: "it is not there".into() })
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

/// What is granted in a mode, for flags and the text of the user's and of the workspace's configuration.
fn granted(
    mode: &str,
    request: &RunRequest,
    user: &str,
    project: &str,
) -> Result<(NetworkReach, GrantedNetwork), HostError> {
    let layers = [
        ConfigLayer::parse(ConfigSource::User { path: "config.toml".into() }, user).unwrap(),
        ConfigLayer::parse(ConfigSource::Project { path: "holon.toml".into() }, project).unwrap(),
    ];
    let mut profile = ModeCatalog::builtin().unwrap().resolve(mode).unwrap();
    let sources = GrantSources {
        request,
        configured: &merge(&layers).unwrap(),
        workspace: Path::new("/project"),
        sandbox: request.sandbox,
        queries: &OneClient,
    };
    let granted = grant(&mut profile, &sources)?;
    Ok((profile.network, granted))
}

fn asking(allow_net: &[&str]) -> RunRequest {
    RunRequest {
        allow_net: allow_net.iter().map(|text| (*text).to_owned()).collect(),
        ..RunRequest::default()
    }
}

fn rules(granted: &GrantedNetwork) -> Vec<&str> {
    granted.permits.iter().map(|permit| permit.rule.as_str()).collect()
}

#[test]
fn inv_20_nothing_is_permitted_unless_a_person_says_so() {
    let repository = "[network]\nallow = [\"npm\"]\nwants = [\"npm\", \"api.test\"]\n";
    let (network, nothing) = granted("execute", &asking(&[]), "", repository).unwrap();
    assert_eq!((network, rules(&nothing)), (NetworkReach::Gateway, Vec::new()));
    assert_eq!(nothing.warnings.len(), 2, "{:#?}", nothing.warnings);
    assert!(
        nothing.warnings[1].contains("this repository asks to reach api.test"),
        "{:#?}",
        nothing.warnings
    );

    let (network, some) = granted("execute", &asking(&["api.test"]), "", repository).unwrap();
    assert_eq!((network, rules(&some)), (NetworkReach::Permit, vec!["api.test"]));
    assert_eq!(some.permits[0].granted_by, "flag --allow-net");
    assert!(some.warnings.iter().all(|warning| !warning.contains("api.test")), "{:#?}", some.warnings);
}

#[test]
fn the_configuration_is_for_modes_that_change_things_and_gives_way_to_flags() {
    let user = "[network]\nallow = [\"api.test\", \"API.test\"]\n";
    let (network, all) = granted("execute", &asking(&["b.test"]), user, "").unwrap();
    assert_eq!((network, rules(&all)), (NetworkReach::Permit, vec!["b.test", "api.test"]));
    let (network, none) = granted("plan", &asking(&[]), user, "").unwrap();
    assert_eq!((network, rules(&none)), (NetworkReach::Gateway, Vec::new()));
    let model = RunRequest { network: Some(NetworkReach::Gateway), ..RunRequest::default() };
    assert_eq!(rules(&granted("execute", &model, user, "").unwrap().1), Vec::<&str>::new());
    let open = RunRequest { sandbox: SandboxChoice::None, ..RunRequest::default() };
    assert_eq!(rules(&granted("execute", &open, user, "").unwrap().1), Vec::<&str>::new());
    // A person may give it to a mode that only looks.
    assert_eq!(granted("plan", &asking(&["b.test"]), "", "").unwrap().0, NetworkReach::Permit);
}

#[test]
fn a_client_stands_for_what_its_user_configured_and_only_to_read() {
    let (_, found) = granted("execute", &asking(&["npm"]), "", "").unwrap();
    assert_eq!(found.permits[0].hosts, ["npm.test:443", "localhost:4873"]);
    assert_eq!(found.permits[0].settings["registry"], "https://npm.test/");
    assert!(
        found.warnings.iter().any(|warning| warning.contains("--allow-net other.test:443")),
        "{:#?}",
        found.warnings
    );
    let permits = found.permits[0].permits().unwrap();
    assert!(
        permits.iter().all(|permit| permit.access == PermitAccess::ReadOnly { opaque: false }),
        "{permits:#?}"
    );

    let (_, none) = granted("execute", &asking(&["cargo"]), "", "").unwrap();
    assert!(none.permits[0].permits().unwrap().is_empty());
    assert!(none.warnings[0].contains("configured for no host"), "{:#?}", none.warnings);
}

#[test]
fn what_is_no_permit_is_refused_where_it_stands() {
    for (request, user, said) in [
        (asking(&["nmp"]), "", "--allow-net"),
        (asking(&[]), "[network]\nallow = [\"nmp\"]\n", "`network.allow` of config.toml"),
        (RunRequest { network: Some(NetworkReach::Host), ..asking(&["a.test"]) }, "", "--network host"),
        (RunRequest { sandbox: SandboxChoice::Landlock, ..asking(&["a.test"]) }, "", "--sandbox landlock"),
        (RunRequest { sandbox: SandboxChoice::None, ..asking(&["a.test"]) }, "", "--sandbox none"),
    ] {
        let refused = granted("execute", &request, user, "").unwrap_err().to_string();
        assert!(refused.contains(said), "{refused}");
    }
    let odd = PlannedPermit { rule: "npm".into(), hosts: vec!["a b".into()], ..PlannedPermit::default() };
    assert!(odd.permits().unwrap_err().to_string().contains("`npm`"));
}

#[test]
fn a_remote_stands_for_its_repository_and_an_index_for_its_files() {
    let planned = |rule: &str, hosts: &[&str], files: &[&str]| PlannedPermit {
        rule: rule.into(),
        hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        file_hosts: files.iter().map(|host| (*host).to_owned()).collect(),
        ..PlannedPermit::default()
    };
    let permits = planned("git:origin", &["git.test:443/me/a.git"], &[]).permits().unwrap();
    let path = RepositoryPath::parse("/me/a.git").unwrap();
    assert_eq!(permits[0].access, PermitAccess::Repository(path));
    for odd in ["git.test:443", "git.test:443/../a", "git.test/a"] {
        assert!(planned("git:origin", &[odd], &[]).permits().is_err(), "{odd}");
    }
    let permits = planned("pip", &["index.test:443"], &["files.test:443"]).permits().unwrap();
    let set = ClientSet::Pip;
    let sources: Vec<PermitSource> = permits.into_iter().map(|permit| permit.source).collect();
    assert_eq!(sources, [PermitSource::ClientConfiguration(set.clone()), PermitSource::RegistryAnswer(set)]);
}

#[test]
fn what_shall_not_come_in_goes_with_the_permits() {
    let user = "[network]\nmin_age_days = 7\ndeny = [\"npm:worse@1.0.0\"]\n";
    let project = "[network]\nmin_age_days = 1\ndeny = []\n";
    let (_, found) = granted("execute", &asking(&["npm"]), user, project).unwrap();
    assert_eq!(
        (found.arrivals.min_age_days, &found.arrivals.denied[..]),
        (7, &["npm:worse@1.0.0".to_owned()][..])
    );
    assert_eq!(found.arrivals.rules().unwrap().min_age, 7);
    let odd = granted("execute", &asking(&["npm"]), "[network]\ndeny = [\"a b\"]\n", "").unwrap_err();
    assert!(odd.to_string().contains("`a b`"), "{odd}");
}
