from lib import *
from healthy import *
from lost import PYB, fixpy
import sys
port = serve(); rid = "resume"; ws = f"{ROOT}/ws/{rid}"; mkws(ws, PYB); e = env(rid, port)
def a(o):
    o = yield W("docs/note.md", "# Note\n")
    while True: o = yield E("python3 -m pytest -q")
def b(o):
    o = yield R("geo/dist.py"); o = yield fixpy(); o = yield E("python3 -m pytest -q"); yield DONE("Fixed.")
s = RUNS[rid] = Session(rid, a, open(f"{ROOT}/logs/{rid}.jsonl", "w"))
r = subprocess.run([HOLON, "run", "--goal", "Fix the distance function.", "--check", "python3 -m pytest -q", "--supervisor", "adaptive", "--quiet"], cwd=ws, env=e, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL); print(r.returncode, r.stderr[-400:])
s.turn(b); s.log.write(json.dumps(dict(TURN="resume", goal="resume")) + "\n")
r = subprocess.run([HOLON, "run", "--resume", "last", "--message", "The sign of the second term is wrong, in geo/dist.py."], cwd=ws, env=e, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL); print(r.returncode, r.stdout[-700:], r.stderr[-900:])
print(subprocess.run([HOLON, "runs", "show", "last", "--supervisor"], cwd=ws, env=e, capture_output=True, text=True).stdout)
shutil.rmtree(ws)
