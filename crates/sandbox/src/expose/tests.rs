//! A made-up host with a made-up home: what is seen of it, and what never is.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::*;
use crate::mount::{Overlay, Source};

/// A host in a temporary folder. The defaults are those of an execute run of an ordinary user.
struct Fake {
    root: PathBuf,
    variables: BTreeMap<String, OsString>,
    writable: bool,
    toolchains: bool,
    caches: bool,
    offline: bool,
    overlays: bool,
    owner: Option<(u32, u32)>,
    _temp: tempfile::TempDir,
}

impl Fake {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        for folder in ["home", "ws", "run"] {
            fs::create_dir(root.join(folder)).unwrap();
        }
        let variables = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".into())]);
        Self {
            root,
            variables,
            writable: true,
            toolchains: true,
            caches: true,
            offline: true,
            overlays: true,
            owner: None,
            _temp: temp,
        }
    }

    /// Writes files below the root; a name that ends in `/` is a folder.
    fn with(self, names: &[&str]) -> Self {
        for name in names {
            let path = self.root.join(name);
            if name.ends_with('/') {
                fs::create_dir_all(path).unwrap();
            } else {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "canary\n").unwrap();
            }
        }
        self
    }

    fn file(self, name: &str, text: &str) -> Self {
        let this = self.with(&[name]);
        fs::write(this.root.join(name), text).unwrap();
        this
    }

    fn link(self, name: &str, target: impl AsRef<Path>) -> Self {
        fs::create_dir_all(self.root.join(name).parent().unwrap()).unwrap();
        symlink(target, self.root.join(name)).unwrap();
        self
    }

    /// Sets a variable; `@` is the root of the made-up host.
    fn variable(mut self, name: &str, value: &str) -> Self {
        let value = value.replace('@', self.root.to_str().unwrap());
        self.variables.insert(name.to_owned(), value.into());
        self
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn try_find(&self, wanted: &[&str], extra: &[PathBuf]) -> Result<Exposed, Error> {
        let home = self.at("home");
        let request = Request {
            workspace: &self.at("ws"),
            workspace_writable: self.writable,
            home: Some(&home),
            env: &|name| self.variables.get(name).cloned(),
            toolchains: self.toolchains,
            caches: self.caches,
            extra_paths: extra,
            run_dir: &self.at("run"),
            owner: self.owner,
            wanted,
            offline: self.offline,
            overlays: self.overlays,
        };
        find(&request)
    }

    fn find(&self) -> Exposed {
        self.try_find(&[], &[]).unwrap()
    }

    /// One line per mount, sorted, with the root of the made-up host left out.
    #[track_caller]
    fn check(&self, exposed: &Exposed, expect: &[&str]) {
        let root = format!("{}/", self.root.display());
        let short = |path: &Path| path.display().to_string().replace(&root, "");
        let mut lines: Vec<String> = exposed
            .mounts
            .iter()
            .map(|mount| {
                let what = match &mount.source {
                    Source::Bind(path) if *path == mount.at => "bind".to_owned(),
                    Source::Bind(_) => "private".to_owned(),
                    Source::Overlay(layers) if layers.upper.is_some() => "cache".to_owned(),
                    Source::Overlay(_) => "mapped".to_owned(),
                    Source::Symlink(target) => format!("link {}", short(target)),
                    Source::File(bytes) => format!("file {:?}", String::from_utf8_lossy(bytes)),
                    other => format!("{other:?}"),
                };
                let writable = matches!(what.as_str(), "cache" | "private");
                assert_eq!(mount.writable, writable, "{mount:?}");
                format!("{} {what}", short(&mount.at))
            })
            // What this machine has outside the made-up host.
            .filter(|line| !line.starts_with("/etc/") && !line.starts_with("/usr/"))
            .collect();
        lines.sort();
        assert_eq!(lines, expect);
    }

    fn names(&self, paths: &[PathBuf]) -> Vec<String> {
        let short = |path: &PathBuf| path.strip_prefix(&self.root).ok().map(|p| p.display().to_string());
        paths.iter().filter_map(short).collect()
    }

    /// Whether anything that is mounted, or was made to be mounted, holds the canary.
    fn shows(&self, exposed: &Exposed, path: &str) -> bool {
        let path = self.at(path);
        let deepest =
            exposed.mounts.iter().filter(|m| path.starts_with(&m.at)).max_by_key(|m| m.at.as_os_str().len());
        let Some(mount) = deepest else { return false };
        let below = path.strip_prefix(&mount.at).unwrap();
        let seen = |layer: &Path| fs::read(layer.join(below)).is_ok_and(|bytes| bytes == b"canary\n");
        match &mount.source {
            Source::Bind(source) if below.as_os_str().is_empty() => fs::read(source).is_ok(),
            Source::Bind(source) => seen(source),
            Source::Overlay(layers) => {
                let veiled = |layer: &PathBuf| {
                    below.ancestors().any(|part| {
                        layer
                            .join(part)
                            .symlink_metadata()
                            .is_ok_and(|meta| meta.file_type().is_char_device())
                    })
                };
                !layers.lowers.iter().any(veiled) && layers.lowers.iter().any(|layer| seen(layer))
            }
            _ => false,
        }
    }
}

fn variable<'e>(exposed: &'e Exposed, name: &str) -> Option<&'e str> {
    exposed.env.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

fn layers<'e>(exposed: &'e Exposed, at: &Path) -> &'e Overlay {
    let mount = exposed.mounts.iter().find(|mount| mount.at == at).expect("a mount");
    match &mount.source {
        Source::Overlay(layers) => layers,
        other => panic!("{other:?}"),
    }
}

const RUST: &[&str] = &[
    "ws/Cargo.toml",
    "home/.rustup/settings.toml",
    "home/.rustup/toolchains/stable/bin/cargo",
    "home/.rustup/downloads/",
    "home/.cargo/bin/cargo",
    "home/.cargo/registry/cache/x.crate",
    "home/.cargo/git/db/",
    "home/.cargo/credentials.toml",
    "home/.cargo/notes.txt",
    "home/.ssh/id_rsa",
];

#[test]
fn a_cargo_home_becomes_a_private_place_with_layers() {
    let fake = Fake::new().with(RUST);
    let exposed = fake.find();
    fake.check(
        &exposed,
        &[
            "home/.cargo private",
            "home/.cargo/bin bind",
            "home/.cargo/git cache",
            "home/.cargo/registry cache",
            "home/.rustup/settings.toml bind",
            "home/.rustup/toolchains bind",
        ],
    );
    assert_eq!(exposed.toolchains, ["rust"]);
    assert_eq!(variable(&exposed, "CARGO_HOME"), fake.at("home/.cargo").to_str());
    assert_eq!(variable(&exposed, "RUSTUP_HOME"), fake.at("home/.rustup").to_str());
    assert_eq!(variable(&exposed, "CARGO_NET_OFFLINE"), Some("true"));
    assert_eq!(variable(&exposed, "CARGO_TARGET_DIR"), None);
    assert_eq!(fake.names(&exposed.masked), ["home/.cargo/credentials.toml"]);
    for hidden in ["home/.cargo/credentials.toml", "home/.cargo/notes.txt", "home/.ssh/id_rsa"] {
        assert!(!fake.shows(&exposed, hidden), "{hidden}");
    }
    assert!(fake.shows(&exposed, "home/.cargo/registry/cache/x.crate"));
    let layers = layers(&exposed, &fake.at("home/.cargo/registry"));
    assert_eq!(layers.lowers, [fake.at("home/.cargo/registry")]);
    for made in [layers.upper.as_ref().unwrap(), layers.work.as_ref().unwrap()] {
        assert!(made.starts_with(fake.at("run")) && fs::read_dir(made).unwrap().next().is_none());
    }
}

#[test]
fn settings_are_copied_without_their_secrets() {
    let text = "[registries.a]\ntoken = \"canary\"\nindex = \"https://h.example/\"\n";
    let fake = Fake::new().with(RUST).file("home/.cargo/config.toml", text);
    let exposed = fake.find();
    let place = exposed.mounts.iter().find(|m| m.at == fake.at("home/.cargo")).unwrap();
    let Source::Bind(place) = &place.source else { panic!("{place:?}") };
    let copied = fs::read_to_string(place.join("config.toml")).unwrap();
    assert!(copied.contains("h.example") && !copied.contains("canary"), "{copied}");
    assert!(exposed.masked.contains(&fake.at("home/.cargo/config.toml")));
    // Without a secret it is the same file, and with nonsense there is none.
    let fake = Fake::new()
        .with(RUST)
        .file("home/.cargo/config.toml", "# mine\n")
        .file("home/.cargo/config", "] canary");
    let exposed = fake.find();
    let Source::Bind(place) = &exposed.mounts.iter().find(|m| m.at == fake.at("home/.cargo")).unwrap().source
    else {
        panic!()
    };
    assert_eq!(fs::read_to_string(place.join("config.toml")).unwrap(), "# mine\n");
    assert!(!place.join("config").exists());
    assert!(exposed.masked.contains(&fake.at("home/.cargo/config")));
}

#[test]
fn only_what_is_needed_is_shown() {
    let homes = &["home/.m2/repository/", "home/.npm/_cacache/", "home/go/pkg/mod/"];
    for (marker, expect) in [
        ("ws/README.md", &[][..]),
        ("ws/Cargo.toml", &["rust"]),
        ("ws/app/package.json", &["node"]),
        ("ws/a/b/package.json", &[]),
        ("ws/.hidden/go.mod", &[]),
        ("ws/node_modules/go.mod", &[]),
        ("ws/Cargo.toml/", &[]),
        ("ws/tests/test_a.py", &["python"]),
        ("ws/go.mod", &["go"]),
        ("ws/pom.xml", &["jvm"]),
    ] {
        let fake = Fake::new().with(RUST).with(homes);
        fs::remove_file(fake.at("ws/Cargo.toml")).unwrap();
        let exposed = fake.with(&[marker]).find();
        assert_eq!(exposed.toolchains, expect, "{marker}");
        let hidden_only = exposed.mounts.iter().all(|m| matches!(m.source, Source::File(_)));
        assert!(!expect.is_empty() || hidden_only, "{marker}: {:?}", exposed.mounts);
    }
}

#[test]
fn the_profile_and_the_adapter_decide_which_parts() {
    let mut fake = Fake::new().with(RUST);
    fake.caches = false;
    let bare = ["home/.rustup/settings.toml bind", "home/.rustup/toolchains bind"];
    let expect = [&["home/.cargo private", "home/.cargo/bin bind"], &bare[..]].concat();
    fake.check(&fake.find(), &expect);
    fake.toolchains = false;
    fake.check(&fake.find(), &[]);
    fake.check(&fake.try_find(&["rust"], &[]).unwrap(), &expect);
    fake.caches = true;
    let expect = ["home/.cargo private", "home/.cargo/git cache", "home/.cargo/registry cache"];
    fake.check(&fake.find(), &expect);
    let error = fake.try_find(&["cobol"], &[]).unwrap_err().to_string();
    assert!(error.contains("`cobol`") && error.contains("rust"), "{error}");
    assert!(fake.try_find(&["git"], &[]).is_ok());
}

#[test]
fn modes_change_the_variables() {
    let mut fake = Fake::new().with(RUST).with(&["ws/a.py"]);
    fake.writable = false;
    let exposed = fake.find();
    assert_eq!(variable(&exposed, "CARGO_TARGET_DIR"), Some("/tmp/target"));
    assert_eq!(variable(&exposed, "PYTHONDONTWRITEBYTECODE"), Some("1"));
    fake.offline = false;
    let exposed = fake.find();
    assert_eq!(variable(&exposed, "CARGO_NET_OFFLINE"), None);
    assert_eq!(variable(&exposed, "PIP_NO_INDEX"), None);
    assert!(variable(&exposed, "CARGO_HOME").is_some());
}

#[test]
fn without_merged_views_caches_are_read_only() {
    let mut fake =
        Fake::new().with(&["ws/go.mod", "home/go/pkg/mod/cache/vcs/x/config", "home/go/pkg/mod/m/a.go"]);
    fake.overlays = false;
    let exposed = fake.find();
    fake.check(&exposed, &["home/go/pkg/mod bind", "home/go/pkg/mod/cache/vcs EmptyDir"]);
    fake.overlays = true;
    let exposed = fake.find();
    fake.check(&exposed, &["home/go/pkg/mod cache"]);
    assert!(!fake.shows(&exposed, "home/go/pkg/mod/cache/vcs/x/config"));
    assert!(fake.shows(&exposed, "home/go/pkg/mod/m/a.go"));
    assert_eq!(fake.names(&exposed.masked), ["home/go/pkg/mod/cache/vcs"]);
    let lowers = &layers(&exposed, &fake.at("home/go/pkg/mod")).lowers;
    let whiteout = lowers[0].join("cache/vcs").symlink_metadata().unwrap();
    assert!(whiteout.file_type().is_char_device() && whiteout.rdev() == 0);
}

#[test]
fn both_names_of_a_linked_folder_work() {
    let fake = Fake::new()
        .with(&["ws/Cargo.toml", "data/cargo/bin/cargo", "data/registry/cache/", "data/rustup/toolchains/x/"])
        .link("home/.cargo", "../data/cargo")
        .link("data/cargo/registry", "../registry");
    let fake = fake.variable("RUSTUP_HOME", "").link("home/.rustup", "../data/rustup");
    let exposed = fake.find();
    fake.check(
        &exposed,
        &[
            "data/cargo private",
            "data/cargo/bin bind",
            "data/registry cache",
            "data/rustup/toolchains bind",
            "home/.cargo link data/cargo",
            "home/.rustup link data/rustup",
        ],
    );
    let Source::Bind(place) = &exposed.mounts.iter().find(|m| m.at == fake.at("data/cargo")).unwrap().source
    else {
        panic!()
    };
    assert_eq!(place.join("registry").read_link().unwrap(), fake.at("data/registry"));
    assert!(place.join("bin").is_dir(), "something to mount on");
}

#[test]
fn variables_beat_the_home_and_path_beats_the_newest() {
    let fake = Fake::new().with(&[
        "ws/package.json",
        "home/.local/share/mise/installs/node/20.9.0/bin/node",
        "home/.local/share/mise/installs/node/20.10.0/bin/node",
        "home/.local/share/mise/installs/node/9.0.0/bin/node",
        "home/.npm/_cacache/x",
        "elsewhere/cache/_cacache/",
    ]);
    let fake = fake.link("shells/1", "../home/.local/share/mise/installs/node/9.0.0");
    let fake = fake.variable("npm_config_cache", "@/elsewhere/cache");
    let fake = fake.variable("PATH", "@/shells/1/bin:/usr/bin:relative:@/home/.npm");
    let exposed = fake.find();
    fake.check(
        &exposed,
        &[
            "elsewhere/cache private",
            "elsewhere/cache/_cacache cache",
            "home/.local/share/mise/installs/node/9.0.0 bind",
        ],
    );
    assert_eq!(exposed.path, [fake.at("home/.local/share/mise/installs/node/9.0.0/bin")]);
    let fake = fake.variable("PATH", "/usr/bin");
    assert!(fake.find().mounts.iter().any(|m| m.at.ends_with("node/20.10.0")));
}

#[test]
fn path_has_what_the_person_uses_and_what_nothing_else_provides() {
    let fake = Fake::new().with(RUST).with(&["home/.cargo/bin/x", "home/bin/secret-tool"]);
    let fake = fake.variable("PATH", "@/home/bin:@/home/.cargo/bin:/usr/bin");
    assert_eq!(fake.find().path, [fake.at("home/.cargo/bin")]);
    // Not on PATH outside: added only where the system has no such program.
    let fake = fake.variable("PATH", "/usr/bin");
    let system = ["/usr/local/bin/cargo", "/usr/bin/cargo"].iter().any(|p| Path::new(p).exists());
    let expect: &[PathBuf] = if system { &[] } else { &[fake.at("home/.cargo/bin")] };
    assert_eq!(fake.find().path, expect);
}

#[test]
fn a_virtual_environment_in_the_workspace_keeps_both_names() {
    let fake = Fake::new().with(&["ws/a.py", "ws/.venv/pyvenv.cfg", "ws/.venv/bin/python"]);
    let exposed = fake.find();
    fake.check(&exposed, &["ws link /holon/workspace"]);
    assert!(exposed.path.is_empty(), "nothing in a workspace gets onto PATH by itself");
    let fake = fake.variable("PATH", "@/ws/.venv/bin:/usr/bin").variable("VIRTUAL_ENV", "@/ws/.venv");
    let exposed = fake.find();
    fake.check(&exposed, &["ws link /holon/workspace"]);
    assert_eq!(variable(&exposed, "VIRTUAL_ENV"), Some("/holon/workspace/.venv"));
    assert_eq!(exposed.path, [Path::new("/holon/workspace/.venv/bin")]);
}

#[test]
fn masks_lie_over_files_in_plain_views() {
    let fake = Fake::new().with(&[
        "ws/package.json",
        "home/.nvm/versions/node/v20.1.0/bin/node",
        "home/.nvm/versions/node/v20.1.0/etc/npmrc",
        "home/.nvm/.npmrc",
        "home/.npmrc",
        "ws/pom.xml",
        "home/.sdkman/candidates/maven/3.9/conf/settings.xml",
        "home/.m2/repository/a.jar",
        "home/.m2/settings.xml",
        "home/.gradle/gradle.properties",
        "home/.gradle/caches/",
        "home/.gradle/init.d/x.gradle",
    ]);
    let fake =
        fake.file("home/.sdkman/candidates/maven/3.8/conf/settings.xml", "<password>canary</password>");
    let exposed = fake.find();
    fake.check(
        &exposed,
        &[
            "/holon/home/.m2/repository link home/.m2/repository",
            "/holon/home/.m2/wrapper link home/.m2/wrapper",
            "home/.gradle private",
            "home/.gradle/caches cache",
            "home/.m2/repository cache",
            "home/.nvm/versions bind",
            "home/.nvm/versions/node/v20.1.0/etc/npmrc file \"\"",
            "home/.sdkman/candidates bind",
            "home/.sdkman/candidates/maven/3.8/conf/settings.xml file \"<settings/>\\n\"",
        ],
    );
    for hidden in
        ["home/.m2/settings.xml", "home/.gradle/gradle.properties", "home/.npmrc", "home/.nvm/.npmrc"]
    {
        assert!(!fake.shows(&exposed, hidden), "{hidden}");
    }
    assert!(fake.shows(&exposed, "home/.m2/repository/a.jar"));
}

#[test]
fn variables_cannot_open_the_machine() {
    for (name, value) in [
        ("CARGO_HOME", "/"),
        ("CARGO_HOME", "@/home"),
        ("CARGO_HOME", "@/home/.ssh"),
        ("CARGO_HOME", "/proc/self"),
        ("CARGO_HOME", "@/run"),
        ("CARGO_HOME", "relative/cargo"),
        ("RUSTUP_HOME", "@/home"),
        ("JAVA_HOME", "@/home"),
        ("JAVA_HOME", "@"),
        ("GOMODCACHE", "@/home"),
        ("PIP_CACHE_DIR", "@/home/.ssh"),
        ("UV_PYTHON_INSTALL_DIR", "@/home"),
    ] {
        let fake =
            Fake::new().with(&["ws/Cargo.toml", "ws/pom.xml", "ws/go.mod", "ws/a.py", "home/.ssh/id_rsa"]);
        let fake = fake.with(&["home/bin/java", "bin/java", "home/Documents/tax.txt"]);
        let fake = fake.variable(name, value);
        let exposed = fake.find();
        for hidden in ["home/.ssh/id_rsa", "home/Documents/tax.txt", "ws/Cargo.toml"] {
            assert!(!fake.shows(&exposed, hidden), "{name}={value}: {:?}", exposed.mounts);
        }
        let own = |m: &&crate::mount::Mount| m.at.starts_with(&fake.root);
        assert_eq!(exposed.mounts.iter().filter(own).count(), 0, "{name}={value}: {:?}", exposed.mounts);
    }
}

#[test]
fn the_workspace_cannot_choose_what_is_seen() {
    let fake = Fake::new()
        .with(&["ws/a.py", "home/Documents/tax.txt", "home/.ssh/id_rsa"])
        .link("ws/.cache/pip", "../../home/Documents")
        .link("ws/.venv", "../home/.ssh")
        .with(&["home/.ssh/pyvenv.cfg"]);
    let fake = fake.variable("XDG_CACHE_HOME", "@/ws/.cache").variable("VIRTUAL_ENV", "@/ws/.venv");
    let exposed = fake.find();
    assert!(exposed.mounts.iter().all(|m| !m.at.starts_with(fake.at("home"))), "{:?}", exposed.mounts);
    assert_eq!(variable(&exposed, "PIP_CACHE_DIR"), None);
}

#[test]
fn paths_asked_for_are_shown_without_their_credentials() {
    let fake = Fake::new().with(&[
        "home/.config/gh/hosts.yml",
        "home/.config/app/a",
        "opt/tool/.npmrc",
        "opt/tool/x",
    ]);
    let fake = fake.link("tool", "opt/tool");
    let asked = [PathBuf::from("~/.config"), fake.at("tool"), fake.at("absent")];
    let exposed = fake.try_find(&[], &asked).unwrap();
    fake.check(
        &exposed,
        &[
            "home/.config bind",
            "home/.config/gh EmptyDir",
            "opt/tool bind",
            "opt/tool/.npmrc file \"\"",
            "tool link opt/tool",
        ],
    );
    assert!(exposed.notes.iter().any(|note| note.contains("absent")), "{:?}", exposed.notes);
    for (path, why) in [
        ("/", "root of the machine"),
        ("/etc", "top folders"),
        ("~", "home folder"),
        ("~/.ssh", "credentials"),
        ("~/.ssh/keys", "credentials"),
        ("/proc/self", "kernel"),
        ("relative", "absolute"),
    ] {
        let fake = Fake::new().with(&["home/.ssh/keys/a"]);
        let error = fake.try_find(&[], &[PathBuf::from(path)]).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("expose.paths"), "{path}: {error}");
    }
    let fake = Fake::new();
    let socket = fake.at("door");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert!(fake.try_find(&[], &[socket]).is_err());
    assert!(fake.try_find(&[], &[fake.at("ws")]).is_err());
    assert!(fake.try_find(&[], &[fake.root.clone()]).is_err());
}

#[test]
fn roots_payload_owns_what_it_writes_to_and_can_read_closed_folders() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut fake = Fake::new().with(RUST);
    fake.owner = Some((70_001, 70_002));
    let closed =
        |path: &str, mode| fs::set_permissions(fake.at(path), fs::Permissions::from_mode(mode)).unwrap();
    closed("home/.rustup/toolchains", 0o700);
    closed("home/.rustup/settings.toml", 0o600);
    let exposed = fake.find();
    fake.check(
        &exposed,
        &[
            "home/.cargo private",
            "home/.cargo/bin bind",
            "home/.cargo/git cache",
            "home/.cargo/registry cache",
            "home/.rustup/settings.toml file \"canary\\n\"",
            "home/.rustup/toolchains mapped",
        ],
    );
    assert_eq!(layers(&exposed, &fake.at("home/.rustup/toolchains")).lowers.len(), 2);
    let mut owned = 0;
    for mount in &exposed.mounts {
        let made = match &mount.source {
            Source::Bind(path) => vec![path],
            Source::Overlay(layers) => {
                layers.upper.iter().chain(&layers.work).chain(&layers.lowers).collect()
            }
            _ => Vec::new(),
        };
        for path in made.into_iter().filter(|path| path.starts_with(fake.at("run"))) {
            let meta = path.metadata().unwrap();
            assert_eq!((meta.uid(), meta.gid()), (70_001, 70_002), "{}", path.display());
            owned += 1;
        }
    }
    assert_eq!(owned, 6);
}

#[test]
fn everything_prepared_lies_in_the_run_folder_and_the_host_is_untouched() {
    let fake = Fake::new().with(RUST).with(&["ws/go.mod", "home/go/pkg/mod/cache/vcs/x"]);
    let before = listing(&fake.root);
    fake.find();
    let after: Vec<_> =
        listing(&fake.root).into_iter().filter(|path| !path.starts_with(fake.at("run"))).collect();
    let before: Vec<_> = before.into_iter().filter(|path| !path.starts_with(fake.at("run"))).collect();
    assert_eq!(before, after);
}

fn listing(folder: &Path) -> Vec<PathBuf> {
    let mut all = vec![folder.to_owned()];
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            all.extend(listing(&entry.path()));
        } else {
            all.push(entry.path());
        }
    }
    all.sort();
    all
}
