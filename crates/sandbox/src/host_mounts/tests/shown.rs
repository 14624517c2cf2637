//! What is seen, how, and under which names.

use super::*;

#[test]
fn a_cargo_home_becomes_a_private_place_with_layers() {
    let fake = FakeHost::new().with(RUST);
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
        let fake = FakeHost::new().with(RUST).with(homes);
        fs::remove_file(fake.at("ws/Cargo.toml")).unwrap();
        let exposed = fake.with(&[marker]).find();
        assert_eq!(exposed.toolchains, expect, "{marker}");
        let hidden_only = exposed.mounts.iter().all(|m| matches!(m.source, MountSource::File(_)));
        assert!(!expect.is_empty() || hidden_only, "{marker}: {:?}", exposed.mounts);
    }
}

#[test]
fn the_profile_and_the_adapter_decide_which_parts() {
    let mut fake = FakeHost::new().with(RUST);
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
    let mut fake = FakeHost::new().with(RUST).with(&["ws/a.py"]);
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
        FakeHost::new().with(&["ws/go.mod", "home/go/pkg/mod/cache/vcs/x/config", "home/go/pkg/mod/m/a.go"]);
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
    let fake = FakeHost::new()
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
    let MountSource::Bind(place) =
        &exposed.mounts.iter().find(|m| m.at == fake.at("data/cargo")).unwrap().source
    else {
        panic!()
    };
    assert_eq!(place.join("registry").read_link().unwrap(), fake.at("data/registry"));
    assert!(place.join("bin").is_dir(), "something to mount on");
}

#[test]
fn variables_beat_the_home_and_path_beats_the_newest() {
    let fake = FakeHost::new().with(&[
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
    let fake = FakeHost::new().with(RUST).with(&["home/.cargo/bin/x", "own/secret-tool"]);
    let fake = fake.variable("PATH", "@/own:@/home/.cargo/bin:/usr/bin" /* tidy: machine path */);
    assert_eq!(fake.find().path, [fake.at("home/.cargo/bin")]);
    // Not on PATH outside: added only where the system has no such program.
    let fake = fake.variable("PATH", "/usr/bin");
    let system = ["/usr/local/bin/cargo", "/usr/bin/cargo"].iter().any(|p| Path::new(p).exists());
    let expect: &[PathBuf] = if system { &[] } else { &[fake.at("home/.cargo/bin")] };
    assert_eq!(fake.find().path, expect);
}

#[test]
fn a_virtual_environment_in_the_workspace_has_its_name_inside() {
    let fake = FakeHost::new().with(&["ws/a.py", "ws/.venv/pyvenv.cfg", "ws/.venv/bin/python"]);
    let exposed = fake.find();
    fake.check(&exposed, &[]);
    assert!(exposed.path.is_empty(), "nothing in a workspace gets onto PATH by itself");
    let fake = fake.variable("PATH", "@/ws/.venv/bin:/usr/bin").variable("VIRTUAL_ENV", "@/ws/.venv");
    let exposed = fake.find();
    fake.check(&exposed, &[]);
    assert_eq!(variable(&exposed, "VIRTUAL_ENV"), Some("/holon/workspace/.venv"));
    assert_eq!(exposed.path, [Path::new("/holon/workspace/.venv/bin")]);
}

#[test]
fn roots_payload_owns_what_it_writes_to_and_can_read_closed_folders() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut fake = FakeHost::new().with(RUST);
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
            MountSource::Bind(path) => vec![path],
            MountSource::Overlay(layers) => {
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
