"""What a process inherits: variables and descriptors."""

import os

from kit import Blocked, probe, slurp

ALLOWED = {"PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "USER", "LOGNAME", "SHELL", "PWD", "OLDPWD",
           "SHLVL", "_", "CI", "NO_COLOR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
           "XDG_RUNTIME_DIR"}
# What toolchains inside need to find themselves; values are paths.
TOOLS = ("HOLON_", "CARGO_", "RUSTUP_", "GO", "npm_config_", "NPM_CONFIG_", "PIP_", "JAVA_", "PYENV_", "NODE_PATH",
         "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV", "SSL_CERT", "GIT_")
PLANTED = ("LD_PRELOAD", "BASH_ENV", "ENV", "NODE_OPTIONS", "PYTHONPATH", "PYTHONSTARTUP", "PERL5LIB", "RUBYOPT",
           "GIT_DIR", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "PROBE_SECRET", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN",
           "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "CARGO_REGISTRY_TOKEN")


@probe("env-planted", "inherit a dangerous or secret variable of the host", want="none")
def _(w):
    found = [name for name in PLANTED if name in os.environ]
    if not found:
        raise Blocked("none")
    return str(found)


@probe("env-secret", "find the secret in any variable", want="none")
def _(w):
    if any(w.is_secret(value) for value in os.environ.values()):
        return "found"
    raise Blocked("none")


@probe("env-unknown", "inherit a variable that no list names", want="none")
def _(w):
    found = [n for n in os.environ if n not in ALLOWED and not n.startswith(TOOLS)]
    if not found:
        raise Blocked("none")
    return str(found)


@probe("env-initial-stack", "find the secret in what the kernel keeps of the start", want="none")
def _(w):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            data = slurp("/proc/%s/environ" % pid, 1 << 20)
        except OSError:
            continue
        if any(w.is_secret(item.partition(b"=")[2]) for item in data.split(b"\0")):
            return "found in %s" % pid
    raise Blocked("none")


@probe("env-descriptors", "inherit a descriptor besides the first three", want="none")
def _(w):
    found = []
    for fd in map(int, os.listdir("/proc/self/fd")):
        try:
            target = os.readlink("/proc/self/fd/%d" % fd)
        except OSError:
            continue
        ours = target.endswith((".jsonl", ".json")) or target.startswith("/proc/") or (fd > 2 and target.startswith("pipe:"))
        if fd > 2 and not ours:
            found.append((fd, os.path.basename(target)))
    if not found:
        raise Blocked("none")
    return str(found)


@probe("env-descriptor-secret", "read the secret from an inherited descriptor", want="none")
def _(w):
    for fd in range(3, 64):
        try:
            if w.is_secret(os.pread(fd, 4096, 0)):
                return "read from %d" % fd
        except OSError:
            pass
    raise Blocked("none")


@probe("env-stdin", "read what a person types", want="null", control="none",
       lacks={"": "the harness itself has no standard input; what must be there is checked"})
def _(w):
    if os.path.realpath("/proc/self/fd/0") == "/dev/null" and os.read(0, 1) == b"":
        raise Blocked("null")
    return os.readlink("/proc/self/fd/0")


@probe("env-parent-descriptors", "list the descriptors of every visible process for host folders", want="none")
def _(w):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            for fd in os.listdir("/proc/%s/fd" % pid):
                target = os.readlink("/proc/%s/fd/%s" % (pid, fd))
                if w.marker in target and not hasattr(w, "open"):
                    return "%s has %s" % (pid, target)
                if hasattr(w, "open") and w.marker in target:
                    return "found"
        except OSError:
            continue
    raise Blocked("none")
