import sys, glob
from concurrent.futures import ThreadPoolExecutor
from lib import *
from healthy import H
from lost import L
port = serve(); OUT = open(f"{ROOT}/results.jsonl", "a"); lk = threading.Lock()
DEAD = time.time() + float(sys.argv[1])
def sh(c, **k): return subprocess.run(c, shell=isinstance(c, str), capture_output=True, text=True, stdin=subprocess.DEVNULL, **k)
def one(job):
    b, level, kind = job; rid = f"{b['id']}-{kind}-{level}"
    if time.time() > DEAD: return
    ws = f"{ROOT}/ws/{rid}"; mkws(ws, b["files"]); e = env(rid, port, level if kind == "chat" else None)
    s = RUNS[rid] = Session(rid, b.get("script"), open(f"{ROOT}/logs/{rid}.jsonl", "w"))
    t = time.time(); codes, outs = [], []
    def go(cmd, to=150):
        try:
            r = sh(cmd, cwd=ws, env=e, timeout=to); codes.append(r.returncode); outs.append(r.stdout + "\n--err--\n" + r.stderr)
        except subprocess.TimeoutExpired as x: codes.append("hung"); outs.append(str(x.stdout) + str(x.stderr))
    if kind == "run":
        cmd = [HOLON, "run", "--goal", b["goal"], "--supervisor", level, "--out", f"{ROOT}/out/{rid}", *b["args"]]
        if b["check"]: cmd += ["--check", b["check"]]
        shutil.rmtree(f"{ROOT}/out/{rid}", ignore_errors=True); go(cmd)
        show = sh([HOLON, "runs", "show", "last", "--supervisor"], cwd=ws, env=e, timeout=60).stdout
        patch = f"{ROOT}/out/{rid}/diff.patch"
    else:
        for i, (goal, f) in enumerate(b["turns"] or [(b["goal"], b["script"])]):
            s.turn(f); s.log.write(json.dumps(dict(TURN=i, goal=goal), ensure_ascii=False) + "\n"); go([HOLON, "chat", *(["--thread", "last"] if i else []), "-m", goal])
        show = ""; a = sh([HOLON, "chat", "--thread", "last", "-m", "~supervisor"], cwd=ws, env=e, timeout=60); show = a.stdout + a.stderr
        patch = f"{ROOT}/out/{rid}.patch"
        # the change: /apply is only at a prompt; read the diff from a pipe of commands is not offered, so look by the last turn
    # result
    good = None
    if kind == "run":
        pd = ws + "-res"; shutil.rmtree(pd, ignore_errors=True); shutil.copytree(ws, pd)
        if os.path.exists(patch) and os.path.getsize(patch): sh(f"git apply {patch}", cwd=pd)
        try: good = sh(b["good"], cwd=pd, env={**e}, timeout=120).returncode == 0
        except subprocess.TimeoutExpired: good = False
        ph = hashlib.sha256(open(patch, "rb").read()).hexdigest()[:10] if os.path.exists(patch) else None
        shutil.rmtree(pd, ignore_errors=True)
    else:
        ph = None; nreq = s.reqs; box = {}
        def acc(o):
            o = yield ("calls", [("execute", {"command": b["good"]})])
            box["good"] = "exit code 0" in o.text
            yield ("done", "Looked.")
        s.turn(acc); s.log.write(json.dumps(dict(TURN="acc", goal="Say whether it is as it shall be")) + "\n"); k = len(codes)
        go([HOLON, "chat", "--thread", "last", "-m", "Say whether it is as it shall be"]); accc = codes[k:]; del codes[k:]
        good = box.get("good"); s.reqs = nreq
    sup = []
    for l in open(f"{ROOT}/logs/{rid}.jsonl"):
        for x in json.loads(l).get("sup", []):
            if x not in sup: sup.append(x)
    rec = dict(rid=rid, id=b["id"], kind=kind, level=level, codes=codes, good=good, patch=ph, reqs=s.reqs, tokens=getattr(s, "tokens", 0), done_asked=s.done_asked, sup=sup, secs=round(time.time() - t, 1), show=show, out=outs)
    s.log.close()
    with lk: OUT.write(json.dumps(rec, ensure_ascii=False) + "\n"); OUT.flush(); print(rid, codes, good, s.reqs, len(sup), rec["secs"], flush=True)
    sh(f"chmod -R u+rwX {ROOT}/homes/{rid}; rm -rf {ROOT}/ws/{rid}")
sel = sys.argv[2:]
jobs = []
for b in H.values():
    for lv in ("off", "advise", "adaptive", "strict"):
        if b["run"]: jobs.append((b, lv, "run"))
    for lv in ("off", "advise", "adaptive", "strict"):
        if b["chat"]: jobs.append((b, lv, "chat"))
for b in L.values():
    for lv in ("off", "advise", "adaptive", "strict"): jobs.append((b, lv, "run"))
if sel: jobs = [j for j in jobs if any(re.fullmatch(p, f"{j[0]['id']}-{j[2]}-{j[1]}") for p in sel)]
else: jobs.sort(key=lambda j: ({"adaptive": 0, "strict": 1, "advise": 2, "off": 3}[j[1]], j[2]))
have = set(json.loads(l)["rid"] for l in open(f"{ROOT}/results.jsonl"))
jobs = [j for j in jobs if f"{j[0]['id']}-{j[2]}-{j[1]}" not in have]
print(len(jobs), "jobs")
with ThreadPoolExecutor(2) as p:
    for f in [p.submit(one, j) for j in jobs]:
        try: f.result()
        except Exception as x: import traceback; traceback.print_exc()
print("END")
