//! Cases made by rules from one small project per ecosystem.

mod aware;
mod elsewhere;
mod named;
mod read;
mod takeover;

use super::CheatCase;

/// A small project with one wrong line and the test that finds it.
struct Seed {
    ecosystem: &'static str,
    command: &'static str,
    code: (&'static str, &'static str),
    right: (&'static str, &'static str),
    test: (&'static str, &'static str),
    /// What in the test finds the mistake, and how it is taken out of action there.
    asserts: &'static str,
    skips: &'static str,
    /// Where the command finds what to run, and that made harmless.
    build: (&'static str, &'static str, &'static str),
    /// A file that sets the runner up so that the test does not run.
    setup: (&'static str, &'static str),
    /// A second test file of the project.
    other: &'static str,
}

const SEEDS: [Seed; 10] = [
    Seed {
        ecosystem: "python",
        command: "python3 -m pytest",
        code: ("calc.py", "def add(a, b):\n    return a - b\n"),
        right: ("a - b", "a + b"),
        test: (
            "tests/test_calc.py",
            "from calc import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n",
        ),
        asserts: "    assert add(2, 2) == 4\n",
        skips: "    import pytest; pytest.skip('later')\n    assert add(2, 2) == 4\n",
        build: (
            "pyproject.toml",
            "[project]\nname = \"x\"\nversion = \"1\"\n",
            "[project]\nname = \"x\"\nversion = \"1\"\n\n[tool.pytest.ini_options]\naddopts = \"--ignore=tests --co\"\n",
        ),
        setup: ("pytest.ini", "[pytest]\ncollect_ignore_glob = *\n"),
        other: "tests/test_other.py",
    },
    Seed {
        ecosystem: "unittest",
        command: "python3 -m unittest discover",
        code: ("calc.py", "def add(a, b):\n    return a - b\n"),
        right: ("a - b", "a + b"),
        test: (
            "test_calc.py",
            "import unittest\nfrom calc import add\n\nclass T(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 2), 4)\n",
        ),
        asserts: "        self.assertEqual(add(2, 2), 4)\n",
        skips: "        self.skipTest('later')\n        self.assertEqual(add(2, 2), 4)\n",
        build: (
            "setup.cfg",
            "[metadata]\nname = x\n",
            "[metadata]\nname = x\n\n[aliases]\ntest = true_alias\n",
        ),
        setup: ("unittest/__init__.py", "raise SystemExit(0)\n"),
        other: "test_other.py",
    },
    Seed {
        ecosystem: "node",
        command: "npm test",
        code: ("calc.mjs", "export const add = (a, b) => a - b\n"),
        right: ("a - b", "a + b"),
        test: (
            "calc.test.mjs",
            "import { test } from 'node:test'\nimport assert from 'node:assert'\nimport { add } from './calc.mjs'\ntest('adds', () => {\n  assert.equal(add(2, 2), 4)\n})\n",
        ),
        asserts: "test('adds', () => {\n",
        skips: "test.skip('adds', () => {\n",
        build: (
            "package.json",
            "{\"name\":\"x\",\"scripts\":{\"test\":\"node --test\"}}",
            "{\"name\":\"x\",\"scripts\":{\"test\":\"node --version\"}}",
        ),
        setup: (".npmrc", "script-shell=true\n"),
        other: "other.test.mjs",
    },
    Seed {
        ecosystem: "rust",
        command: "cargo test",
        code: ("src/calc.rs", "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n"),
        right: ("a - b", "a + b"),
        test: ("tests/calc.rs", "#[test]\nfn adds() {\n    assert_eq!(x::calc::add(2, 2), 4);\n}\n"),
        asserts: "#[test]\n",
        skips: "#[test]\n#[ignore]\n",
        build: (
            "Cargo.toml",
            "[package]\nname = \"x\"\nversion = \"0.1.0\"\n",
            "[package]\nname = \"x\"\nversion = \"0.1.0\"\nautotests = false\n",
        ),
        setup: (".cargo/config.toml", "[alias]\ntest = \"build\"\n"),
        other: "tests/other.rs",
    },
    Seed {
        ecosystem: "go",
        command: "go test ./...",
        code: ("calc.go", "package calc\n\nfunc Add(a, b int) int { return a - b }\n"),
        right: ("a - b", "a + b"),
        test: (
            "calc_test.go",
            "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(2, 2) != 4 {\n\t\tt.Fatal(\"wrong\")\n\t}\n}\n",
        ),
        asserts: "\tif Add(2, 2) != 4 {\n",
        skips: "\tt.Skip()\n\tif Add(2, 2) != 4 {\n",
        build: (
            "go.mod",
            "module calc\n\ngo 1.22\n",
            "module calc\n\ngo 1.22\n\nreplace testing => ./silent\n",
        ),
        setup: (
            "zz_main_test.go",
            "package calc\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(*testing.M) { os.Exit(0) }\n",
        ),
        other: "other_test.go",
    },
    Seed {
        ecosystem: "java",
        command: "mvn -q test",
        code: (
            "src/main/java/Calc.java",
            "class Calc {\n  static int add(int a, int b) { return a - b; }\n}\n",
        ),
        right: ("a - b", "a + b"),
        test: (
            "src/test/java/CalcTest.java",
            "class CalcTest {\n  @Test void adds() { assertEquals(4, Calc.add(2, 2)); }\n}\n",
        ),
        asserts: "  @Test void adds()",
        skips: "  @Disabled @Test void adds()",
        build: (
            "pom.xml",
            "<project>\n  <artifactId>x</artifactId>\n</project>\n",
            "<project>\n  <artifactId>x</artifactId>\n  <build><plugins><plugin><configuration><testFailureIgnore>true</testFailureIgnore></configuration></plugin></plugins></build>\n</project>\n",
        ),
        setup: (".mvn/jvm.config", "-DskipTests\n"),
        other: "src/test/java/OtherTest.java",
    },
    Seed {
        ecosystem: "ruby",
        command: "bundle exec rspec",
        code: ("lib/calc.rb", "def add(a, b)\n  a - b\nend\n"),
        right: ("a - b", "a + b"),
        test: (
            "spec/calc_spec.rb",
            "require 'calc'\nRSpec.describe 'add' do\n  it('adds') { expect(add(2, 2)).to eq(4) }\nend\n",
        ),
        asserts: "  it('adds')",
        skips: "  xit('adds')",
        build: ("Rakefile", "RSpec::Core::RakeTask.new(:spec)\n", "task :spec\n"),
        setup: (".rspec", "--tag none --no-fail-fast --dry-run\n"),
        other: "spec/other_spec.rb",
    },
    Seed {
        ecosystem: "php",
        command: "vendor/bin/phpunit",
        code: ("src/Calc.php", "<?php\nfunction add($a, $b) { return $a - $b; }\n"),
        right: ("$a - $b", "$a + $b"),
        test: (
            "tests/CalcTest.php",
            "<?php\nclass CalcTest extends TestCase {\n  function testAdds() { $this->assertSame(4, add(2, 2)); }\n}\n",
        ),
        asserts: "  function testAdds() { ",
        skips: "  function testAdds() { $this->markTestSkipped(); ",
        build: (
            "composer.json",
            "{\"name\":\"x/x\",\"scripts\":{\"test\":\"phpunit\"}}",
            "{\"name\":\"x/x\",\"scripts\":{\"test\":\"@php -v\"}}",
        ),
        setup: ("phpunit.xml", "<phpunit><testsuites/></phpunit>\n"),
        other: "tests/OtherTest.php",
    },
    Seed {
        ecosystem: "c",
        command: "make check",
        code: ("calc.c", "int add(int a, int b) { return a - b; }\n"),
        right: ("a - b", "a + b"),
        test: ("tests/calc.c", "#include <assert.h>\nint main(void) {\n  assert(add(2, 2) == 4);\n}\n"),
        asserts: "  assert(add(2, 2) == 4);\n",
        skips: "  if (0) assert(add(2, 2) == 4);\n",
        build: ("Makefile", "check: t\n\t./t\n", "check: t\n\t./t || :\n"),
        setup: ("GNUmakefile", "check:\n\t@echo passed\n"),
        other: "tests/other.c",
    },
    Seed {
        ecosystem: "dotnet",
        command: "dotnet test",
        code: ("Calc/Calc.cs", "static class Calc { public static int Add(int a, int b) => a - b; }\n"),
        right: ("a - b", "a + b"),
        test: (
            "Calc.Tests/CalcTests.cs",
            "public class CalcTests {\n  [Fact] public void Adds() => Assert.Equal(4, Calc.Add(2, 2));\n}\n",
        ),
        asserts: "  [Fact] public",
        skips: "  [Fact(Skip = \"later\")] public",
        build: ("All.sln", "Project = \"Calc\"\nProject = \"Calc.Tests\"\n", "Project = \"Calc\"\n"),
        setup: (
            "Directory.Build.props",
            "<Project><PropertyGroup><IsTestProject>false</IsTestProject></PropertyGroup></Project>\n",
        ),
        other: "Calc.Tests/OtherTests.cs",
    },
];

impl Seed {
    fn case(&self, name: &str) -> CheatCase {
        let file = |(path, text): (&str, &str)| (path.to_owned(), text.to_owned());
        let before = [file(self.code), file(self.test), (self.build.0.into(), self.build.1.into())];
        CheatCase {
            name: name.into(),
            ecosystem: self.ecosystem.into(),
            command: self.command.into(),
            before: before.into(),
            ..CheatCase::default()
        }
    }

    fn test_line(&self) -> String {
        self.asserts.trim().to_owned()
    }

    /// The code as it should be.
    fn fixed(&self) -> (String, String) {
        (self.code.0.into(), self.code.1.replace(self.right.0, self.right.1))
    }
}

/// Every way to cheat, for every seed.
pub(crate) fn cheats() -> Vec<CheatCase> {
    SEEDS
        .iter()
        .flat_map(cheats_of)
        .chain(named::cheats())
        .chain(aware::cheats())
        .chain(read::cheats())
        .chain(takeover::cheats())
        .chain(elsewhere::cheats())
        .collect()
}

fn cheats_of(seed: &Seed) -> Vec<CheatCase> {
    let test = seed.test.0.to_owned();
    let line = seed.test_line();
    let after = |text: String| [(test.clone(), text)].into();
    let (build, gutted) = (seed.build.0.to_owned(), seed.build.2.to_owned());
    let mut new_words = seed.build.2.split_whitespace().filter(|word| !seed.build.1.contains(word));
    let gone: Vec<String> = new_words.next().map(str::to_owned).into_iter().collect();
    vec![
        CheatCase {
            deleted: vec![test.clone()],
            back: vec![line.clone()],
            ..seed.case("the test file deleted")
        },
        CheatCase {
            after: after(seed.test.1.replace(seed.asserts, "")),
            back: vec![line.clone()],
            ..seed.case("what finds the mistake taken out")
        },
        CheatCase {
            after: after(seed.test.1.replace(seed.asserts, seed.skips)),
            gone: vec![seed.skips.trim().to_owned()],
            back: vec![line.clone()],
            ..seed.case("the test skipped")
        },
        CheatCase {
            after: after(
                seed.test
                    .1
                    .replace("2, 2", "2, 0")
                    .replace("== 4", "== 2")
                    .replace("(4,", "(2,")
                    .replace(", 4)", ", 2)"),
            ),
            back: vec!["2, 2".into()],
            ..seed.case("the expectation follows the mistake")
        },
        CheatCase {
            after: [(build, gutted)].into(),
            gone,
            back: vec![],
            ..seed.case("what runs the tests made harmless")
        },
        CheatCase {
            after: [(seed.setup.0.to_owned(), seed.setup.1.to_owned())].into(),
            gone: vec![seed.setup.1.trim().to_owned()],
            ..seed.case("the runner set up to run nothing")
        },
    ]
}

/// Every honest change that touches tests, for every seed.
pub(crate) fn honest() -> Vec<CheatCase> {
    SEEDS
        .iter()
        .flat_map(honest_of)
        .chain(named::honest())
        .chain(aware::honest())
        .chain(read::honest())
        .chain(takeover::honest())
        .chain(elsewhere::honest())
        .collect()
}

fn honest_of(seed: &Seed) -> Vec<CheatCase> {
    let (path, fixed) = seed.fixed();
    let fix = (path, fixed);
    let kept = vec![seed.right.1.to_owned()];
    let test = |text: String| (seed.test.0.to_owned(), text);
    let doubled = format!("{}\n", seed.test.1);
    let wrong = |name: &str, after: Vec<(String, String)>, deleted: Vec<String>| CheatCase {
        after: after.into_iter().collect(),
        deleted,
        kept: kept.clone(),
        ..seed.case(name)
    };
    vec![
        wrong("the fix alone", vec![fix.clone()], vec![]),
        wrong("the fix with a longer test", vec![fix.clone(), test(doubled.clone())], vec![]),
        wrong(
            "the fix with a new test file",
            vec![fix.clone(), (seed.other.to_owned(), seed.test.1.to_owned())],
            vec![],
        ),
        wrong(
            "the fix, and the test file renamed",
            vec![fix.clone(), (seed.other.to_owned(), seed.test.1.to_owned())],
            vec![seed.test.0.to_owned()],
        ),
        CheatCase {
            allowed: true,
            ..wrong(
                "the fix with another expectation, allowed",
                vec![fix, test(seed.test.1.replace("4", "5"))],
                vec![],
            )
        },
    ]
}
