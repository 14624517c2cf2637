"""Git settings and files that make git run programs: planted here, and nothing may happen on the host.

Inside, planting is allowed where the workspace is writable (the copy is the agent's), so the answer is `planted`; the
harness then looks whether any of the programs ran. In the open the same plant must make an ordinary git command run it.
"""

import os
import shutil
import subprocess

from kit import Blocked, probe

ROUTINE = ["diff", "add -A", "diff --cached", "status", "commit --allow-empty -qm x", "submodule update --init", "log -p -1",
           "checkout -- .", "fetch ssh://localhost/x", "stash"]


def _git(repo, *args):
    env = {"PATH": os.environ["PATH"], "HOME": repo, "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1",
           "GIT_ALLOW_PROTOCOL": "file:ssh"}
    for role in ("AUTHOR", "COMMITTER"):
        env["GIT_%s_NAME" % role], env["GIT_%s_EMAIL" % role] = "x", "x@example.com"
    return subprocess.run(["git", "-C", repo, *args], env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=10)


def _write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)


def _hooks(repo, run):
    for name in ("pre-commit", "post-checkout", "post-index-change", "post-commit", "pre-applypatch", "post-rewrite",
                 "reference-transaction", "pre-auto-gc", "fsmonitor-watchman", "applypatch-msg", "prepare-commit-msg"):
        _write(repo + "/.git/hooks/" + name, "#!/bin/sh\n" + run + "\nexit 0\n", 0o755)


def _hooks_path(repo, run):
    for name in ("pre-commit", "post-index-change", "post-checkout"):
        _write(repo + "/planted-hooks/" + name, "#!/bin/sh\n" + run + "\nexit 0\n", 0o755)
    _git(repo, "config", "core.hooksPath", "planted-hooks")


def _config(*pairs):
    def plant(repo, run):
        for key, value in pairs:
            done = _git(repo, "config", key, value.replace("RUN", run))
            if done.returncode:
                raise PermissionError(30, done.stderr.decode())

    return plant


def _attributes(line, *pairs):
    def plant(repo, run):
        _config(*pairs)(repo, run)
        _write(repo + "/.gitattributes", line + "\n")
        _write(repo + "/.git/info/attributes", line + "\n")
        _write(repo + "/README", "changed by " + line + "\n")

    return plant


def _changed(plant):
    def both(repo, run):
        plant(repo, run)
        _write(repo + "/README", "changed\n")

    return both


def _include(repo, run):
    _write(repo + "/planted.cfg", "[core]\n\tfsmonitor = \"%s; false\"\n" % run)
    _config(("include.path", "../planted.cfg"))(repo, run)


def _signer(repo, run):
    _write(repo + "/planted-gpg", "#!/bin/sh\n" + run + "\nexit 1\n", 0o755)
    _config(("gpg.program", "./planted-gpg"), ("commit.gpgSign", "true"))(repo, run)


def _worktree_file(repo, run):
    # The .git folder moves away and a pointer takes its place, to a folder whose settings the agent wrote.
    shutil.copytree(repo + "/.git", repo + "/elsewhere", symlinks=True)
    shutil.rmtree(repo + "/.git")
    _write(repo + "/.git", "gitdir: elsewhere\n")
    subprocess.run(["git", "config", "--file", repo + "/elsewhere/config", "core.fsmonitor", run + "; false"], check=True)


def _submodule(repo, run):
    _write(repo + "/.gitmodules", "[submodule \"x\"]\n\tpath = sub\n\turl = ./.git/x\n")
    _config(("submodule.x.url", repo + "/.git/x"), ("submodule.x.update", "!RUN"), ("submodule.x.active", "true"))(repo, run)
    os.makedirs(repo + "/sub", exist_ok=True)
    if not os.path.exists(repo + "/.git/x/.git"):
        subprocess.run(["git", "init", "-q", repo + "/.git/x"], check=True)
        _git(repo + "/.git/x", "commit", "-qm", "x", "--allow-empty")
    head = _git(repo + "/.git/x", "rev-parse", "HEAD").stdout.decode().strip()
    _git(repo, "-c", "core.fsmonitor=false", "update-index", "--add", "--cacheinfo", "160000,%s,sub" % head)


PLANTS = {
    "hooks": _hooks,
    "hooks-path": _hooks_path,
    "fsmonitor": _config(("core.fsmonitor", "RUN; false")),
    "filter-clean": _attributes("* filter=p", ("filter.p.clean", "RUN; cat"), ("filter.p.smudge", "RUN; cat")),
    "filter-process": _attributes("* filter=q", ("filter.q.process", "RUN; false"), ("filter.q.required", "false")),
    "textconv": _attributes("* diff=t", ("diff.t.textconv", "RUN; cat")),
    "diff-command": _attributes("* diff=c", ("diff.c.command", "RUN; true")),
    "diff-external": _changed(_config(("diff.external", "RUN; true"))),
    "merge-driver": _attributes("* merge=m", ("merge.m.driver", "RUN; true")),
    "ssh-command": _config(("core.sshCommand", "RUN; false")),
    "include": _include,
    "submodule": _submodule,
    "alias-shadow": _config(("alias.st", "!RUN")),
    "pager": _config(("core.pager", "RUN; cat"), ("pager.diff", "RUN; cat")),
    "gpg": _signer,
    "git-file": _worktree_file,
}
NOT_ROUTINE = {
    "merge-driver": "only a merge runs it; the host's apply is tried with it in place",
    "alias-shadow": "an alias cannot shadow a command, and the host uses none",
    "pager": "a pager needs a terminal",
}

for _name, _plant in PLANTS.items():

    @probe("git-" + _name, "plant %s for the host's git to run" % _name, want="planted EROFS EACCES EPERM",
           control="none" if _name in NOT_ROUTINE else "user", lacks={"": NOT_ROUTINE.get(_name, "")})
    def _(w, name=_name, plant=_plant):
        if not hasattr(w, "open"):
            # A relative name and an absolute one: wherever git would run on the host, one of them is right.
            plant(w.ws, "touch %s/git-%s" % (w.canary_dir, name))
            raise Blocked("planted")
        repo, proof = w.ws, w.tmp + "/ran"
        for args in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
            _git(repo, *args)
        plant(repo, "touch " + proof)
        for line in ROUTINE:
            try:
                _git(repo, *line.split())
            except subprocess.TimeoutExpired:
                pass
        if os.path.exists(proof):
            return "it ran"
        raise Blocked("never ran")
