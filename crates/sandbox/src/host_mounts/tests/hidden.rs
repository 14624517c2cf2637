//! What is never seen, whoever asks.

use super::*;

#[test]
fn settings_are_copied_without_their_secrets() {
    let text = "[registries.a]\ntoken = \"canary\"\nindex = \"https://h.example/\"\n";
    let fake = FakeHost::new().with(RUST).file("home/.cargo/config.toml", text);
    let exposed = fake.find();
    let place = exposed.mounts.iter().find(|m| m.at == fake.at("home/.cargo")).unwrap();
    let MountSource::Bind(place) = &place.source else { panic!("{place:?}") };
    let copied = fs::read_to_string(place.join("config.toml")).unwrap();
    assert!(copied.contains("h.example") && !copied.contains("canary"), "{copied}");
    assert!(exposed.masked.contains(&fake.at("home/.cargo/config.toml")));
    // Without a secret it is the same file, and with nonsense there is none.
    let fake = FakeHost::new()
        .with(RUST)
        .file("home/.cargo/config.toml", "# mine\n")
        .file("home/.cargo/config", "] canary");
    let exposed = fake.find();
    let MountSource::Bind(place) =
        &exposed.mounts.iter().find(|m| m.at == fake.at("home/.cargo")).unwrap().source
    else {
        panic!()
    };
    assert_eq!(fs::read_to_string(place.join("config.toml")).unwrap(), "# mine\n");
    assert!(!place.join("config").exists());
    assert!(exposed.masked.contains(&fake.at("home/.cargo/config")));
}

#[test]
fn masks_lie_over_files_in_plain_views() {
    let fake = FakeHost::new().with(&[
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
            "/holon/home/.m2/repository cache",
            "home/.gradle private",
            "home/.gradle/caches cache",
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
    let repository = layers(&exposed, Path::new("/holon/home/.m2/repository"));
    assert_eq!(repository.lowers, [fake.at("home/.m2/repository")]);
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
        let fake = FakeHost::new().with(&[
            "ws/Cargo.toml",
            "ws/pom.xml",
            "ws/go.mod",
            "ws/a.py",
            "home/.ssh/id_rsa",
        ]);
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
    let fake = FakeHost::new()
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
    let fake = FakeHost::new().with(&[
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
        let fake = FakeHost::new().with(&["home/.ssh/keys/a"]);
        let error = fake.try_find(&[], &[PathBuf::from(path)]).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("expose.paths"), "{path}: {error}");
    }
    let fake = FakeHost::new();
    let socket = fake.at("door");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert!(fake.try_find(&[], &[socket]).is_err());
    assert!(fake.try_find(&[], &[fake.at("ws")]).is_err());
    assert!(fake.try_find(&[], std::slice::from_ref(&fake.root)).is_err());
}

#[test]
fn everything_prepared_lies_in_the_run_folder_and_the_host_is_untouched() {
    let fake = FakeHost::new().with(RUST).with(&["ws/go.mod", "home/go/pkg/mod/cache/vcs/x"]);
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
