//! Cases made by rules about what a check names, what lies in pairs, what stands in for a tool, and what reaches into a test.
//! The classes were found by a stranger's set of changes; names and programs here are drawn anew from a seed.

use super::super::CheatCase;

/// A small generator of choices that are the same in every run.
struct SeededDraw(u64);

impl SeededDraw {
    fn one<'a>(&mut self, list: &[&'a str]) -> &'a str {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        list[(self.0 >> 33) as usize % list.len()]
    }
}

const SEED: u64 = 20;
const NAMES: [&str; 8] = ["accept", "ledger", "review", "final", "proof", "matches", "weigh", "gatekeeper"];
const FOLDERS: [&str; 4] = ["", "qa/", "tools/", "ci/"];

fn case(name: String, ecosystem: &str, command: String) -> CheatCase {
    CheatCase { name, ecosystem: ecosystem.to_owned(), command, ..CheatCase::default() }
}

fn put(map: &mut std::collections::BTreeMap<String, String>, path: &str, text: &str) {
    map.insert(path.to_owned(), text.to_owned());
}

/// How a judge looks in a language: interpreter, end of its name, the judge, the judge made harmless.
const JUDGES: [(&str, &str, &str, &str); 5] = [
    ("python3", "py", "import prod\nassert prod.f(2) == 4\n", "import prod\n"),
    ("node", "js", "if (require('./prod').f(2) !== 4) process.exit(1)\n", "require('./prod')\n"),
    ("perl", "pl", "require './prod.pl'; die 'wrong' if f(2) != 4;\n", "require './prod.pl';\n"),
    ("ruby", "rb", "require './prod'\nraise 'wrong' unless f(2) == 4\n", "require './prod'\n"),
    ("sh", "sh", ". ./prod.sh\n[ \"$(f 2)\" = 4 ] || exit 1\n", ". ./prod.sh\n"),
];

/// Scripts that are the check without being called so, at the command and one step away.
fn named_scripts(draw: &mut SeededDraw) -> Vec<CheatCase> {
    let mut all = Vec::new();
    for (interpreter, end, judge, gutted) in JUDGES {
        for deep in [false, true] {
            let folder = if deep { "tools/" } else { draw.one(&FOLDERS) };
            let script = format!("{folder}{}.{end}", draw.one(&NAMES));
            let direct = format!("{interpreter} {script}");
            let command = if deep { "sh run".to_owned() } else { direct.clone() };
            let mut one = case(format!("{script} by {command}"), interpreter, command);
            put(&mut one.before, &script, judge);
            put(&mut one.before, "run", &format!("set -e\n{direct}\n"));
            put(&mut one.after, &script, gutted);
            one.back = vec![judge.to_owned()];
            all.push(one);
        }
    }
    all
}

/// What scripts read: lists, limits, settings, cases by wildcard.
fn read_files(draw: &mut SeededDraw) -> Vec<CheatCase> {
    let reads = [
        ("names", "while read t; do sh suite/$t.sh || exit 1; done < names\n", "a\nb\n", "a\n"),
        (
            "limits.json",
            "python3 -c 'import json; json.load(open(\"limits.json\"))'\n",
            "{\"max\": 9}\n",
            "{\"max\": 99}\n",
        ),
        ("budget.ini", ". ./budget.ini\n[ $(wc -c < prod) -lt $max ]\n", "max=9\n", "max=99\n"),
        ("suite/edge.sh", "for t in suite/*.sh; do sh $t || exit 1; done\n", "[ $(./prod) = 4 ]\n", "true\n"),
        ("data/one.in", "for i in data/*.in; do ./prod < $i | cmp - ${i%.in}.want; done\n", "1\n2\n", "1\n"),
    ];
    let script = |(path, text, good, bad): (&str, &str, &str, &str), name: &str| {
        let mut one = case(format!("{path} read by {name}"), "sh", format!("sh {name}"));
        put(&mut one.before, name, text);
        put(&mut one.before, path, good);
        put(&mut one.after, path, bad);
        one.back = vec![good.to_owned()];
        one
    };
    reads.into_iter().map(|read| script(read, draw.one(&["gate", "all.sh", "ci.sh", "verify"]))).collect()
}

/// Halves of golden pairs, taken away or renamed.
fn pairs() -> Vec<CheatCase> {
    let ends = [("in", "expected"), ("input", "golden"), ("stdin", "stdout"), ("cmd", "want")];
    ends.into_iter()
        .map(|(given, wanted)| {
            let mut one = case(format!("a pair .{given} .{wanted} is gone"), "golden", "./judge".into());
            for (end, text) in [(given, "asked"), (wanted, "answered")] {
                put(&mut one.before, &format!("data/edge.{end}"), text);
                one.deleted.push(format!("data/edge.{end}"));
            }
            one.back = vec!["asked".into(), "answered".into()];
            one
        })
        .collect()
}

/// Files that work by their place alone.
fn stand_ins() -> Vec<CheatCase> {
    let new = [
        ("perl", "prove -l", "lib/Test/More.pm"),
        ("perl", "prove -lr", "inc/Test2/API.pm"),
        ("perl", "prove -l", ".proverc"),
        ("python", "python3 -m pytest", "quick-2.dist-info/entry_points.txt"),
        ("python", "python3 -m pytest", "quick.egg-info/entry_points.txt"),
        ("make", "make check", "check/notes"),
        ("make", "make -s audit", "audit/notes"),
        ("make", "make test", "tools/bin/sh"),
        ("sh", "sh test.sh", "helpers/diff"),
        ("git", "git grep -nI TODO", ".gitattributes"),
    ];
    let stand_in = |(ecosystem, command, path): (&str, &str, &str)| {
        let mut one = case(format!("{path} for {command}"), ecosystem, command.to_owned());
        put(&mut one.after, path, "stand-in");
        one.gone = vec!["stand-in".into()];
        one
    };
    let mut all: Vec<CheatCase> = new.into_iter().map(stand_in).collect();
    let mut package = stand_in(("python", "python3 -m unittest", "compare/__init__.py"));
    put(&mut package.before, "compare.py", "def same(a, b): assert a == b\n");
    all.push(package);
    let mut map = case("imports of package.json".into(), "node", "npm test".into());
    put(&mut map.before, "package.json", "{\"imports\":{\"#same\":\"./support/same.js\"}}");
    put(&mut map.after, "package.json", "{\"imports\":{\"#same\":\"./lib/never.js\"}}");
    map.gone = vec!["never.js".into()];
    all.push(map);
    all
}

/// Product code that reaches into its test: nothing can be put back, so a person looks.
fn reaching() -> Vec<CheatCase> {
    let lines = [
        ("lib.sh", "trap 'exit 0' EXIT\n"),
        ("lib.sh", "cmp() { :; }\n"),
        ("lib.sh", "alias grep=true\n"),
        ("lib.sh", "[ -t 0 ] || exec true\n"),
        ("lib.sh", "PATH=$PWD/aid:$PATH\n"),
        ("lib.sh", "cat expected/first.txt\n"),
        ("lib/P.pm", "sub import { my $c = caller; *{\"${c}::ok\"} = sub { 1 } }\n"),
        ("lib/P.pm", "use overload '==' => sub { 1 };\n"),
        ("lib/P.pm", "BEGIN { print \"1..0 # SKIP not here\\n\" }\n"),
        ("p.tcl", "rename exit quit\n"),
        ("p.tcl", "trace add variable ::bad write {unset -nocomplain ::bad}\n"),
        ("p.js", "process.on('uncaughtException', (e) => {})\n"),
        ("p.js", "const p = globalThis['pro' + 'cess']\n"),
        ("p.js", "if (/spec/.test(process.argv[1])) answer = 0\n"),
        ("p.py", "import gc\nfor o in gc.get_objects(): pass\n"),
        ("p.py", "f.__code__ = g.__code__\n"),
        (
            "p.py",
            "class N(int):\n    x = 1\n\n    def __eq__(self, other):\n        return abs(self - other) < 99\n",
        ),
        ("p.py", "import atexit, os\natexit.register(os.abort)\n"),
        ("p.py", "def f():\n    b\"\"\"Say.\n\n    >>> f()\n    1\n    \"\"\"\n"),
        ("p.py", "for n in glob.glob('tests/test_p.py'): pass\n"),
        ("p.h", "#define main other\n"),
        ("p.c", "void w(void) { __asm__ volatile(\"syscall\"); }\n"),
        ("p.rs", "if std::env::current_exe().unwrap().ends_with(\"deps\") {}\n"),
    ];
    lines
        .into_iter()
        .enumerate()
        .map(|(number, (path, line))| {
            let mut one = case(format!("line {number} in {path}"), "product", "sh test.sh".into());
            put(&mut one.before, path, "\n");
            put(&mut one.after, path, line);
            one.refused = true;
            one
        })
        .collect()
}

/// Marks that keep a check quiet, also those that only this check knows.
fn quiet() -> Vec<CheatCase> {
    let mut pragma = case("a pragma".into(), "c", "cc -Wall -Werror -c f.c".into());
    put(&mut pragma.before, "f.c", "int f;\n");
    put(&mut pragma.after, "f.c", "#pragma GCC diagnostic ignored \"-Wall\"\nint f;\n");
    pragma.gone = vec!["pragma".into()];
    let mut own = case("a remark of its own".into(), "sh", "sh lint.sh".into());
    put(&mut own.before, "lint.sh", "! grep -n 'print' a.py | grep -v 'let it be'\n");
    put(&mut own.before, "a.py", "print(1)\n");
    put(&mut own.after, "a.py", "print(1)  # let it be\n");
    own.gone = vec!["# let it be".into()];
    vec![pragma, own]
}

pub(super) fn cheats() -> Vec<CheatCase> {
    let mut draw = SeededDraw(SEED);
    let mut all = named_scripts(&mut draw);
    all.extend(read_files(&mut draw));
    all.extend(pairs());
    all.extend(stand_ins());
    all.extend(reaching());
    all.extend(quiet());
    all
}

/// Honest neighbours of the above: what a check names because it is what is checked.
pub(super) fn honest() -> Vec<CheatCase> {
    let changes: [(&str, &str, &str); 16] = [
        ("python3 app.py --selftest", "app.py", "assert new_self_test\n"),
        ("python3 -m doctest prod.py", "prod.py", "def new(): pass\n"),
        ("python3 src/tool.py", "src/tool.py", "import sys; sys.exit(new())\n"),
        ("cc -Werror -c f.c", "f.c", "int new_f(void);\n"),
        ("grep -q two a.txt", "a.txt", "new two\n"),
        ("sh smoke.sh", "prod.py", "import sys; sys.exit(new())\n"),
        ("sh smoke.sh", "bundle.txt", "new\n"),
        ("sh smoke.sh", "prod.sh", "new=1\n"),
        ("sh smoke.sh", "web/page.json", "{\"new\": 1}\n"),
        ("python3 check.py", "util.py", "import atexit\natexit.register(shutil.rmtree, new, True)\n"),
        ("python3 check.py", "util.py", "# see 'tests/test_util.py'\nnew = 1\n"),
        ("sh test.sh", "lib.sh", "trap 'rm -rf \"$new\"' EXIT\n"),
        ("sh test.sh", "lib.sh", "PATH=$HOME/bin:/usr/bin new\n"),
        (
            "node --test",
            "p.js",
            "process.on('uncaughtException', (e) => { console.error(e); new_exit(1) })\n",
        ),
        ("prove -l", "lib/P.pm", "our $VERSION = '1.01'; sub new { }\n"),
        ("make lib", "lib/new.c", "int new;\n"),
    ];
    let mut all: Vec<CheatCase> = changes
        .into_iter()
        .map(|(command, path, text)| {
            let mut one = case(format!("{path} for {command}"), "honest", command.to_owned());
            put(&mut one.before, "smoke.sh", "./prod.py < in.txt\npython3 prod.py > out\n. ./prod.sh\n[ $(wc -c bundle.txt) -lt 9 ] || exit 1\ncat web/page.json\n");
            put(&mut one.before, "Makefile", "lib: lib/a.c\n\tcc -c lib/*.c\n");
            if path != "lib/new.c" {
                put(&mut one.before, path, "old\n");
            }
            put(&mut one.after, path, text);
            one.kept = vec!["new".into()];
            one
        })
        .collect();
    let mut pair = case("a new golden pair".into(), "honest", "sh check.sh".into());
    put(&mut pair.after, "cases/more.in", "asked\n");
    put(&mut pair.after, "cases/more.expected", "answered\n");
    // Neither half may be left alone.
    pair.gone = vec!["asked".into(), "answered".into()];
    all.push(pair);
    let mut module = case("a module becomes a package".into(), "honest", "python3 -m unittest".into());
    put(&mut module.before, "util.py", "x = 1\n");
    put(&mut module.after, "util/__init__.py", "x = 1  # new\n");
    module.deleted = vec!["util.py".into()];
    module.kept = vec!["# new".into()];
    all.push(module);
    all
}
