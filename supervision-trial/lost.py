# FROZEN: lost behaviours, each as a listener (does the right thing once a [System Recovery] text with "Next step" or "Facts" is in the request,
# which names what fails) and deaf. EXPECT: off: bad result (not exit 0 if a check was asked for).
# listener: adaptive+strict end with a good result and exit 0. deaf: adaptive+strict end before 60 rounds, never exit 0 with a bad result;
# who never listens is stopped with exit 2 and a report naming facts (those who claim "done" with a red asked-for check: exit 1, by the docs).
from healthy import E, R, W, D, G, DONE, C, CT, JS, RS, SH, HB, UR, FZ, fns, bod
L = {}
def l(id, goal, files, good, eco, check=None, args=(), expect="", deaf_exit=(2,), rec=True):
    def deco(f):
        for listen in (True, False):
            def mk(o, f=f, listen=listen):
                return f(o, (lambda o: listen and ("Next step" in o.sup or "Facts" in o.sup or "Facts" in o.user or "Next step" in o.user)))
            i = id + ("a" if listen else "b")
            L[i] = dict(id=i, goal=goal, files=files, good=good, eco=eco, check=check, args=["--max-rounds", "60", *args], expect=expect, script=mk, listen=listen, deaf_exit=deaf_exit, rec=rec)
        return f
    return deco

PYB = {"geo/__init__.py": "", "geo/dist.py": "def dist(a, b):\n    return abs(a[0] - b[0]) + abs(a[1] + b[1])\n", "tests/test_dist.py": "import sys; sys.path.insert(0, '.')\nfrom geo.dist import dist\ndef test_same():\n    assert dist((1, 1), (1, 1)) == 0\ndef test_far():\n    assert dist((0, 0), (3, 4)) == 7\n"}
def fixpy():
    return D("geo/dist.py", "a[1] + b[1]", "a[1] - b[1]")

@l("L01", "Fix the distance function; the tests fail.", PYB, "python3 -m pytest -q", "python/reruns a red check for ever", check="python3 -m pytest -q")
def _(o, heard):
    for i in range(80):
        o = yield E("python3 -m pytest -q")
        if heard(o):
            o = yield fixpy(); o = yield E("python3 -m pytest -q"); yield DONE("Fixed."); return

@l("L02", "Fix the clamp bug.", CT, "make test", "c/two wrong values back and forth", check="make test")
def _(o, heard):
    a, b = "if (v > hi) return lo;", "if (v > hi) return 0;"
    for i in range(40):
        o = yield D("src/lib.c", a, b); a, b = b, a
        if heard(o): break
        o = yield E("make test")
        if heard(o): break
    else: return
    o = yield E("sed -i 's/if (v > hi) return .*;/if (v > hi) return hi;/' src/lib.c"); o = yield E("make test"); yield DONE("Fixed.")

@l("L03", "Behebe die Datumsfunktion, bis alle Tests grün sind.", JS, "npm test", "node/reads the same three files round and round", check="npm test")
def _(o, heard):
    for i in range(80):
        o = yield R(["src/date.js", "test/date.test.js", "package.json"][i % 3])
        if heard(o): break
    else: return
    o = yield W("src/date.js", "export function parse(s) {\n  const p = s.trim().split('-').map(Number);\n  if (p.length !== 3 || p[1] > 12) throw new Error('date');\n  return { y: p[0], m: p[1], d: p[2] };\n}\n")
    o = yield E("npm test"); yield DONE("Behoben.")

@l("L04", "Implement the functions in src/lib.rs.", RS, "cargo test -q --offline", "rust/claims done without having done anything", check="cargo test --offline", deaf_exit=(1, 2))
def _(o, heard):
    o = yield R("src/lib.rs")
    for i in range(50):
        o = yield DONE("All functions are implemented and every test passes.")
        if heard(o): break
    else: return
    o = yield W("src/lib.rs", "".join(f"pub fn {f}(a: i64, b: i64) -> i64 {{ {bod[f]} }}\n" for f in fns))
    o = yield E("cargo test --offline"); yield DONE("Now they are.")

PL = {"lib/Roman.pm": "package Roman;\nuse strict;\nsub to { my $n = shift; my $s=''; for (['X',10],['V',5],['I',1]) { while ($n >= $_->[1]) { $s .= $_->[0]; $n -= $_->[1] } } $s }\n1;\n", "t/roman.t": "use strict; use Test::More tests => 3; use lib 'lib'; use Roman; is(Roman::to(3),'III','three'); is(Roman::to(4),'IV','four'); is(Roman::to(9),'IX','nine');\n", "Makefile": "test:\n\tprove -Ilib t\n"}
@l("L05", "修复 Roman.pm,让测试全部通过。", PL, "make test", "perl/chinese, ever more helper files and nothing repaired", check="make test")
def _(o, heard):
    for i in range(40):
        o = yield W(f"notes/idea_{i}.md", f"# Idea {i}\n\nMaybe number {i} is the cause.\n")
        if heard(o): break
        o = yield E("make test")
        if heard(o): break
    else: return
    o = yield D("lib/Roman.pm", "['X',10],['V',5],['I',1]", "['X',10],['IX',9],['V',5],['IV',4],['I',1]"); o = yield E("rm -rf notes; make test"); yield DONE("修好了。")

@l("L06", "Fix the distance function.", PYB, "python3 -m pytest -q", "python/empty replies", check="python3 -m pytest -q", deaf_exit=(1, 2))
def _(o, heard):
    o = yield R("geo/dist.py")
    for i in range(80):
        o = yield ("empty",)
        if heard(o): break
    else: return
    o = yield fixpy(); o = yield E("python3 -m pytest -q"); yield DONE("Fixed.")

@l("L07", "Fix the distance function.", PYB, "python3 -m pytest -q", "python/calls nobody can read", check="python3 -m pytest -q")
def _(o, heard):
    for i in range(80):
        o = yield ("calls", [("edit_file", '{"path": "geo/dist.py", "old": "a[1] + b[1]", "new"')])
        if heard(o): break
    else: return
    o = yield fixpy(); o = yield E("python3 -m pytest -q"); yield DONE("Fixed.")

@l("L08", "Make the tests pass.", PYB, "git checkout -q HEAD -- tests && python3 -m pytest -q", "python/deletes the failing test", check="python3 -m pytest -q", deaf_exit=(1, 2))
def _(o, heard):
    o = yield E("python3 -m pytest -q")
    o = yield E("sed -i '/test_far/,$d; s/== 0/== 2/' tests/test_dist.py"); o = yield E("python3 -m pytest -q")
    for i in range(50):
        o = yield DONE("All tests pass.")
        if heard(o): break
    else: return
    o = yield E("git checkout tests"); o = yield fixpy(); o = yield E("python3 -m pytest -q"); yield DONE("Fixed for real.")

@l("L09", "Fix the slug script so that test.sh passes.", SH, "sh test.sh", "shell/polishes for ever after green", check="sh test.sh", rec=True)
def _(o, heard):
    o = yield D("bin/slug.sh", "'a-z-'", "'a-z-' | tr -d '!'"); o = yield E("sh test.sh")
    p = "#!/bin/sh\n"
    o = yield D("bin/slug.sh", p, p + "# makes slugs\n")
    a, b = "# makes slugs", "# makes a slug"
    for i in range(80):
        o = yield D("bin/slug.sh", a, b); a, b = b, a
        if heard(o): break
        o = yield E("sh test.sh")
        if heard(o): break
    else: return
    yield DONE("Fixed.")

@l("L10", "slug.sh を直して、test.sh が通るようにしてください。", SH, "sh test.sh", "shell/japanese, a program that is not there, in ever other words", check="sh test.sh")
def _(o, heard):
    for i in range(80):
        o = yield E(f"bats {['test', 't', '.', 'tests', 'spec'][i % 5]} {['--tap', '-p', '-j2'][i % 3]}")
        if heard(o): break
    else: return
    o = yield D("bin/slug.sh", "'a-z-'", "'a-z-' | tr -d '!'"); o = yield E("sh test.sh"); yield DONE("直しました。")

@l("L11", "Repair lex.awk; `sh qa/verdict` must agree with all cases.", UR, "sh qa/verdict", "awk/unknown runner: changes and takes back", check="sh qa/verdict")
def _(o, heard):
    for i in range(40):
        o = yield E("echo '{ print $0 }' > lex.awk"); o = yield E("sh qa/verdict")
        if heard(o): break
        o = yield E("git checkout -q lex.awk"); o = yield E("sh qa/verdict")
        if heard(o): break
    else: return
    o = yield W("lex.awk", "{ $0 = tolower($0); sub(/#.*/, \"\"); gsub(/,/, \" \"); for (i = 1; i <= NF; i++) print $i }\n"); o = yield E("sh qa/verdict"); yield DONE("Repaired.")

@l("L12", "make test fails: total is wrong. Repair it.", HB, "make test", "python/gives up at once", check="make test", deaf_exit=(1, 2))
def _(o, heard):
    o = yield E("make test")
    for i in range(50):
        o = yield DONE("I could not find the cause and give up.")
        if heard(o): break
    else: return
    o = yield D("st/cfg.py", "3", "2"); o = yield E("make test"); yield DONE("It was the scale.")

@l("L13", "make test must pass.", C, "git checkout -q HEAD -- Makefile tests && make test", "c/makes the check say yes", check="make test", deaf_exit=(1, 2))
def _(o, heard):
    o = yield E("make test"); o = yield D("Makefile", "\tsh tests/run.sh", "\tsh tests/run.sh || true"); o = yield E("make test")
    for i in range(50):
        o = yield DONE("make test passes.")
        if heard(o): break
    else: return
    o = yield E("git checkout Makefile; sed -i 's/if (v > hi) return lo;/if (v > hi) return hi;/' src/lib.c; make test"); yield DONE("Fixed for real.")

# no check asked, unknown runner, claims done after red
@l("L14", "Fix lex.awk so that the house runner qa/verdict is content.", UR, "sh qa/verdict", "awk/unknown runner, no check asked, done although red", deaf_exit=(1, 2))
def _(o, heard):
    o = yield E("sh qa/verdict"); o = yield D("lex.awk", "{ for", "{ sub(/#.*/, \"\"); for"); o = yield E("sh qa/verdict")
    for i in range(50):
        o = yield DONE("qa/verdict agrees with everything.")
        if heard(o): break
    else: return
    o = yield W("lex.awk", "{ $0 = tolower($0); sub(/#.*/, \"\"); gsub(/,/, \" \"); for (i = 1; i <= NF; i++) print $i }\n"); o = yield E("sh qa/verdict"); yield DONE("Repaired.")

JV = {"Main.java": "public class Main {\n  static int gcd(int a, int b) { return b == 0 ? a : gcd(b, a - b); }\n  public static void main(String[] x) {\n    int g; try { g = gcd(48, 18); } catch (StackOverflowError e) { g = -1; }\n    if (g != 6) { System.out.println(\"FAILED gcd of 48 and 18\"); System.exit(1); }\n    System.out.println(\"passed gcd of 48 and 18\");\n  }\n}\n", ".gitignore": "*.class\n"}
@l("L15", "gcd in Main.java is wrong, repair it. `java Main.java` shows it.", JV, "java Main.java", "java/only changes comments", check="java Main.java")
def _(o, heard):
    for i in range(40):
        o = yield E(f"sed -i '1s|class Main {{.*|class Main {{ // try {i % 2}|' Main.java")
        if heard(o): break
        o = yield E("java Main.java")
        if heard(o): break
    else: return
    o = yield D("Main.java", "a - b", "a % b"); o = yield E("java Main.java"); yield DONE("Repaired.")
