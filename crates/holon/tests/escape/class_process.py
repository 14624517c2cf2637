"""Other processes, identity, limits, and corners of the kernel a build never needs."""

import ctypes
import os
import resource
import signal
import struct
import subprocess
import time

from kit import Blocked, call, in_child, libc, probe, raised, slurp

ROOT_ONLY = {"needs-root": "only real root may, also in the open"}


def _sleeper():
    """A child of our own to attack; it ends with us."""
    pid = os.fork()
    if pid == 0:
        call("prctl", 1, signal.SIGKILL, 0, 0, 0)
        signal.alarm(5)
        signal.pause()
        os._exit(0)
    return pid


# --- looking into other processes -------------------------------------------------------------------------------------


@probe("process-ptrace-child", "trace one's own child", want="EPERM")
def _(w):
    call("ptrace", 16, _sleeper(), 0, 0)
    return "attached"


@probe("process-ptrace-me", "ask to be traced", want="EPERM")
def _(w):
    code, _ = in_child(lambda: call("ptrace", 0, 0, 0, 0))
    raised(code)
    return "traced"


@probe("process-ptrace-init", "trace init", want="EPERM", control="ns")
def _(w):
    call("ptrace", 16, w.init_pid, 0, 0)
    return "attached"


def _vector():
    buffer = ctypes.create_string_buffer(8)
    return buffer, struct.pack("<QQ", ctypes.addressof(buffer), 8)


for _name in ("readv", "writev"):

    @probe("process-vm-" + _name, "process_vm_%s on a child" % _name, want="EPERM", control="ns")
    def _(w, name=_name):
        buffer, vector = _vector()
        return "%d bytes" % call("process_vm_" + name, _sleeper(), vector, 1, vector, 1, 0)


@probe("process-vm-init", "read the memory of init", want="EPERM", control="none",
       lacks={"": "the address must be known; process-vm-readv controls the call"})
def _(w):
    _, vector = _vector()
    return "%d bytes" % call("process_vm_readv", w.init_pid, vector, 1, vector, 1, 0)


@probe("process-pidfd-getfd", "take a descriptor of init", want="EPERM", control="ns")
def _(w):
    return "fd %d" % call("pidfd_getfd", call("pidfd_open", w.init_pid, 0), 0, 0)


@probe("process-pidfd-getfd-child", "take a descriptor of a child", want="EPERM", control="ns")
def _(w):
    return "fd %d" % call("pidfd_getfd", call("pidfd_open", _sleeper(), 0), 0, 0)


@probe("process-kcmp", "compare kernel objects with init", want="EPERM", control="ns")
def _(w):
    return "order %d" % call("kcmp", os.getpid(), w.init_pid, 1, 0, 0)


@probe("process-madvise", "advise on another process's memory", want="EPERM", control="rootns", lacks=ROOT_ONLY)
def _(w):
    page = ctypes.create_string_buffer(8192)
    vector = struct.pack("<QQ", (ctypes.addressof(page) + 4095) & ~4095, 4096)
    return "%d bytes" % call("process_madvise", call("pidfd_open", _sleeper(), 0), vector, 1, 20, 0)


# --- signals ----------------------------------------------------------------------------------------------------------


@probe("process-kill-host", "signal a host process by its number", want="ESRCH other", control="ns")
def _(w):
    if not hasattr(w, "open") and os.path.exists("/proc/%d" % w.host_pid):
        # The number is taken inside by somebody else.
        raise Blocked("other")
    os.kill(w.host_pid, signal.SIGKILL)
    return "killed"


@probe("process-pidfd-host", "open a host process by its number", want="ESRCH other")
def _(w):
    if not hasattr(w, "open") and os.path.exists("/proc/%d" % w.victim["pid"]):
        raise Blocked("other")
    return "fd %d" % call("pidfd_open", w.victim["pid"], 0)


@probe("process-kill-all", "signal every process with kill(-1)", want="sent", control="ns")
def _(w):
    # SIGURG is ignored by default, so nothing inside is hurt; the host process of the harness would note it.
    hit = hasattr(w, "open") and _sleeper_with_urg()
    os.kill(-1, signal.SIGURG)
    if hit and hit():
        return "arrived"
    raise Blocked("sent")


def _sleeper_with_urg():
    ready, told = os.pipe()
    if os.fork() == 0:
        signal.signal(signal.SIGURG, lambda *_: (os.write(told, b"u"), os._exit(0)))
        signal.alarm(5)
        os.write(told, b"r")
        signal.pause()
    os.read(ready, 1)
    return lambda: os.read(ready, 1) == b"u"


for _name, _signal in [("stop", signal.SIGSTOP), ("kill", signal.SIGKILL), ("term", signal.SIGTERM)]:

    @probe("process-init-" + _name, "send %s to init" % _signal.name, want="ignored EPERM", control="ns")
    def _(w, number=_signal):
        os.kill(w.init_pid, number)
        stop = time.monotonic() + (5 if hasattr(w, "open") else 0.2)
        while time.monotonic() < stop:
            state = slurp("/proc/%d/stat" % w.init_pid).rsplit(b")", 1)[1].split()[0]
            if state in (b"T", b"Z", b"X"):
                return "state " + state.decode()
        raise Blocked("ignored")


# --- the machine ------------------------------------------------------------------------------------------------------


@probe("process-reboot", "reboot (with a wrong magic number, which only the allowed get told)", want="EPERM",
       control="rootns", lacks=ROOT_ONLY)
def _(w):
    try:
        call("reboot", 1, 2, 3, None)
    except OSError as e:
        if e.errno == 22:
            return "would have been allowed"
        raise


for _name, _args, _past in [
    ("kexec_load", (0, 9999, 0, 0), {22}), ("init_module", (0, 0, ""), {14, 8}), ("finit_module", (-1, "", 0), {9}),
    ("delete_module", ("holon-no-such", 0), {2}), ("swapon", ("/nonexistent", 0), {2}), ("acct", ("/nonexistent",), {2}),
    ("iopl", (9,), {22}), ("quotactl", (0x80000100, "/nonexistent", 0, 0), {2, 15, 22, 38}),
]:

    @probe("process-" + _name, "%s (with arguments that can never work)" % _name, want="EPERM", control="rootns",
           lacks={"ENOSYS": "not in this kernel", **ROOT_ONLY})
    def _(w, name=_name, args=_args, past=_past):
        try:
            call(name, *args)
        except OSError as e:
            if hasattr(w, "open") and e.errno in past and e.errno != 38:
                return "got past the permission check: %s" % e.strerror
            raise
        return "done"


@probe("process-clock", "change the clock (to an impossible time)", want="EPERM", control="rootns", lacks=ROOT_ONLY)
def _(w):
    try:
        # An offset nobody accepts, told only to those who may set it.
        call("adjtimex", struct.pack("<I4xq", 0x4000, 0) + bytes(8 * 30))
    except OSError as e:
        if e.errno == 22 and hasattr(w, "open"):
            return "got past the permission check"
        raise
    return "done"


# --- kernel surface ---------------------------------------------------------------------------------------------------


@probe("process-bpf", "make a bpf map", want="EPERM", control="rootns", lacks=ROOT_ONLY)
def _(w):
    return "fd %d" % call("bpf", 0, struct.pack("<5I", 2, 4, 8, 1, 0) + bytes(100), 120)


@probe("process-perf", "open a performance counter", want="EPERM", control="rootns",
       lacks={"ENOENT": "no such counter here", "EOPNOTSUPP": "no such counter here", **ROOT_ONLY})
def _(w):
    return "fd %d" % call("perf_event_open", struct.pack("<IIQ", 1, 128, 1) + bytes(112), 0, -1, -1, 0)


@probe("process-userfaultfd", "userfaultfd", want="EPERM", control="rootns", lacks={"ENOSYS": "not in this kernel",
                                                                                   **ROOT_ONLY})
def _(w):
    return "fd %d" % call("userfaultfd", 0)


@probe("process-io-uring", "io_uring", want="EPERM", lacks={"EPERM": "switched off here", "ENOSYS": "not in this kernel"})
def _(w):
    return "fd %d" % call("io_uring_setup", 4, ctypes.create_string_buffer(120))


@probe("process-add-key", "add a key to the kernel's keyring", want="EPERM", lacks={"ENOSYS": "not in this kernel"})
def _(w):
    return "key %d" % call("add_key", "user", "probe", b"x", 1, 0xFFFFFFFF & -1)


@probe("process-request-key", "ask for a key", want="EPERM", lacks={"ENOSYS": "not in this kernel"})
def _(w):
    call("add_key", "user", "probe", b"x", 1, 0xFFFFFFFF & -1) if hasattr(w, "open") else None
    return "key %d" % call("request_key", "user", "probe", None, 0)


@probe("process-keyctl", "read the session keyring", want="EPERM", lacks={"ENOSYS": "not in this kernel"})
def _(w):
    return "keyring %d" % call("keyctl", 0, 0xFFFFFFFF & -3, 1)


@probe("process-fanotify", "watch files with fanotify", want="EPERM", control="rootns",
       lacks={"ENOSYS": "not in this kernel", **ROOT_ONLY})
def _(w):
    return "fd %d" % call("fanotify_init", 0, 0)


@probe("process-modify-ldt", "change the descriptor table", want="EPERM", lacks={"ENOSYS": "not in this kernel"})
def _(w):
    return "%d bytes" % call("modify_ldt", 0, ctypes.create_string_buffer(64), 64)


for _value in (0x0400000, 0x0008, 0x0200000, 0x100000000):

    @probe("process-personality-%x" % _value, "change the execution domain to %#x" % _value, want="EPERM ENOSYS")
    def _(w, value=_value):
        return "was %#x" % call("personality", value)


@probe("process-seccomp-relax", "load a filter that allows everything, then mount", want="EPERM", control="ns")
def _(w):
    allow = struct.pack("<HBBI", 6, 0, 0, 0x7FFF0000)
    code = ctypes.create_string_buffer(allow, 8)
    call("prctl", 38, 1, 0, 0, 0)
    call("seccomp", 1, 0, struct.pack("<H6xQ", 1, ctypes.addressof(code)))
    call("mount", "x", w.tmp, "tmpfs", 0, None)
    return "mounted"


# --- identity ---------------------------------------------------------------------------------------------------------


@probe("process-kernel-uid", "be the kernel's uid 0", want="unprivileged", control="rootns", lacks=ROOT_ONLY)
def _(w):
    # Outside a user namespace the map is the identity; inside, it names the kernel uid behind one's own.
    for line in slurp("/proc/self/uid_map").splitlines():
        inside, outside, count = map(int, line.split())
        if inside <= os.getuid() < inside + count and outside + os.getuid() - inside == 0 and os.getuid() == 0:
            return "uid 0"
    raise Blocked("unprivileged")


for _name, _do in [("setuid", lambda: os.setuid(0)), ("setgid", lambda: os.setgid(0)),
                   ("setgroups", lambda: os.setgroups([0])), ("setresuid", lambda: os.setresuid(0, 0, 0))]:

    @probe("process-" + _name, "%s to root" % _name, want="EPERM EINVAL", control="rootns", lacks=ROOT_ONLY)
    def _(w, do=_do):
        do()
        return "done"


@probe("process-capabilities", "hold or raise a capability", want="EPERM", control="ns")
def _(w):
    bits = [int(l.split()[1], 16) for l in slurp("/proc/self/status").decode().splitlines() if l.startswith("Cap")]
    if any(bits):
        return "holds %x" % max(bits)
    call("capset", struct.pack("<Ii", 0x20080522, 0), struct.pack("<6I", 0xFF, 0xFF, 0, 0, 0, 0))
    return "raised"


@probe("process-ambient", "raise an ambient capability", want="EPERM", control="ns")
def _(w):
    if hasattr(w, "open"):
        call("capset", struct.pack("<Ii", 0x20080522, 0), struct.pack("<6I", 1, 1, 1, 0, 0, 0))
    call("prctl", 47, 2, 0, 0, 0)
    return "raised"


@probe("process-new-privileges", "run without the no-new-privileges mark", want="marked")
def _(w):
    status = slurp("/proc/self/status")
    if b"NoNewPrivs:\t1" in status and b"Seccomp:\t2" in status:
        raise Blocked("marked")
    return "not marked"


@probe("process-suid", "run a set-uid program as its owner", want="not-root", control="user")
def _(w):
    if os.path.exists("/usr/bin/su") is False:
        raise Blocked("su is missing")
    child = subprocess.Popen(["/usr/bin/su", "-c", "true"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    uids, stop = "", time.monotonic() + 2
    while time.monotonic() < stop and child.poll() is None:
        try:
            lines = slurp("/proc/%d/status" % child.pid).decode().splitlines()
        except OSError:
            break
        if lines and lines[0].split()[1] == "su":
            uids = next(l for l in lines if l.startswith("Uid")).split()[1:]
            break
    child.kill()
    child.wait()
    if uids and uids[1] == "0":
        return "effective uid 0"
    raise Blocked("not-root")


# --- limits and shared things -----------------------------------------------------------------------------------------


@probe("process-rlimit", "raise a hard limit", want="EPERM ValueError", control="rootns",
       lacks={"EPERM": "needs a capability this machine's root lacks", **ROOT_ONLY})
def _(w):
    try:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard + 1, hard + 1))
    except ValueError:
        raise PermissionError(1, "not permitted") from None
    return "raised"


@probe("process-prlimit-host", "change the limits of a host process", want="ESRCH other")
def _(w):
    if not hasattr(w, "open") and os.path.exists("/proc/%d" % w.victim["pid"]):
        raise Blocked("other")
    soft, hard = resource.prlimit(w.victim["pid"], resource.RLIMIT_NOFILE)
    resource.prlimit(w.victim["pid"], resource.RLIMIT_NOFILE, (soft, hard))
    return "changed"


@probe("process-nice", "raise one's own priority", want="EPERM EACCES", control="rootns", lacks=ROOT_ONLY)
def _(w):
    os.setpriority(os.PRIO_PROCESS, 0, -5)
    return "raised"


@probe("process-nice-others", "lower the priority of all processes of the user", want="inside-only", control="ns")
def _(w):
    target = _sleeper()
    os.setpriority(os.PRIO_USER, os.getuid(), 7)
    # Everything of this user inside is lowered too, which is nobody else's business; the host looks at its own.
    if hasattr(w, "open"):
        return "target now at %d" % os.getpriority(os.PRIO_PROCESS, target)
    raise Blocked("inside-only")


@probe("process-realtime", "become a real-time process", want="EPERM", control="rootns", lacks=ROOT_ONLY)
def _(w):
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    return "real-time"


@probe("process-core", "leave a core file", want="0 1")
def _(w):
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    if hasattr(w, "open"):
        resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
        if hard in (0, 1):
            return "limited in the open too"
    if hard in (0, 1):
        raise Blocked(str(hard))
    return "limit %d" % hard


@probe("process-shm", "attach the host's System V memory", want="ENOENT")
def _(w):
    libc.shmat.restype = ctypes.c_void_p
    segment = call("shmget", w.victim["shm_key"], 0, 0)
    address = libc.shmat(segment, None, 0o10000)
    if address in (None, ctypes.c_void_p(-1).value):
        raised(ctypes.get_errno())
    return w.took_secret(ctypes.string_at(address), "in shared memory")


@probe("process-mqueue", "open the host's message queue", want="ENOENT", lacks={"ENOSYS": "not in this kernel"})
def _(w):
    return "fd %d" % call("mq_open", w.victim["mqueue"].lstrip("/"), os.O_RDONLY, 0, None)


@probe("process-posix-shm", "open the host's file in /dev/shm", want="ENOENT")
def _(w):
    return w.took_secret(slurp("/dev/shm/" + w.victim["posix_shm"]), "in /dev/shm")
