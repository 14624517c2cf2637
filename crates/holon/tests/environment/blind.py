#!/usr/bin/env python3
"""A blind set for `holon environment`: written from the documentation alone, before anything was run.

    python3 environments.py --holon /path/to/holon [--only N[,N..]|NAME|KIND] [--json out.json] [--list] [--seed N]

Each case has its own folder with HOME, XDG_* and a git repository; 60 s a case, two at a time, no network (one case
listens on the loopback), nothing left behind. `taste` marks expectations on which the documentation is silent.
"""
import argparse, fcntl, json, os, pty, random, re, select, shutil, signal, socket, stat, subprocess, sys, tempfile
import termios, threading, time
from concurrent.futures import ThreadPoolExecutor

CASE_SECONDS = 60
AT_ONCE = 2
SEED = 20260611
SAYS_ASK = re.compile(r"(?i)agree|environment trust|not trusted")
CRASH = re.compile(r"Holon has a bug|panicked at|RUST_BACKTRACE")


class Unexpected(Exception):
    pass


def need(ok, got):
    if not ok:
        raise Unexpected(got)


def flat(text):
    return re.sub(r"\s+", " ", text)


def short(text, n=260):
    text = flat(text).strip()
    return text if len(text) <= n else text[: n // 2] + " … " + text[-n // 2:]


def toml(value):
    if isinstance(value, list):
        return "[" + ", ".join(toml(v) for v in value) + "]"
    return json.dumps(value, ensure_ascii=False)


class Run:
    def __init__(self, rc, text, seen, patch, manifest):
        self.rc, self.text, self.seen, self.patch, self.manifest = rc, text, seen, patch, manifest

    @property
    def environment(self):
        return ((self.manifest or {}).get("metadata") or {}).get("environment")

    @property
    def digest(self):
        env = self.environment
        if isinstance(env, dict):
            for key in ("digest", "id", "environment"):
                found = re.search(r"[0-9a-f]{8,64}", str(env.get(key) or ""))
                if found:
                    return found.group(0)
            env = json.dumps(env)
        found = re.search(r"\b[0-9a-f]{12,64}\b", env or "")
        return found.group(0) if found else None


class Project:
    """One case: its folders, and what a user does in them."""

    def __init__(self, holon, base, number, seed, ws_name=None, git=True):
        self.bin, self.rng = holon, random.Random(seed * 1000 + number)
        self.dir = tempfile.mkdtemp(prefix="c%02d-" % number, dir=base)
        self.end = time.monotonic() + CASE_SECONDS
        self.lock, self.count, self.log = threading.Lock(), 0, []
        self.home = os.path.join(self.dir, "home")
        self.xdg = os.path.join(self.dir, "xdg")
        for d in ("home", "tmp", "xdg/config", "xdg/cache", "xdg/state", "xdg/data", "xdg/run", "out", "agents"):
            os.makedirs(os.path.join(self.dir, d), mode=0o700)
        self.cache = os.path.join(self.xdg, "cache")
        self.env = {
            "PATH": os.environ.get("PATH", "/usr/local/bin:/usr/bin:/bin"), "HOME": self.home, "LANG": "C.UTF-8", "NO_COLOR": "1",
            "TERM": "dumb", "TMPDIR": os.path.join(self.dir, "tmp"), "GIT_CONFIG_NOSYSTEM": "1", "USER": "blind", "SHELL": "/bin/sh",
            "XDG_CONFIG_HOME": self.xdg + "/config", "XDG_CACHE_HOME": self.cache, "XDG_STATE_HOME": self.xdg + "/state",
            "XDG_DATA_HOME": self.xdg + "/data", "XDG_RUNTIME_DIR": self.xdg + "/run",
        }
        with open(self.home + "/.gitconfig", "w") as f:
            f.write("[user]\n\tname = Blind\n\temail = blind@example.org\n[init]\n\tdefaultBranch = main\n[commit]\n\tgpgsign = false\n")
        self.ws = os.path.join(self.dir, ws_name or self.rng.choice(["shop", "api", "site", "tools", "web-2"]))
        os.mkdir(self.ws)
        a, b = self.rng.randint(100, 400), self.rng.randint(100, 400)
        # What is printed exists only when the shell has computed it: the text of the command does not hold it.
        self.canary_command = "mkdir -p dep; echo CAN$((%d+%d))RY | tee dep/CAN$((%d+%d))RY" % (a, b, a, b)
        self.canary = "CAN%dRY" % (a + b)
        self.nap = "%d.%04d" % (self.rng.randint(45, 58), self.rng.randint(1000, 9999))
        self.is_git = git
        self.write("README.md", "# A project\n\nNumber %d.\n" % self.rng.randint(1, 10 ** 6))
        self.write("src/main.txt", "one\ntwo\nthree\n")
        self.write(".gitignore", "dep/\n.env\n*.so\n")
        if git:
            self.git("init", "-q")
            self.commit()

    # --- files
    def path(self, name):
        return os.path.join(self.ws, name)

    def write(self, name, content, mode=None):
        path = name if os.path.isabs(name) else self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(content if isinstance(content, bytes) else content.encode())
        if mode:
            os.chmod(path, mode)

    def append(self, name, content):
        with open(self.path(name), "a") as f:
            f.write(content)

    def git(self, *args, cwd=None):
        out = subprocess.run(["git", *args], cwd=cwd or self.ws, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
        if out.returncode:
            raise RuntimeError("git %s: %s" % (" ".join(args), out.stderr.decode(errors="replace")))
        return out.stdout.decode(errors="replace")

    def commit(self, message="state"):
        if self.is_git:
            self.git("add", "-A")
            self.git("commit", "-q", "--allow-empty", "-m", message)

    # --- configuration
    @staticmethod
    def table(head, setup, allow=None, inputs=None):
        lines = [head, "setup = " + toml(setup)]
        if allow is not None:
            lines.append("allow = " + toml(allow))
        if inputs is not None:
            lines.append("inputs = " + toml(inputs))
        return "\n".join(lines) + "\n"

    def user(self, setup, allow=None, inputs=None, folder=None):
        self.user_text(self.table("[environment.folders.%s]" % toml(folder or self.ws), setup, allow, inputs))

    def user_text(self, text):
        self.write(self.xdg + "/config/holon/config.toml", text)

    def repo(self, setup, allow=None, inputs=None, extra=""):
        self.write("holon.toml", self.table("[environment]", setup, allow, inputs) + extra)
        self.commit()

    # --- commands
    def left(self):
        return max(1.0, self.end - time.monotonic())

    def fingerprint(self, root):
        seen = {}
        for at, dirs, files in os.walk(root):
            if at == root and ".git" in dirs:
                dirs.remove(".git")
            for name in files + [d for d in dirs if os.path.islink(os.path.join(at, d))]:
                path = os.path.join(at, name)
                info = os.lstat(path)
                seen[os.path.relpath(path, root)] = (info.st_mode, info.st_size, info.st_mtime_ns)
        return seen

    def popen(self, args, cwd=None, **more):
        self.log.append("holon " + " ".join(args))
        return subprocess.Popen([self.bin, *args], cwd=cwd or self.ws, env=self.env, start_new_session=True, **more)

    def holon(self, *args, cwd=None, seconds=None, may_change=False):
        """Exit code and everything that was printed. No command but `apply` may change the workspace."""
        before = None if may_change else self.fingerprint(self.ws)
        child = self.popen(list(args), cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        limit = min(seconds or 45, self.left())
        try:
            out, _ = child.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            end_group(child)
            raise Unexpected("`holon %s` was not over after %d s" % (" ".join(args), limit))
        text = out.decode(errors="replace")
        self.log.append(text)
        need(not CRASH.search(text), "`holon %s` crashed: %s" % (" ".join(args), short(text)))
        if before is not None:
            after = self.fingerprint(self.ws)
            changed = sorted(k for k in set(before) | set(after) if before.get(k) != after.get(k))
            need(not changed, "`holon %s` changed the workspace: %s" % (" ".join(args), ", ".join(changed[:5])))
        return child.returncode, text

    def e(self, *args, **more):
        return self.holon("environment", *args, **more)

    def show(self):
        rc, text = self.e("show")
        need(rc == 0, "`environment show` ended with %d: %s" % (rc, short(text)))
        return flat(text)

    def build(self, *args):
        rc, text = self.e("build", *args)
        need(rc == 0, "`environment build` ended with %d: %s" % (rc, short(text)))
        return text

    def digests(self, text):
        said = re.findall(r"environment trust ([0-9a-f]{4,64})", text)
        return list(dict.fromkeys(said + re.findall(r"\b[0-9a-f]{8,64}\b", text)))

    def trust(self):
        found = self.digests(self.show())
        need(found, "`environment show` prints no digest")
        for digest in found:
            rc, text = self.e("trust", digest)
            if rc == 0:
                return digest
        raise Unexpected("no digest that `show` prints is taken by `trust`: " + short(text))

    def terminal(self, args, answers):
        """A command on a terminal of its own; each answer is typed once it has been quiet for a moment."""
        master, slave = pty.openpty()
        env = dict(self.env, TERM="xterm")
        child = subprocess.Popen([self.bin, *args], cwd=self.ws, env=env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                 preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        out, answers, quiet_since, stop = b"", list(answers), time.monotonic(), time.monotonic() + min(30, self.left())
        try:
            while time.monotonic() < stop:
                if select.select([master], [], [], 0.1)[0]:
                    try:
                        piece = os.read(master, 65536)
                    except OSError:
                        break
                    if not piece:
                        break
                    out, quiet_since = out + piece, time.monotonic()
                elif child.poll() is not None:
                    break
                elif out and answers and time.monotonic() - quiet_since > 1.0:
                    os.write(master, answers.pop(0))
                    quiet_since = time.monotonic()
            try:
                rc = child.wait(timeout=3)
            except subprocess.TimeoutExpired:
                end_group(child)
                raise Unexpected("`holon %s` still waits on the terminal: %s" % (" ".join(args), short(out.decode(errors="replace"))))
        finally:
            os.close(master)
        text = out.decode(errors="replace")
        self.log.append(text)
        return rc, text

    # --- agents and runs
    LOOK = {
        "tool": "[ -x dep/tool ] && ./dep/tool || echo no",
        "nonce": "cat dep/nonce 2>/dev/null || echo no",
        "canary": "ls dep 2>/dev/null | grep '^CAN[0-9]*RY$' || echo no",
    }

    def agent(self, look=None, do="", after=""):
        with self.lock:
            self.count += 1
            n = self.count
        script = ["#!/bin/sh", 'S="$HOLON_OUTPUT_DIR/summary.md"', 'echo "Looked around." > "$S"', do]
        for key, command in dict(self.LOOK, **(look or {})).items():
            script.append('echo "- %s: $( { %s; } 2>/dev/null | head -n 1)" >> "$S"' % (key, command))
        script += ['if [ "$HOLON_MODE" = plan ]; then printf "# Plan\\n\\n## Goal\\n\\nLook.\\n\\n## Context\\n\\nNone.\\n\\n## Steps\\n\\n'
                   '1. Look.\\n\\n## Risks\\n\\nNone.\\n\\n## Verification\\n\\nLook.\\n" > "$HOLON_OUTPUT_DIR/plan.md"; fi', after, "exit 0", ""]
        path = os.path.join(self.dir, "agents", "look%d.sh" % n)
        self.write(path, "\n".join(script), 0o755)
        return path, os.path.join(self.dir, "out", str(n))

    def run_args(self, agent, out, args):
        return ["run", "--goal", "Look around", "--agent", agent, "--no-auto-checks", "--out", out, *args]

    def read_run(self, rc, text, out):
        seen, patch, manifest = {}, None, None
        try:
            with open(out + "/summary.md", errors="replace") as f:
                seen = dict(re.findall(r"^- (\w+): (.*)$", f.read(), re.M))
        except OSError:
            pass
        try:
            with open(out + "/diff.patch", errors="replace") as f:
                patch = f.read()
        except OSError:
            pass
        try:
            with open(out + "/manifest.json") as f:
                manifest = json.load(f)
        except (OSError, ValueError):
            pass
        return Run(rc, text, seen, patch, manifest)

    def run(self, *args, look=None, do="", after="", cwd=None, ok=True, seconds=None):
        agent, out = self.agent(look, do, after)
        rc, text = self.holon(*self.run_args(agent, out, list(args)), cwd=cwd, seconds=seconds)
        run = self.read_run(rc, text, out)
        if ok:
            need(rc == 0, "the run ended with %d: %s" % (rc, short(text)))
            need(run.seen, "the run left no summary: " + short(text))
        return run

    def start_and_find(self, args, nap=None):
        """Starts holon and waits until the unique sleep of its setup or agent runs."""
        out = open(os.path.join(self.dir, "out", "started-%d.txt" % len(self.log)), "wb")
        child = self.popen(args, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        out.close()
        stop = time.monotonic() + min(20, self.left())
        while time.monotonic() < stop:
            if sleeping(nap or self.nap):
                time.sleep(0.3)
                return child
            if child.poll() is not None:
                break
            time.sleep(0.05)
        end_group(child)
        with open(out.name, errors="replace") as f:
            raise Unexpected("`holon %s` never came to the setup or agent that waits: %s" % (" ".join(args), short(f.read())))

    # --- looking for what must not be
    def scan(self, word, *roots):
        """Files below the roots whose name or content holds the word."""
        found, raw = [], word.encode()
        for root in roots or (self.dir,):
            for at, _, files in os.walk(root):
                for name in files:
                    path = os.path.join(at, name)
                    if word in name:
                        found.append(path)
                        continue
                    try:
                        info = os.lstat(path)
                        if stat.S_ISREG(info.st_mode) and info.st_size < 8 << 20:
                            with open(path, "rb") as f:
                                if raw in f.read():
                                    found.append(path)
                    except OSError:
                        pass
        return found

    def no_canary(self):
        found = self.scan(self.canary)
        need(not found, "the setup ran without agreement; its mark is in " + ", ".join(os.path.relpath(p, self.dir) for p in found[:3]))

    def listed(self, digest):
        rc, text = self.e("list")
        need(rc == 0, "`environment list` ended with %d: %s" % (rc, short(text)))
        return any(digest.startswith(t) or t.startswith(digest[:8]) for t in re.findall(r"\b[0-9a-f]{6,64}\b", text))

    def remove(self):
        for pid in os.listdir("/proc"):
            if not pid.isdigit() or int(pid) == os.getpid():
                continue
            try:
                with open("/proc/%s/environ" % pid, "rb") as f:
                    mine = ("HOME=" + self.home).encode() in f.read().split(b"\0")
                if mine:  # a descendant of this case, by the HOME only it has
                    os.kill(int(pid), signal.SIGKILL)
            except OSError:
                pass
        for _ in range(3):
            for at, dirs, _files in os.walk(self.dir):
                for d in dirs:
                    p = os.path.join(at, d)
                    if not os.path.islink(p):
                        try:
                            os.chmod(p, 0o700)
                        except OSError:
                            pass
            shutil.rmtree(self.dir, ignore_errors=True)
            if not os.path.exists(self.dir):
                return None
            time.sleep(0.5)
        return self.dir


def end_group(child, sig=signal.SIGKILL):
    try:
        os.killpg(child.pid, sig)
    except OSError:
        pass
    if sig == signal.SIGKILL:
        child.wait()


def sleeping(nap):
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as f:
                    words = f.read().split(b"\0")
            except OSError:
                continue
            if len(words) > 1 and words[0].endswith(b"sleep") and nap.encode() in words[1:]:
                return True
    return False


def gone(nap, seconds=10):
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        if not sleeping(nap):
            return True
        time.sleep(0.1)
    return False


# What most setups do: a program that can be executed, and a mark by which two makings differ.
TOOL = "mkdir -p dep && printf '#!/bin/sh\\necho tool-runs\\n' > dep/tool && chmod +x dep/tool && date +%s-%N > dep/nonce"
CASES = []


def case(kind, expect, why, taste=False, **project):
    def keep(fn):
        CASES.append({"name": fn.__name__, "kind": kind, "expect": expect, "why": why, "taste": taste, "fn": fn, "project": project})
        return fn
    return keep


def stands(run):
    need(run.seen.get("tool") == "tool-runs", "dep/tool is not there or cannot be executed: %s; %s" % (run.seen, short(run.text)))
    return run.seen["nonce"]


def stands_not(run):
    need(run.seen.get("tool") == "no" and run.seen.get("nonce") == "no", "the agent sees something of a setup: %s" % run.seen)


def no_layer_in(patch, what="the patch"):
    need(patch is not None, "there is no diff.patch to look at")
    heads = [l for l in patch.splitlines() if l.startswith(("diff --git", "+++ ", "--- ")) and re.search(r"\bdep/", l)]
    need(not heads and "tool-runs" not in patch, "%s holds something of the layer: %s" % (what, short(" ".join(heads) or patch)))


# ---------------------------------------------------------------------------------------------------------------- (1) found
LOCKS = [
    ("package_lock", {"package.json": '{"name":"a","version":"1.0.0"}', "package-lock.json": '{"name":"a","lockfileVersion":3,"packages":{}}'},
     r"\bnpm ci\b", r"\bnpm\b", False),
    ("npm_shrinkwrap", {"package.json": '{"name":"a"}', "npm-shrinkwrap.json": '{"name":"a","lockfileVersion":3,"packages":{}}'},
     r"\bnpm ci\b", r"\bnpm\b", False),
    ("pnpm_lock", {"package.json": '{"name":"a"}', "pnpm-lock.yaml": "lockfileVersion: '9.0'\n"}, r"pnpm install --frozen-lockfile", r"\bpnpm\b", False),
    ("yarn_1", {"package.json": '{"name":"a"}', "yarn.lock": "# THIS IS AN AUTOGENERATED FILE. DO NOT EDIT THIS FILE DIRECTLY.\n# yarn lockfile v1\n\n\n"},
     r"yarn install --frozen-lockfile", r"\byarn\b", False),
    ("yarn_berry", {"package.json": '{"name":"a"}', "yarn.lock": '# This file is generated by running "yarn install".\n\n__metadata:\n  version: 8\n  cacheKey: 10c0\n'},
     r"yarn install --immutable", r"\byarn\b", False),
    ("bun_lock", {"package.json": '{"name":"a"}', "bun.lock": '{\n  "lockfileVersion": 1,\n  "workspaces": {},\n}\n'}, r"bun install --frozen-lockfile", r"\bnpm\b", False),
    ("bun_lockb", {"package.json": '{"name":"a"}', "bun.lockb": b"#!/usr/bin/env bun\nbun-lockfile-format-v0\n\x02\x00\xff\xfe"},
     r"bun install --frozen-lockfile", r"\bnpm\b", False),
    ("uv_lock", {"pyproject.toml": '[project]\nname = "a"\nversion = "1"\n', "uv.lock": "version = 1\n"}, r"uv sync --frozen", r"\buv\b", False),
    ("poetry_lock", {"pyproject.toml": '[tool.poetry]\nname = "a"\n', "poetry.lock": "package = []\n"}, r"poetry install", r"\bpip\b", False),
    ("requirements_txt", {"requirements.txt": "six==1.16.0\n"}, r"\.venv", r"\bpip\b", False),
    ("cargo_lock", {"Cargo.toml": '[package]\nname = "a"\nversion = "0.1.0"\n', "Cargo.lock": "version = 4\n"}, r"cargo fetch --locked", r"\bcargo\b", False),
    ("go_sum", {"go.mod": "module example.org/a\n\ngo 1.22\n", "go.sum": ""}, r"go mod download", r"\bgo\b", False),
]
for _name, _files, _command, _reach, _taste in LOCKS:
    def _fn(t, files=_files, command=_command, reach=_reach):
        for name, content in files.items():
            t.write(name, content)
        t.commit()
        text = t.show()
        need(re.search(command, text), "the setup is not suggested: " + short(text))
        need(re.search(reach, text), "what it may reach is not told: " + short(text))
        need(t.digests(text), "no digest to agree to is printed: " + short(text))
    _fn.__name__ = "found_" + _name
    case("found", "`show` suggests %s, what it reaches, and a digest for `trust`" % _command.replace("\\b", "").replace("\\", ""),
         "the table in environments.md promises it for this file", _taste)(_fn)


@case("found", "`show` ends with 0 and suggests nothing that belongs to other lock files", "Gemfile.lock is not in the table; it must not confuse the rest", True)
def found_gemfile_lock(t):
    t.write("Gemfile", "source 'https://rubygems.org'\n")
    t.write("Gemfile.lock", "GEM\n  remote: https://rubygems.org/\n  specs:\n\nPLATFORMS\n  ruby\n\nDEPENDENCIES\n")
    t.commit()
    text = t.show()
    need(not re.search(r"npm ci|pip install|cargo fetch|go mod download", text), "another setup is suggested: " + short(text))


@case("found", "the command of a devcontainer.json with comments and a trailing comma is shown with a digest", "devcontainer.json is JSON with comments in every project that has one")
def found_devcontainer_comments(t):
    t.write(".devcontainer/devcontainer.json", '// For all of us\n{\n  /* the name */ "name": "x",\n  "postCreateCommand": "%s", // once\n}\n' % t.canary_command)
    t.commit()
    text = t.show()
    need(t.canary_command in text and t.digests(text), "the command is not shown with a digest: " + short(text))
    t.no_canary()


@case("found", "all of onCreate-, updateContent- and postCreateCommand are shown in this order, as text, list and object", "that is the order and these are the forms the format has", True)
def found_devcontainer_forms(t):
    t.write(".devcontainer/devcontainer.json", json.dumps({"postCreateCommand": {"one": "echo third-a", "two": ["echo", "third-b"]},
                                                            "onCreateCommand": ["echo", "first", "with space"], "updateContentCommand": "echo second"}))
    t.commit()
    text = t.show()
    at = [text.find(w) for w in ("first", "second", "third-a", "third-b")]
    need(all(a >= 0 for a in at), "not every command is shown: " + short(text))
    need(at[0] < at[1] < min(at[2:]), "the commands are not in the order of the format: " + short(text))


@case("found", "only the commands of devcontainer.json are suggested, not `npm ci`", "the lock files count only when there is no devcontainer.json with commands")
def found_devcontainer_before_locks(t):
    t.write("package-lock.json", "{}")
    t.write(".devcontainer/devcontainer.json", json.dumps({"postCreateCommand": "echo from-devcontainer"}))
    t.commit()
    text = t.show()
    need("echo from-devcontainer" in text, "its command is not suggested: " + short(text))
    need("npm ci" not in text, "`npm ci` is suggested beside it: " + short(text))


@case("found", "`npm ci` is suggested", "a devcontainer.json without commands says nothing about the setup", True)
def found_devcontainer_without_commands(t):
    t.write("package.json", '{"name":"a"}')
    t.write("package-lock.json", '{"lockfileVersion":3}')
    t.write(".devcontainer/devcontainer.json", json.dumps({"image": "debian:12"}))
    t.commit()
    need("npm ci" in t.show(), "`npm ci` is not suggested")


@case("found", "`show` names the broken devcontainer.json and does not crash or hang", "a file that was meant and is not read has to be told", True)
def found_devcontainer_broken(t):
    t.write("package-lock.json", "{}")
    t.write(".devcontainer/devcontainer.json", '{"postCreateCommand": "echo x"')
    t.commit()
    rc, text = t.e("show")
    need("devcontainer.json" in text, "the broken file is not named (exit %d): %s" % (rc, short(text)))


@case("found", "`npm ci` is suggested and nothing crashes", "whether a lock file is sound is for npm to say, with its own words", True)
def found_lock_broken_json(t):
    t.write("package.json", '{"name":"a"}')
    t.write("package-lock.json", b'{"lockfileVersion": 3, "packages": {\xff\xfe')
    t.commit()
    need("npm ci" in t.show(), "`npm ci` is not suggested")


@case("found", "npm, cargo and uv are all suggested, each with what it reaches", "a project of several languages needs all of them")
def found_several(t):
    for name, content in {"package.json": "{}", "package-lock.json": "{}", "Cargo.toml": "[workspace]\n", "Cargo.lock": "version = 4\n",
                          "pyproject.toml": "[project]\nname='a'\nversion='1'\n", "uv.lock": "version = 1\n"}.items():
        t.write(name, content)
    t.commit()
    text = t.show()
    missing = [c for c in ("npm ci", "cargo fetch --locked", "uv sync --frozen") if c not in text]
    need(not missing, "not suggested: %s; %s" % (missing, short(text)))


@case("found", "of package-lock.json and yarn.lock not both are suggested", "two clients that write the same node_modules undo each other", True)
def found_two_js_locks(t):
    t.write("package.json", '{"name":"a"}')
    t.write("package-lock.json", '{"lockfileVersion":3}')
    t.write("yarn.lock", "# yarn lockfile v1\n")
    t.commit()
    text = t.show()
    need(("npm ci" in text) + ("yarn install" in text) == 1, "both or none are suggested: " + short(text))


@case("found", "uv.lock wins, requirements.txt is not installed into the same .venv", "requirements.txt beside uv.lock is nearly always an export of it", True)
def found_uv_and_requirements(t):
    t.write("pyproject.toml", "[project]\nname='a'\nversion='1'\n")
    t.write("uv.lock", "version = 1\n")
    t.write("requirements.txt", "six==1.16.0\n")
    t.commit()
    text = t.show()
    need("uv sync --frozen" in text and not re.search(r"pip install", text), "uv alone is not what is suggested: " + short(text))


for _file, _content in (("mise.toml", '[tools]\nnode = "22"\n'), (".tool-versions", "nodejs 22.1.0\n")):
    def _fn(t, file=_file, content=_content):
        t.write(file, content)
        t.commit()
        text = t.show()
        need(file in text, "%s is not told: %s" % (file, short(text)))
        need(not re.search(r"mise install|asdf install", text) or not t.digests(text), "it is suggested as a setup: " + short(text))
    _fn.__name__ = "told_" + _file.strip(".").replace(".", "_").replace("-", "_")
    case("found", "%s is named, and is no setup that could be agreed to" % _file, "environments.md: files that name tools are told, and left to you")(_fn)


@case("found", "lock files in packages/* alone do not lead to a bare `npm ci` at the top", "there it would fail; nothing, or one with the folder, is right", True)
def found_monorepo(t):
    for p in ("a", "b"):
        t.write("packages/%s/package.json" % p, '{"name":"%s"}' % p)
        t.write("packages/%s/package-lock.json" % p, '{"lockfileVersion":3}')
    t.commit()
    text = t.show()
    need("npm ci" not in text or "packages/a" in text, "`npm ci` is suggested where it must fail: " + short(text))


@case("found", "`show` ends with 0, says that there is none, and a run is as always", "most small projects need no setup")
def found_none(t):
    text = t.show()
    need(text.strip(), "nothing is said")
    need(not re.search(r"npm ci|cargo fetch|pip", text.split("holon environment")[0]) or "no " in text, "a setup is suggested: " + short(text))
    r = t.run()
    stands_not(r)
    need(not SAYS_ASK.search(r.text), "a run without any setup speaks of agreement: " + short(r.text))


@case("found", "`show` has the commands of holon.toml and not `npm ci`", "what the project says beats what is guessed")
def found_holon_toml_before_locks(t):
    t.write("package-lock.json", "{}")
    t.repo(["echo said-by-project"])
    text = t.show()
    need("echo said-by-project" in text, "the project's setup is not shown: " + short(text))
    need("npm ci" not in text, "the guess is shown beside it: " + short(text))


# ---------------------------------------------------------------------------------------------------------------- (2) trust
@case("canary", "the run succeeds without the environment, says so, and nothing of the setup ran", "nothing of a repository's setup runs before agreement")
def untrusted_holon_toml(t):
    t.repo([t.canary_command])
    r = t.run()
    t.no_canary()
    stands_not(r)
    need(SAYS_ASK.search(r.text), "the run does not say that it goes without: " + short(r.text))


@case("canary", "the run succeeds and nothing of devcontainer.json ran", "a suggestion comes from the repository and is not used before agreement")
def untrusted_devcontainer(t):
    t.write(".devcontainer/devcontainer.json", json.dumps({k: t.canary_command for k in ("initializeCommand", "onCreateCommand", "postCreateCommand", "postStartCommand")}))
    t.commit()
    t.run()
    t.no_canary()


@case("canary", "`build` refuses with the way to agree, and nothing ran", "building is running it")
def untrusted_build(t):
    t.repo([t.canary_command])
    for extra in ([], ["--again"]):
        rc, text = t.e("build", *extra)
        need(rc != 0 and SAYS_ASK.search(text), "`build %s` ended with %d: %s" % (" ".join(extra), rc, short(text)))
    t.no_canary()


@case("canary", "show, list, gc, run --dry-run and run --fresh run nothing", "these are for looking, or leave it out by name")
def untrusted_lookers(t):
    t.repo([t.canary_command])
    t.show()
    for args in (["list"], ["gc"]):
        rc, text = t.e(*args)
        need(rc == 0, "`environment %s` ended with %d: %s" % (args[0], rc, short(text)))
    rc, text = t.holon(*t.run_args(*t.agent(), ["--dry-run"]))
    need(rc == 0, "--dry-run ended with %d: %s" % (rc, short(text)))
    t.run("--fresh")
    t.no_canary()


@case("trust", "`trust` without a digest and without a terminal refuses and agrees to nothing", "somewhere without a person the digest stands for having looked")
def trust_needs_digest(t):
    t.repo([t.canary_command])
    rc, text = t.e("trust")
    need(rc != 0, "it ended with 0: " + short(text))
    t.run()
    t.no_canary()


@case("trust", "a made-up digest, and the digest of an earlier version, are refused", "agreement is to exactly this")
def trust_wrong_digest(t):
    t.repo(["echo harmless"])
    old = t.digests(t.show())
    need(old, "`show` prints no digest")
    t.repo([t.canary_command])
    new = t.digests(t.show())
    need(set(old) != set(new), "the digest is the same after the command changed: %s" % new)
    for digest in ["0123456789abcdef" * 4] + [d for d in old if d not in new]:
        rc, text = t.e("trust", digest)
        need(rc != 0, "`trust %s` ended with 0: %s" % (digest, short(text)))
    t.run()
    t.no_canary()


@case("trust", "a digest of one letter is refused", "one letter in sixteen fits by accident", True)
def trust_one_letter(t):
    t.repo([t.canary_command])
    found = t.digests(t.show())
    need(found, "`show` prints no digest")
    rc, text = t.e("trust", found[0][:1])
    need(rc != 0, "it ended with 0: " + short(text))
    t.run()
    t.no_canary()


@case("trust", "after `trust DIGEST` the next run makes the environment and its agent executes what the setup left", "that is the way the page describes (and shows that the canary can be found)")
def trust_then_run(t):
    t.repo([t.canary_command, TOOL])
    t.trust()
    r = t.run()
    stands(r)
    need(r.seen.get("canary") == t.canary, "the agent does not see the mark of the setup: %s" % r.seen)
    need(t.run().seen["nonce"] == r.seen["nonce"], "the second run made it again")


@case("trust", "on a terminal `trust` shows the commands and what they reach, and takes a yes", "environments.md says so")
def trust_terminal_yes(t):
    t.repo([t.canary_command, TOOL], allow=["files.example.net"])
    rc, text = t.terminal(["environment", "trust"], [b"y\n", b"yes\n"])
    need(rc == 0, "it ended with %d: %s" % (rc, short(text)))
    need("mkdir -p dep" in flat(text) and "files.example.net" in text, "commands or hosts were not shown: " + short(text))
    stands(t.run())


@case("trust", "a no, an empty line and the end of the input agree to nothing", "the safe answer is the one that was not given")
def trust_terminal_no(t):
    t.repo([t.canary_command])
    for answer in (b"n\n", b"\n", b"\x04"):
        rc, text = t.terminal(["environment", "trust"], [answer])
        need(rc != 0 or re.search(r"(?i)not|nothing", text), "the answer %r ended with %d: %s" % (answer, rc, short(text)))
    t.run()
    t.no_canary()


@case("trust", "after the repository changed the command, runs go without, say so, and neither the new setup nor the old layer is used", "the agreement was to other commands")
def trust_changed_command(t):
    t.repo([TOOL])
    t.trust()
    stands(t.run())
    t.repo([TOOL, t.canary_command])
    r = t.run()
    t.no_canary()
    stands_not(r)
    need(SAYS_ASK.search(r.text), "the run does not say so: " + short(r.text))


@case("trust", "after the repository changed `allow`, runs go without and say so", "what it may reach is part of the agreement")
def trust_changed_allow(t):
    t.repo([TOOL])
    t.trust()
    stands(t.run())
    t.repo([TOOL], allow=["evil.example.net"])
    r = t.run()
    stands_not(r)
    need(SAYS_ASK.search(r.text), "the run does not say so: " + short(r.text))


@case("trust", "after the repository changed the list `inputs`, runs go without and say so", "environments.md names inputs as part of the agreement")
def trust_changed_inputs(t):
    t.write("conf/a.txt", "a\n")
    t.repo([TOOL], inputs=["conf/a.txt"])
    t.trust()
    stands(t.run())
    t.repo([TOOL], inputs=["conf/a.txt", "src/main.txt"])
    r = t.run()
    stands_not(r)
    need(SAYS_ASK.search(r.text), "the run does not say so: " + short(r.text))


@case("trust", "after `trust --withdraw` runs go without, `build` refuses", "an agreement can be taken back")
def trust_withdraw(t):
    t.repo([TOOL])
    t.trust()
    stands(t.run())
    rc, text = t.e("trust", "--withdraw")
    need(rc == 0, "`trust --withdraw` ended with %d: %s" % (rc, short(text)))
    stands_not(t.run())
    rc, text = t.e("build")
    need(rc != 0, "`build` ended with 0: " + short(text))


@case("trust", "a copy of the folder elsewhere is not agreed to", "the agreement holds for this folder")
def trust_other_folder(t):
    t.repo([t.canary_command, TOOL])
    t.trust()
    other = t.ws + "-copy"
    shutil.copytree(t.ws, other, symlinks=True)
    stands_not(t.run(cwd=other))
    t.no_canary()


@case("canary", "[environment.folders] in holon.toml with its own path is told and not used", "that table is the user's; a repository can only ask")
def repo_writes_folders(t):
    t.write("holon.toml", t.table("[environment.folders.%s]" % toml(t.ws), [t.canary_command]))
    t.commit()
    r = t.run(ok=False)
    t.no_canary()
    need("folders" in r.text, "the key is not told: " + short(r.text))


@case("canary", "made-up keys such as trusted = true, and an agreement in .holon/, give a repository nothing", "nothing in a repository can widen what a run may do")
def repo_says_trusted(t):
    t.repo([t.canary_command], extra='trusted = true\ntrust = "always"\nagreed = true\n')
    digest = (t.digests(flat(t.e("show")[1])) or ["00"])[0]
    for name in (".holon/trust.toml", ".holon/environment.toml", ".holon/config.toml"):
        t.write(name, 'trusted = ["%s"]\n[environment]\ntrusted = ["%s"]\n' % (digest, digest))
    t.commit()
    t.run(ok=False)
    t.no_canary()


@case("trust", "an agreed devcontainer.json is used; when its command changes, runs go without", "a suggestion is held to the same agreement")
def trust_devcontainer(t):
    t.write(".devcontainer/devcontainer.json", json.dumps({"name": "x", "postCreateCommand": TOOL}))
    t.commit()
    t.trust()
    stands(t.run())
    t.write(".devcontainer/devcontainer.json", json.dumps({"name": "x", "postCreateCommand": TOOL + "; " + t.canary_command}))
    t.commit()
    stands_not(t.run())
    t.no_canary()


@case("trust", "`trust` with nothing to agree to ends with an error that says so", "a yes to nothing would hide a mistake", True)
def trust_nothing(t):
    rc, text = t.e("trust", "0123456789abcdef" * 4)
    need(rc != 0 and text.strip(), "it ended with %d: %s" % (rc, short(text)))


@case("config", "the user's own setup for the folder is used without a question; the repository's does not run", "the user's word beats the repository's", True)
def user_beats_repo(t):
    t.repo([t.canary_command])
    t.user([TOOL])
    stands(t.run())
    t.no_canary()


@case("config", "setup directly below [environment] holds for every workspace, and that of a folder beats it there", "the nearer word wins", True)
def user_global_and_folder(t):
    other = t.ws + "-other"
    shutil.copytree(t.ws, other, symlinks=True)
    t.user_text(t.table("[environment]", [TOOL + " && echo all > dep/which"]) + "\n" + t.table("[environment.folders.%s]" % toml(other), [TOOL + " && echo one > dep/which"]))
    here, there = t.run(look={"which": "cat dep/which"}), t.run(look={"which": "cat dep/which"}, cwd=other)
    need(here.seen.get("which") == "all" and there.seen.get("which") == "one", "seen: %s and %s" % (here.seen, there.seen))


@case("config", "`setup` as a text instead of a list is an error that names the key, and nothing runs", "configuration.md: a value that does not fit is an error that says what fits")
def config_wrong_type(t):
    t.user_text("[environment]\nsetup = %s\n" % toml(t.canary_command))
    r = t.run(ok=False)
    need(r.rc != 0 and "setup" in r.text, "the run ended with %d: %s" % (r.rc, short(r.text)))
    t.no_canary()


@case("config", "`setpu` in the user's file is told with `setup` as the nearest", "configuration.md: a key that is not known is named with the nearest one")
def config_misspelt(t):
    t.user_text("[environment]\nsetpu = [%s]\n" % toml(TOOL))
    r = t.run(ok=False)
    need("setpu" in r.text and re.search(r"\bsetup\b", r.text), "it is not told: " + short(r.text))


@case("config", "a wrong type in a repository's holon.toml is told, runs nothing and does not make a user's other commands fail", "a repository must not be able to break the tool", True)
def config_repo_wrong_type(t):
    t.write("holon.toml", "[environment]\nsetup = 7\nallow = {}\n")
    t.commit()
    rc, text = t.e("show")
    need(re.search(r"holon\.toml|setup", text), "it is not told: " + short(text))
    rc, text = t.e("list")
    need(rc == 0, "`environment list` ended with %d: %s" % (rc, short(text)))


# --------------------------------------------------------------------------------------------------------------- (3) digest
@case("digest", "changes of README and source, committed or not, keep the environment", "the source is no part of the digest")
def digest_readme(t):
    t.user([TOOL])
    first = stands(t.run())
    t.append("README.md", "More.\n")
    t.append("src/main.txt", "four\n")
    need(stands(t.run()) == first, "it was made again for uncommitted changes")
    t.commit()
    need(stands(t.run()) == first, "it was made again for a commit")


for _lock in ("package-lock.json", "Cargo.lock", "requirements.txt"):
    def _fn(t, lock=_lock):
        t.write(lock, "{}\n" if lock.endswith("json") else "# 1\n")
        t.repo([TOOL])
        t.trust()
        first = stands(t.run())
        t.write(lock, '{"lockfileVersion": 3}\n' if lock.endswith("json") else "# 1\n# 2\n")
        t.commit()
        need(stands(t.run()) != first, "the old environment was used")
    _fn.__name__ = "digest_lock_" + _lock.split(".")[0].replace("-", "_").lower()
    case("digest", "a changed %s makes the environment anew, without asking again" % _lock, "until a lock file changes; the agreement is to commands, reach and inputs")(_fn)


@case("digest", "a changed script that the command names is never met with the old environment", "files that the commands name are part of the digest")
def digest_named_script(t):
    t.write("tools/setup.sh", TOOL + "\n")
    t.repo(["sh tools/setup.sh"])
    t.trust()
    first = stands(t.run())
    t.append("tools/setup.sh", "echo more > dep/more\n")
    t.commit()
    need(t.run().seen["nonce"] != first, "the old environment was used")


@case("digest", "changed content of a file in `inputs` is never met with the old environment", "inputs are what the setup goes by")
def digest_inputs_content(t):
    t.write("native/binding.gyp", "1\n")
    t.user([TOOL], inputs=["native/binding.gyp"])
    first = stands(t.run())
    t.write("native/binding.gyp", "2\n")
    need(stands(t.run()) != first, "the old environment was used")


@case("digest", "changed commands in the user's file make the environment anew at the next run", "until the commands change")
def digest_user_command(t):
    t.user([TOOL])
    first = stands(t.run())
    t.user([TOOL, "echo more > dep/more"])
    r = t.run(look={"more": "cat dep/more"})
    need(stands(r) != first and r.seen.get("more") == "more", "the old environment was used: %s" % r.seen)


@case("digest", "`build` twice makes it once; `build --again` makes it anew", "it is kept, and --again is for making it anew")
def digest_build_again(t):
    t.user([TOOL])
    t.build()
    first = stands(t.run())
    t.build()
    need(stands(t.run()) == first, "the second `build` made it anew")
    t.build("--again")
    need(stands(t.run()) != first, "`build --again` did not make it anew")


# ---------------------------------------------------------------------------------------------------------------- (4) layer
@case("layer", "the next run makes the environment by itself; its agent and the next one execute dep/tool; the workspace has no dep", "that is the purpose, and only apply changes the workspace")
def layer_used(t):
    t.user([TOOL])
    first = stands(t.run())
    need(stands(t.run()) == first, "the second run stands on another one")
    need(not os.path.exists(t.path("dep")), "the workspace has dep")


@case("layer", "what the setup left in its HOME is in the agent's HOME, and not in the real one", "the private home is kept, with the caches that clients fill there")
def layer_home(t):
    t.user(['mkdir -p "$HOME/.cache/client" && echo filled > "$HOME/.cache/client/f"'])
    r = t.run(look={"home": 'cat "$HOME/.cache/client/f"'})
    need(r.seen.get("home") == "filled", "the agent's home does not have it: %s" % r.seen)
    need(not os.path.exists(t.home + "/.cache/client"), "it is in the real home")


@case("layer", "the workspace and HOME have the same paths in setup and run", "virtual environments hold absolute paths", True)
def layer_same_paths(t):
    t.user([TOOL + ' && pwd > dep/pwd && echo "$HOME" > dep/home'])
    r = t.run(look={"same": '[ "$(cat dep/pwd)" = "$(pwd)" ] && [ "$(cat dep/home)" = "$HOME" ] && echo yes || echo "$(cat dep/pwd) $(cat dep/home) here $(pwd) $HOME"'})
    need(r.seen.get("same") == "yes", "setup had other paths: %s" % r.seen)


@case("layer", "the setup sees neither the workspace's own dep nor its .env; in runs what the environment brings takes the place of dep; the real dep stays", "it begins as after a fresh clone")
def layer_fresh_clone(t):
    t.write("dep/tool", "#!/bin/sh\necho old-tool\n", 0o755)
    t.write(".env", "A=1\n")
    t.user(["ls -A > ${TMPDIR:-/tmp}/list; { [ -e dep/tool ] || [ -e .env ]; } && S=yes || S=no; %s && echo $S > dep/saw" % TOOL])
    r = t.run(look={"saw": "cat dep/saw"})
    stands(r)
    need(r.seen.get("saw") == "no", "the setup saw ignored files of the workspace")
    with open(t.path("dep/tool")) as f:
        need("old-tool" in f.read(), "the workspace's own dep changed")


@case("layer", "what an agent adds, changes and removes in the layer is not there in the next run, nor in a patch", "it stays in its run")
def layer_agent_changes(t):
    t.user([TOOL, 'echo h > "$HOME/kept"'])
    first = stands(t.run())
    r = t.run(after='rm dep/tool; echo mine > dep/mine; echo x > dep/nonce; rm -f "$HOME/kept"; echo y > "$HOME/mine"')
    need(r.patch == "", "the patch is not empty: " + short(str(r.patch)))
    r = t.run(look={"mine": '[ -e dep/mine ] || [ -e "$HOME/mine" ] && echo yes || echo no', "kept": 'cat "$HOME/kept"'})
    need(stands(r) == first and r.seen["mine"] == "no" and r.seen.get("kept") == "h", "seen: %s" % r.seen)


@case("layer", "checks see dep/tool although the agent removed it, and not what it put there; the run succeeds", "checks run on the same environment without what the agent did to it")
def layer_checks(t):
    t.user([TOOL])
    r = t.run("--check", "test -x dep/tool && ./dep/tool", "--check", "test ! -e dep/fake", after="echo four >> src/main.txt; rm dep/tool; echo f > dep/fake", ok=False)
    need(r.rc == 0, "the run ended with %d: %s" % (r.rc, short(r.text)))


@case("layer", "an agent in plan mode executes dep/tool", "an environment is put under every later run")
def layer_plan_mode(t):
    t.user([TOOL])
    stands(t.run("--mode", "plan"))


@case("layer", "the step of a flow that changes things executes dep/tool", "so do the steps of flows")
def layer_flow(t):
    t.user([TOOL])
    agent, out = t.agent(after='[ "$HOLON_MODE" = plan ] || ./dep/tool > seen.txt')
    rc, text = t.holon(*t.run_args(agent, out, ["--mode", "plan-then-execute", "--gate", "auto"]))
    need(rc == 0, "the flow ended with %d: %s" % (rc, short(text)))
    rc, text = t.holon("runs", "diff", "last")
    need("+tool-runs" in text or t.scan("+tool-runs", out), "the step did not see the tool: " + short(text))


@case("layer", "without git only the home is kept; dep is named or silently left out; the run succeeds", "in a folder that is no git repository nothing is ignored", git=False)
def layer_no_git(t):
    t.user([TOOL, 'echo h > "$HOME/kept"'])
    r = t.run(look={"kept": 'cat "$HOME/kept"'})
    stands_not(r)
    need(r.seen.get("kept") == "h", "the home was not kept: %s" % r.seen)
    need(r.patch == "", "the patch is not empty: " + short(str(r.patch)))


@case("layer", "nested .gitignore and ignored single files beside tracked ones are kept, and the patch is empty", "kept is what git ignores, by the rules of the workspace")
def layer_nested_ignored(t):
    t.write("pkg/a/.gitignore", "build/\n")
    t.write("pkg/a/x.txt", "x\n")
    t.commit()
    t.user(["mkdir -p pkg/a/build/deep && echo b > pkg/a/build/deep/f && echo s > src/native.so"])
    r = t.run(look={"nested": "cat pkg/a/build/deep/f", "single": "cat src/native.so", "tracked": "cat pkg/a/x.txt"})
    need((r.seen.get("nested"), r.seen.get("single"), r.seen.get("tracked")) == ("b", "s", "x"), "seen: %s" % r.seen)
    need(r.patch == "", "the patch is not empty: " + short(str(r.patch)))


@case("odd-files", "links, hard links, a FIFO, empty and read-only folders and names that are no UTF-8 in the layer do no harm; links work", "node_modules/.bin is links, Go's module cache is read-only")
def layer_odd_files(t):
    t.user([TOOL, "cd dep && ln -s tool link && ln tool hard && ln -s /nowhere/x dangling && mkfifo pipe && mkdir empty && mkdir -p ro/in && echo r > ro/in/f && chmod -R a-w ro "
            "&& echo o > \"$(printf 'n\\377m')\" && echo s > 'a b' && chmod 600 'a b'"])
    r = t.run(look={"link": "./dep/link", "hard": "./dep/hard", "target": "readlink dep/dangling", "ro": "cat dep/ro/in/f", "odd": "cat dep/n?m", "space": "cat 'dep/a b'", "empty": "[ -d dep/empty ] && echo yes"})
    stands(r)
    got = tuple(r.seen.get(k) for k in ("link", "hard", "target", "ro", "odd", "space", "empty"))
    need(got == ("tool-runs", "tool-runs", "/nowhere/x", "r", "o", "s", "yes"), "seen: %s" % r.seen)
    need(r.patch == "", "the patch is not empty: " + short(str(r.patch)))


for _what, _setup, _named in (("tracked_changed", "echo changed >> README.md; rm src/main.txt", r"README\.md"), ("not_ignored", "echo g > generated.txt", r"generated\.txt")):
    def _fn(t, setup=_setup, named=_named):
        t.user([TOOL, setup])
        text = t.build()
        need(re.search(named, text), "`build` does not name it: " + short(text))
        r = t.run(look={"readme": "grep -c changed README.md", "main": "cat src/main.txt", "generated": "[ -e generated.txt ] && echo yes || echo no"})
        stands(r)
        need((r.seen["readme"], r.seen["main"], r.seen["generated"]) == ("0", "one", "no"), "it was not left out: %s" % r.seen)
        need(r.patch == "", "the patch is not empty: " + short(str(r.patch)))
    _fn.__name__ = "left_out_" + _what
    case("left-out", "what the setup did outside of ignored paths (%s) is named by `build`, left out of runs, and in no patch" % _what, "environments.md: named and left out")(_fn)


@case("left-out", "an ignored folder in which the repository has files is named and left out", "environments.md says so")
def left_out_folder_with_tracked(t):
    t.write("dep/own.txt", "own\n")
    t.git("add", "-f", "dep/own.txt")
    t.commit()
    t.user([TOOL + "; echo changed > dep/own.txt"])
    text = t.build()
    need(re.search(r"\bdep\b", text), "`build` does not name it: " + short(text))
    r = t.run(look={"own": "cat dep/own.txt"})
    stands_not(r)
    need(r.seen.get("own") == "own" and r.patch == "", "the repository's file is not as it was: %s %s" % (r.seen, short(str(r.patch))))


@case("left-out", "a setup that widens .gitignore does not bring in what it so ignores", "the rules are those of the workspace")
def left_out_smuggled_by_gitignore(t):
    t.user([TOOL, "echo 'loot/' >> .gitignore; mkdir loot; echo l > loot/f; echo 'loot2/' >> .git/info/exclude; mkdir loot2; echo l > loot2/f"])
    r = t.run(look={"loot": "[ -e loot ] || [ -e loot2 ] && echo yes || echo no"})
    stands(r)
    need(r.seen["loot"] == "no" and r.patch == "", "seen: %s, patch: %s" % (r.seen, short(str(r.patch))))


@case("walls", "hooks and settings that a setup writes into .git are neither in the workspace nor in runs", "a hook would be run by you")
def walls_git_folder(t):
    t.user([TOOL, "mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch /tmp/hooked\\n' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout; git config blind.mark 1; true"])
    r = t.run(look={"hook": "[ -e .git/hooks/post-checkout ] && echo yes || echo no", "mark": "git config blind.mark || echo no"})
    stands(r)
    need(not os.path.exists(t.path(".git/hooks/post-checkout")) and "blind" not in open(t.path(".git/config")).read(), "the workspace's .git changed")
    need((r.seen["hook"], r.seen["mark"]) == ("no", "no"), "the run's .git has it: %s" % r.seen)


@case("walls", "a setup sees neither variables nor the home of the user, and writes nothing outside", "it runs behind the walls")
def walls_setup(t):
    word = "kohlrabi-%d" % t.rng.randint(10 ** 6, 10 ** 7)
    t.env["BLIND_CASE_WORD"] = word
    t.write(t.home + "/notes.txt", word + "\n")
    t.user(["%s; env > dep/env; cat '%s/notes.txt' > dep/stolen 2>&1; echo x > '%s/PWNED'; echo x > '%s/PWNED'; echo x > '%s/PWNED'; true" % (TOOL, t.home, t.dir, t.ws, t.home)])
    r = t.run(look={"word": "grep -l kohlrabi- dep/env dep/stolen || echo no"})
    stands(r)
    need(r.seen.get("word") == "no", "the setup saw it: %s" % r.seen)
    need(not t.scan(word, t.cache), "it is in the cache")
    need(not [d for d in (t.dir, t.ws, t.home) if os.path.exists(d + "/PWNED")], "the setup wrote outside")


@case("walls", "without `allow` a setup reaches no server on this machine", "without it they have no network")
def walls_no_network(t):
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen(4)
    server.settimeout(0.2)
    port = server.getsockname()[1]
    try:
        t.user(["bash -c 'exec 3<>/dev/tcp/127.0.0.1/%d && echo hi >&3' 2>/dev/null; %s" % (port, TOOL)])
        stands(t.run())
        try:
            server.accept()
            raise Unexpected("the setup connected to a server on this machine")
        except socket.timeout:
            pass
    finally:
        server.close()


@case("setup", "a setup that leaves a process behind is over when its command is; the process is gone", "when it ends every process inside is gone", True)
def setup_background(t):
    t.user(["sleep %s </dev/null >/dev/null 2>&1 & %s" % (t.nap, TOOL)])
    began = time.monotonic()
    t.build()
    need(time.monotonic() - began < 30, "`build` waited for the process")
    need(gone(t.nap), "the process still runs")
    stands(t.run())


@case("setup", "each command begins in the workspace; reading the input finds its end; both are done in order", "commands for a shell, one after the other, in the workspace; nobody is there to answer")
def setup_order(t):
    t.user(["mkdir -p dep/sub && cd dep/sub", "read answer; echo two > dep/order", TOOL + " && echo three >> dep/order"])
    r = t.run(look={"order": "tr '\\n' ' ' < dep/order"})
    stands(r)
    need(r.seen.get("order", "").strip() == "two three", "seen: %s" % r.seen)


@case("told", "manifest, `runs show` and --dry-run say on which environment a run stands", "environments.md: runs show and metadata.environment say which; --dry-run says it before")
def told_everywhere(t):
    t.user([TOOL, "true told-%s" % t.nap])
    rc, text = t.holon(*t.run_args(*t.agent(), ["--dry-run"]))
    need(rc == 0 and re.search(r"(?i)environment", text), "--dry-run does not speak of it (exit %d): %s" % (rc, short(text)))
    r = t.run()
    stands(r)
    need(r.digest, "metadata.environment has no digest: %s" % r.environment)
    need("told-" + t.nap in json.dumps(r.environment), "metadata.environment has not the commands: " + short(json.dumps(r.environment)))
    rc, text = t.holon("runs", "show", "last")
    need(re.search(r"(?i)environment", text) and r.digest[:6] in text, "`runs show` does not say which: " + short(text))
    need(t.listed(r.digest), "`environment list` does not have it")
    rc, text = t.holon("runs", "verify", "last")
    need(rc == 0, "`runs verify` says that something is false: " + short(text))


@case("layer", "two runs at once that both need the environment both succeed and stand on it", "orchestrations and people start runs side by side", True)
def layer_two_at_once(t):
    t.user(["sleep 1; " + TOOL])
    pairs = [t.agent(), t.agent()]
    children = [t.popen(t.run_args(a, o, []), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for a, o in pairs]
    for child, (_, out) in zip(children, pairs):
        try:
            text = child.communicate(timeout=min(40, t.left()))[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            for c in children:
                end_group(c)
            raise Unexpected("two runs at once were not over after 40 s")
        r = t.read_run(child.returncode, text, out)
        need(r.rc == 0, "one ended with %d: %s" % (r.rc, short(text)))
        stands(r)


@case("fresh", "--fresh makes no environment and stands on none, and the agent sees the workspace's own dep; the next run without it stands on one", "--fresh runs without it")
def fresh(t):
    t.user([t.canary_command, TOOL])
    r = t.run("--fresh")
    stands_not(r)
    t.no_canary()
    stands(t.run())
    t.write("dep/tool", "#!/bin/sh\necho own\n", 0o755)
    r = t.run("--fresh")
    need(r.seen.get("tool") == "own", "the workspace's own dep is not what is seen: %s" % r.seen)
    need(not r.digest, "the manifest names an environment: %s" % r.environment)


# ---------------------------------------------------------------------------------------------------------------- (5) patch
@case("patch", "an agent that empties .gitignore and adds the layer with `git add -f` gets nothing of it into the patch", "nothing of an environment can get into a patch")
def patch_agent_unignores(t):
    t.user([TOOL])
    r = t.run(after=": > .gitignore; git add -f dep; git commit -q -m x; echo four >> src/main.txt", ok=False)
    need(r.seen.get("tool") == "tool-runs", "the run did not stand on the environment: %s" % short(r.text))
    no_layer_in(r.patch)
    need("+four" in r.patch, "the agent's own change is missing: " + short(r.patch))


@case("patch", "the user stops ignoring dep after the environment was made: an agent that changes nothing gives an empty patch", "nothing of an environment can get into a patch")
def patch_user_unignores(t):
    t.user([TOOL])
    t.build()
    t.write(".gitignore", "*.so\n")
    t.commit()
    r = t.run(ok=False)
    need(r.patch == "", "the patch is not empty (exit %d): %s; %s" % (r.rc, short(str(r.patch)), short(r.text)))


@case("patch", "the repository gets a file in dep after the environment was made: it is seen, and no patch removes it", "an environment must not hide the repository's own files")
def patch_tracked_appears(t):
    t.user([TOOL])
    t.build()
    t.write("dep/own.txt", "own\n")
    t.git("add", "-f", "dep/own.txt")
    t.commit()
    r = t.run(look={"own": "cat dep/own.txt"}, ok=False)
    need(r.patch == "", "the patch is not empty (exit %d): %s; %s" % (r.rc, short(str(r.patch)), short(r.text)))
    need(r.seen.get("own") == "own", "the repository's file is hidden: %s" % r.seen)


@case("patch", "an applied patch has the agent's change and nothing of the layer; what the agent changed in the layer is not in the workspace", "the layer is the run's, not the project's")
def patch_applied(t):
    t.user([TOOL])
    r = t.run(after="echo four >> src/main.txt; echo changed >> dep/tool; mkdir dep/new; echo n > dep/new/f")
    no_layer_in(r.patch)
    rc, text = t.holon("runs", "apply", "last", may_change=True)
    need(rc == 0, "`apply` ended with %d: %s" % (rc, short(text)))
    changed = t.git("status", "--porcelain", "--ignored").split("\n")
    need([l for l in changed if l] == [" M src/main.txt"], "the workspace has: %s" % changed)


@case("patch", "an agent that puts a file where the layer has a folder, and a folder where it has a file, gets nothing of it into the patch", "shapes are where layers go wrong")
def patch_shapes(t):
    t.user([TOOL, "mkdir dep/folder && echo f > dep/folder/f && echo s > src/x.so"])
    r = t.run(after="rm -r dep/folder && echo file > dep/folder; rm src/x.so && mkdir src/x.so && echo y > src/x.so/y; mv dep/tool dep/moved")
    need(r.patch == "", "the patch is not empty: " + short(str(r.patch)))
    stands(t.run())


# ------------------------------------------------------------------------------------------------------- (6) fails, is killed
@case("fails", "`build` ends with 1, names the command, its exit code and its last line; nothing of the first command is used; the log is kept", "environments.md: the last lines are there, all of it in the run, nothing is left to stand on")
def fails_second_command(t):
    t.user([TOOL, "echo LAST$((40+2))WORD; exit 7"])
    rc, text = t.e("build")
    need(rc == 1, "`build` ended with %d: %s" % (rc, short(text)))
    need("LAST42WORD" in text and re.search(r"\b7\b", text), "exit code or last line is not told: " + short(text))
    need([p for p in t.scan("LAST42WORD", t.xdg)], "the output is kept nowhere")
    r = t.run(ok=False)
    need(r.seen.get("tool", "no") == "no", "the half of it is used: %s" % r.seen)
    need(re.search(r"(?i)setup|environment", r.text), "the run says nothing of it (exit %d): %s" % (r.rc, short(r.text)))


@case("fails", "after a failing setup was mended, the next run stands on the mended one alone", "a failure must not stick")
def fails_then_mended(t):
    t.write("tools/setup.sh", "mkdir -p dep; echo bad > dep/bad; exit 3\n")
    t.commit()
    t.user(["sh tools/setup.sh"])
    rc, text = t.e("build")
    need(rc != 0, "`build` ended with 0: " + short(text))
    t.write("tools/setup.sh", TOOL + "\n")
    t.commit()
    r = t.run(look={"bad": "[ -e dep/bad ] && echo yes || echo no"})
    stands(r)
    need(r.seen["bad"] == "no", "something of the failed one is there")


@case("fails", "a setup that a passing cause made fail is tried again by the next run, with the same digest", "the next run is how people try again", True)
def fails_then_passes(t):
    t.write("tools/setup.sh", "[ -e flags/down ] && { mkdir -p dep; echo bad > dep/bad; exit 4; }\n" + TOOL + "\n")
    t.write("flags/down", "")
    t.commit()
    t.user(["sh tools/setup.sh"])
    rc, text = t.e("build")
    need(rc != 0, "`build` ended with 0: " + short(text))
    t.git("rm", "-q", "flags/down")
    t.commit()
    r = t.run(look={"bad": "[ -e dep/bad ] && echo yes || echo no"})
    stands(r)
    need(r.seen["bad"] == "no", "something of the failed one is there")


def slow_setup(t):
    """The flag is named by the script, not by the command: the digest is the same with and without it."""
    t.write("tools/setup.sh", 'if [ -e flags/slow ]; then mkdir -p dep; echo h > dep/half; echo h > "$HOME/half"; sleep %s; fi\n%s\n' % (t.nap, TOOL))
    t.write("flags/slow", "")
    t.commit()
    t.user(["sh tools/setup.sh"])


def after_slow(t):
    t.git("rm", "-q", "flags/slow")
    t.commit()
    r = t.run(look={"half": '[ -e dep/half ] || [ -e "$HOME/half" ] && echo yes || echo no'})
    stands(r)
    need(r.seen["half"] == "no", "the half-made one was used")
    need(stands(t.run()) == r.seen["nonce"], "it is not kept")
    need(r.patch == "", "the patch is not empty: " + short(str(r.patch)))


@case("killed", "kill -9 of the whole process group during `build`: its processes are gone, the next run makes it anew, nothing half-made is used", "a setup that is killed leaves nothing that a run could stand on")
def killed_build(t):
    slow_setup(t)
    child = t.start_and_find(["environment", "build"])
    end_group(child)
    need(gone(t.nap), "the setup still runs 10 s after its process group was killed")
    after_slow(t)


@case("killed", "the same during a run that makes its environment, when first nothing waits but the setup", "runs make environments, too")
def killed_run_in_setup(t):
    slow_setup(t)
    child = t.start_and_find(t.run_args(*t.agent(), []))
    end_group(child)
    need(gone(t.nap), "the setup still runs 10 s after its process group was killed")
    after_slow(t)


@case("killed", "Ctrl-C during `build` ends it soon, not with 0, and nothing half-made is used", "Ctrl-C ends runs as cancelled")
def killed_by_interrupt(t):
    slow_setup(t)
    child = t.start_and_find(["environment", "build"])
    end_group(child, signal.SIGINT)
    try:
        rc = child.wait(timeout=15)
    except subprocess.TimeoutExpired:
        end_group(child)
        raise Unexpected("it was not over 15 s after Ctrl-C")
    need(rc != 0, "it ended with 0")
    need(gone(t.nap), "the setup still runs")
    after_slow(t)


@case("killed", "kill -9 while an agent changes the layer: the next run finds the layer as it was", "what an agent changes stays in its run")
def killed_in_agent(t):
    t.user([TOOL])
    t.build()
    first = stands(t.run())
    agent, out = t.agent(do="echo x > dep/nonce; rm dep/tool; echo m > dep/mine; sleep " + t.nap)
    end_group(t.start_and_find(t.run_args(agent, out, [])))
    need(gone(t.nap), "the agent still runs 10 s after its process group was killed")
    r = t.run(look={"mine": "[ -e dep/mine ] && echo yes || echo no"})
    need(stands(r) == first and r.seen["mine"] == "no", "the layer changed: %s" % r.seen)


@case("fails", "where the workspace has a file above what the environment brings, the message says so and names `build --again`", "the table of what it says has this one")
def fails_shape_changed(t):
    t.write("a/x.txt", "x\n")
    t.write(".gitignore", "a/dep/\n")
    t.commit()
    t.user(["mkdir -p a/dep && echo f > a/dep/f"])
    t.build()
    t.git("rm", "-q", "-r", "a")
    t.write("a", "a file now\n")
    t.commit()
    r = t.run(ok=False)
    need(re.search(r"no folder|--again", r.text), "it does not say so (exit %d): %s" % (r.rc, short(r.text)))


@case("fails", "`--sandbox none` with an environment is refused and names --fresh", "walls weaker than native ones cannot show it")
def fails_weak_walls(t):
    t.user([TOOL])
    t.build()
    r = t.run("--sandbox", "none", "--i-accept-no-isolation", ok=False)
    need(r.rc != 0 and "--fresh" in r.text, "it ended with %d: %s" % (r.rc, short(r.text)))


# ------------------------------------------------------------------------------------------------------------ (7) odd files
ODD = [
    ("fifo_lock", lambda t: os.mkfifo(t.path("package-lock.json")), "package-lock.json is a FIFO"),
    ("folder_lock", lambda t: os.makedirs(t.path("package-lock.json/x")), "package-lock.json is a folder"),
    ("zero_devcontainer", lambda t: (os.mkdir(t.path(".devcontainer")), os.symlink("/dev/zero", t.path(".devcontainer/devcontainer.json"))), "devcontainer.json is a link to /dev/zero"),
    ("fifo_holon_toml", lambda t: os.mkfifo(t.path("holon.toml")), "holon.toml is a FIFO"),
    ("loop_lock", lambda t: (os.symlink("Cargo.lock", t.path("Cargo.lock")), os.symlink("gone", t.path("go.sum"))), "lock files are a loop of links and a dangling one"),
]
for _name, _make, _words in ODD:
    def _fn(t, make=_make):
        make(t)
        rc, text = t.e("show", seconds=20)
        need(rc in (0, 1, 2, 64) and text.strip(), "`show` ended with %s: %s" % (rc, short(text)))
        need(not re.search(r"npm ci|cargo fetch|go mod download", text), "it is taken for a lock file: " + short(text))
        t.user([TOOL])
        rc, text = t.e("build", seconds=30)
        need(rc == 0 or re.search(r"holon\.toml|lock|devcontainer|go\.sum", text), "`build` ended with %d without naming the file: %s" % (rc, short(text)))
    _fn.__name__ = "odd_" + _name
    case("odd-files", "%s: nothing hangs, it is no lock file, and a `build` of the user's own works or names it" % _words,
         "a repository can hold anything, and must not stop its user", True)(_fn)


@case("odd-files", "`inputs` that are a FIFO, /dev/zero, outside of the workspace or not there: nothing hangs, and each is told or harmless", "inputs come from the repository", True)
def odd_inputs(t):
    os.mkfifo(t.path("pipe"))
    os.symlink("/dev/zero", t.path("zero"))
    for inputs in (["pipe"], ["zero"], ["/etc/passwd"], ["../../.."], ["not-there"], ["."], ["src"]):
        t.write("holon.toml", t.table("[environment]", [TOOL], None, inputs))
        rc, text = t.e("show", seconds=15)
        need(rc in (0, 1, 2, 64) and text.strip(), "`show` with inputs %s ended with %s: %s" % (inputs, rc, short(text)))
        need("root:" not in text, "content of a file outside is shown")


# --------------------------------------------------------------------------------------------------------- (8) gc and list
@case("gc", "`gc` right after a build removes nothing that was just made; `list` has it", "gc removes what no run stood on for 30 days")
def gc_keeps_new(t):
    t.user([TOOL])
    t.build()
    rc, text = t.e("gc")
    need(rc == 0, "`gc` ended with %d: %s" % (rc, short(text)))
    r = t.run()
    first = stands(r)
    need(r.digest and t.listed(r.digest), "`list` does not have what the run stands on: %s" % r.environment)
    t.e("gc")
    need(stands(t.run()) == first, "it was made again")


@case("gc", "`gc --unused-for 1s` after two seconds removes it, read-only folders included; the next run makes it anew", "what is removed is made again when it is needed")
def gc_removes(t):
    word = "blindfile%d" % t.rng.randint(10 ** 5, 10 ** 6)
    t.user([TOOL, "mkdir -p dep/ro/in && echo x > dep/ro/in/%s && chmod -R a-w dep/ro" % word])
    r = t.run()
    first = stands(r)
    time.sleep(2.5)
    rc, text = t.e("gc", "--unused-for", "1s")
    need(rc == 0, "`gc --unused-for 1s` ended with %d: %s" % (rc, short(text)))
    need(not (r.digest and t.listed(r.digest)), "`list` still has it")
    left = [p for at, _, files in os.walk(t.cache) for p in files if word in p]
    need(not left, "files of it are still in the cache")
    need(stands(t.run()) != first, "the old one is still used")


@case("gc", "`gc --unused-for 1s` while an agent works on the environment leaves it alone", "what a run stands on at the moment stays")
def gc_during_run(t):
    t.user([TOOL])
    t.build()
    first = stands(t.run())
    nap = "4.%04d" % t.rng.randint(1000, 9999)
    agent, out = t.agent(do="sleep " + nap)
    child = t.start_and_find(t.run_args(agent, out, []), nap)
    time.sleep(1.5)
    rc, text = t.e("gc", "--unused-for", "1s")
    need(rc == 0, "`gc` ended with %d: %s" % (rc, short(text)))
    try:
        rc = child.wait(timeout=min(30, t.left()))
    except subprocess.TimeoutExpired:
        end_group(child)
        raise Unexpected("the run was not over after 30 s")
    r = t.read_run(rc, "", out)
    need(rc == 0 and stands(r) == first, "the run lost its environment: exit %s, %s" % (rc, r.seen))


@case("gc", "`list` in a new home says that there is none and ends with 0; `gc` there, too", "nothing is no error", True)
def gc_empty(t):
    for args in (["list"], ["gc"], ["gc", "--unused-for", "7d"]):
        rc, text = t.e(*args)
        need(rc == 0 and text.strip(), "`environment %s` ended with %d: %s" % (" ".join(args), rc, short(text)))


@case("gc", "environments are below $XDG_CACHE_HOME/holon/environments and removing that folder by hand only makes the next run build again", "environments.md: what is removed there is made again")
def gc_by_hand(t):
    t.user([TOOL])
    first = stands(t.run())
    where = os.path.join(t.cache, "holon", "environments")
    need(os.path.isdir(where), "there is no %s" % os.path.relpath(where, t.dir))
    need(not os.path.exists(t.home + "/.cache/holon"), "~/.cache is used although XDG_CACHE_HOME is set")
    for at, dirs, _ in os.walk(where):
        for d in dirs:
            if not os.path.islink(os.path.join(at, d)):
                os.chmod(os.path.join(at, d), 0o700)
    shutil.rmtree(where)
    need(stands(t.run()) != first, "the old one is still used")


# ---------------------------------------------------------------------------------------------------------------- (9) flags
for _name, _args, _says in (
    ("subcommand", ["environment", "frobnicate"], None),
    ("again", ["environment", "build", "--agian"], "--again"),
    ("duration", ["environment", "gc", "--unused-for", "banana"], "banana"),
    ("no_duration", ["environment", "gc", "--unused-for"], None),
    ("extra_word", ["environment", "show", "what", "is", "this"], None),
    ("fresh", ["run", "--goal", "x", "--agent", "true", "--frehs"], "--fresh"),
):
    def _fn(t, args=_args, says=_says):
        rc, text = t.holon(*args)
        need(rc == 64, "it ended with %d: %s" % (rc, short(text)))
        need(says is None or says in text, "it does not name %s: %s" % (says, short(text)))
    _fn.__name__ = "flags_" + _name
    case("flags", "`holon %s` ends with 64%s" % (" ".join(_args), " and names " + _says if _says else ""), "64 means that the command line is wrong")(_fn)


@case("flags", "`build` with nothing to build ends with an error that says so; `trust --withdraw` without an agreement does not crash", "a build that built nothing is no success", True)
def flags_build_nothing(t):
    rc, text = t.e("build")
    need(rc != 0 and text.strip(), "`build` ended with %d: %s" % (rc, short(text)))
    rc, text = t.e("trust", "--withdraw")
    need(text.strip(), "`trust --withdraw` says nothing")


@case("flags", "`list --json` and `show --json` print JSON and nothing else", "every other list of holon has --json", True)
def flags_json(t):
    t.user([TOOL])
    t.build()
    for args in (["list", "--json"], ["show", "--json"]):
        child = t.popen(["environment", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out = child.communicate(timeout=t.left())[0].decode(errors="replace")
        try:
            [json.loads(out)] if out.lstrip()[:1] in "[{" else [json.loads(l) for l in out.splitlines()]
            need(out.strip() and child.returncode == 0, "`environment %s` ended with %d and printed %r" % (" ".join(args), child.returncode, short(out)))
        except ValueError:
            raise Unexpected("`environment %s` prints no JSON: %s" % (" ".join(args), short(out)))


# ---------------------------------------------------------------------------------------------------------------- (10) names
for _name, _folder in (("spaces", "my project  two"), ("unicode", "Größe-プロジェクト"), ("quotes", "it's \"$HOME\" `x`;#"), ("dots_dash", "-v..=,:x")):
    def _fn(t):
        t.user([TOOL, "mkdir -p 'dep/ä b/ñ' && echo 'grüß \"dich\"' > 'dep/ä b/ñ/f'"])
        r = t.run(look={"deep": "cat 'dep/ä b/ñ/f'"})
        stands(r)
        need(r.seen.get("deep") == 'grüß "dich"', "seen: %s" % r.seen)
        need(r.patch == "", "the patch is not empty: " + short(str(r.patch)))
        need(stands(t.run()) == r.seen["nonce"], "the second run made it again")
        t.repo([t.canary_command])
        t.user_text("")
        t.run()
        t.no_canary()
        t.trust()
        need(t.run().seen["canary"] == t.canary, "after agreement it is not used")
    _fn.__name__ = "names_" + _name
    case("names", "in a folder named %r setup, run, agreement and paths with spaces and letters in the layer work" % _folder,
         "people name folders as they like", False, ws_name=_folder)(_fn)


@case("names", "a folder reached by a link, and named with a slash at its end in the configuration, is the same folder", "people have links to where their work is", True)
def names_link(t):
    link = os.path.join(t.dir, "to work")
    os.symlink(t.ws, link)
    t.user([TOOL])
    first = stands(t.run(cwd=link))
    t.user([TOOL], folder=link + "/")
    need(stands(t.run()) == first, "it was made again")


@case("names", "`--workspace DIR` from elsewhere stands on the environment of DIR", "the folder to work on is DIR", True)
def names_workspace_flag(t):
    t.user([TOOL])
    t.build()
    stands(t.run("--workspace", t.ws, cwd=t.home))


# ----------------------------------------------------------------------------------------------------------------- running
def carry_out(number, spec, holon, base, seed):
    began, result = time.monotonic(), {k: spec[k] for k in ("name", "kind", "expect", "why", "taste")}
    result.update(number=number, verdict="as expected", got="")
    project = None
    try:
        project = Project(holon, base, number, seed, **spec["project"])
        spec["fn"](project)
    except Unexpected as e:
        result.update(verdict="not as expected", got=str(e))
    except subprocess.TimeoutExpired as e:
        result.update(verdict="not as expected", got="was not over in time: %s" % e)
    except Exception as e:  # the case itself is wrong, or the machine lacks something
        result.update(verdict="case broken", got="%s: %s" % (type(e).__name__, e))
    if result["verdict"] != "as expected" and project:
        result["log"] = [short(str(l), 1500) for l in project.log[-12:]]
    left = project.remove() if project else None
    if left:
        result["left_behind"] = left
        if result["verdict"] == "as expected":
            result.update(verdict="not as expected", got="the folder of the case cannot be removed: " + left)
    result["seconds"] = round(time.monotonic() - began, 1)
    print("%3d %-28s %-16s %5.1f s" % (number, spec["name"], result["verdict"], result["seconds"]), file=sys.stderr, flush=True)
    return result


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--holon")
    p.add_argument("--only")
    p.add_argument("--json")
    p.add_argument("--list", action="store_true")
    p.add_argument("--seed", type=int, default=SEED)
    args = p.parse_args()
    chosen = list(enumerate(CASES, 1))
    if args.only:
        words = set(args.only.split(","))
        chosen = [(n, c) for n, c in chosen if words & {str(n), c["name"], c["kind"]}]
    if args.list:
        for n, c in chosen:
            print("%3d %-10s %-28s%s %s" % (n, c["kind"], c["name"], " (taste)" if c["taste"] else "", c["expect"]))
        return 0
    if not args.holon or not chosen:
        p.error("--holon is needed, and a case that is there")
    holon = os.path.abspath(args.holon)
    if not os.access(holon, os.X_OK):
        p.error("%s cannot be executed" % holon)
    base = tempfile.mkdtemp(prefix="hb-")
    try:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            results = list(pool.map(lambda nc: carry_out(nc[0], nc[1], holon, base, args.seed), chosen))
    finally:
        shutil.rmtree(base, ignore_errors=True)
    bad = [r for r in results if r["verdict"] != "as expected"]
    kinds = {}
    for r in results:
        row = kinds.setdefault(r["kind"], {"cases": 0, "as expected": 0, "not as expected": 0, "of these taste": 0, "case broken": 0})
        row["cases"] += 1
        row[r["verdict"]] += 1
        row["of these taste"] += r["verdict"] == "not as expected" and r["taste"]
    print("\n%d cases, %d as expected, %d not as expected (%d of them taste), %d cases broken" % (
        len(results), len(results) - len(bad), sum(r["verdict"] == "not as expected" for r in bad),
        sum(r["verdict"] == "not as expected" and r["taste"] for r in bad), sum(r["verdict"] == "case broken" for r in bad)))
    for kind, row in sorted(kinds.items()):
        print("  %-10s %3d cases, %3d as expected, %3d not (%d taste), %d broken" % (
            kind, row["cases"], row["as expected"], row["not as expected"], row["of these taste"], row["case broken"]))
    for r in bad:
        print("\n%d %s [%s%s] %s" % (r["number"], r["name"], r["kind"], ", taste" if r["taste"] else "", r["verdict"]))
        print("  expected: %s; because %s" % (r["expect"], r["why"]))
        print("  got:      %s" % short(r["got"], 600))
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"seed": args.seed, "kinds": kinds, "cases": results}, f, indent=1, ensure_ascii=False)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
