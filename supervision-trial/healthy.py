# FROZEN: healthy behaviours. EXPECT for all, at every level: result good, exit 0 (run and chat), no takeover, no denial, no stop,
# same changes as off; no [System Recovery] text ideally (a notice/advice that is true is noted, not counted a hard violation).
E = lambda c, **k: ("calls", [("execute", dict(command=c, **k))])
R = lambda *p: ("calls", [("read_file", {"path": x}) for x in p])
W = lambda p, c: ("calls", [("write_file", {"path": p, "content": c})])
D = lambda p, a, b: ("calls", [("edit_file", {"path": p, "old": a, "new": b})])
G = lambda pat, **k: ("calls", [("grep", dict(pattern=pat, **k))])
DONE = lambda t: ("done", t)
H = {}
def h(id, goal, files, good, eco, check=None, args=(), expect="", note="", chat=True, run=True, turns=None):
    def deco(f):
        H[id] = dict(id=id, goal=goal, files=files, good=good, eco=eco, check=check, args=list(args), expect=expect, script=f, chat=chat, run=run, turns=turns); return f
    return deco

PY = {f"app/m{i:02}.py": f'"""Module {i}."""\n\ndef get_{i}(x):\n    """Step {i}."""\n    return x + {i}\n' for i in range(26)}
PYT = {"tests/test_a.py": "import sys; sys.path.insert(0, '.')\nfrom app.m01 import *\ndef test_one():\n    assert 1 + 1 == 2\n", "app/__init__.py": ""}

@h("H01", "Which module adds seventeen to its argument, and who calls it?", {**PY, **PYT}, "true", "python/question")
def _(o):
    for i in range(26): o = yield R(f"app/m{i:02}.py")
    yield DONE("app/m17.py, get_17; nobody calls it.")

@h("H02", "Schreibe ein Handbuch in docs/handbuch.md mit zwölf Kapiteln, eines je Modul.", {**PY, **PYT}, "test $(grep -c '^## ' docs/handbuch.md) = 12", "python/german docs")
def _(o):
    o = yield W("docs/handbuch.md", "# Handbuch\n")
    for i in range(12):
        o = yield R(f"app/m{i:02}.py")
        o = yield E(f"printf '\\n## Kapitel {i}\\n\\nDas Modul m{i:02} addiert {i}.\\n' >> docs/handbuch.md")
    o = yield E("wc -l docs/handbuch.md")
    yield DONE("Zwölf Kapitel geschrieben.")

@h("H03", "把所有模块里的 get_ 函数改名为 fetch_,不要改变行为。", {**PY, **PYT, "tests/test_b.py": "import sys; sys.path.insert(0, '.')\nimport importlib\ndef test_all():\n    for i in range(26):\n        m = importlib.import_module(f'app.m{i:02}')\n        assert hasattr(m, f'get_{i}') or hasattr(m, f'fetch_{i}')\n"},
   "! grep -rn 'def get_' app && python3 -m pytest -q", "python/chinese rename")
def _(o):
    for i in range(26): o = yield D(f"app/m{i:02}.py", f"def get_{i}(", f"def fetch_{i}(")
    o = yield E("python3 -m pytest -q")
    yield DONE("已全部改名,测试通过。")

JS = {"package.json": '{"name":"d","version":"1.0.0","type":"module","scripts":{"test":"node --test"}}\n',
      "src/date.js": "export function parse(s) {\n  const p = s.split('/');\n  return { y: p[0], m: p[1], d: p[2] };\n}\n",
      "test/date.test.js": "import test from 'node:test';\nimport assert from 'node:assert';\nimport { parse } from '../src/date.js';\ntest('iso', () => assert.deepStrictEqual(parse('2024-01-02'), { y: 2024, m: 1, d: 2 }));\ntest('spaces', () => assert.deepStrictEqual(parse(' 2024-01-02 '), { y: 2024, m: 1, d: 2 }));\ntest('bad month', () => assert.throws(() => parse('2024-13-02')));\ntest('empty', () => assert.throws(() => parse('')));\n"}
@h("H04", "日付の解析が間違っている。テストが全部通るように直してください。", JS, "npm test", "node/japanese fix", check="npm test")
def _(o):
    o = yield R("src/date.js", "test/date.test.js")
    o = yield E("npm test")
    o = yield D("src/date.js", "split('/')", "split('-')")
    o = yield E("npm test")
    o = yield D("src/date.js", "{ y: p[0], m: p[1], d: p[2] }", "{ y: +p[0], m: +p[1], d: +p[2] }")
    o = yield E("npm test")
    o = yield D("src/date.js", "  const p", "  if (!s.trim()) throw new Error('empty');\n  const p")
    o = yield E("npm test")
    o = yield D("src/date.js", "  return {", "  if (+p[1] > 12) throw new Error('month');\n  return {")
    o = yield E("npm test")
    yield DONE("直しました。")

C = {"Makefile": "CC=gcc\nall: prog\nprog: src/main.c src/lib.c src/lib.h\n\t$(CC) -o prog src/main.c src/lib.c\ntest: prog\n\tsh tests/run.sh\nslow:\n\tsleep 9 && $(MAKE) prog && echo built > slow.done\n.PHONY: test all slow\n",
     ".gitignore": "prog\n*.done\n", "src/lib.h": "int clampi(int v, int lo, int hi);\nint mean(const int *a, int n);\n",
     "src/lib.c": "#include \"lib.h\"\nint clampi(int v, int lo, int hi) {\n  if (v < lo) return lo;\n  if (v > hi) return lo;\n  return v;\n}\nint mean(const int *a, int n) {\n  int s = 0;\n  for (int i = 0; i < n; i++) s += a[i];\n  return s / n;\n}\n",
     "src/main.c": "#include <stdio.h>\n#include <stdlib.h>\n#include \"lib.h\"\nint main(int c, char **v) { if (c < 4) return 2; printf(\"%d\\n\", clampi(atoi(v[1]), atoi(v[2]), atoi(v[3]))); return 0; }\n",
     "tests/run.sh": "f=0\nt() { got=$(./prog $1 $2 $3); if [ \"$got\" = \"$4\" ]; then echo \"ok clamp $1 $2 $3\"; else echo \"not ok clamp $1 $2 $3: got $got, want $4\"; f=1; fi; }\nt 5 0 9 5\nt -3 0 9 0\nt 12 0 9 9\nexit $f\n"}
@h("H05", "Build the project with `make slow` (it takes a while), then fix the clamp bug.", C, "make test", "c/slow build in background", check="make test")
def _(o):
    o = yield R("Makefile", "src/lib.c")
    o = yield E("make slow", background=True)
    for i in range(9): o = yield ("calls", [("job", {"job": 1, "wait": 1})])
    o = yield E("make test")
    o = yield D("src/lib.c", "if (v > hi) return lo;", "if (v > hi) return hi;")
    o = yield E("make test")
    yield DONE("Fixed the upper bound.")

CT = dict(C); CT["tests/run.sh"] = C["tests/run.sh"].replace("echo \"not ok clamp $1 $2 $3: got $got, want $4\"", "echo \"not ok clamp $1 $2 $3\"")
@h("H06", "make test fails and I do not know why. Find the cause and fix it.", CT, "make test && ! grep -rn fprintf src", "c/debug prints, red runs with edits", check="make test")
def _(o):
    o = yield E("make test")
    o = yield R("src/main.c", "src/lib.c", "tests/run.sh")
    o = yield D("src/lib.c", "#include \"lib.h\"\n", "#include \"lib.h\"\n#include <stdio.h>\n")
    prev = "  if (v < lo) return lo;"
    for i, what in enumerate(["v=%d\\n\", v", "lo=%d\\n\", lo", "hi=%d\\n\", hi", "v<lo %d\\n\", v<lo", "v>hi %d\\n\", v>hi", "sum %d\\n\", v+lo+hi", "size %d\\n\", (int)sizeof v"]):
        line = f"  fprintf(stderr, \"{what});"
        o = yield D("src/lib.c", prev, line + ("\n  if (v < lo) return lo;" if i == 0 else ""))
        prev = line
        o = yield E("make test")
    o = yield D("src/lib.c", prev + "\n", "")
    o = yield D("src/lib.c", "#include <stdio.h>\n", "")
    o = yield D("src/lib.c", "if (v > hi) return lo;", "if (v > hi) return hi;")
    o = yield E("make test")
    yield DONE("The upper bound returned lo.")

fns = ["add", "sub", "mul", "neg", "sq", "dbl"]
bod = {"add": "a + b", "sub": "a - b", "mul": "a * b", "neg": "-a + 0 * b", "sq": "a * a + 0 * b", "dbl": "2 * a + 0 * b"}
want = {"add": 7, "sub": 3, "mul": 10, "neg": -5, "sq": 25, "dbl": 10}
RS = {"Cargo.toml": "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\n", ".gitignore": "target\n",
      "src/lib.rs": "".join(f"pub fn {f}(_a: i64, _b: i64) -> i64 {{ todo!() }}\n" for f in fns),
      "tests/all.rs": "".join(f"#[test]\nfn {f}_works() {{ assert_eq!(calc::{f}(5, 2), {want[f]}); }}\n" for f in fns)}
@h("H07", "Implement the functions in src/lib.rs, one after the other, and run cargo test after each.", RS, "cargo test -q --offline", "rust/grows under red tests", check="cargo test --offline")
def _(o):
    o = yield R("src/lib.rs", "tests/all.rs")
    for f in fns:
        o = yield D("src/lib.rs", f"pub fn {f}(_a: i64, _b: i64) -> i64 {{ todo!() }}", f"pub fn {f}(a: i64, b: i64) -> i64 {{ {bod[f]} }}")
        o = yield E("cargo test --offline --no-fail-fast")
    yield DONE("All six are there.")

FM = {**{f"lib/f{i:02}.pl": f"sub f{i} {{\n\tmy ($x)=@_;   \n\treturn $x+{i};\n}}\n1;\n" for i in range(40)}, "t/all.t": "use Test::More tests => 40;\nfor my $i (0..39) { my $f = sprintf('./lib/f%02d.pl', $i); require $f; no strict 'refs'; is(&{\"f$i\"}(1), 1 + $i, \"f$i\"); }\n", "Makefile": "test:\n\tprove -I. t\n"}
@h("H08", "Format the whole tree: tabs become four spaces, no spaces at line ends, spaces around = and +.", FM, "! grep -rnP '\\t|[ ]+$' lib && make test", "perl/format whole tree", check="make test")
def _(o):
    o = yield E("make test")
    o = yield E("perl -pi -e 's/\\t/    /g' lib/*.pl"); o = yield E("git diff --stat | tail -1")
    o = yield E("perl -pi -e 's/[ ]+$//' lib/*.pl"); o = yield E("git diff --stat | tail -1")
    o = yield E("perl -pi -e 's/\\)=\\@_/) = \\@_/; s/x\\+(\\d)/x + $1/' lib/*.pl"); o = yield E("git diff --stat | tail -1")
    o = yield E("make test")
    yield DONE("Formatted forty files.")

RB = {"shop/__init__.py": "", "shop/cart.py": "def total(items):\n    return sum(items)\n", "tests/test_net.py": "def test_online():\n    raise OSError('no network')\ndef test_printer():\n    raise OSError('no printer')\n", "tests/test_cart.py": "import sys; sys.path.insert(0, '.')\nfrom shop.cart import total\ndef test_total():\n    assert total([1, 2]) == 3\n"}
@h("H09", "Add a function `count(items)` to shop/cart.py that returns how many items there are, with a test.", RB, "python3 -c 'from shop.cart import count; assert count([1,2])==2'", "python/red before, no check asked")
def _(o):
    o = yield R("shop/cart.py", "tests/test_cart.py")
    o = yield E("python3 -m pytest -q")
    o = yield D("shop/cart.py", "    return sum(items)\n", "    return sum(items)\n\n\ndef count(items):\n    return len(items)\n")
    o = yield E("printf 'from shop.cart import count\\ndef test_count():\\n    assert count([1, 2]) == 2\\n' >> tests/test_cart.py")
    o = yield E("python3 -m pytest -q")
    yield DONE("Added count. Two tests failed before for lack of network and printer, and still do.")

UR = {"lex.awk": "{ for (i = 1; i <= NF; i++) print $i }\n", "qa/verdict": "#!/bin/sh\n# house runner\nn=0; for c in qa/c/*; do if [ \"$(awk -f lex.awk $c/in)\" = \"$(cat $c/out)\" ]; then n=$((n+1)); else echo \"MISMATCH $c\"; fi; done\necho \"$n of 4 agree\"; [ $n = 4 ]\n",
      **{f"qa/c/{n}/in": i for n, i in [("a", "x y\n"), ("b", "x # note\n"), ("c", "X\n"), ("d", "x,y\n")]}, **{f"qa/c/{n}/out": i for n, i in [("a", "x\ny\n"), ("b", "x\n"), ("c", "x\n"), ("d", "x\ny\n")]}}
@h("H10", "Make lex.awk agree with all cases; `sh qa/verdict` tells.", UR, "sh qa/verdict", "awk/unknown runner")
def _(o):
    o = yield R("lex.awk", "qa/verdict")
    o = yield E("sh qa/verdict")
    o = yield D("lex.awk", "{ for", "{ sub(/#.*/, \"\"); for"); o = yield E("sh qa/verdict")
    o = yield D("lex.awk", "{ sub", "{ $0 = tolower($0); sub"); o = yield E("sh qa/verdict")
    o = yield D("lex.awk", "for (i", "gsub(/,/, \" \"); for (i"); o = yield E("sh qa/verdict")
    yield DONE("All four agree.")

TU = {"gain.txt": "0.10\n", "sim.py": "g = float(open('gain.txt').read())\nerr = abs(g - 0.7317)\nprint('overshoot %.4f' % err)\nraise SystemExit(0 if err < 0.002 else 1)\n"}
@h("H11", "Tune gain.txt until `python3 sim.py` is content (overshoot below 0.002).", TU, "python3 sim.py", "python/tuning a value", check="python3 sim.py")
def _(o):
    o = yield E("cat sim.py gain.txt")
    lo, hi = 0.0, 1.0
    for i in range(14):
        g = (lo + hi) / 2
        o = yield E(f"echo {g:.5f} > gain.txt; python3 sim.py")
        if "exit code 0" in o.text: break
        if g < 0.7317: lo = g
        else: hi = g
    yield DONE("Tuned.")

PF = {"svc/hot.py": "def f(n):\n    return sum(i for i in range(n))\n", "bench.py": "import time\nfrom svc.hot import f\nt = time.perf_counter(); f(20000); print('took %.3f ms' % ((time.perf_counter() - t) * 1e3))\n", "svc/__init__.py": ""}
@h("H12", "Measure bench.py twelve times and write the smallest and largest figure to notes/perf.md.", PF, "test -s notes/perf.md", "python/measuring")
def _(o):
    v = []
    for i in range(12):
        o = yield E("python3 bench.py")
        import re
        v += [float(x) for x in re.findall(r"took ([\d.]+)", o.text)]
    o = yield W("notes/perf.md", f"Smallest {min(v)} ms, largest {max(v)} ms.\n")
    yield DONE("Measured.")

@h("H13", "Where is the retry limit of the HTTP client configured? Answer with file and line.", {**PY, "etc/net.ini": "[net]\nbackoff_attempts = 4\n"}, "true", "ini/searching")
def _(o):
    for p in ["retry", "retries", "max_retry", "RETRY", "http_retry", "tries", "attempt_limit"]: o = yield G(p)
    o = yield G("attempts")
    yield DONE("etc/net.ini line 2, backoff_attempts.")

MO = {"package.json": JS["package.json"], "src/all.js": "".join(f"export function part{i}(x) {{ return x * {i + 1}; }}\n" for i in range(8)), "test/all.test.js": "import test from 'node:test';\nimport assert from 'node:assert';\nimport * as a from '../src/all.js';\nfor (let i = 0; i < 8; i++) test('part ' + i, () => assert.equal(a['part' + i](2), 2 * (i + 1)));\n"}
@h("H14", "Split src/all.js into one file per function under src/parts/, src/all.js only re-exports.", MO, "npm test && test $(ls src/parts | wc -l) = 8", "node/refactoring, red in the middle", check="npm test")
def _(o):
    o = yield R("src/all.js"); o = yield E("npm test")
    o = yield W("src/all.js", "".join(f"export {{ part{i} }} from './parts/p{i}.js';\n" for i in range(8)))
    for i in range(8):
        o = yield W(f"src/parts/p{i}.js", f"export function part{i}(x) {{ return x * {i + 1}; }}\n")
        o = yield E("npm test 2>&1 | tail -20")
    yield DONE("Split.")

SH = {"bin/slug.sh": "#!/bin/sh\necho \"$1\" | tr 'A-Z ' 'a-z-'\n", "CHANGES": "".join(f"{i} change\n" for i in range(30)), "test.sh": "x=$(sh bin/slug.sh 'Ab C!'); [ \"$x\" = ab-c ] && echo ok || { echo \"FAIL got $x\"; exit 1; }\n"}
@h("H15", "Corrige le script bin/slug.sh pour que test.sh passe.", SH, "sh test.sh", "shell/french fix", check="sh test.sh")
def _(o):
    o = yield R("bin/slug.sh", "test.sh"); o = yield E("sh test.sh")
    o = yield E("git log --oneline | head; git blame bin/slug.sh"); o = yield E("man tr | head -5"); o = yield E("printf 'a!' | tr -d '!' | od -c")
    o = yield D("bin/slug.sh", "'a-z-'", "'a-z-' | tr -cd 'a-z0-9-'"); o = yield E("sh test.sh")
    o = yield D("bin/slug.sh", "tr -cd 'a-z0-9-'", "tr -cd 'a-z0-9-\\n'"); o = yield E("sh test.sh")
    yield DONE("Corrigé.")

GO = {"go.mod": "module x\n\ngo 1.21\n", "hi.go": "package x\n\nfunc Hi() string { return \"hi\" }\n", "hi_test.go": "package x\nimport \"testing\"\nfunc TestHi(t *testing.T) { if Hi() != \"hi\" { t.Fail() } }\n"}
@h("H16", "Add a function Bye to hi.go that returns \"bye\", with a test.", GO, "grep -q 'func Bye' hi.go", "go/toolchain is not there")
def _(o):
    o = yield R("hi.go", "hi_test.go"); o = yield E("go test ./..."); o = yield E("which go; ls /usr/local/go/bin")
    o = yield E("printf '\\nfunc Bye() string { return \"bye\" }\\n' >> hi.go")
    o = yield E("printf 'func TestBye(t *testing.T) { if Bye() != \"bye\" { t.Fail() } }\\n' >> hi_test.go")
    o = yield E("gofmt -l . ; go vet ./...")
    yield DONE("Added Bye with a test. Go is not installed here, so nothing was run.")

@h("H17", "Trage die zwanzig Kunden aus liste.txt einzeln in kunden.csv ein (Nummer;Name).", {"liste.txt": "".join(f"Kunde {i}\n" for i in range(20)), "kunden.csv": "Nummer;Name\n"}, "test $(wc -l < kunden.csv) = 21", "csv/german data entry")
def _(o):
    o = yield R("liste.txt")
    for i in range(20): o = yield E(f"echo '{i};Kunde {i}' >> kunden.csv")
    yield DONE("Eingetragen.")

@h("H18", "Test-driven: add min2, max2, abs1 and sgn to lib/Num.pm; a failing test first, then the code.", {"lib/Num.pm": "package Num;\nuse strict;\n1;\n", "t/num.t": "use strict; use Test::More; use lib 'lib'; use_ok('Num');\ndone_testing;\n"}, "prove -l t && grep -c '^sub' lib/Num.pm | grep -q 4", "perl/TDD", check="prove -l t")
def _(o):
    o = yield R("lib/Num.pm", "t/num.t")
    for n, t, b in [("min2", "is(Num::min2(1,2),1,'min2');", "$_[0]<$_[1]?$_[0]:$_[1]"), ("max2", "is(Num::max2(1,2),2,'max2');", "$_[0]>$_[1]?$_[0]:$_[1]"), ("abs1", "is(Num::abs1(-3),3,'abs1');", "$_[0]<0?-$_[0]:$_[0]"), ("sgn", "is(Num::sgn(-3),-1,'sgn');", "$_[0]<=>0")]:
        o = yield D("t/num.t", "done_testing;", t + "\ndone_testing;"); o = yield E("prove -l t")
        o = yield D("lib/Num.pm", "\n1;\n", f"\nsub {n} {{ {b} }}\n1;\n"); o = yield E("prove -l t")
    yield DONE("Four functions, test first.")

@h("H19", "Add type hints to every function of app/; keep the tests green, run them after each file.", {**PY, **PYT}, "! grep -rn 'def get_[0-9]*(x):' app && python3 -m pytest -q", "python/many green runs", check="python3 -m pytest -q")
def _(o):
    for i in range(26):
        o = yield D(f"app/m{i:02}.py", f"def get_{i}(x):", f"def get_{i}(x: int) -> int:")
        o = yield E("python3 -m pytest -q")
    yield DONE("Typed.")

@h("H20", "Fix the clamp function so that make test passes.", C, "make test", "c/wrong way, reverted", check="make test")
def _(o):
    o = yield E("make test"); o = yield R("src/lib.c", "src/main.c")
    o = yield D("src/main.c", "clampi(atoi(v[1]), atoi(v[2]), atoi(v[3]))", "clampi(atoi(v[1]), atoi(v[3]), atoi(v[2]))"); o = yield E("make test")
    o = yield D("src/main.c", "clampi(atoi(v[1]), atoi(v[3])", "clampi(-atoi(v[1]), atoi(v[3])"); o = yield E("make test")
    o = yield E("git checkout src/main.c && git status --short"); o = yield E("make test")
    o = yield D("src/lib.c", "if (v > hi) return lo;", "if (v > hi) return hi;"); o = yield E("make test")
    yield DONE("The bug was in lib.c, not in main.c.")

@h("H21", "Fix the slug script; test.sh tells.", SH, "sh test.sh", "shell/two malformed calls, then fine", check="sh test.sh")
def _(o):
    o = yield ("calls", [("read_file", '{"path": "bin/slug.sh"')]); o = yield ("calls", [("open_editor", {"file": "bin/slug.sh"})])
    o = yield R("bin/slug.sh"); o = yield E("sh test.sh")
    o = yield D("bin/slug.sh", "'a-z-'", "'a-z-' | tr -d '!'"); o = yield E("sh test.sh")
    yield DONE("Fixed.")

@h("H22", "Start gen.sh in the background, wait until out/ready is there, then copy its text to result.txt.", {"gen.sh": "mkdir -p out; sleep 10; echo fertig > out/ready\n", ".gitignore": "out\n"}, "grep -q fertig result.txt", "shell/polling for a file")
def _(o):
    o = yield E("sh gen.sh", background=True)
    for i in range(14):
        o = yield E("sleep 1; ls out")
        if "ready" in o.text: break
    o = yield E("cp out/ready result.txt; cat result.txt")
    yield DONE("Copied.")

FL = {"test.sh": "echo 'case login: FAIL (timeout)'; exit 1\n", "README": "x\n"}
@h("H23", "把 sh test.sh 连续运行十次,告诉我失败了几次。不要修改任何文件。", FL, "true", "shell/chinese: run it ten times, as asked")
def _(o):
    for i in range(10): o = yield E("sh test.sh")
    yield DONE("十次全部失败:case login (timeout)。")

FZ = {"fuzz.py": "import sys, codec\ns = int(sys.argv[1])\ncodec.enc(s)\nprint('no crash')\n", "codec.py": "def enc(s):\n    if s % 16 == 13:\n        raise IndexError('table')\n    return s\n", "test_codec.py": "import codec\ndef test_small():\n    assert codec.enc(1) == 1\n"}
@h("H24", "A rare crash is reported in codec.py. Find a seed with which fuzz.py crashes, then fix it.", FZ, "python3 fuzz.py 13 && python3 -m pytest -q", "python/fuzzing, same output many times")
def _(o):
    for i in range(14):
        o = yield E(f"python3 fuzz.py {i}")
        if "exit code 0" not in o.text: break
    o = yield R("codec.py")
    o = yield D("codec.py", "    if s % 16 == 13:\n        raise IndexError('table')\n", "")
    o = yield E("python3 fuzz.py 13"); o = yield E("python3 -m pytest -q")
    yield DONE("Seed 13 crashed; fixed.")

@h("H25", "Remove the mean function, nobody uses it; tests of it may go too.", {**C, "src/lib.c": C["src/lib.c"].replace("if (v > hi) return lo;", "if (v > hi) return hi;"), "tests/mean.sh": "grep -q mean src/lib.h && echo ok mean\n"}, "make test && ! grep -rn mean src", "c/removing a feature and its test", check="make test", args=["--tests-may-change"])
def _(o):
    o = yield G("mean"); o = yield D("src/lib.h", "int mean(const int *a, int n);\n", "")
    o = yield D("src/lib.c", "int mean(const int *a, int n) {\n  int s = 0;\n  for (int i = 0; i < n; i++) s += a[i];\n  return s / n;\n}\n", "")
    o = yield E("rm tests/mean.sh; make test"); yield DONE("Removed.")

@h("H26", "Add `avg(items)` to shop/cart.py.", RB, "python3 -c 'from shop.cart import avg; assert avg([1,3])==2'", "python/red before, check asked, unrelated goal", check="python3 -m pytest -q")
def _(o):
    o = yield R("shop/cart.py"); o = yield E("printf '\\n\\ndef avg(items):\\n    return total(items) / len(items)\\n' >> shop/cart.py")
    o = yield E("python3 -m pytest -q"); o = yield E("python3 -c 'from shop.cart import avg; print(avg([1,3]))'")
    yield DONE("Added avg.")

LOG = "".join(f"2024-01-01T00:{i // 60 % 60:02}:{i % 60:02} worker {i % 7} {'ERROR disk' if i == 1907 else 'ok'}\n" for i in range(2000))
@h("H27", "サーバーのログ server.log を最初から最後まで読んで、エラーの時刻を教えてください。", {"server.log": LOG}, "true", "log/japanese question, one file in chunks")
def _(o):
    for i in range(20): o = yield ("calls", [("read_file", {"path": "server.log", "offset": 1 + i * 100, "limit": 100})])
    yield DONE("00:31:47 に disk エラーがあります。")

SV = {"server.py": "import http.server\nclass A(http.server.BaseHTTPRequestHandler):\n    def do_GET(s):\n        s.send_response(200 if s.path != '/e7' else 500); s.end_headers(); s.wfile.write(b'hello')\n    def log_message(s, *a): pass\nhttp.server.HTTPServer(('127.0.0.1', 8765), A).serve_forever()\n"}
@h("H28", "Start server.py and ask /e0 to /e9; one of them answers 500. Make that one answer 200, too.", SV, "! grep -q 500 server.py", "python/server in background")
def _(o):
    o = yield E("python3 server.py", background=True)
    for i in range(10): o = yield E(f"curl -s -o /dev/null -w '%{{http_code}}\\n' http://127.0.0.1:8765/e{i} || python3 -c \"import urllib.request as u; print(u.urlopen('http://127.0.0.1:8765/e{i}').status)\"")
    o = yield ("calls", [("job", {"job": 1, "end": True})])
    o = yield D("server.py", "200 if s.path != '/e7' else 500", "200")
    o = yield E("python3 server.py & p=$!; sleep 1; python3 -c \"import urllib.request as u; print(u.urlopen('http://127.0.0.1:8765/e7').status)\"; kill $p")
    yield DONE("/e7 answers 200 now.")

# repairing where many hypotheses do not help at first, each in another file: a hard bug
HB = {"Makefile": "test:\n\tpython3 -B check.py\n", **{f"st/s{i}.py": f"def run(x):\n    return x + {i}\n" for i in range(8)}, "st/__init__.py": "", "st/cfg.py": "SCALE = 3\n", "check.py": "import importlib\nx = 0\nfor i in range(8): x = importlib.import_module(f'st.s{i}').run(x)\nfrom st import cfg\nx *= cfg.SCALE\nprint('ok total' if x == 56 else 'FAIL total is wrong')\nraise SystemExit(x != 56)\n"}
@h("H29", "make test fails: total is wrong. Repair it.", HB, "make test", "python/eight hypotheses, one per file, each taken back", check="make test")
def _(o):
    o = yield E("make test")
    for i in range(8):
        o = yield R(f"st/s{i}.py"); o = yield D(f"st/s{i}.py", f"x + {i}", f"x + {i} + 0.5"); o = yield E("make test")
        o = yield E(f"git checkout -q st/s{i}.py")
    o = yield R("st/cfg.py"); o = yield D("st/cfg.py", "3", "2"); o = yield E("make test")
    yield DONE("The scale was wrong.")

# Spec: answers only in chat, several goals
def t1(o):
    o = yield R("src/lib.c"); yield DONE("clampi limits a value.")
def t2(o):
    o = yield E("make test"); o = yield E("make test"); o = yield E("make test 2>&1 | cat"); o = yield R("src/main.c"); o = yield D("src/lib.c", "if (v > hi) return lo;", "if (v > hi) return hi;"); o = yield E("make test"); yield DONE("Behoben.")
def t3(o):
    o = yield R("tests/run.sh"); o = yield R("Makefile"); yield DONE("三个测试。")
def t4(o):
    o = yield W("docs/clamp.md", "# clampi\n\nLimits a value.\n"); yield DONE("書きました。")
def t5(o):
    o = yield E("sed -i s/clampi/clamp_int/g src/*.c src/*.h"); o = yield E("make test"); yield DONE("Renamed.")
def t6(o):
    yield DONE("You are welcome.")
h("H30", "", C, "make test && grep -q clamp_int src/lib.h && test -s docs/clamp.md", "c/six goals in four languages", run=False,
  turns=[("What does clampi do?", t1), ("Behebe den Fehler, bis `make test` durchläuft.", t2), ("有多少个测试?", t3), ("docs/clamp.md に短い説明を書いてください。", t4), ("Rename clampi to clamp_int everywhere.", t5), ("Thanks!", t6)])(None)

# a lost turn, then a healthy one about something else: nothing of the old goal may reach the new message
def u1(o):
    for i in range(14): o = yield E("make test")
    yield DONE("I could not do it.")
def u2(o):
    o = yield R("README.md"); o = yield R("Makefile"); o = yield R("src/main.c"); yield DONE("It is called demo.")
def u3(o):
    for i in range(3): o = yield W(f"docs/k{i}.md", f"# Kapitel {i}\n")
    yield DONE("Drei Kapitel.")
def u4(o):
    o = yield E("cat README.md | wc -w"); yield DONE("3")
h("H31", "", {**C, "README.md": "demo of clamps\n"}, "test -s docs/k2.md", "c/lost turn first, then other goals", run=False,
  turns=[("Fix the clamp bug so that `make test` passes.", u1), ("What is this project called?", u2), ("Schreibe docs/k0.md bis docs/k2.md, je eine Überschrift.", u3), ("How many words has README.md?", u4)])(None)
