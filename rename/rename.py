#!/usr/bin/env python3
"""Renames types and modules of the Holon workspace after mapping files. See README.md."""
import argparse, difflib, json, os, re, shutil, subprocess, sys, time, tomllib
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
STAGES = ["resolve", "apply", "fmt", "check", "breaks", "generate", "verify"]
T0 = time.time()


def tell(text):
    print(f"[{time.time() - T0:6.1f}s] {text}", flush=True)


class Run:
    def __init__(self, args):
        self.root = Path(args.root).resolve()
        self.out = Path(args.out).resolve()
        self.mapping = Path(args.mapping).resolve()
        self.cargo = args.cargo
        self.keep_public = args.keep_public_names
        self.force = args.force
        self.report = []

    def note(self, text):
        self.report.append(text)

    # ---- what the resolver said
    def read(self):
        self.edits = defaultdict(list)
        for line in (self.out / "edits.tsv").read_text().splitlines():
            f, s, e, old, new, kind = line.split("\t")
            self.edits[f].append((int(s), int(e), old, new, kind))
        self.keeps = defaultdict(set)
        for line in (self.out / "keeps.tsv").read_text().splitlines():
            f, name, _ = line.split("\t")
            self.keeps[f].add(name)
        self.moves = [tuple(l.split("\t")) for l in (self.out / "moves.tsv").read_text().splitlines()]
        self.defs = defaultdict(list)
        for line in (self.out / "defs.tsv").read_text().splitlines():
            name, kind, f, new = line.split("\t")
            self.defs[name].append((kind, f, new))
        self.old = (self.out / "old-commit").read_text().strip() if (self.out / "old-commit").exists() else None
        # Names that mean one thing in the whole tree.
        self.unique = {}
        for name, list_ in self.defs.items():
            news = {new for _, _, new in list_}
            if len(news) == 1 and "" not in news:
                self.unique[name] = news.pop()
        self.old_names = {e[2] for es in self.edits.values() for e in es}

    def file_map(self, f):
        seen = defaultdict(set)
        for _, _, old, new, kind in self.edits.get(f, []):
            if kind != "comment":
                seen[old].add(new)
        return {o: next(iter(n)) for o, n in seen.items() if len(n) == 1 and o not in self.keeps.get(f, ())}

    def moved(self, path):
        """Where a path of the old tree is in the new one."""
        for frm, to in sorted(self.moves, key=lambda m: -len(m[0])):
            if path == frm or path.startswith(frm + "/"):
                path = to + path[len(frm):]
                # An outer folder may move too; its own row is shorter and still to come.
        return path

    def git(self, *args, check=True, text=True, **kw):
        return subprocess.run(["git", *args], cwd=self.root, check=check, capture_output=True, text=text, **kw)

    def tracked(self):
        return [p for p in self.git("ls-files", "-z", "--cached", "--others", "--exclude-standard").stdout.split("\0") if p and (self.root / p).is_file()]

    def old_text(self, path):
        r = self.git("show", f"{self.old}:{path}", check=False, text=False)
        return r.stdout.decode() if r.returncode == 0 else None

    def run(self, args, **kw):
        return subprocess.run(args, cwd=self.root, **kw)

    # ---- stages
    def resolve(self):
        if self.git("status", "--porcelain", "--untracked-files=no").stdout.strip() and not self.force:
            sys.exit("the tree has changes; commit them first (or --force)")
        self.out.mkdir(parents=True, exist_ok=True)
        (self.out / "old-commit").write_text(self.git("rev-parse", "HEAD").stdout)
        r = subprocess.run([sys.executable, HERE / "resolve.py", self.root, self.mapping, self.out])
        if r.returncode:
            sys.exit("the resolver failed")
        print((self.out / "resolve.txt").read_text()[:6000])

    def apply(self):
        self.read()
        for f, edits in self.edits.items():
            (self.root / f).write_bytes(renamed_bytes((self.root / f).read_bytes(), edits))
        for frm, to in sorted(self.moves, key=lambda m: -m[0].count("/")):
            src, dst = self.root / frm, self.root / to
            if not src.exists():
                continue
            if dst.exists() and dst.is_dir() and src.is_dir():
                for item in src.iterdir():
                    shutil.move(item, dst / item.name)
                src.rmdir()
            elif dst.exists():
                self.note(f"MOVE {frm}: {to} is there already")
            else:
                dst.parent.mkdir(parents=True, exist_ok=True)
                src.rename(dst)
        self.texts()
        if self.keep_public:
            self.public_names()
        self.git("add", "-A")

    def texts(self):
        """Paths of moved files, names in Markdown, relative paths in include_str! and #[path]."""
        back = {}
        for f in self.git("ls-tree", "-r", "--name-only", self.old).stdout.splitlines():
            back[self.moved(f)] = f
        patterns = []
        for frm, to in self.moves:
            end = r"(?=/)" if not frm.endswith(".rs") else r"(?![\w])"
            patterns.append((frm, re.compile(r"(?<![\w/])" + re.escape(frm) + end), to))
            if frm.startswith("crates/"):
                patterns.append((frm[7:], re.compile(r"(?<![\w/])" + re.escape(frm[7:]) + end), to[7:]))
        patterns.sort(key=lambda p: -len(p[0]))
        names = sorted({Path(frm).stem for frm, _ in self.moves})
        any_stem = re.compile(r"\b(?:" + "|".join(names) + r")\b") if names else None
        any_mod = re.compile(r"\b(?:" + "|".join(names) + r")::") if names else None
        stems = {Path(frm).name: frm for frm, _ in self.moves if frm.endswith(".rs")}
        for rel in self.tracked():
            if rel.startswith(("web/", "bench/tasks", "schemas/", "breaks/INV", "breaks/supervisor")) or not rel.endswith((".rs", ".md", ".toml", ".yml", ".yaml", ".sh", ".py")) or rel.endswith((".lock", "package-lock.json", ".patch")):
                continue
            p = self.root / rel
            try:
                text = before = p.read_text()
            except UnicodeDecodeError:
                continue
            if any_stem and any_stem.search(text):
                for frm, pattern, to in patterns:
                    if frm in text:
                        text = pattern.sub(to, text)
            if rel.endswith(".rs"):
                text = self.includes(rel, back.get(rel, rel), text)
            if rel.endswith(".md") and rel != "CHANGELOG.md":
                text = self.markdown(rel, text)
            if text != before:
                p.write_text(text)
            if self.moves and rel.endswith((".md", ".toml")) and not rel.startswith(("bench/", "web/", "breaks/")):
                for n, line in enumerate(text.splitlines(), 1):
                    for word in re.findall(r"[\w/]*\b\w+\.rs\b", line):
                        if Path(word).name in stems and not (self.root / word).exists():
                            self.note(f"PATH? {rel}:{n}: {word} (moved: {stems[Path(word).name]})")
                    if any_mod.search(line):
                        self.note(f"MODULE? {rel}:{n}: {line.strip()[:120]}")

    def includes(self, rel, was, text):
        def fix(m):
            target = os.path.normpath(os.path.join(os.path.dirname(was), m[2]))
            new = self.moved(target)
            if new == target and os.path.dirname(rel) == os.path.dirname(was):
                return m[0]
            return m[1] + os.path.relpath(new, os.path.dirname(rel)) + '"'
        return re.sub(r'((?:include(?:_str|_bytes)?!\(\s*|#\[path\s*=\s*)")([^"]+)"', fix, text)

    def markdown(self, rel, text):
        def fix(m):
            if not re.fullmatch(r"[\w:<>(),&']+", m[1]):
                return m[0]

            def word(w):
                name = w[0]
                if not name[0].isupper() or name not in self.old_names:
                    return name
                new = self.unique.get(name)
                if new is None:
                    if any(d[2] for d in self.defs.get(name, [])):
                        self.note(f"DOC? {rel}: `{m[1]}`: {name} has several meanings")
                    return name
                if name.upper() == name and len(name) < 4:
                    return name
                self.note(f"DOC {rel}: `{m[1]}`: {name} -> {new}")
                return new
            return "`" + re.sub(r"\b\w+\b", word, m[1]) + "`"
        return re.sub(r"(?<!`)`([^`\n]+)`(?!`)", fix, text)

    def public_names(self):
        for f, edits in self.edits.items():
            p = self.root / self.moved(f)
            text = before = p.read_text()
            for old, new in {(e[2], e[3]) for e in edits if e[4] == "resolved"}:
                def fix(m):
                    lines = ""
                    if "JsonSchema" in m[1]:
                        lines += f'#[schemars(rename = "{old}")]\n'
                    if "ToSchema" in m[1]:
                        lines += f"#[schema(as = {old})]\n"
                    return m[1] + "\n" + lines + m[2]
                text = re.sub(r"^(#\[derive\([^\]]*(?:JsonSchema|ToSchema)[^\]]*\)\])\n((?:(?:#\[|///|//).*\n|[ )\]].*\n)*(?:pub(?:\([^)]*\))? )?(?:struct|enum) " + new + r"\b)", fix, text, flags=re.M)
            if text != before:
                p.write_text(text)

    def fmt(self):
        r = self.run(["cargo", "fmt", "--all"], capture_output=True, text=True)
        if r.returncode:
            print(r.stderr[-3000:])

    def check(self):
        self.read()
        back = {}
        for f in self.edits:
            back[self.moved(f)] = f
        for round_ in range(1, 9):
            tell(f"cargo check, round {round_}")
            r = self.run([self.cargo, "check", "--workspace", "--all-targets", "--keep-going", "--message-format=json", "-q"], capture_output=True, text=True)
            errors, fixes = [], set()
            for line in r.stdout.splitlines():
                try:
                    msg = json.loads(line)
                except ValueError:
                    continue
                if msg.get("reason") != "compiler-message" or msg["message"]["level"] not in ("error", "warning"):
                    continue
                m = msg["message"]
                if m["level"] == "error":
                    errors.append(m["rendered"])
                code = (m.get("code") or {}).get("code") or ""
                if m["level"] == "warning" or not code.startswith("E0"):
                    continue
                for span in m["spans"]:
                    if not span["is_primary"]:
                        continue
                    while span.get("expansion") and not (self.root / span["file_name"]).is_file():
                        span = span["expansion"]["span"]
                    f = span["file_name"]
                    p = self.root / f
                    if f.startswith("/") or not p.is_file():
                        continue
                    data = p.read_bytes()
                    part = data[span["byte_start"]:span["byte_end"]].decode(errors="replace")
                    local = self.file_map(back.get(f, f))
                    # A path is blamed at one of its parts; the whole word there is what counts.
                    for w in re.finditer(r"\b\w+\b", part):
                        new = local.get(w[0]) or self.unique.get(w[0])
                        if new and new != w[0] and w[0] not in self.still_defined(w[0]):
                            s = span["byte_start"] + len(part[:w.start()].encode())
                            fixes.add((f, s, s + len(w[0].encode()), w[0], new))
            (self.out / "check.txt").write_text("\n".join(dict.fromkeys(errors)) + "\n" + r.stderr[-4000:])
            if r.returncode == 0:
                tell("cargo check is clean")
                return
            tell(f"{len(dict.fromkeys(errors))} errors, {len(fixes)} words to mend")
            if not fixes:
                self.note(f"CHECK {len(dict.fromkeys(errors))} errors are left: {self.out}/check.txt")
                return
            by = defaultdict(list)
            for f, s, e, old, new in fixes:
                by[f].append((s, e, old, new, "mend"))
                self.note(f"MENDED {f}: {old} -> {new}")
            for f, edits in by.items():
                (self.root / f).write_bytes(renamed_bytes((self.root / f).read_bytes(), sorted(edits)))
            self.fmt()

    def still_defined(self, name):
        return {name} if any(not d[2] for d in self.defs.get(name, [])) and name not in self.unique else set()

    def rustfmt(self, text):
        r = subprocess.run(["rustfmt", "--edition", "2024", "--config-path", str(self.root / "rustfmt.toml")], input=text, capture_output=True, text=True, cwd=self.root)
        if r.returncode:
            return None
        return r.stdout

    def words(self, f, text, near=()):
        """Renames the words of a text that stands in a file (of the old tree)."""
        local = dict(self.file_map(f))
        seen = defaultdict(set)
        for _, _, old, new, _ in near:
            seen[old].add(new)
        local.update({o: next(iter(n)) for o, n in seen.items() if len(n) == 1})

        def fix(m):
            w = m[0]
            new = local.get(w)
            if new is None and w in self.old_names and w[0].isupper() and w not in self.keeps.get(f, ()):
                new = self.unique.get(w)
                if new is None and any(d[2] for d in self.defs.get(w, [])):
                    self.note(f"WORD? {f}: {w} in: {text.strip()[:90]}")
            if new is None:
                return w
            if w[0].islower():
                after, before = text[m.end():m.end() + 2], text[max(0, m.start() - 2):m.start()]
                if "::" not in (after, before):
                    return w
            return new
        return re.sub(r"\b[A-Za-z_]\w*\b", fix, text)

    def carried(self, f, old, patched):
        """A patched old file with the names of the new tree."""
        edits = [e for e in self.edits.get(f, [])]
        lines, starts, at = old.splitlines(keepends=True), [], 0
        for line in lines:
            starts.append(at)
            at += len(line.encode())
        per = defaultdict(list)
        import bisect
        for e in edits:
            n = bisect.bisect_right(starts, e[0]) - 1
            per[n].append((e[0] - starts[n], e[1] - starts[n], *e[2:]))
        new = [renamed_bytes(l.encode(), per[n]).decode() if n in per else l for n, l in enumerate(lines)]
        theirs = patched.splitlines(keepends=True)
        out = []
        for tag, a, b, c, d in difflib.SequenceMatcher(None, lines, theirs, autojunk=False).get_opcodes():
            if tag == "equal":
                out += new[a:b]
            elif tag in ("replace", "insert"):
                near = [e for n in range(max(0, a - 3), min(len(lines), b + 3)) for e in per.get(n, [])]
                out += [self.words(f, l, near) for l in theirs[c:d]]
        return "".join(new), "".join(out)

    def patches(self):
        work = self.out / "patches"
        shutil.rmtree(work, ignore_errors=True)
        env = dict(os.environ, GIT_CEILING_DIRECTORIES=str(self.out))
        for rel in sorted(p for p in self.tracked() if p.startswith("breaks/") and p.endswith(".patch")):
            patch = self.old_text(rel)
            if patch is None:
                continue
            head = patch[:patch.index("diff --git")] if "diff --git" in patch else ""
            files = sorted(set(re.findall(r"^(?:---|\+\+\+) [ab]/(\S+)", patch, re.M)))
            tmp = work / Path(rel).stem
            (tmp / "o").mkdir(parents=True)
            old = {}
            for f in files:
                old[f] = self.old_text(f)
                if old[f] is not None:
                    p = tmp / "o" / f
                    p.parent.mkdir(parents=True, exist_ok=True)
                    p.write_text(old[f])
            r = subprocess.run(["git", "apply", "-"], cwd=tmp / "o", input=patch, text=True, capture_output=True, env=env)
            if r.returncode:
                self.note(f"PATCH {rel}: does not apply to the old tree: {r.stderr.strip()[:200]}")
                continue
            for f in files:
                to = self.moved(f)
                after = (tmp / "o" / f).read_text() if (tmp / "o" / f).exists() else None
                final = (self.root / to).read_text() if (self.root / to).exists() else None
                for side, text in (("a", final), ("b", None)):
                    (tmp / side / to).parent.mkdir(parents=True, exist_ok=True)
                    if text is not None:
                        (tmp / side / to).write_text(text)
                if after is None:
                    continue
                if old[f] is None or not f.endswith(".rs"):
                    (tmp / "b" / to).write_text(self.words(f, after))
                    continue
                mine, theirs = self.carried(f, old[f], after)
                mine, theirs = self.rustfmt(mine) or mine, self.rustfmt(theirs) or theirs
                if final is None:
                    self.note(f"PATCH {rel}: {to} is not in the new tree")
                    continue
                if final == mine:
                    merged = theirs
                else:
                    names = [tmp / "final", tmp / "mine", tmp / "theirs"]
                    for n, t in zip(names, (final, mine, theirs)):
                        n.write_text(t)
                    m = subprocess.run(["git", "merge-file", "-p", *map(str, names)], capture_output=True, text=True, env=env)
                    if m.returncode:
                        self.note(f"PATCH {rel}: {to}: the change and what was mended by hand touch the same lines; write it anew")
                    merged = m.stdout
                (tmp / "b" / to).write_text(merged)
            d = subprocess.run(["git", "diff", "--no-index", "--no-prefix", "--no-color", "--no-renames", "a", "b"], cwd=tmp, capture_output=True, text=True, env=env)
            if not d.stdout.strip():
                self.note(f"PATCH {rel}: nothing is left of it")
                continue
            (self.root / rel).write_text(head + d.stdout)

    def module_test(self, crate, base, name):
        """The new path of a unit or integration test inside its crate."""
        parts = name.split("::")
        for n in range(len(parts), 0, -1):
            for tail in (".rs", "/mod.rs"):
                f = f"{crate}/{base}/{'/'.join(parts[:n])}{tail}"
                if self.old_text(f) is not None:
                    new = self.moved(f)
                    mods = new[len(f"{crate}/{base}/"):-len(tail)].split("/")
                    return "::".join(mods + parts[n:])
        return name

    def crate_dir(self, package):
        for p in self.git("ls-tree", "-r", "--name-only", self.old).stdout.splitlines():
            if p.endswith("Cargo.toml") and re.search(rf'^name = "{re.escape(package)}"', self.old_text(p) or "", re.M):
                return p[: -len("/Cargo.toml")] if "/" in p else ""
        return None

    def toml_lists(self):
        rel = "breaks/breaks.toml"
        text = self.old_text(rel)
        if text:
            def fix(m):
                block = m[0]
                get = lambda k: (re.search(rf'^{k} = "(.*)"', block, re.M) or [None, None])[1]
                crate, binary, test = self.crate_dir(get("package")), get("binary"), get("test")
                base = "src" if binary in ("lib", "bin") else f"tests/{binary}"
                if crate is None or test is None:
                    return block
                return block.replace(f'test = "{test}"', f'test = "{self.module_test(crate, base, test)}"')
            (self.root / rel).write_text(re.sub(r"\[\[break\]\]\n(?:.+\n)+", fix, text))
        rel = "breaks/supervisor/rules.toml"
        text = self.old_text(rel)
        if not text:
            return
        values = tomllib.loads(text)["mutation"]
        spans = list(re.finditer(r"^(file|old|new|test) = ('''\n?(?:.*?)'''|\"\"\"\n?(?:.*?)\"\"\"|'[^'\n]*'|\"(?:[^\"\\\n]|\\.)*\")", text, re.M | re.S))
        out, at, cache, index = [], 0, {}, -1
        last_key = None
        package = "crates/supervisor"
        blocks = [m.start() for m in re.finditer(r"^\[\[mutation\]\]", text, re.M)]
        import bisect
        done = {}
        for span in spans:
            index = bisect.bisect_right(blocks, span.start()) - 1
            v, key = values[index], span[1]
            f = v["file"]
            if f not in cache:
                cache[f] = (self.old_text(f) or "", (self.root / self.moved(f)).read_text() if (self.root / self.moved(f)).exists() else "")
            o, final = cache[f]
            if key == "file":
                value = self.moved(f)
            elif key == "test":
                value = self.module_test(package, "src", v["test"])
            else:
                near = []
                value = v[key]
                pos = o.find(v["old"])
                if pos < 0 or o.count(v["old"]) != 1:
                    self.note(f"RULE {f}: its old text is there {o.count(v['old'])} times before anything is renamed: {v['old'].strip()[:70]}")
                else:
                    s = len(o[:pos].encode())
                    e = s + len(v["old"].encode())
                    near = [(a - s, b - s, *r) for a, b, *r in self.edits.get(f, []) if a >= s and b <= e]
                if key == "old" and pos >= 0:
                    value = renamed_bytes(v["old"].encode(), near).decode()
                    if final.count(value) != 1:
                        value = found_anew(value, final) or value
                    if final.count(value) != 1:
                        self.note(f"RULE {f}: its old text is there {final.count(value)} times: {value.strip()[:90]}")
                elif key == "new":
                    value = self.words(f, v["new"], near)
            if value == v[key]:
                continue
            out.append(text[at:span.start(2)])
            out.append(literal(value))
            at = span.end(2)
        out.append(text[at:])
        new = "".join(out)
        tomllib.loads(new)
        (self.root / rel).write_text(new)

    def breaks(self):
        self.read()
        self.patches()
        self.toml_lists()

    def generate(self):
        for args, to in (([self.cargo, "xtask", "codegen"], None), ([self.cargo, "run", "-q", "-p", "holon-server", "--example", "openapi"], "openapi.json")):
            r = self.run(args, capture_output=True, text=True)
            if r.returncode:
                self.note(f"GENERATE {' '.join(args[1:])} failed: {r.stderr[-1500:]}")
            elif to:
                (self.root / to).write_text(r.stdout)
            tell(" ".join(args[1:]) + (" failed" if r.returncode else " done"))

    def verify(self):
        bad = 0
        for rel in sorted(p for p in self.tracked() if p.startswith("breaks/") and p.endswith(".patch")):
            r = self.git("apply", "--check", rel, check=False)
            if r.returncode:
                bad += 1
                self.note(f"VERIFY {rel}: {r.stderr.strip()[:200]}")
        p = self.root / "breaks/supervisor/rules.toml"
        count = 0
        if p.exists():
            for v in tomllib.loads(p.read_text())["mutation"]:
                count += 1
                f = self.root / v["file"]
                n = f.read_text().count(v["old"]) if f.exists() else -1
                if n != 1:
                    bad += 1
                    self.note(f"VERIFY rules.toml: {v['file']}: {n} times: {v['old'].strip()[:80]}")
        tell(f"patches and {count} rules: {bad} bad")
        r = self.run([self.cargo, "xtask", "tidy"], capture_output=True, text=True)
        if r.returncode:
            self.note("TIDY\n" + (r.stdout + r.stderr)[-3000:])
        tell("tidy " + ("has findings" if r.returncode else "is quiet"))


def renamed_bytes(data, edits):
    out, at = [], 0
    for s, e, old, new, *_ in sorted(edits):
        if s < at:
            continue
        if data[s:e].decode(errors="replace") != old:
            raise SystemExit(f"the text at {s} is {data[s:e]!r}, not {old}; was the tree changed since `resolve`?")
        out += [data[at:s], new.encode()]
        at = e
    return b"".join(out + [data[at:]])


def tokens(text):
    found = [(m[0], m.start(), m.end()) for m in re.finditer(r"\w+|[^\w\s]", text)]
    return [t for i, t in enumerate(found) if not (t[0] == "," and i + 1 < len(found) and found[i + 1][0] in ")]}")]


def found_anew(value, text):
    """The same tokens in a text that was formatted otherwise."""
    want, have = [t[0] for t in tokens(value)], tokens(text)
    if want and want[-1] == ",":
        want.pop()
    names = [t[0] for t in have]
    hits = [i for i in range(len(names) - len(want) + 1) if names[i:i + len(want)] == want] if want else []
    if len(hits) != 1:
        return None
    start, end = have[hits[0]][1], have[hits[0] + len(want) - 1][2]
    if value[:1].isspace():
        while start and text[start - 1] in " \t":
            start -= 1
    if value.rstrip().endswith(",") and text[end:end + 1] == ",":
        end += 1
    if value.endswith("\n") and text[end:end + 1] == "\n":
        end += 1
    return text[start:end]


def literal(value):
    if "'''" in value or "\r" in value:
        return json.dumps(value)
    if "\n" in value or "'" in value:
        return "'''\n" + value + "'''"
    return "'" + value + "'"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--root", default=".")
    p.add_argument("--mapping", default="./mapping")
    p.add_argument("--out", default=str(HERE / "run"))
    p.add_argument("--cargo", default="cargo")
    p.add_argument("--keep-public-names", action="store_true", help="schemas and openapi keep the old names, by attributes")
    p.add_argument("--force", action="store_true", help="the tree may have changes that are not committed")
    p.add_argument("--stages", default=",".join(STAGES))
    args = p.parse_args()
    run = Run(args)
    for stage in args.stages.split(","):
        if stage not in STAGES:
            sys.exit(f"no such stage: {stage}; there are {', '.join(STAGES)}")
        tell(f"== {stage}")
        getattr(run, stage)()
    text = "\n".join(dict.fromkeys(run.report)) + "\n"
    (run.out / "report.txt").write_text(text)
    print(text[-6000:])
    tell(f"done; all of it in {run.out}/report.txt and {run.out}/resolve.txt")


main()
