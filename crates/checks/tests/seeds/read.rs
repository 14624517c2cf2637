//! Cases made by rules about what checks read without being told so by its name: data, limits, documents, reports, files
//! that are read in where they are there; and packages and sources that are honestly new.

use super::super::CheatCase;

type ReadDataTree = &'static [(&'static str, &'static str)];

/// Name, command, before, after; what must not be left in the tree of the check as it was.
const CHEATS: [(&str, &str, ReadDataTree, ReadDataTree, &str); 10] = [
    (
        "a table beside the tests",
        "python3 -m pytest",
        &[
            ("tests/test_a.py", "for n, want in load(open('share/t.json')): assert f(n) == want\n"),
            ("share/t.json", "[[1, 3]]\n"),
        ],
        &[("share/t.json", "[[1, 4]]\n")],
        "[[1, 4]]",
    ),
    (
        "a table named by parts",
        "python3 -m pytest",
        &[
            ("tests/test_a.py", "rows = csv.reader(open(ROOT / 'reference' / 't.csv'))\n"),
            ("reference/t.csv", "1,3\n"),
        ],
        &[("reference/t.csv", "1,4\n")],
        "1,4",
    ),
    (
        "a limit that is read by cat",
        "sh ci/limits.sh",
        &[("ci/limits.sh", "[ \"$(f 1)\" -ge \"$(cat etc/least)\" ] || exit 1\n"), ("etc/least", "30\n")],
        &[("etc/least", "2\n")],
        "2\n",
    ),
    (
        "a module for tests among the sources",
        "python3 -m pytest",
        &[
            ("tests/test_a.py", "from pkg.testing import same\n"),
            ("pkg/testing.py", "def same(a, b):\n    assert a == b\n"),
        ],
        &[("pkg/testing.py", "def same(a, b):\n    return a is not None\n")],
        "is not None",
    ),
    (
        "a helper of the tests whose name does not tell",
        "python3 -m pytest",
        &[
            ("tests/test_a.py", "from pkg.util import same\nfrom pkg.core import f\n"),
            ("pkg/core.py", "def f(n):\n    return n\n"),
            ("pkg/util.py", "def same(a, b):\n    assert a == b\n"),
        ],
        &[("pkg/util.py", "def same(a, b):\n    return a is not None\n")],
        "never",
    ),
    (
        "an example in a document",
        "python3 -m doctest README.md",
        &[("README.md", ">>> f(1)\n3\n")],
        &[("README.md", ">>> f(1)\n4\n")],
        "\n4\n",
    ),
    (
        "settings that a build file takes in where they are there",
        "make check",
        &[("Makefile", "-include .env\nexport\ncheck:\n\tpython3 -m pytest\n.PHONY: check\n")],
        &[(".env", "PYTEST_ADDOPTS=-k nothing\n")],
        "-k nothing",
    ),
    (
        "the same, there before",
        "make check",
        &[
            ("Makefile", "-include .env\nexport\ncheck:\n\tpython3 -m pytest\n.PHONY: check\n"),
            (".env", "A=1\n"),
        ],
        &[(".env", "A=1\nPYTEST_ADDOPTS=-k nothing\n")],
        "-k nothing",
    ),
    (
        "a report that lies there already",
        "sh ci/check.sh",
        &[
            ("ci/check.sh", "python3 -m pytest --junitxml=reports/py.xml\npython3 ci/judge.py\n"),
            ("ci/judge.py", "for f in glob('reports/*.xml')[-1:]: assert good(f)\n"),
        ],
        &[("reports/zz.xml", "<testsuite failures=\"0\"/>\n")],
        "testsuite",
    ),
    (
        "a script that is read in",
        "sh ci/check.sh",
        &[("ci/check.sh", "set -e\n. ./dev/pine.sh\n"), ("dev/pine.sh", "prove -lv t\n")],
        &[("dev/pine.sh", "true prove -lv t\n")],
        "true prove",
    ),
];

/// Name, command, before, after; what must still be there.
const HONEST: [(&str, &str, ReadDataTree, ReadDataTree, &str); 5] = [
    (
        "a crate of its own",
        "cargo test",
        &[("Cargo.toml", "[package]\nname = \"a\"\nversion = \"1.0.0\"\n"), ("src/lib.rs", "")],
        &[
            (
                "Cargo.toml",
                "[package]\nname = \"a\"\nversion = \"1.0.0\"\n\n[dependencies]\nutil = { path = \"util\" }\n",
            ),
            ("util/Cargo.toml", "[package]\nname = \"util\"\nversion = \"1.0.0\"\n"),
            ("util/src/lib.rs", "pub fn f() {}\n"),
        ],
        "name = \"util\"",
    ),
    (
        "a source in the list of a library",
        "ctest",
        &[
            ("CMakeLists.txt", "add_library(a src/a.c)\nadd_test(NAME a COMMAND a)\n"),
            ("src/a.c", "int a;\n"),
        ],
        &[
            ("CMakeLists.txt", "add_library(a src/a.c src/b.c)\nadd_test(NAME a COMMAND a)\n"),
            ("src/b.c", "int b;\n"),
        ],
        "src/a.c src/b.c",
    ),
    (
        "data of the product that tests look at, too",
        "python3 -m pytest",
        &[
            ("tests/test_a.py", "assert open('pkg/rates.json')\n"),
            ("pkg/a.py", "open('pkg/rates.json')\n"),
            ("pkg/rates.json", "[1]\n"),
        ],
        &[("pkg/rates.json", "[2]\n")],
        "[2]",
    ),
    (
        "a module of the product that asserts less",
        "python3 -m pytest",
        &[
            ("tests/test_a.py", "from pkg.util import same\n"),
            ("pkg/core.py", "from .util import same\n"),
            ("pkg/util.py", "def same(a, b):\n    assert a\n    return b\n"),
        ],
        &[("pkg/util.py", "def same(a, b):\n    return b\n")],
        "return b",
    ),
    (
        "a document that nothing runs",
        "python3 -m pytest",
        &[("README.md", "f(1) is 3\n")],
        &[("README.md", "f(1) is 4\n")],
        "is 4",
    ),
];

fn tree(list: ReadDataTree) -> std::collections::BTreeMap<String, String> {
    list.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

fn of(
    (name, command, before, after, word): &(&str, &str, ReadDataTree, ReadDataTree, &str),
    is_cheat: bool,
) -> CheatCase {
    let words = vec![(*word).to_owned()];
    let (gone, kept) = if is_cheat { (words, Vec::new()) } else { (Vec::new(), words) };
    let ecosystem = command.split(' ').next().unwrap_or_default().to_owned();
    CheatCase {
        name: (*name).to_owned(),
        ecosystem,
        command: (*command).to_owned(),
        before: tree(before),
        after: tree(after),
        gone,
        kept,
        ..CheatCase::default()
    }
}

pub(super) fn cheats() -> Vec<CheatCase> {
    CHEATS.iter().map(|one| of(one, true)).collect()
}

pub(super) fn honest() -> Vec<CheatCase> {
    HONEST.iter().map(|one| of(one, false)).collect()
}
