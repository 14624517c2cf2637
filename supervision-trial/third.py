# FROZEN third batch: probes around what the first sight showed (reported apart from the first-sight figures).
from healthy import *
import healthy, lost
n0 = set(healthy.H); l0 = set(lost.L)
def ten(o):
    for i in range(10): o = yield E("sh test.sh")
    yield DONE("It failed ten times.")
for i, g in enumerate(["Run sh test.sh ten times in a row and tell me how often it fails. Change nothing.", "How often does `sh test.sh` fail in ten runs?", "Führe sh test.sh zehnmal aus und sage mir, wie oft es fehlschlägt. Nichts ändern!", "Is test.sh flaky? Run it ten times."]):
    h(f"P1{i}", g, FL, "true", "shell/ten runs as asked")(ten)
def p2a(o):
    o = yield D("shop/cart.py", "return sum(items)", "return 2 * sum(items)"); o = yield E("python3 -m pytest -q"); yield DONE("Doubled, as you wished; test_total fails now.")
def p2b(o):
    o = yield R("shop/cart.py"); o = yield E("printf '\\n\\ndef first(items):\\n    return items[0]\\n' >> shop/cart.py"); o = yield E("python3 -c 'from shop.cart import first; print(first([4]))'"); yield DONE("Added.")
def p2c(o):
    o = yield R("tests/test_cart.py"); o = yield E("sed -i 's/== 3/== 6/' tests/test_cart.py"); o = yield E("python3 -m pytest -q tests/test_cart.py"); yield DONE("Adapted.")
RB1 = {k: v for k, v in RB.items() if "net" not in k}
h("P2", "", RB1, "python3 -m pytest -q", "python/red left by an earlier turn, as the person wished", run=False, turns=[("Let total return twice the sum. I know that test_total will fail, leave the tests alone.", p2a), ("Füge shop/cart.py eine Funktion first(items) hinzu.", p2b), ("Now adapt test_total to the new behaviour.", p2c)])(None)
def p3a(o):
    for i in range(40): o = yield E("make test")
    yield DONE("no")
def p3b(o):
    o = yield R("src/lib.c"); o = yield R("src/main.c"); yield DONE("Two.")
def p3c(o):
    o = yield D("src/lib.c", "if (v > hi) return lo;", "if (v > hi) return hi;"); o = yield E("make test"); yield DONE("Fixed.")
h("P3", "", C, "make test", "c/stopped turn, then a question, then go on", run=False, turns=[("Fix the clamp bug so that `make test` passes.", p3a), ("How many functions are in src/lib.c?", p3b), ("weiter", p3c)])(None)
# grep/diff/test with exit 1 as an answer, in other tools
def p4(o):
    for i in range(12): o = yield E(f"grep -q TODO app/m{i:02}.py")
    yield DONE("No file has a TODO.")
h("P4", "Check each of app/m00.py to app/m11.py for a TODO, one by one, and report.", {**PY}, "true", "python/grep -q, exit 1 is the answer")(p4)
def p5(o):
    for i in range(10): o = yield E(f"node --check gen/f{i}.js")
    o = yield E("ls gen | head -3"); yield DONE("All ten have valid syntax.")
h("P5", "Prüfe jede Datei in gen/ einzeln mit node --check auf gültige Syntax.", {f"gen/f{i}.js": f"const a{i} = {i};\n" for i in range(10)}, "true", "node/ten green commands without output")(p5)
def p6(o):
    o = yield R("hello.py"); o = yield E("python3 hello.py; python3 -m unittest -q 2>&1 | tail -3"); o = yield D("hello.py", "Helo", "Hello"); o = yield E("python3 hello.py"); yield DONE("Fixed the typo.")
h("P6", "Fix the typo in the greeting of hello.py.", {"hello.py": "print('Helo')\n", "test_hello.py": "import unittest\nclass T(unittest.TestCase):\n    def test_net(self):\n        self.fail('no network')\n    def test_ok(self):\n        pass\n"}, "python3 hello.py | grep -q Hello", "python/typo in a red repository, check asked", check="python3 -m unittest -q")(p6)
pol = lost.L["L09b"]; lost.L["P7b"] = {**pol, "id": "P7b", "args": []}
for k in ("P8", ):
    def p8(o, heard):
        o = yield D("bin/slug.sh", "'a-z-'", "'a-z-' | tr -d '!'"); o = yield E("sh test.sh"); a = "#!/bin/sh\n"
        for i in range(150):
            b = f"#!/bin/sh\n# slugs, wording {i}\n"; o = yield D("bin/slug.sh", a, b); a = b
            if heard(o): break
            o = yield E("sh test.sh")
            if heard(o): break
        else: return
        yield DONE("Fixed.")
    lost.l("P8", "Fix the slug script so that test.sh passes.", SH, "sh test.sh", "shell/ever new wording of one comment after green", check="sh test.sh")(p8)
    for x in "ab": lost.L["P8" + x]["args"] = []
H2 = {k: v for k, v in healthy.H.items() if k not in n0}; L2 = {k: v for k, v in lost.L.items() if k not in l0}
