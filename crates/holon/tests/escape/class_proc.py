"""/proc, /sys and what they tell or let one switch."""

import os

from kit import Blocked, call, libc, probe, slurp

ROOT_ONLY = {"needs-root": "only real root may, also in the open"}


def _writable(top, skip=()):
    """Files below `top` that can be opened for writing; nothing is written."""
    tried, found = 0, []
    for folder, folders, files in os.walk(top):
        folders[:] = [d for d in folders if os.path.join(folder, d) not in skip and not d.isdigit()
                      and d not in ("self", "thread-self")]
        for name in files:
            path = os.path.join(folder, name)
            tried += 1
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                found.append(path)
            except OSError:
                pass
    return tried, found


@probe("proc-sys-write", "open anything below /proc/sys for writing", want="none", control="rootns", lacks=ROOT_ONLY)
def _(w):
    tried, found = _writable("/proc/sys")
    if tried < 100:
        raise Blocked("only %d files tried" % tried)
    if not found:
        raise Blocked("none")
    return "%d, such as %s" % (len(found), found[0])


@probe("proc-any-write", "open any other file of /proc for writing", want="none", control="rootns", lacks=ROOT_ONLY)
def _(w):
    tried, found = _writable("/proc", skip=("/proc/sys",))
    if tried < 20:
        raise Blocked("only %d files tried" % tried)
    if not found:
        raise Blocked("none")
    return "%d, such as %s" % (len(found), found[0])


for _name in ("kernel/core_pattern", "kernel/modprobe", "kernel/hostname", "kernel/ns_last_pid", "kernel/pid_max",
              "vm/overcommit_memory", "fs/suid_dumpable"):

    @probe("proc-sys-" + _name.replace("/", "-"), "open /proc/sys/%s for writing" % _name, want="EROFS EACCES EPERM" + (" ENOENT" if _name == "kernel/modprobe" else ""),
           control="rootns", lacks={"ENOENT": "not in this kernel", **ROOT_ONLY})
    def _(w, name=_name):
        os.close(os.open("/proc/sys/" + name, os.O_WRONLY))
        return "opened"


@probe("proc-sysrq", "open /proc/sysrq-trigger for writing", want="EROFS EACCES EPERM ENOENT", control="rootns",
       lacks={"ENOENT": "not in this kernel", **ROOT_ONLY})
def _(w):
    os.close(os.open("/proc/sysrq-trigger", os.O_WRONLY))
    return "opened"


for _name in ("kcore", "kallsyms", "keys", "key-users", "timer_list", "kmsg", "sched_debug", "latency_stats", "slabinfo",
              "vmallocinfo", "pagetypeinfo", "kpagecount", "kpageflags", "iomem"):

    @probe("proc-read-" + _name, "read /proc/" + _name, want="empty ENOENT EACCES EPERM zeroes", control="rootns",
           lacks={"ENOENT": "not in this kernel", "EAGAIN": "nothing to read now", "empty": "empty in the open too",
                  **ROOT_ONLY})
    def _(w, name=_name):
        data = slurp("/proc/" + name, 1 << 12)
        if not data:
            raise Blocked("empty")
        if name == "iomem" and all(l.split(b":")[0].strip() == b"00000000-00000000" for l in data.splitlines()[:20]):
            raise Blocked("zeroes")
        return "read %d bytes" % len(data)


for _name in ("environ", "maps", "mem", "auxv", "stack", "syscall", "io", "pagemap", "smaps", "timerslack_ns"):

    @probe("proc-init-" + _name, "read /proc/1/" + _name, want="EACCES EPERM ENOENT", control="rootns",
           lacks={"ENOENT": "not in this kernel", "EIO": "opened, but nothing is mapped at 0", **ROOT_ONLY})
    def _(w, name=_name):
        path = "/proc/%d/%s" % (w.init_pid, name)
        if name == "mem":
            os.close(os.open(path, os.O_RDONLY))
            return "opened"
        data = slurp(path)
        return "read %d bytes" % len(data)


for _name in ("fd", "fdinfo", "map_files", "task/1/fd"):

    @probe("proc-init-list-" + _name.replace("/", "-"), "list /proc/1/" + _name, want="EACCES EPERM ENOENT",
           control="rootns", lacks=ROOT_ONLY)
    def _(w, name=_name):
        return "saw %d" % len(os.listdir("/proc/%d/%s" % (w.init_pid, name.replace("task/1", "task/%d" % w.init_pid))))


for _name in ("exe", "cwd", "root", "ns/mnt", "ns/user", "ns/pid", "ns/net"):

    @probe("proc-init-link-" + _name.replace("/", "-"), "follow /proc/1/" + _name, want="EACCES EPERM ENOENT",
           control="ns")
    def _(w, name=_name):
        return os.readlink("/proc/%d/%s" % (w.init_pid, name))


@probe("proc-init-exe-reopen", "keep the program file of init and reopen it for writing", want="EACCES EPERM ENOENT",
       control="ns")
def _(w):
    # The classic way to overwrite a container runtime: a descriptor that outlives the process.
    kept = os.open("/proc/%d/exe" % w.init_pid, os.O_PATH)
    if hasattr(w, "open"):
        return "kept it"
    os.close(os.open("/proc/self/fd/%d" % kept, os.O_WRONLY))
    return "opened for writing"


@probe("proc-init-mem-write", "open the memory of init for writing", want="EACCES EPERM ENOENT", control="ns")
def _(w):
    os.close(os.open("/proc/%d/mem" % w.init_pid, os.O_RDWR))
    return "opened"


@probe("proc-self-exe", "open one's own program file for writing", want="EROFS EACCES ETXTBSY", control="none",
       lacks={"": "a running program's file is never writable; fs-overwrite-usr controls the same path"})
def _(w):
    os.close(os.open("/proc/self/exe", os.O_WRONLY))
    return "opened"


@probe("proc-oom-adj", "shield itself from the out-of-memory killer", want="EACCES EPERM EROFS", control="rootns",
       lacks={"EACCES": "needs a capability this machine's root lacks", "EPERM": "the same", **ROOT_ONLY})
def _(w):
    fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
    os.write(fd, b"-1000")
    return "written"


@probe("proc-uid-map", "write a user map", want="EACCES EPERM EROFS")
def _(w):
    uid = os.getuid()
    if hasattr(w, "open"):
        call("unshare", 0x10000000)
    fd = os.open("/proc/self/uid_map", os.O_WRONLY)
    os.write(fd, b"0 %d 1" % uid)
    return "written"


@probe("proc-self-mem", "write to read-only memory through /proc/self/mem", want="EACCES EPERM EROFS")
def _(w):
    os.close(os.open("/proc/self/mem", os.O_RDWR))
    return "opened"


@probe("proc-see-host", "find a host process in /proc", want="none")
def _(w):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if w.marker.encode() in slurp("/proc/%s/cmdline" % pid):
                return "saw " + pid
        except OSError:
            pass
    raise Blocked("none")


@probe("proc-host-pid", "look at the host process by its number", want="ENOENT other")
def _(w):
    if w.marker.encode() in slurp("/proc/%d/cmdline" % w.victim["pid"]):
        return "saw it"
    raise Blocked("other")


for _name, _path in [("sys", "/sys"), ("cgroup", "/sys/fs/cgroup"), ("security", "/sys/kernel/security"),
                     ("debug", "/sys/kernel/debug"), ("bpf", "/sys/fs/bpf"), ("efi", "/sys/firmware")]:

    @probe("proc-list-" + _name, "list " + _path, want="ENOENT", control="plain",
           lacks={"ENOENT": "not on this machine", "empty": "empty in the open too", "EACCES": "needs root here too"})
    def _(w, path=_path):
        seen = os.listdir(path)
        if not seen:
            raise Blocked("empty")
        return "saw %d" % len(seen)


@probe("proc-net-unix", "see the host's sockets in /proc/net/unix", want="none")
def _(w):
    if w.victim["abstract"].encode() in slurp("/proc/net/unix", 1 << 20):
        return "saw it"
    raise Blocked("none")


@probe("proc-net-tcp", "see the host's listeners in /proc/net/tcp", want="none")
def _(w):
    if b"0100007F:%04X" % w.victim["tcp4"] in slurp("/proc/net/tcp", 1 << 20):
        return "saw it"
    raise Blocked("none")


@probe("proc-dmesg", "read the kernel log", want="EPERM", control="rootns", lacks=ROOT_ONLY)
def _(w):
    return "size %d" % call("syslog", 10, None, 0)


@probe("proc-mounts-leak", "find a path of the host in the mount table", want="none", control="ns", info=True)
def _(w):
    if w.marker.encode() in slurp("/proc/self/mountinfo", 1 << 20):
        return "saw it"
    raise Blocked("none")


@probe("proc-cgroup-leak", "find the control group's name", want="root-only", info=True)
def _(w):
    names = {line.split(b":")[2] for line in slurp("/proc/self/cgroup").splitlines()}
    if names - {b"/", b"/../.."}:
        return str(names)
    raise Blocked("root-only")


assert libc
