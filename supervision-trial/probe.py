from lib import *
port = serve()
def s(o):
    o = yield ("calls", [("execute", {"command": "id; pwd; which python3 pytest cargo node npm java mvn gcc perl awk; python3 -c 'import pytest' ; nproc"})])
    o = yield ("calls", [("read_file", {"path": "a.txt"}), ("grep", {"pattern": "b"}), ("ls", {"path": "."})])
    yield ("done", "Nothing.")
for kind in ("run", "chat"):
    rid = "probe-" + kind; ws = f"{ROOT}/ws/{rid}"; mkws(ws, {"a.txt": "b\n", "Makefile": "test:\n\tgrep b a.txt\n"})
    os.makedirs(f"{ROOT}/logs", exist_ok=True)
    RUNS[rid] = Session(rid, s, open(f"{ROOT}/logs/{rid}.jsonl", "w"))
    cmd = [HOLON, "run", "--goal", "Look around", "--supervisor", "adaptive"] if kind == "run" else [HOLON, "chat", "-m", "Look around"]
    t = time.time(); r = subprocess.run(cmd, cwd=ws, env=env(rid, port, "adaptive"), capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    print(kind, r.returncode, round(time.time() - t, 2)); print(r.stdout); print(r.stderr)
    for l in open(f"{ROOT}/logs/{rid}.jsonl"):
        d = json.loads(l)
        if "full" in d:
            print(json.dumps(d["full"].get("tools"), indent=None)); print({k: v for k, v in d["full"].items() if k not in ("messages", "tools")})
            for m in d["full"]["messages"]: print(m["role"], "::", content(m)[:2500])
        else: print(d)
