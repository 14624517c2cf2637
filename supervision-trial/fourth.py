# FROZEN fourth batch: waiting without the word sleep. Expectation as for every healthy one.
from healthy import *
import healthy, lost
n0 = set(healthy.H); l0 = set(lost.L)
SRV = {"serve.py": "import time, http.server\ntime.sleep(6)\nhttp.server.HTTPServer(('127.0.0.1', 8799), http.server.SimpleHTTPRequestHandler).serve_forever()\n", "ready.py": "import socket, sys\ntry:\n    socket.create_connection(('127.0.0.1', 8799), 1).close(); print('ready')\nexcept OSError:\n    print('not ready'); sys.exit(1)\n"}
def p9(o):
    o = yield E("python3 serve.py", background=True)
    for i in range(60):
        o = yield E("python3 ready.py")
        if "exit code 0" in o.text: break
    o = yield W("up.txt", "up\n"); yield DONE("It is up.")
h("P9", "Start serve.py, wait until ready.py says ready, then write up.txt.", SRV, "grep -q up up.txt", "python/polling a server that a background job starts")(p9)
PO = {"deploy.py": "import os, sys, time\nf = '/tmp/deploy.start'\nif not os.path.exists(f): open(f, 'w').write(str(time.time()))\ntime.sleep(0.7)\nif time.time() - float(open(f).read()) < 9: print('rollout pending'); sys.exit(1)\nprint('rollout complete')\n"}
def p14(o):
    for i in range(60):
        o = yield E("python3 deploy.py")
        if "exit code 0" in o.text: break
    o = yield W("done.txt", "ok\n"); yield DONE("Complete.")
h("P14", "Call python3 deploy.py until the rollout is complete (some ten calls), then write done.txt.", PO, "test -s done.txt", "python/polling a thing that needs its time")(p14)
def p15(o):
    o = yield E("sh test.sh")
    for c in ["sh -x test.sh 2>/dev/null", "LC_ALL=C sh test.sh", "dash test.sh", "bash test.sh", "env -i PATH=$PATH sh test.sh", "sh ./test.sh", "(cd . && sh test.sh)"]: o = yield E(c)
    o = yield R("bin/slug.sh"); o = yield D("bin/slug.sh", "'a-z-'", "'a-z-' | tr -d '!'"); o = yield E("sh test.sh"); yield DONE("Not the shell, not the locale: the exclamation mark was kept.")
h("P15", "test.sh fails here. I suspect the shell or the locale; find out and fix it.", SH, "sh test.sh", "shell/seven experiments that exclude causes, then the fix", check="sh test.sh")(p15)
H2 = {k: v for k, v in healthy.H.items() if k not in n0}; L2 = {}
