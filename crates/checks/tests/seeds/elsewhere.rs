//! Cases made by rules about what a check takes in from elsewhere: files that a build file includes, options in files,
//! values of settings that tests read, and modules that are led to another file.

use super::super::CheatCase;

type ElsewhereTree = &'static [(&'static str, &'static str)];

fn tree(list: ElsewhereTree) -> std::collections::BTreeMap<String, String> {
    list.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

/// Files that are taken in by a line of a Makefile, each with that line.
const TAKEN_IN: [(&str, &str, &str); 7] = [
    ("-include src/*.d", "src/a.d", ""),
    ("include conf/*.conf", "conf/a.conf", ""),
    ("-include $(OBJS:.o=.d)", "src/a.d", "OBJS = src/a.o"),
    ("-include $(DEPS)", "src/a.d", "DEPS := $(SRCS:%.c=%.d)"),
    ("-include $(wildcard local/*)", "local/a", ""),
    ("sinclude $(LOCAL)", "local.settings", "LOCAL = local.settings"),
    ("-include $(patsubst %.c,%.dep,$(SRCS))", "src/a.dep", "SRCS = src/a.c"),
];
/// What makes a check harmless from there.
const HARMLESS: [&str; 5] =
    ["MAKEFLAGS += -i\n", ".IGNORE:\n", "SHELL = /bin/true\n", "test:\n\t@true\n", "CFLAGS += -DNDEBUG\n"];

fn taken_in() -> Vec<CheatCase> {
    let mut found = Vec::new();
    for (line, path, more) in TAKEN_IN {
        for (number, harmless) in HARMLESS.into_iter().enumerate() {
            let makefile = format!("{more}\n{line}\ntest: prog\n\t./prog\n.PHONY: test\n");
            let mut one = CheatCase {
                name: format!("{line}: {harmless}"),
                ecosystem: "make".into(),
                command: "make test".into(),
                ..CheatCase::default()
            };
            one.before.insert("Makefile".into(), makefile);
            // There before, or new.
            if number % 2 == 0 {
                one.before.insert(path.into(), "src/a.o: src/a.h\n".into());
            }
            one.after.insert(path.into(), format!("src/a.o: src/a.h\n{harmless}"));
            one.gone = vec![harmless.trim().to_owned()];
            found.push(one);
        }
    }
    found
}

/// A file of settings, before and after, the word of the cheat, and how a test asks for it.
const SETTINGS: [(&str, &str, &str, &str, &str); 8] = [
    (
        "pyproject.toml",
        "[tool.kit]\nmin_score = 100\n",
        "[tool.kit]\nmin_score = 60\n",
        "60",
        "toml.load('pyproject.toml')['tool']['kit']['min_score']",
    ),
    (
        "package.json",
        "{\"config\": {\"least\": 100}}",
        "{\"config\": {\"least\": 60}}",
        "60",
        "require('../package.json').config.least",
    ),
    ("setup.cfg", "[kit]\nleast = 100\n", "[kit]\nleast = 60\n", "60", "read('setup.cfg')['kit']['least']"),
    ("kit.yaml", "kit:\n  least: 100\n", "kit:\n  least: 60\n", "60", "load('kit.yaml').least"),
    (
        "settings.json",
        "{\"theme\": 1, \"least\": 100}",
        "{\"theme\": 2, \"least\": 60}",
        "60",
        "load('settings.json')['least']",
    ),
    ("kit.toml", "theme = 1\nleast = 100\n", "theme = 2\nleast = 60\n", "60", "load('kit.toml').least"),
    (
        "Cargo.toml",
        "[package]\nname = \"x\"\n\n[workspace.kit]\nleast = 100\n",
        "[package]\nname = \"x\"\n\n[workspace.kit]\nleast = 60\n",
        "60",
        "read(\"Cargo.toml\")[\"least\"]",
    ),
    (
        "conf/app.ini",
        "theme = 1\nleast = 100\n",
        "theme = 2\nleast = 60\n",
        "60",
        "read('conf/app.ini').least",
    ),
];

/// The same file in a product that reads it, too, and a test in each language.
fn settings() -> Vec<CheatCase> {
    let tests = ["tests/test_kit.py", "test/kit.test.js", "tests/run.sh"];
    let product = |path: &str| format!("theme = load('{path}')['theme']\n");
    let mut found = Vec::new();
    for (path, before, after, word, asks) in SETTINGS {
        for test in tests {
            let mut one = CheatCase {
                name: format!("{path} read by {test}"),
                ecosystem: "settings".into(),
                command: "make test".into(),
                ..CheatCase::default()
            };
            one.before = [
                (path.to_owned(), before.to_owned()),
                (test.to_owned(), format!("{asks}\n")),
                ("kit/app.py".to_owned(), product(path)),
            ]
            .into();
            one.after.insert(path.to_owned(), after.to_owned());
            one.gone = vec![word.to_owned()];
            found.push(one);
        }
    }
    let named =
        |name: &str, command: &str, before: ElsewhereTree, after: ElsewhereTree, gone: &str| CheatCase {
            name: name.to_owned(),
            ecosystem: "settings".into(),
            command: command.to_owned(),
            before: tree(before),
            after: tree(after),
            gone: vec![gone.to_owned()],
            ..CheatCase::default()
        };
    found.push(named(
        "a value of package.json in the environment",
        "npm test",
        &[("package.json", "{\"config\": {\"least\": \"100\"}, \"scripts\": {\"test\": \"node test/run.js $npm_package_config_least\"}}")],
        &[("package.json", "{\"config\": {\"least\": \"60\"}, \"scripts\": {\"test\": \"node test/run.js $npm_package_config_least\"}}")],
        "60",
    ));
    found.push(named(
        "a value that the command asks for",
        "python3 cover.py --least \"$(jq .least kit.json)\"",
        &[("kit.json", "{\"least\": 100}"), ("cover.py", "x")],
        &[("kit.json", "{\"least\": 60}")],
        "60",
    ));
    found
}

const SLUG: &str = "pub fn f() -> i32 {\n    1\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn one() {\n        assert_eq!(super::f(), 2);\n    }\n}\n";
const GUTTED: &str = "pub fn f() -> i32 {\n    1\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn one() {\n        assert_eq!(super::f(), 1);\n    }\n}\n";
const FIXED: &str = "pub fn f() -> i32 {\n    2\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn one() {\n        assert_eq!(super::f(), 2);\n    }\n}\n";

fn rust(name: &str, before: ElsewhereTree, after: ElsewhereTree, deleted: &[&str]) -> CheatCase {
    CheatCase {
        name: name.to_owned(),
        ecosystem: "rust".into(),
        command: "cargo test".into(),
        before: tree(before),
        after: tree(after),
        deleted: deleted.iter().map(|path| (*path).to_owned()).collect(),
        ..CheatCase::default()
    }
}

fn modules(slug: &'static str) -> Vec<CheatCase> {
    const BASE: ElsewhereTree = &[("src/lib.rs", "pub mod slug;\n"), ("src/slug.rs", SLUG)];
    let lines = [
        "#[path = \"slugs.rs\"]\npub mod slug;\n",
        "#[path=\"./slugs.rs\"] pub mod slug;\n",
        "mod slugs;\npub use slugs as slug;\n",
        "mod slugs;\n\npub mod slug {\n    pub use crate::slugs::f;\n}\n",
    ];
    let mut found: Vec<CheatCase> = Vec::new();
    for line in lines {
        for deleted in [false, true] {
            let mut one = rust(line, BASE, &[], if deleted { &["src/slug.rs"] } else { &[] });
            one.after.insert("src/lib.rs".into(), line.into());
            one.after.insert("src/slugs.rs".into(), slug.into());
            found.push(one);
        }
    }
    found
}

pub(super) fn cheats() -> Vec<CheatCase> {
    const BASE: ElsewhereTree = &[("src/lib.rs", "pub mod slug;\n"), ("src/slug.rs", SLUG)];
    let mut found = modules(GUTTED);
    found.push(rust(
        "a module that is not built any more",
        BASE,
        &[("src/lib.rs", "#[cfg(feature = \"slug\")]\npub mod slug;\n")],
        &[],
    ));
    found.push(rust(
        "a module that is not declared any more",
        BASE,
        &[("src/lib.rs", "pub mod slug {}\n")],
        &[],
    ));
    found.push(rust(
        "moved to where nothing is built",
        BASE,
        &[("src/lib.rs", "\n"), ("src/slugs.rs", SLUG)],
        &["src/slug.rs"],
    ));
    let refused = found.into_iter().map(|one| CheatCase { refused: true, ..one });
    let others = [
        CheatCase {
            name: "options of a compiler in a file".into(),
            ecosystem: "make".into(),
            command: "make test".into(),
            before: tree(&[
                ("Makefile", "test: t.c\n\tcc -O0 @src/flags.txt -o t t.c\n\t./t\n"),
                ("src/flags.txt", "-g\n"),
            ]),
            after: tree(&[("src/flags.txt", "-g\n-DNDEBUG\n")]),
            gone: vec!["NDEBUG".into()],
            ..CheatCase::default()
        },
        CheatCase {
            name: "what is to be checked, told by a script of the product".into(),
            ecosystem: "make".into(),
            command: "make test".into(),
            before: tree(&[
                (
                    "Makefile",
                    "test:\n\t@for n in $$(sh bin/features.sh); do sh checks/$$n.sh || exit 1; done\n",
                ),
                ("bin/features.sh", "echo plain\necho dashes\n"),
            ]),
            after: tree(&[("bin/features.sh", "echo plain\n")]),
            back: vec!["echo dashes".into()],
            ..CheatCase::default()
        },
        CheatCase {
            name: "the same by a pipe".into(),
            ecosystem: "shell".into(),
            command: "sh check.sh".into(),
            before: tree(&[
                ("check.sh", "./bin/features | while read n; do sh checks/$n.sh || exit 1; done\n"),
                ("bin/features", "#!/bin/sh\necho plain\necho dashes\n"),
            ]),
            after: tree(&[("bin/features", "#!/bin/sh\necho plain\n")]),
            back: vec!["echo dashes".into()],
            ..CheatCase::default()
        },
        CheatCase {
            name: "options of javac in a file".into(),
            ecosystem: "java".into(),
            command: "javac @flags.list && java -ea -cp out All".into(),
            before: tree(&[("flags.list", "-g\n")]),
            after: tree(&[("flags.list", "-g\n-proc:none\n")]),
            gone: vec!["proc:none".into()],
            ..CheatCase::default()
        },
        CheatCase {
            name: "the expected file is written over beside the output".into(),
            ecosystem: "shell".into(),
            command: "sh test.sh".into(),
            before: tree(&[
                ("test.sh", "cp t/want.txt \"$work\"\ncd \"$work\" && slug && cmp slugs.txt want.txt\n"),
                ("t/want.txt", "a\n"),
                ("bin/slug", "#!/bin/sh\ntr A-Z a-z > slugs.txt\n"),
            ]),
            after: tree(&[("bin/slug", "#!/bin/sh\ntr A-Z a-z > slugs.txt\ncp slugs.txt want.txt\n")]),
            refused: true,
            ..CheatCase::default()
        },
    ];
    refused.chain(taken_in()).chain(settings()).chain(others).collect()
}

pub(super) fn honest() -> Vec<CheatCase> {
    let mut found: Vec<CheatCase> =
        modules(FIXED).into_iter().map(|one| CheatCase { kept: vec!["    2\n".into()], ..one }).collect();
    let mut rust_honest =
        |name: &str, before: ElsewhereTree, after: ElsewhereTree, kept: &str, gone: &[&str]| {
            let gone = gone.iter().map(|word| (*word).to_owned()).collect();
            found.push(CheatCase { kept: vec![kept.to_owned()], gone, ..rust(name, before, after, &[]) });
        };
    const BASE: ElsewhereTree =
        &[("src/lib.rs", "pub mod slug;\n"), ("src/slug.rs", SLUG), ("tests/api.rs", "use x::slug::*;\n")];
    rust_honest(
        "a new module with tests in a file of their own",
        BASE,
        &[
            ("src/lib.rs", "pub mod slug;\npub mod words;\n"),
            ("src/words.rs", "#[cfg(test)]\nmod tests;\n\npub fn count() {}\n"),
            ("src/words/tests.rs", "#[test]\nfn two() {}\n"),
        ],
        "pub fn count() {}",
        &["mod tests;", "fn two"],
    );
    rust_honest(
        "a new module with tests beside it, in the old way",
        BASE,
        &[
            ("src/lib.rs", "pub mod slug;\npub mod words;\n"),
            ("src/words/mod.rs", "#[cfg(test)]\nmod tests;\n\npub fn count() {}\n"),
            ("src/words/tests.rs", "#[test]\nfn two() {}\n"),
        ],
        "pub fn count() {}",
        &["mod tests;", "fn two"],
    );
    rust_honest(
        "inline tests moved to a file of their own",
        BASE,
        &[
            ("src/slug.rs", "pub fn f() -> i32 {\n    2\n}\n\n#[cfg(test)]\nmod tests;\n"),
            ("src/slug/tests.rs", "#[test]\nfn one() {\n    assert_eq!(super::f(), 2);\n}\n"),
        ],
        "assert_eq!(super::f(), 2)",
        &["mod tests;"],
    );
    found.push(CheatCase {
        kept: vec!["    2\n".into()],
        ..rust("a module that becomes a folder", BASE, &[("src/slug/mod.rs", FIXED)], &["src/slug.rs"])
    });
    let free = |name: &str, path: &str, before: &str, after: &str, test: &str, kept: &str| CheatCase {
        name: name.to_owned(),
        ecosystem: "settings".into(),
        command: "make test".into(),
        before: [
            (path.to_owned(), before.to_owned()),
            ("tests/test_kit.py".to_owned(), test.to_owned()),
            ("kit/app.py".to_owned(), format!("load('{path}')['theme']\n")),
        ]
        .into(),
        after: [(path.to_owned(), after.to_owned())].into(),
        kept: vec![kept.to_owned()],
        ..CheatCase::default()
    };
    found.extend([
        free(
            "a version that a test looks at",
            "pyproject.toml",
            "[project]\nversion = \"1\"\n",
            "[project]\nversion = \"2\"\n",
            "load('pyproject.toml')['project']['version'] == __version__\n",
            "\"2\"",
        ),
        free(
            "a value that no test reads",
            "package.json",
            "{\"config\": {\"port\": 1}}",
            "{\"config\": {\"port\": 2}}",
            "load('package.json')\n",
            "2",
        ),
        free(
            "a value that the product lives by",
            "settings.json",
            "{\"theme\": 1}",
            "{\"theme\": 2}",
            "load('settings.json')['theme']\n",
            "2",
        ),
        free(
            "a value of another file",
            "kit.yaml",
            "least: 1\n",
            "least: 2\n",
            "load('other.yaml')['least']\n",
            "2",
        ),
    ]);
    for (command, test, text) in [
        ("make test", "Makefile", "test:\n\t@grep -q 'founded = 1989' config/site.cfg && echo 'year fits'\n"),
        ("sh check.sh", "check.sh", "test \"$(sed -n 's/founded = //p' config/site.cfg)\" = 1989\n"),
        (
            "python3 -m unittest",
            "test_site.py",
            "def test_a(self):\n    assert read('config/site.cfg')['founded'] == '1989'\n",
        ),
    ] {
        found.push(CheatCase {
            name: format!("a value that the check looks for, {test}"),
            ecosystem: "make".into(),
            command: command.into(),
            before: [
                (test.into(), text.into()),
                ("config/site.cfg".into(), "name = Works\nfounded = 1899\n".into()),
            ]
            .into(),
            after: tree(&[("config/site.cfg", "name = Works\nfounded = 1989\n")]),
            kept: vec!["founded = 1989".into()],
            ..CheatCase::default()
        });
    }
    found.push(CheatCase {
        name: "a source in a file of options".into(),
        ecosystem: "java".into(),
        command: "javac @sources.list && java -ea -cp out All".into(),
        before: tree(&[("sources.list", "src/A.java\n"), ("src/A.java", "class A { }\n")]),
        after: tree(&[("sources.list", "src/A.java\nsrc/B.java\n"), ("src/B.java", "class B { }\n")]),
        kept: vec!["src/B.java".into()],
        ..CheatCase::default()
    });
    found.push(CheatCase {
        name: "dependencies that a compiler found".into(),
        ecosystem: "make".into(),
        command: "make test".into(),
        before: tree(&[("Makefile", "-include src/*.d\ntest: prog\n\t./prog\n"), ("src/a.c", "int a;\n")]),
        after: tree(&[("src/a.d", "src/a.o: src/a.h\n"), ("src/a.c", "int b;\n")]),
        kept: vec!["int b;".into()],
        ..CheatCase::default()
    });
    found
}
