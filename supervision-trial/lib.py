"""Scripted OpenAI-compatible server + runner. No knowledge of Holon's inside; only docs."""
import json, os, re, shutil, subprocess, threading, time, hashlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
ROOT = "."
HOLON = "holon"
RUNS = {}   # rid -> Session

class Obs:
    def __init__(s, results, sup, user, req): s.results, s.sup, s.user, s.req = results, sup, user, req
    @property
    def text(s): return "\n".join(s.results)

def content(m):
    c = m.get("content")
    if isinstance(c, list): return "\n".join(p.get("text", "") for p in c if isinstance(p, dict))
    return c or ""

class Session:
    def __init__(s, rid, script, log):
        s.rid, s.mk, s.log, s.gen, s.last, s.n = rid, script, log, None, None, 0
        s.lock = threading.Lock(); s.sup = []; s.reqs = 0; s.done_asked = 0; s.denied = []
    def turn(s, script): s.mk, s.gen, s.last = script, None, None
    def answer(s, req):
        with s.lock:
            msgs = req["messages"]; s.reqs += 1
            # what came after the last assistant message
            i = len(msgs)
            while i > 0 and msgs[i-1]["role"] != "assistant": i -= 1
            tail = msgs[i:]
            results = [content(m) for m in tail if m["role"] == "tool"]
            sup = [content(m) for m in msgs if "[System Recovery]" in content(m) and m["role"] != "assistant"]
            extra = [content(m) for m in tail if m["role"] not in ("tool", "assistant")] if i > 0 else []
            rec = dict(n=s.reqs, nmsg=len(msgs), roles="".join(m["role"][0] for m in msgs), tail=[(m["role"], content(m)) for m in tail] if s.reqs > 1 else [(m["role"], content(m)[:6000]) for m in msgs], sup=sup, tools=[t["function"]["name"] for t in req.get("tools") or []])
            if s.reqs == 1: rec["full"] = req
            obs = Obs(results, "\n".join(sup), "\n".join(extra), req)
            if s.gen is None:
                s.gen = s.mk(obs); act = next(s.gen)
            else:
                try: act = s.gen.send(obs)
                except StopIteration: act = s.last
            s.last = act
            if act[0] == "done": s.done_asked += 1
            rec["act"] = act
            s.log.write(json.dumps(rec, ensure_ascii=False) + "\n"); s.log.flush()
            return act, rec["tools"]

class H(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *a): pass
    def _send(self, code, obj):
        b = json.dumps(obj).encode(); self.send_response(code); self.send_header("Content-Type", "application/json"); self.send_header("Content-Length", str(len(b))); self.end_headers(); self.wfile.write(b)
    def do_GET(self):
        if self.path.endswith("/models"): self._send(200, {"object": "list", "data": [{"id": "scripted", "object": "model", "max_model_len": 128000}]})
        else: self._send(404, {"error": {"message": "no"}})
    def do_POST(self):
        req = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        rid = self.path.split("/")[1]
        if not self.path.endswith("/chat/completions") or rid not in RUNS: return self._send(404, {"error": {"message": "no"}})
        s = RUNS[rid]
        if not req.get("tools"):   # titles, summaries
            s.log.write(json.dumps(dict(side=True, msgs=[(m["role"], content(m)[:3000]) for m in req["messages"]])) + "\n")
            act, tools = ("text", "A conversation"), []
        else:
            try: act, tools = s.answer(req)
            except Exception as e:
                import traceback; s.log.write(json.dumps(dict(error=traceback.format_exc())) + "\n"); s.log.flush(); act, tools = ("done", "script error"), []
        msg = {"role": "assistant", "content": None}
        k = act[0]
        if k == "done" and "finish" in tools: calls = [("finish", {"summary": act[1]})]
        elif k in ("done", "text"): calls = []; msg["content"] = act[1]
        elif k == "say": calls = act[2]; msg["content"] = act[1]
        elif k == "calls": calls = act[1]
        elif k == "empty": calls = []; msg["content"] = ""
        if calls:
            s.n += 1
            msg["tool_calls"] = [{"id": f"c{s.n}_{j}", "type": "function", "function": {"name": n, "arguments": a if isinstance(a, str) else json.dumps(a, ensure_ascii=False)}} for j, (n, a) in enumerate(calls)]
        fin = "tool_calls" if calls else "stop"
        pt = len(json.dumps(req["messages"])) // 4; ct = len(json.dumps(msg)) // 4
        usage = {"prompt_tokens": pt, "completion_tokens": ct, "total_tokens": pt + ct}
        s.tokens = getattr(s, "tokens", 0) + pt + ct
        base = {"id": "x", "created": int(time.time()), "model": "scripted"}
        if not req.get("stream"):
            return self._send(200, dict(base, object="chat.completion", choices=[{"index": 0, "message": msg, "finish_reason": fin}], usage=usage))
        out = []
        d = {"role": "assistant"}
        if msg["content"] is not None: d["content"] = msg["content"]
        if calls: d["tool_calls"] = [dict(c, index=j) for j, c in enumerate(msg["tool_calls"])]
        ch = lambda **k: out.append("data: " + json.dumps(dict(base, object="chat.completion.chunk", **k)) + "\n\n")
        ch(choices=[{"index": 0, "delta": d, "finish_reason": None}])
        ch(choices=[{"index": 0, "delta": {}, "finish_reason": fin}])
        ch(choices=[], usage=usage); out.append("data: [DONE]\n\n")
        b = "".join(out).encode()
        self.send_response(200); self.send_header("Content-Type", "text/event-stream"); self.send_header("Content-Length", str(len(b))); self.end_headers(); self.wfile.write(b)

def serve():
    srv = ThreadingHTTPServer(("127.0.0.1", 0), H); srv.daemon_threads = True
    threading.Thread(target=srv.serve_forever, daemon=True).start()
    return srv.server_address[1]

def mkws(d, files, pre=None):
    shutil.rmtree(d, ignore_errors=True); os.makedirs(d)
    for p, c in files.items():
        f = os.path.join(d, p); os.makedirs(os.path.dirname(f), exist_ok=True); open(f, "w").write(c)
        if p.endswith(".sh"): os.chmod(f, 0o755)
    for c in (["git", "init", "-q", "-b", "main"], ["git", "add", "-A"], ["git", "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-qm", "start"]):
        subprocess.run(c, cwd=d, check=True)

def env(rid, port, level=None):
    h = f"{ROOT}/homes/{rid}"; shutil.rmtree(h, ignore_errors=True); os.makedirs(h + "/config/holon")
    if level: open(h + "/config/holon/config.toml", "w").write(f'[supervisor]\nlevel = "{level}"\n')
    e = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "CARGO_HOME", "RUSTUP_HOME")}
    e["PATH"] = "/usr/local/bin:/usr/bin:/bin"
    e.update(HOME=h, XDG_STATE_HOME=h + "/state", XDG_CONFIG_HOME=h + "/config", XDG_CACHE_HOME=h + "/cache", 
             HOLON_BASE_URL=f"http://127.0.0.1:{port}/{rid}/v1", HOLON_MODEL="scripted", HOLON_API_KEY="none", HOLON_WIRE="chat", HOLON_TOOLS="native", NO_COLOR="1")
    return e
