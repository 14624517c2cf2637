#![allow(clippy::unwrap_used)]
use super::*;

fn names(path: &str, text: &str) -> Vec<String> {
    let show = |d: &Dependency| {
        let version = d.version.as_deref().map(|v| format!("@{v}")).unwrap_or_default();
        let marks = [(d.development_only, " dev"), (d.from_address, " address")];
        let marks: String = marks.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect();
        format!("{}{version}{marks}", d.name)
    };
    declared(path, text).unwrap().iter().map(show).collect()
}

#[test]
fn manifests_of_five_ecosystems() {
    let cargo = "[package]\nname = \"x\"\n[dependencies]\na = \"1\"\nb = { git = \"https://h/b\" }\nc = { path = \"../c\" }\nd = { package = \"dd\", version = \"2\" }\n[dev-dependencies]\ne = \"3\"\n[target.'cfg(unix)'.dependencies]\nf = \"4\"\n";
    assert_eq!(names("x/Cargo.toml", cargo), ["a@1", "b address", "dd@2", "e@3 dev", "f@4"]);
    let npm = r#"{"dependencies": {"a": "^1.0.0", "l": "file:../l", "g": "github:u/g", "n": "npm:real@2"}, "devDependencies": {"d": "*"}}"#;
    assert_eq!(names("package.json", npm), ["a@^1.0.0", "g@github:u/g address", "real@2", "d dev"]);
    let pip = "# c\nRequests==2.31 # why\nfoo_bar[x]>=1,<2 ; python_version>'3'\n-r other.txt\ngit-dep @ git+https://h/x\nplain\n";
    assert_eq!(names("requirements.txt", pip), ["requests@2.31", "foo-bar@1", "git-dep address", "plain"]);
    let pyproject = "[project]\ndependencies = [\"httpx>=0.27\"]\n[project.optional-dependencies]\nx = [\"rich\"]\n[dependency-groups]\ndev = [\"pytest\"]\n[tool.poetry.dependencies]\npython = \"^3.11\"\nflask = \"^3\"\n[tool.poetry.group.dev.dependencies]\nblack = \"*\"\n";
    assert_eq!(
        names("pyproject.toml", pyproject),
        ["httpx@0.27", "rich", "pytest dev", "flask@^3", "black dev"]
    );
    assert_eq!(names("setup.py", "setup(install_requires=['a>=1', \"b\"], x=['c'])"), ["a@1", "b"]);
    let go = "module m\n\ngo 1.22\n\nrequire github.com/a/b v1.2.3\n\nrequire (\n\tgolang.org/x/net v0.1.0 // indirect\n)\n";
    assert_eq!(names("go.mod", go), ["github.com/a/b@v1.2.3", "golang.org/x/net@v0.1.0"]);
    let pom = "<dependencies><dependency><groupId>g</groupId><artifactId>a</artifactId><version>1</version></dependency>\n<dependency><groupId>t</groupId><artifactId>u</artifactId><scope>test</scope></dependency></dependencies>";
    assert_eq!(names("pom.xml", pom), ["g:a@1", "t:u dev"]);
    let gradle = "dependencies {\n  implementation 'g:a:1.0'\n  testImplementation(\"t:u:2\")\n}\n";
    assert_eq!(names("app/build.gradle", gradle), ["g:a@1.0", "t:u@2 dev"]);
}

#[test]
fn only_what_is_new() {
    let before = "[dependencies]\na = \"1\"\n";
    let after = "[dependencies]\na = \"2\"\nb = \"1\"\n";
    let fresh: Vec<String> =
        added("Cargo.toml", Some(before), after).unwrap().into_iter().map(|d| d.name).collect();
    assert_eq!(fresh, ["b"]);
    assert_eq!(added("Cargo.toml", None, "not toml ["), None);
    assert_eq!(declared("src/main.rs", ""), None);
}

#[test]
fn guesses_from_lines_alone() {
    let guess = |path: &str, lines: &[&str]| -> Vec<String> {
        guessed(path, lines).into_iter().map(|d| d.name).collect()
    };
    let cargo = [
        "a = \"1\"",
        "b = { version = \"1\", features = [\"x\"] }",
        "version = \"0.2.0\"",
        "foo = [\"bar\"]",
    ];
    assert_eq!(guess("Cargo.toml", &cargo), ["a", "b"]);
    assert_eq!(
        guess(
            "package.json",
            &["    \"left-pad\": \"^1.3.0\",", "    \"version\": \"2.0.0\",", "  \"test\": \"jest\","]
        ),
        ["left-pad"]
    );
    assert_eq!(guess("requirements.txt", &["PyQt5==5.15"]), ["pyqt5"]);
    assert_eq!(
        guess("pyproject.toml", &["    \"pymupdf>=1.2\",", "name = \"x\"", "flask = \"^3\""]),
        ["pymupdf", "flask"]
    );
    assert_eq!(guess("go.mod", &["\tgithub.com/a/b v1.0.0"]), ["github.com/a/b"]);
    assert_eq!(
        guess("pom.xml", &["<dependency>", "<groupId>g</groupId>", "<artifactId>a</artifactId>"]),
        ["g:a"]
    );
}
