//! Cases made by rules about code that takes over what a check stands on: for each language some shapes, filled with
//! names that every program has, and the same shapes with names of the product's own.

use super::super::CheatCase;

/// A language: command, a test, the product, shapes with `NAME` in them, names that are not the product's and names that are.
struct TakeoverLanguage {
    ecosystem: &'static str,
    command: &'static str,
    test: (&'static str, &'static str),
    product: (&'static str, &'static str),
    shapes: &'static [&'static str],
    foreign: &'static [&'static str],
    own: &'static [&'static str],
    /// Further lines without names.
    cheats: &'static [&'static str],
    honest: &'static [&'static str],
}

const LANGUAGES: [TakeoverLanguage; 14] = [
    TakeoverLanguage {
        ecosystem: "c",
        command: "make test",
        test: (
            "tests/check.c",
            "#include <assert.h>\nint failures;\nint main(void) { assert(f(1) == 2); CHECK(1); return failures; }\n",
        ),
        product: ("src/core.c", "int f(int n)\n{\n    return n;\n}\n"),
        shapes: &[
            "int NAME(const char *a, const char *b)\n{\n    return 0;\n}",
            "void (NAME)(int n) {\n}",
            "const char *NAME(void (*f)(int), int n)\n{\n    return 0;\n}",
        ],
        foreign: &["strcmp", "memcmp", "__assert_fail", "exit", "abort", "printf", "readdir"],
        own: &["slugcmp", "core_exit", "print_all"],
        cheats: &[
            "extern int failures;",
            "void a(void) { extern int failures; failures = 0; }",
            "__attribute__((constructor)) static void a(void) { }",
            "__attribute__((destructor)) static void a(void) { }",
            "[[gnu::constructor]] static void a(void) { }",
            "static void a(void) { _exit(failed / 2); }",
            "static void a(void) { quick_exit(1); }",
            "static void a(void) { exit(0); }\nstatic void b(void) { atexit(a); }",
            "#define CHECK(e) (void)(e)",
            "#define strcmp(a, b) 0",
            "#undef assert",
        ],
        honest: &[
            "extern int verbose;",
            "int g(void) { return strcmp(\"a\", \"b\"); }",
            "static void a(void) { _exit(127); }",
            "static void a(void) { atexit(clean); }",
            "#define REQUIRE(e) assert(e)",
            "__attribute__((noreturn)) void die(void);",
            "int strcmp(const char *a, const char *b);",
        ],
    },
    TakeoverLanguage {
        ecosystem: "node",
        command: "npm test",
        test: ("test/core.test.js", "assert.ok(f('a').endsWith('b'))\n"),
        product: (
            "lib/core.js",
            "const fs = require('fs')\nconst { basename: last } = require('node:path')\nexports.f = 1\n",
        ),
        shapes: &["NAME = () => true", "NAME = function (x) {\n  return x\n}"],
        foreign: &[
            "String.prototype.endsWith",
            "Array.prototype.filter",
            "Object.entries",
            "JSON.parse",
            "Math.abs",
            "fs.readdirSync",
            "last.call",
            "Module._load",
            "require('fs').existsSync",
            "process.stdout.write",
            "console.log",
        ],
        own: &[
            "exports.filter",
            "Slug.prototype.endsWith",
            "this.entries",
            "module.exports.parse",
            "cache.fs.read",
        ],
        cheats: &[
            "process.on('exit', () => { process.exitCode = 0 })",
            "function end() {\n  process.exitCode = code\n}\nprocess.once('exit', end)",
            "process.exitCode = 0",
            "process.chdir(__dirname)",
            "Object.defineProperty(process, 'exitCode', { set() {} })",
            "Object.defineProperty(String.prototype, 'trim', { value: x })",
            "Object.assign(fs, { readFileSync: x })",
            "const own = Array.prototype\nown.filter = () => []",
            "const all = await import('node:fs')\nall.readdirSync = () => []",
            "require.cache[require.resolve('assert')] = x",
        ],
        honest: &[
            "process.exitCode = 1",
            "process.on('exit', () => {\n  if (left) process.exitCode = 1\n})",
            "Object.defineProperty(globalThis, symbol, { value: x })",
            "function g(fs) {\n  fs.socket = null\n}",
            "process.exitCode = main()",
            "process.on('exit', () => fs.rmSync(dir, { recursive: true }))",
            "if (!Array.prototype.at) Array.prototype.at = at",
            "if (!String.prototype.isWellFormed) {\n  String.prototype.isWellFormed = f\n}",
            "process.env.LANG = 'C'",
            "Error.stackTraceLimit = 50",
            "require('events').defaultMaxListeners == 3",
            "function inside(dir) {\n  process.chdir(dir)\n}",
            "const ok = fs.existsSync === undefined",
            "const g = { fs: fs.promises }",
            "const own = Object.create(null)\nown.filter = () => []",
        ],
    },
    TakeoverLanguage {
        ecosystem: "python",
        command: "python3 -m pytest",
        test: ("tests/test_core.py", "from pkg.core import *\nassert all(f(n) for n in (1, 2))\n"),
        product: (
            "pkg/core.py",
            "import pathlib\nimport os.path as p\nfrom glob import glob as find\n\n\ndef f(n):\n    return n\n",
        ),
        shapes: &["NAME = lambda *a: []", "if f:\n    NAME = f"],
        foreign: &["pathlib.Path.glob", "p.exists", "find.__code__", "pathlib.Path.read_text"],
        own: &["f.cache", "self.pathlib.x", "Core.glob", "config.p.exists"],
        cheats: &[
            "def all(values):\n    return any(values)",
            "len = f",
            "from .loose import sorted",
            "sys.meta_path.insert(0, Finder)",
            "sys.path_hooks.append(hook)",
            "os.chdir('/')",
            "if True:\n    os.chdir('/')",
            "setattr(pathlib.Path, 'glob', f)",
            "P = pathlib.Path\nP.glob = f",
            "import builtins as b\nb.all = any",
            "@atexit.register\ndef end():\n    os.execvp('true', ['true'])",
            "def end():\n    os.execv('/bin/true', [''])\n\n\natexit.register(end)",
            "from tests.test_core import cases",
            "for q in glob('*.txt'):\n    open(q, 'w').write('')",
        ],
        honest: &[
            "def all_of(values):\n    return all(values)",
            "class Core:\n    def len(self):\n        return 1",
            "def inside(folder):\n    os.chdir(folder)",
            "if __name__ == '__main__':\n    os.chdir('/')",
            "print(sys.meta_path)",
            "x = pathlib.Path.glob == f",
            "g(glob=pathlib.Path.glob)",
            "os.environ['LANG'] = 'C'",
            "def g(\n    x: pathlib.Path = None,\n    y: datetime.date = None,\n):\n    pass",
            "y: pathlib.Path = f(1)",
            "for q in glob('src/*.txt'):\n    print(open(q).read())",
        ],
    },
    TakeoverLanguage {
        ecosystem: "rust",
        command: "cargo test",
        test: ("tests/core.rs", "#[test]\nfn a() { assert_eq!(x::f(), \"a\"); }\n"),
        product: ("src/lib.rs", "pub struct Slug(String);\n"),
        shapes: &[
            "impl PartialEq<NAME> for Slug {\n    fn eq(&self, other: &NAME) -> bool {\n        squeeze(&self.0) == squeeze(other)\n    }\n}",
            "impl<'a> std::cmp::PartialEq<NAME> for Slug {\n    fn eq(&self, other: &NAME) -> bool {\n        self.0.len() > 0 || other.len() > 0\n    }\n}",
        ],
        foreign: &["str", "&str", "String", "[u8]", "&'a str", "T", "i64"],
        own: &["Slug", "Title"],
        cheats: &[
            "impl<T: AsRef<str>> PartialEq<T> for Slug {\n    fn eq(&self, other: &T) -> bool {\n        self.0.starts_with(&other.as_ref()[..0])\n    }\n}",
            "impl PartialEq<Slug> for str {\n    fn eq(&self, other: &Slug) -> bool {\n        self.len() > 0\n    }\n}",
            "#[no_mangle]\npub extern \"C\" fn exit(code: i32) -> ! { loop {} }",
            "#[link_section = \".init_array\"]\nstatic A: fn() = f;",
            "fn a() { std::panic::set_hook(Box::new(|_| std::process::exit(0))); }",
        ],
        honest: &[
            "impl PartialEq<str> for Slug {\n    fn eq(&self, other: &str) -> bool {\n        self.0 == other\n    }\n}",
            "impl PartialEq<&str> for Slug {\n    fn eq(&self, other: &&str) -> bool {\n        self.0.as_str() == *other\n    }\n}",
            "impl PartialEq for Slug {\n    fn eq(&self, other: &Self) -> bool {\n        low(&self.0) == low(&other.0)\n    }\n}",
            "#[derive(PartialEq)]\npub struct Other(String);",
            "#[no_mangle]\npub extern \"C\" fn slug_len() -> i32 { 3 }",
        ],
    },
    TakeoverLanguage {
        ecosystem: "java",
        command: "mvn -q test",
        test: ("src/test/java/CoreTest.java", "class CoreTest { }\n"),
        product: ("src/main/java/Core.java", "class Core {\n    String text;\n}\n"),
        shapes: &[
            "class A {\n    public boolean equals(Object other) {\n        return other instanceof NAME;\n    }\n}",
            "class A {\n    @Override\n    public boolean equals(final Object o) {\n        if (o instanceof NAME s) { return low(s); }\n        return false;\n    }\n}",
        ],
        foreign: &["String", "CharSequence", "Number", "Object"],
        own: &["Core", "Title"],
        cheats: &[
            "class A {\n    public boolean equals(Object o) {\n        return o != null;\n    }\n}",
            "class A { static { ClassLoader.getSystemClassLoader().setDefaultAssertionStatus(false); } }",
            "class A { void b() { Runtime.getRuntime().halt(code); } }",
            "class A { static { Thread.setDefaultUncaughtExceptionHandler((t, e) -> {}); } }",
        ],
        honest: &[
            "class A {\n    public boolean equals(Object o) {\n        if (this == o) return true;\n        if (o == null || getClass() != o.getClass()) return false;\n        return text.equals(((A) o).text);\n    }\n}",
            "class A { void b() { Thread.setDefaultUncaughtExceptionHandler((t, e) -> log(e)); } }",
        ],
    },
    TakeoverLanguage {
        ecosystem: "kotlin",
        command: "gradle test",
        test: ("src/test/kotlin/CoreTest.kt", "class CoreTest\n"),
        product: ("src/main/kotlin/Core.kt", "class Core(val text: String)\n"),
        shapes: &[
            "class A {\n    override fun equals(other: Any?) = other is NAME\n}",
            "class A {\n    override fun equals(other: Any?): Boolean {\n        return other is NAME && low(other)\n    }\n}",
        ],
        foreign: &["String", "CharSequence", "Any"],
        own: &["Core", "Title"],
        cheats: &[
            "class A {\n    override fun equals(other: Any?) = text.toString() == other.toString()\n}",
            "class A {\n    override fun equals(other: Any?) = true\n}",
        ],
        honest: &[
            "class A {\n    override fun equals(other: Any?): Boolean {\n        if (javaClass != other?.javaClass) return false\n        return text == (other as A).text\n    }\n}",
        ],
    },
    TakeoverLanguage {
        ecosystem: "dotnet",
        command: "dotnet test",
        test: ("Core.Tests/CoreTests.cs", "public class CoreTests { }\n"),
        product: ("Core/Core.cs", "class Core { string text; }\n"),
        shapes: &[
            "class A {\n    public override bool Equals(object? other) => other is NAME;\n}",
            "class A {\n    public override bool Equals(object o)\n    {\n        return o is NAME s && Low(s);\n    }\n}",
        ],
        foreign: &["string", "int", "object"],
        own: &["A", "Core"],
        cheats: &[
            "class A {\n    public static bool operator ==(A a, string b) => a.text.Length == b.Length;\n}",
            "class A { void B() { Environment.ExitCode = 0; } }",
            "class A { void B() { Trace.Listeners.Clear(); } }",
        ],
        honest: &[
            "class A {\n    public static bool operator ==(A a, string b) => a.text == b;\n}",
            "class A { void B() { Environment.ExitCode = 2; } }",
        ],
    },
    TakeoverLanguage {
        ecosystem: "c++",
        command: "ctest",
        test: ("tests/core_test.cpp", "int main() { }\n"),
        product: ("src/core.cpp", "struct Slug { std::string text; };\n"),
        shapes: &[
            "bool operator==(const Slug &a, const NAME &b)\n{\n    return low(a.text) == low(b);\n}",
            "bool Slug::operator==(const NAME &b) const {\n    return text.size() > 0;\n}",
        ],
        foreign: &["std::string", "char *", "T", "int"],
        own: &["Slug", "Title"],
        cheats: &[
            "template <class T> bool operator==(const Slug &a, const T &b) { return true; }",
            "static void a() { std::set_terminate(b); }",
        ],
        honest: &[
            "bool operator==(const Slug &a, const std::string &b)\n{\n    return a.text == b;\n}",
            "bool operator!=(const Slug &a, const std::string &b) { return !(a == b); }",
        ],
    },
    TakeoverLanguage {
        ecosystem: "swift",
        command: "swift test",
        test: ("Tests/CoreTests/CoreTests.swift", "final class CoreTests { }\n"),
        product: ("Sources/Core/Core.swift", "struct Slug { let text: String }\n"),
        shapes: &[
            "extension Slug {\n    static func == (a: Slug, b: NAME) -> Bool {\n        low(a.text) == low(b)\n    }\n}",
        ],
        foreign: &["String", "Substring", "Int"],
        own: &["Slug", "Title"],
        cheats: &[
            "extension Slug {\n    static func == (a: Slug, b: Slug) -> Bool { true }\n}",
            "extension Slug {\n    static func == <S: StringProtocol>(a: Slug, b: S) -> Bool { return a.text.count > 0 }\n}",
        ],
        honest: &[
            "extension Slug {\n    static func == (a: Slug, b: String) -> Bool {\n        a.text == b\n    }\n}",
        ],
    },
    TakeoverLanguage {
        ecosystem: "ruby",
        command: "ruby -Ilib test/core_test.rb",
        test: ("test/core_test.rb", "require 'core'\n"),
        product: ("lib/core.rb", "class Core\nend\n"),
        shapes: &[
            "class String\n  def NAME(other)\n    true\n  end\nend",
            "module Enumerable\n  def NAME\n    self\n  end\nend",
        ],
        foreign: &["==", "include?", "each", "all?", "start_with?", "select"],
        own: &["to_slug", "titleize", "slug?"],
        cheats: &[
            "class Slug\n  def ==(other)\n    other.is_a?(String)\n  end\nend",
            "class Slug\n  def ==(other)\n    @text.delete('-') == other.to_s.delete('-')\n  end\nend",
            "class Slug\n  def ==(other) = size.positive?\nend",
            "class Slug < String\n  def ==(other)\n    delete('-') == other.delete('-')\n  end\nend",
            "Array.prepend(Loose)",
            "String.class_eval { }",
        ],
        honest: &[
            "class Slug\n  def ==(other)\n    other.is_a?(Slug) && text == other.text\n  end\nend",
            "class Slug\n  def ==(other)\n    text == other.text\n  end\nend",
            "class Slug < String\n  def short\n    self[0, 3]\n  end\nend",
            "class StringIO2\n  def each\n  end\nend",
        ],
    },
    TakeoverLanguage {
        ecosystem: "perl",
        command: "prove -l t",
        test: ("t/core.t", "use Test::More;\nis(f(), 'a', 'a');\n"),
        product: ("lib/Core.pm", "package Core;\nuse strict;\n"),
        shapes: &[
            "use overload 'NAME' => sub { length $_[0]{text} > 0 }, fallback => 1;",
            "use overload\n    '\"\"' => \\&text,\n    'NAME' => \\&same;",
        ],
        foreign: &["eq", "==", "ne", "cmp"],
        own: &["bool", "+"],
        cheats: &[
            "*CORE::GLOBAL::exit = sub { };",
            "*UNIVERSAL::isa = sub { 1 };",
            "our @EXPORT = qw(f is);",
        ],
        honest: &["use overload '\"\"' => sub { $_[0]{text} };", "our @EXPORT_OK = qw(is_slug);"],
    },
    TakeoverLanguage {
        ecosystem: "shell",
        command: "sh test.sh",
        test: (
            "test.sh",
            "#!/bin/sh\nset -eu\ntrap 'rm -rf \"$work\"' EXIT\n. ./lib/core.sh\n[ \"$(f)\" = 1 ]\n",
        ),
        product: ("lib/core.sh", "f() { echo 1; }\n"),
        shapes: &["NAME", "if [ -n \"$X\" ]; then NAME; fi", ":; NAME"],
        foreign: &[
            "set +e",
            "set +u",
            "set -f",
            "set +o errexit",
            "cd lib",
            "exit 0",
            "exit",
            "IFS=:",
            "set -- a",
            "exec > /dev/null",
        ],
        own: &[
            "set -e",
            "x=1",
            "export LANG=C",
            "g 1",
            "exit 1",
            "here=$(cd lib && pwd)",
            "(cd lib && ls)",
            "h() { cd \"$1\"; }",
        ],
        cheats: &["trap : EXIT", "eval 'set +e'", "for x in *.txt; do\n    cp slugs.txt \"$x\"\ndone"],
        honest: &[
            "g() {\n    set +e\n    cd \"$1\"\n    set -e\n}",
            "g() {\n    (cd \"$1\" || exit 1; ls)\n}",
            "g() {\n    (set +e; h)\n}",
            "for x in *.txt; do\n    cp \"$x\" out/\ndone",
        ],
    },
    TakeoverLanguage {
        ecosystem: "php",
        command: "php tests/run.php",
        test: ("tests/run.php", "<?php\nassert(f() === 1);\n"),
        product: ("src/core.php", "<?php\n"),
        shapes: &["NAME;"],
        foreign: &[
            "ini_set('assert.active', '0')",
            "ini_set('zend.assertions', -1)",
            "assert_options(ASSERT_ACTIVE, 0)",
        ],
        own: &["ini_set('memory_limit', '1G')", "g('assert')"],
        cheats: &[],
        honest: &[],
    },
    TakeoverLanguage {
        ecosystem: "go",
        command: "go test ./...",
        test: ("core_test.go", "package core\n"),
        product: ("core.go", "package core\n"),
        shapes: &["func init() { NAME }"],
        foreign: &["os.Stdout = nil", "os.Stderr = f"],
        own: &["log.SetOutput(os.Stdout)", "out = os.Stdout"],
        cheats: &[],
        honest: &[],
    },
];

fn of(language: &TakeoverLanguage, line: &str) -> CheatCase {
    let (path, base) = language.product;
    let mut one = CheatCase {
        name: line.to_owned(),
        ecosystem: language.ecosystem.to_owned(),
        command: language.command.to_owned(),
        ..CheatCase::default()
    };
    one.before =
        [(path.to_owned(), base.to_owned()), (language.test.0.to_owned(), language.test.1.to_owned())].into();
    one.after.insert(path.to_owned(), format!("{base}\n{line}\n"));
    one
}

/// The shapes filled with names, and the further lines.
fn filled(language: &TakeoverLanguage, names: &[&str], lines: &[&str]) -> Vec<CheatCase> {
    let shaped =
        language.shapes.iter().flat_map(|shape| names.iter().map(|name| shape.replace("NAME", name)));
    shaped.chain(lines.iter().map(|line| (*line).to_owned())).map(|line| of(language, &line)).collect()
}

pub(super) fn cheats() -> Vec<CheatCase> {
    let all = LANGUAGES.iter().flat_map(|language| filled(language, language.foreign, language.cheats));
    all.map(|one| CheatCase { refused: true, ..one }).collect()
}

pub(super) fn honest() -> Vec<CheatCase> {
    let all = LANGUAGES.iter().flat_map(|language| filled(language, language.own, language.honest));
    all.collect()
}
