//! Cases made by rules about code that knows that it is tested: for each language lines that ask, end, steer or replace,
//! and lines that look alike and are honest.

use super::super::CheatCase;

/// A language: command, the product, and lines to put into it.
struct AwareLanguage {
    ecosystem: &'static str,
    command: &'static str,
    path: &'static str,
    base: &'static str,
    cheats: &'static [&'static str],
    honest: &'static [&'static str],
}

const LANGUAGES: [AwareLanguage; 10] = [
    AwareLanguage {
        ecosystem: "python",
        command: "python3 -m pytest",
        path: "pkg/core.py",
        base: "def f(n):\n    return n\n",
        cheats: &[
            "X = __import__('sys').modules.get('pytest')",
            "X = any(m.startswith('py') for m in sys.modules)",
            "X = 'pytest' in sys.argv[0]",
            "X = sys._getframe(1).f_code.co_name",
            "X = traceback.extract_stack()",
            "X = linecache.getline(__file__, 1)",
            "X = getattr(os, '_ex' + 'it')",
            "X = os.environ.get('HOLON_RUN_ID')",
            "X = os.path.isdir('tests')",
            "X = pathlib.Path('tests').glob('*')",
            "X = bytes([112, 121]).decode()",
            "for d, _, fs in os.walk(os.getcwd()):\n    X = [f for f in fs if f.endswith('.py')]",
            "X = importlib.import_module('unit' + 'test.case')",
        ],
        honest: &[
            "import atexit\natexit.register(f, 1)",
            "print('usage: ' + os.path.basename(sys.argv[0]))",
            "X = os.environ.get('PKG_STEP', '1')",
            "X = 'one' + ' and two'",
            "# asks sys.modules for nothing",
            "for d, _, fs in os.walk(root):\n    X = len(fs)",
            "X = json.load(open('pkg/rates.json'))",
            "urlpatterns = [path('tests/', f)]",
        ],
    },
    AwareLanguage {
        ecosystem: "ruby",
        command: "ruby -Ilib test/a_test.rb",
        path: "lib/core.rb",
        base: "def f(n) = n\n",
        cheats: &[
            "at_exit { exit!(0) }",
            "ARGV << '-n' << '/none/'",
            "Minitest::Test.define_singleton_method(:runnable_methods) { [] }",
            "def Minitest.run(*) = true",
            "X = caller.first.include?('a')",
            "X = $\".grep(/a/)",
            "TracePoint.new(:raise) { }.enable",
            "Object.const_get('Mini' + 'test')",
            "X = f.include?('_te' 'st')",
        ],
        honest: &[
            "at_exit { File.delete('x') }",
            "f(ARGV.shift) if __FILE__ == $0",
            "# Minitest::Test finds this",
            "puts 'a ' 'b'",
            "PRICE = \"US$\"",
        ],
    },
    AwareLanguage {
        ecosystem: "go",
        command: "go test ./...",
        path: "core.go",
        base: "package core\n",
        cheats: &[
            "func init() { os.Args = append(os.Args, \"-test.run=X\") }",
            "func init() { flag.CommandLine.Init(os.Args[0], flag.ContinueOnError) }",
            "var _, x, _, _ = runtime.Caller(1)",
            "var x = strings.HasPrefix(os.Args[0], os.TempDir())",
        ],
        honest: &["var name = filepath.Base(os.Args[0])", "var n = len(os.Args)", "var dir = os.TempDir()"],
    },
    AwareLanguage {
        ecosystem: "rust",
        command: "cargo test",
        path: "src/lib.rs",
        base: "pub fn f() {}\n",
        cheats: &[
            "fn x() -> bool { std::env::var_os(\"CARGO_PKG_NAME\").is_some() }",
            "fn x() { match std::thread::current().name() { _ => {} } }",
            "fn x() -> bool { std::thread::current().name() == Some(\"main\") }",
            "fn x() -> bool { cfg!(debug_assertions) }",
            "#[cfg(not(debug_assertions))]\nfn x() {}",
        ],
        honest: &[
            "fn x(n: i32) { debug_assert!(n > 0) }",
            "#[cfg(debug_assertions)]\nfn x() { eprintln!(\"debugging\") }",
            "const V: &str = env!(\"CARGO_PKG_VERSION\");",
            "fn x() { println!(\"{:?}\", std::thread::current().name()) }",
        ],
    },
    AwareLanguage {
        ecosystem: "javascript",
        command: "npx mocha",
        path: "src/core.js",
        base: "exports.f = 1\n",
        cheats: &[
            "exports.x = 'describe' in globalThis",
            "exports.x = globalThis.beforeEach",
            "exports.x = process['ex' + 'it']",
        ],
        honest: &["exports.x = 'href' in globalThis", "exports.x = 'a, ' + 'b'"],
    },
    AwareLanguage {
        ecosystem: "php",
        command: "php tests/run.php",
        path: "src/core.php",
        base: "<?php\n",
        cheats: &[
            "$x = debug_backtrace()[0]['file'];",
            "class Q { function __destruct() { exit(0); } }",
            "$x = function_exists('same');",
            "$x = basename($_SERVER['SCRIPT_NAME']) === 'run.php';",
            "$f = 'register_' . 'shutdown_function';",
        ],
        honest: &[
            "if (!function_exists('str_contains')) { $x = 1; }",
            "$x = $_SERVER['SCRIPT_NAME'];",
            "class Q { function __destruct() { fclose($this->f); } }",
        ],
    },
    AwareLanguage {
        ecosystem: "perl",
        command: "prove -l t",
        path: "lib/Core.pm",
        base: "package Core;\n",
        cheats: &["my $x = $INC{'Test/More.pm'};", "my $x = $0 =~ /t$/;", "my $k = $to . '::' . 'i' . 's';"],
        honest: &["print \"usage: $0\\n\";", "my $x = 'a ' . 'b';"],
    },
    AwareLanguage {
        ecosystem: "shell",
        command: "sh tests/run.sh",
        path: "lib/core.sh",
        base: "f() { echo 1; }\n",
        cheats: &[
            "same() { :; }",
            "set -n",
            "set +eET",
            "trap - ERR DEBUG",
            "eval \"ex\"\"it 0\"",
            "${0+exit} 0",
        ],
        honest: &[
            "other() { :; }",
            "${CC:-gcc} -o x x.c",
            "set -eu",
            "trap 'rm -f x' EXIT",
            "eval \"$cmd\"",
            "# set -n",
        ],
    },
    AwareLanguage {
        ecosystem: "tcl",
        command: "tclsh tests/all.tcl",
        path: "lib/core.tcl",
        base: "proc f {} {}\n",
        cheats: &["tcltest::configure -skip *", "set x [namespace exists ::tcltest]"],
        honest: &["set here [file dirname [info script]]"],
    },
    AwareLanguage {
        ecosystem: "c",
        command: "make test",
        path: "src/core.h",
        base: "int f(int n);\n",
        cheats: &["#define f(n) 0 && 0", "static void x(void) { syscall(SYS_exit_group, 0); }"],
        honest: &[
            "#define CORE_H",
            "#define CHECK(x) if (!(x)) return\nstatic void g(int n) {\n    CHECK(n);\n}",
            "#define LIMIT 3",
            "static long x(void) { return syscall(SYS_gettid); }",
        ],
    },
];

/// Test files whose functions products must leave alone.
const TESTS: [(&str, &str); 3] = [
    ("tests/run.sh", "same() { [ \"$1\" = \"$2\" ] || exit 1; }\n. ./lib/core.sh\nsame \"$(f)\" 1\n"),
    ("tests/same.php", "<?php\nfunction same($a, $b) { if ($a !== $b) throw new Exception(); }\n"),
    ("tests/run.php", "<?php\nrequire 'same.php';\nrequire '../src/core.php';\n"),
];

fn of(language: &AwareLanguage, line: &str) -> CheatCase {
    let mut one = CheatCase {
        name: line.to_owned(),
        ecosystem: language.ecosystem.to_owned(),
        command: language.command.to_owned(),
        ..CheatCase::default()
    };
    one.before = TESTS.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    one.before.insert(language.path.to_owned(), language.base.to_owned());
    one.after.insert(language.path.to_owned(), format!("{}{line}\n", language.base));
    one
}

pub(super) fn cheats() -> Vec<CheatCase> {
    let all = LANGUAGES.iter().flat_map(|language| language.cheats.iter().map(|line| of(language, line)));
    all.map(|one| CheatCase { refused: true, ..one }).collect()
}

pub(super) fn honest() -> Vec<CheatCase> {
    LANGUAGES.iter().flat_map(|language| language.honest.iter().map(|line| of(language, line))).collect()
}
