#!/usr/bin/env python3
"""Finds every identifier of a workspace that a mapping renames, by a name resolver of its own (paths, imports, globs,
re-exports, block scopes). usage: resolve.py ROOT MAPPING_DIR OUT_DIR"""
import bisect, json, os, re, subprocess, sys, time
from collections import defaultdict
from pathlib import Path

ROOT, MAPPING, OUT = (Path(a).resolve() for a in sys.argv[1:4])
T0 = time.time()
report = []
TOKEN = re.compile(r'''
 (?P<comment>//[^\n]*|/\*)
|(?P<str>(?:b|c)?r(?P<h>\#*)"|(?:b|c)?")
|(?P<char>b?'(?:\\(?:x[0-9a-fA-F]{2}|u\{[0-9a-fA-F_]+\}|.)|[^\\'\n\x80-\xff]|[\x80-\xff]+)')
|(?P<life>'[A-Za-z_]\w*)
|(?P<ident>(?:r\#)?[A-Za-z_][A-Za-z0-9_]*)
|(?P<num>[0-9][0-9A-Za-z_]*(?:\.[0-9][0-9A-Za-z_]*)?)
|(?P<punct>::|->|=>|==|!=|<=|>=|\.\.|[^\s\w])
''', re.X)


def lex(text):
    """(kind, text, start) without white space; the text is Latin-1, so that places are those of bytes."""
    out, at, n = [], 0, len(text)
    while at < n:
        m = TOKEN.match(text, at)
        if not m:
            at += 1
            continue
        kind, end = m.lastgroup, m.end()
        if kind == "h":
            kind = "str"
        if kind == "comment" and m[0] == "/*":
            depth, end = 1, at + 2
            while depth and end < n:
                if text.startswith("/*", end): depth += 1; end += 2
                elif text.startswith("*/", end): depth -= 1; end += 2
                else: end += 1
        elif kind == "str":
            if "r" in m[0].split('"')[0]:
                close = '"' + (m["h"] or "")
                i = text.find(close, end)
                end = n if i < 0 else i + len(close)
            else:
                while end < n and text[end] != '"':
                    end += 2 if text[end] == "\\" else 1
                end += 1
        out.append((kind, text[at:end], at))
        at = end
    return out


class Def:
    __slots__ = ("kind", "name", "file", "at", "row", "inner", "owner")

    def __init__(self, kind, name, file, at, inner=None, owner=None):
        self.kind, self.name, self.file, self.at, self.inner, self.owner, self.row = kind, name, file, at, inner, owner, None


class Scope:
    def __init__(self, parent, module, kind):
        self.parent, self.kind = parent, kind
        self.module = self if module is None else module   # the module it belongs to
        self.items = defaultdict(list)
        self.imports = defaultdict(list)                    # name -> [path segments]
        self.globs = []
        self.up = None                                      # for modules: the parent module
        self.root = None
        self.selfpath = None


TYPES = ("struct", "enum", "union", "trait", "type")
lexed, files_seen = {}, {}
refs = []       # (file, token index, scope, segments, next text)
docs = []       # (file, token, scope)
attrs = []
defs_by_file = defaultdict(dict)   # file -> (at) -> Def
scopes_of_file = defaultdict(list)
OLD = set()


def tokens_of(file):
    if file not in lexed:
        lexed[file] = lex((ROOT / file).read_bytes().decode("latin-1"))
    return lexed[file]


def define(scope, d):
    known = defs_by_file[d.file].setdefault((d.at, d.name), d)
    if known is not d:
        # The same file in another crate: one definition, and what is inside of it is of this crate.
        if d.inner is not None:
            known = Def(d.kind, d.name, d.file, d.at, d.inner, d.owner)
            known.row = known_rows.get((d.file, d.at))
    if scope is not None:
        scope.items[d.name].append(known)
    return known


known_rows = {}
all_mods = []


class Parser:
    def __init__(self, file, scope, moddir):
        self.file, self.moddir = file, moddir
        self.toks = tokens_of(file)
        self.code = [i for i, t in enumerate(self.toks) if t[0] != "comment"]
        scopes_of_file[file].append(scope)
        self.walk(scope)

    def text(self, k):
        return self.toks[self.code[k]][1] if 0 <= k < len(self.code) else ""

    def kind(self, k):
        return self.toks[self.code[k]][0] if 0 <= k < len(self.code) else ""

    def place(self, k):
        return self.toks[self.code[k]][2]

    def walk(self, scope):
        stack = []            # (closing, scope, kind, enum def)
        kind, enum, pending, pend_enum, inline = "mod", None, None, None, None
        expecting = False
        depth = 0             # brackets and parentheses inside of an enum's braces
        path_attr = None
        dirs = [self.moddir]
        marks = []            # scopes by place, for comments
        marks.append((0, scope))
        k, n = 0, len(self.code)
        while k < n:
            t, tk = self.text(k), self.kind(k)
            if tk == "ident":
                prev, nxt = self.text(k - 1), self.text(k + 1)
                is_def = False
                if kind == "enum" and depth == 0 and expecting and prev != "#":
                    d = Def("variant", t, self.file, self.place(k), None, enum)
                    d = define(None, d)
                    enum.inner.setdefault(t, []).append(d)
                    expecting, is_def = False, True
                elif prev in TYPES and self.kind(k - 1) == "ident" and not (prev == "union" and self.text(k - 2) in ("::", ".", "let")):
                    d = Def(prev, t, self.file, self.place(k), {} if prev == "enum" else None)
                    if prev == "type" and kind in ("impl", "trait"):
                        is_def = True
                    else:
                        d = define(scope, d)
                        is_def = True
                        if prev == "enum" and d.inner is None:
                            d.inner = {}
                        pending, pend_enum = (prev if prev in ("enum", "trait", "struct") else pending), d if prev == "enum" else None
                elif prev == "mod" and self.kind(k - 1) == "ident" and nxt in (";", "{"):
                    child = Scope(None, None, "mod")
                    child.up, child.root = scope.module, scope.module.root
                    d = Def("mod", t, self.file, self.place(k), child)
                    scope.items[t].append(d)
                    defs_by_file[self.file].setdefault((d.at, t), d)
                    all_mods.append((d, child))
                    is_def = True
                    if nxt == ";":
                        base = dirs[-1]
                        tries = [base / f"{t}.rs", base / t / "mod.rs"]
                        if path_attr:
                            tries = [Path(self.file).parent / path_attr]
                        for f in tries:
                            f = Path(os.path.normpath(f))
                            if (ROOT / f).is_file():
                                d.owner = str(f)
                                moddir = f.parent if f.name == "mod.rs" or path_attr else f.parent / f.stem
                                Parser(str(f), child, moddir)
                                break
                    else:
                        inline = (child, t)
                    path_attr = None
                elif prev == "fn" and self.kind(k - 1) == "ident":
                    if kind in ("impl", "trait"):
                        define(None, Def("fn", t, self.file, self.place(k)))
                    else:
                        define(scope, Def("fn", t, self.file, self.place(k)))
                    is_def = True
                elif prev in ("const", "static") and nxt == ":" and self.text(k - 2) not in ("*", "<", ","):
                    define(scope if kind not in ("impl", "trait") else None, Def(prev, t, self.file, self.place(k)))
                    is_def = True
                elif t == "use" and nxt != "<" and prev != "+":
                    k = self.use(scope, k + 1, [])
                    continue
                elif t == "impl" and (prev in ("", "}", ";", "]", "{", "unsafe", "default") or prev == ")" and False):
                    pending = "impl"
                    self.impl_at = k
                if t == "derive" and nxt == "(":
                    # Derives live among the macros, where no type is.
                    while self.text(k) not in (")", ""):
                        k += 1
                    k += 1
                    continue
                if not is_def and t in OLD and nxt != "!":
                    self.reference(scope, k)
            elif t == "{":
                stack.append((scope, kind, enum, expecting, depth, len(dirs)))
                depth, expecting, enum = 0, False, None
                if inline:
                    child, name = inline
                    scope, kind = child, "mod"
                    dirs.append(dirs[-1] / name)
                    inline = None
                else:
                    inner = Scope(scope, scope.module, "block")
                    kind = pending or "block"
                    if kind == "impl":
                        inner.selfpath = self.self_type(self.impl_at, k)
                    if kind == "enum" and pend_enum is not None:
                        enum, expecting = pend_enum, True
                    elif kind == "enum":
                        kind = "block"
                    scope = inner
                pending = pend_enum = None
                marks.append((self.place(k), scope))
            elif t == "}":
                if stack:
                    scope, kind, enum, expecting, depth, ndirs = stack.pop()
                    del dirs[ndirs:]
                    marks.append((self.place(k) + 1, scope))
            elif t in "([":
                depth += 1
            elif t in ")]" and t:
                depth -= 1
            elif t == "," and kind == "enum" and depth == 0:
                expecting = True
            elif t == ";":
                pending = pend_enum = None
            elif tk == "str":
                m = None
                if self.text(k - 1) == "=" and self.text(k - 2) == "path" and self.text(k - 3) == "[" and self.text(k - 4) == "#":
                    path_attr = t.strip('"')
                elif any(name in t for name in re.findall(r"\w+", t) if name in OLD):
                    if depth > 0 and self.in_attr(k):
                        key = self.text(k - 2) if self.text(k - 1) == "=" else ""
                        attrs.append((self.file, self.place(k), t, key, scope))
            k += 1
        # Comments belong to the scope they stand in.
        starts = [m[0] for m in marks]
        for t in self.toks:
            if t[0] == "comment":
                docs.append((self.file, t, marks[bisect.bisect_right(starts, t[2]) - 1][1]))

    def in_attr(self, k):
        depth = 0
        for j in range(k - 1, max(0, k - 400), -1):
            t = self.text(j)
            if t in ")]":
                depth += 1
            elif t in "([":
                if depth == 0:
                    if t == "[" and (self.text(j - 1) == "#" or self.text(j - 1) == "!" and self.text(j - 2) == "#"):
                        return True
                else:
                    depth -= 1
            elif t in ";{}":
                return False
        return False

    def self_type(self, a, b):
        words, depth, out = [], 0, []
        j = a + 1
        if self.text(j) == "<":
            depth = 1
            j += 1
            while j < b and depth:
                depth += {"<": 1, ">": -1}.get(self.text(j), 0)
                j += 1
        depth = 0
        for i in range(j, b):
            t = self.text(i)
            depth += {"<": 1, ">": -1}.get(t, 0)
            if depth == 0 and t == "for":
                out = []
            elif depth == 0 and t == "where":
                break
            elif depth == 0 and self.kind(i) == "ident" and t not in ("dyn", "mut", "const"):
                out.append(t)
        return out

    def use(self, scope, k, prefix):
        """Reads a tree of imports from k on and returns where it ends."""
        path = list(prefix)
        if self.text(k) == "::":
            k += 1
        while True:
            t = self.text(k)
            if t == "{":
                k += 1
                while self.text(k) not in ("}", ""):
                    k = self.use(scope, k, path)
                    if self.text(k) == ",":
                        k += 1
                k += 1
                break
            if t == "*":
                scope.globs.append(list(path))
                k += 1
                break
            if self.kind(k) != "ident":
                break
            path.append(t)
            if t in OLD:
                refs.append((self.file, self.place(k), t, scope, list(path), "use"))
            if self.text(k + 1) == "::":
                k += 2
                continue
            name, k = (path[-1], k + 1)
            if self.text(k) == "as":
                name, k = self.text(k + 1), k + 2
            elif name == "self":
                path.pop()
                name = path[-1] if path else "self"
            if name != "_":
                scope.imports[name].append(list(path))
            else:
                pass
            break
        if not prefix:
            while self.text(k) not in (";", "", "}"):
                k += 1
        return k

    def reference(self, scope, k):
        t, nxt = self.text(k), self.text(k + 1)
        if nxt == "=" and self.text(k - 1) in ("<", ",") and t[0].isupper():
            return                               # `Iterator<Item = …>`
        if self.text(k - 1) == ".":
            return
        segs, j = [t], k
        while self.text(j - 1) == "::":
            p = self.text(j - 2)
            if self.kind(j - 2) != "ident":
                if p in (">",) or p in ")]":
                    segs = None                  # `<A as B>::C`
                break
            segs.insert(0, p)
            j -= 2
        if segs is None:
            return
        refs.append((self.file, self.place(k), t, scope, segs, nxt))


EXT = object()


def members(d, name, seen):
    """What a definition has under a name."""
    if isinstance(d, Scope):
        return look_module(d, name, seen)
    if d.kind == "mod":
        return look_module(d.inner, name, seen)
    if d.kind == "enum":
        return list(d.inner.get(name, []))
    return []


def look_here(scope, name, seen):
    out = list(scope.items.get(name, []))
    for path in scope.imports.get(name, []):
        key = (id(scope), name, tuple(path))
        if key not in seen:
            r = resolve(scope, path, seen | {key}, importing=name)
            out += r if r else [EXT]
    return out


def look_globs(scope, name, seen):
    out = []
    for path in scope.globs:
        key = (id(scope), "*" + name, tuple(path))
        if key in seen:
            continue
        seen = seen | {key}
        for d in resolve(scope, path, seen) or []:
            if d is not EXT:
                out += members(d, name, seen)
    return out


def look_module(scope, name, seen):
    key = (id(scope), name)
    if key in seen:
        return []
    seen = seen | {key}
    found = look_here(scope, name, seen)
    kinds = {("value" if d is not EXT and d.kind in ("fn", "const", "static") else "type") for d in found}
    if not found or kinds == {"value"}:
        found = found + look_globs(scope, name, seen)
    return found


def resolve(scope, segs, seen=frozenset(), importing=None):
    """The definitions a path may mean, [] when it leads out of the workspace."""
    first, rest = segs[0], segs[1:]
    module = scope.module
    if first in ("crate", "$crate"):
        cur = [module.root]
    elif first == "self":
        cur = [module]
    elif first == "super":
        m = module.up
        while rest and rest[0] == "super":
            m, rest = (m.up if m else None), rest[1:]
        cur = [m] if m else []
    elif first == "Self":
        s = scope
        while s is not None and s.selfpath is None:
            s = s.parent
        cur = resolve(s.parent or s, s.selfpath, seen) if s is not None and s.selfpath and s.selfpath[0] != "Self" else []
        if not rest:
            return []
    else:
        cur, s = [], scope
        while s is not None:
            # An import does not see itself: `use a::b as a`.
            got = look_here(s, first, seen) if not (importing == first and len(segs) == 1 and s is scope) else list(s.items.get(first, []))
            if s.kind == "block" and got and all(d is not EXT and d.kind in ("fn", "const", "static") for d in got) and (rest or first[0].isupper()):
                got = []
            if not got or all(d is not EXT and d.kind in ("fn", "const", "static") for d in got):
                got = got + look_globs(s, first, seen)
            if got:
                cur = got
                break
            s = s.parent
        if not cur or (importing and rest and cur and all(d is EXT for d in cur)):
            if first in crates:
                cur = [crates[first]]
    for i, seg in enumerate(rest):
        nxt = []
        for d in cur:
            if d is EXT or d is None:
                continue
            nxt += members(d, seg, seen)
        cur = nxt
    return cur


def choose(found, name, nxt, npath):
    """The row of what was found, "other", or None."""
    mapped = [d for d in found if isinstance(d, Def) and row_of(d) is not None]
    if not found:
        return None
    if nxt == "::" or (nxt == "use" and any(isinstance(d, Def) and d.kind == "mod" for d in mapped)):
        types = [d for d in mapped if d.kind not in ("fn", "const", "static")]
        return row_of(types[0]) if types else "other"
    if name[0].islower():
        mapped = [d for d in mapped if d.kind != "mod" or nxt in ("use", "in)")]
        if nxt != "use":
            mapped = [d for d in mapped if nxt == "(" or npath > 1]
    return row_of(mapped[0]) if mapped else "other"


def row_of(d):
    if d.row is not None:
        return d.row
    return known_rows.get((d.file, d.at))


# ---- the mapping
rows = []
seen_rows = {}
for f in sorted(MAPPING.glob("*.tsv")):
    for n, line in enumerate(f.read_text().splitlines(), 1):
        line = line.rstrip()
        if not line.strip() or line.startswith(("#", "path\t", "path-of")):
            continue
        cells = [c.strip().strip("`") for c in line.split("\t")]
        if len(cells) < 4:
            report.append(f"ROW {f.name}:{n}: fewer than four cells: {line}")
            continue
        path, kind, old, new = cells[:4]
        new = new.split("::")[-1]
        if not all(re.fullmatch(r"[A-Za-z_]\w*", x) for x in (old.split("::")[-1], new)):
            report.append(f"ROW {f.name}:{n}: not identifiers: {line}")
            continue
        if old.split("::")[-1] == new:
            continue
        key = (path, kind, old)
        if key in seen_rows:
            if seen_rows[key] != new:
                report.append(f"ROW {f.name}:{n}: {old} of {path} is mapped to {seen_rows[key]} already; ignored")
            continue
        seen_rows[key] = new
        rows.append((path.removeprefix("./"), kind, old, new, f"{f.name}:{n}"))
        OLD.add(old.split("::")[-1])

# ---- the workspace
meta = json.loads(subprocess.run(["cargo", "metadata", "--no-deps", "--format-version=1", "--offline"], cwd=ROOT, check=True, capture_output=True, text=True).stdout)
crates, roots = {}, []
for package in meta["packages"]:
    for target in package["targets"]:
        f = os.path.relpath(target["src_path"], ROOT)
        scope = Scope(None, None, "mod")
        scope.root = scope
        scope.package = package["name"]
        roots.append((f, scope))
        if "lib" in target["kind"] or "proc-macro" in target["kind"]:
            crates[target["name"].replace("-", "_")] = scope
sys.setrecursionlimit(20000)
for f, scope in roots:
    Parser(f, scope, Path(f).parent)
print(f"[{time.time() - T0:5.1f}s] {len(rows)} rows, {len(lexed)} files, {len(roots)} crates", flush=True)

# ---- what the rows mean
moves = []
given = defaultdict(list)
for n, (path, kind, old, new, frm) in enumerate(rows):
    qual, name = (old.rsplit("::", 1) + [None])[:2] if "::" in old else (None, old)
    qual = qual.split("::")[-1] if qual else None
    if path not in lexed:
        report.append(f"ROW {frm}: {path} is no file of a crate")
        continue
    if kind == "mod":
        p = Path(path)
        decls = [d for d, _ in all_mods if d.owner == path and d.name == name]
        if decls:
            for d in decls:
                known_rows[(d.file, d.at)] = n
            if p.name == "mod.rs":
                moves.append((str(p.parent), str(p.parent.parent / new)))
            else:
                moves.append((path, str(p.parent / f"{new}.rs")))
                if (ROOT / p.parent / p.stem).is_dir():
                    moves.append((str(p.parent / p.stem), str(p.parent / new)))
            for f, t in moves[-2:]:
                if (ROOT / t).exists() and t not in {m[0] for m in moves}:
                    report.append(f"MOVE? {frm}: {t} is there already")
            continue
        inline = [d for d, _ in all_mods if d.file == path and d.name == name and d.owner is None]
        if not inline:
            report.append(f"ROW {frm}: nothing declares a module {name} in {path}")
        for d in inline:
            known_rows[(d.file, d.at)] = n
        continue
    cands = [d for (at, nm), d in defs_by_file[path].items() if nm == name]
    exact = [d for d in cands if d.kind == kind]
    if not exact and kind in TYPES:
        exact = [d for d in cands if d.kind in TYPES]
    if qual:
        exact = [d for d in exact if d.owner is not None and not isinstance(d.owner, str) and d.owner.name == qual] if kind == "variant" else exact
    if not exact:
        # Perhaps a macro defines it from its input.
        at = [t for t in tokens_of(path) if t[0] == "ident" and t[1] == name]
        calls = [t for t in at]
        if kind in TYPES and calls and not cands:
            d = Def(kind, name, path, calls[0][2])
            for s in scopes_of_file[path]:
                s.items[name].append(d)
            known_rows[(path, d.at)] = n
            report.append(f"NOTE {frm}: {name} is no item in {path}; its first mention is taken for the definition (a macro's input?)")
        else:
            report.append(f"ROW {frm}: no {kind} {old} in {path}")
        continue
    if len(exact) > 1:
        report.append(f"NOTE {frm}: {kind} {old} is {len(exact)} times in {path}; all are renamed")
    for d in exact:
        known_rows[(d.file, d.at)] = n
        d.row = n
    if kind in TYPES:
        given[(path, new)].append(frm)
for (path, new), frms in given.items():
    if len(frms) > 1:
        report.append(f"CLASH {path}: several types become {new} ({', '.join(frms)})")
for path, m in defs_by_file.items():
    for (at, name), d in m.items():
        if d.row is None and d.kind in TYPES and (path, name) in given:
            report.append(f"CLASH {path}: {name} is there already and {', '.join(given[(path, name)])} makes another")

# ---- every mention
edits, keeps = {}, defaultdict(int)
newnames = {r[3] for r in rows}
for (f, at), n in known_rows.items():
    name = rows[n][2].split("::")[-1]
    edits[(f, at)] = (name, rows[n][3], "resolved")
unresolved = []
answer = {}
for f, at, name, scope, segs, nxt in refs:
    if (f, at) in edits:
        continue
    key = (id(scope), tuple(segs), nxt if nxt in ("::", "use", "(") else "")
    if key in answer:
        r = answer[key]
    else:
        r = answer[key] = choose(resolve(scope, segs), name, nxt, len(segs))
    if isinstance(r, int):
        edits[(f, at)] = (name, rows[r][3], "resolved")
    elif r == "other":
        keeps[(f, name)] += 1
    else:
        unresolved.append((f, at, name, segs, nxt))
print(f"[{time.time() - T0:5.1f}s] {len(edits)} edits", flush=True)


def line(f, at):
    return (ROOT / f).read_bytes()[:at].count(b"\n") + 1


everything = defaultdict(list)
for f, m in defs_by_file.items():
    for (at, name), d in m.items():
        if d.kind in TYPES + ("variant", "mod"):
            r = row_of(d)
            everything[name].append((d.kind, f, rows[r][3] if r is not None else ""))
local = defaultdict(set)
for (f, at), (old, new, _) in edits.items():
    local[(f, old)].add(new)
for f, at, name, segs, nxt in unresolved:
    if (f, at) in edits:
        continue
    if name[0].isupper() and len(local.get((f, name), ())) == 1 and (f, name) not in keeps and len(segs) == 1:
        new = next(iter(local[(f, name)]))
        edits[(f, at)] = (name, new, "guess")
        report.append(f"GUESS {f}:{line(f, at)}: {name} -> {new}")
    elif name[0].isupper() and len(segs) == 1 and all(d[2] for d in everything[name]):
        report.append(f"UNRESOLVED {f}:{line(f, at)}: {'::'.join(segs)}")


def paths_in(text):
    for m in re.finditer(r"\w+(?:::\w+)*", text):
        if m.start() and text[m.start() - 1] in "-./$@" or text[m.end():m.end() + 1] in ("-", "/"):
            continue
        segs, at = [], m.start()
        for s in m[0].split("::"):
            segs = segs + [s]
            yield at, list(segs), text[at + len(s):at + len(s) + 2] == "::"
            at += len(s) + 2


def quoted(text):
    out = [m.span(1) for m in re.finditer(r"`([^`]*)`", text)]
    out += [m.span(1) for m in re.finditer(r"\[([\w:]+)\]", text)]
    out += [m.span(1) for m in re.finditer(r"\]\(([\w:]+)\)", text)]
    return out


for f, (_, text, at), scope in docs:
    ranges = None
    for s, segs, more in paths_in(text) if any(o in OLD for o in re.findall(r"\w+", text)) else ():
        name = segs[-1]
        if name not in OLD or (f, at + s) in edits:
            continue
        ranges = quoted(text) if ranges is None else ranges
        if not any(a <= s < b for a, b in ranges):
            continue
        own = getattr(scope.module.root, "package", "").replace("-", "_")
        path = ["crate"] + segs[1:] if len(segs) > 1 and segs[0] == own else segs
        found = resolve(scope, path)
        hit = [d for d in found if isinstance(d, Def) and row_of(d) is not None]
        new = None
        if hit:
            d = hit[0]
            link = text[max(0, s - 2):s].endswith(("[", "[`"))
            if d.kind != "mod" or more or len(segs) > 1 or link:
                new = rows[row_of(d)][3]
        elif not [d for d in found if d is not EXT] and name[0].isupper():
            news = {d[2] for d in everything[name]}
            if len(news) == 1 and "" not in news:
                new = news.pop()
            else:
                report.append(f"COMMENT {f}:{line(f, at + s)}: `{'::'.join(segs)}` is not resolved")
        if new:
            edits[(f, at + s)] = (name, new, "comment")

SKIP = {"doc", "rename", "reason", "note", "alias", "tag", "content", "rename_all", "about", "help", "description", "expected", "name", "title", "long", "value_name", "message"}
for f, at, text, key, scope in attrs:
    if key in SKIP:
        continue
    for s, segs, more in paths_in(text):
        name = segs[-1]
        if name not in OLD or (f, at + s) in edits:
            continue
        hit = [d for d in resolve(scope, segs) if isinstance(d, Def) and row_of(d) is not None]
        if hit and (name[0].isupper() or more or hit[0].kind != "mod"):
            edits[(f, at + s)] = (name, rows[row_of(hit[0])][3], "attribute")
        elif name[0].isupper():
            report.append(f"ATTRIBUTE {f}:{line(f, at)}: {key} = {text} is not resolved")

# ---- new names that mean something else in a scope where they come in
came = defaultdict(set)
for (f, at), (old, new, kind) in edits.items():
    came[f].add(new)
for f, names in sorted(came.items()):
    for scope in scopes_of_file[f]:
        for name in sorted(names):
            if scope.imports.get(name):
                report.append(f"CLASH? {f}: {name} comes in and {'::'.join(scope.imports[name][0])} is imported too")

OUT.mkdir(parents=True, exist_ok=True)
(OUT / "edits.tsv").write_text("".join(f"{f}\t{at}\t{at + len(old)}\t{old}\t{new}\t{kind}\n" for (f, at), (old, new, kind) in sorted(edits.items())))
(OUT / "keeps.tsv").write_text("".join(f"{f}\t{name}\t{c}\n" for (f, name), c in sorted(keeps.items())))
(OUT / "moves.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in dict.fromkeys(moves)))
(OUT / "defs.tsv").write_text("".join(f"{name}\t{k}\t{f}\t{new}\n" for name, l in sorted(everything.items()) for k, f, new in l))
every = subprocess.run(["git", "ls-files", "*.rs"], cwd=ROOT, capture_output=True, text=True).stdout.split()
report += [f"NOTE {f}: belongs to no crate; nothing is renamed in it" for f in every if f not in lexed and any(o in OLD for o in re.findall(r"\w+", (ROOT / f).read_text()))]
(OUT / "resolve.txt").write_text("\n".join(dict.fromkeys(report)) + "\n")
print(f"[{time.time() - T0:5.1f}s] {len(edits)} edits in {len(came)} files, {len(moves)} moves, {len(report)} remarks", flush=True)
