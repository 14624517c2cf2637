"""Throw-away worlds in which a probe must succeed."""

import ctypes
import fcntl
import os
import signal
import socket
import struct
import subprocess
import tempfile

from kit import World, call

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
MS_PRIVATE_REC = 0x44000
ORDINARY = 23456


def run(probe, world, attempt, supervised):
    """Runs a probe as its control asks; answers like a probe."""
    if probe.control == "none":
        return "", False
    if probe.control == "rootns" and os.geteuid() != 0:
        return "needs-root", False
    enter = {"plain": plain, "user": user, "ns": namespaces, "rootns": namespaces}[probe.control]

    def inside(probe, world, out):
        enter(probe, world, out, attempt)

    return supervised(probe, world, inside)


def plain(probe, world, out, attempt):
    attempt(probe, open_world(world, tempfile.mkdtemp(dir=world.scratch_root)), out)


def user(probe, world, out, attempt):
    folder = tempfile.mkdtemp(dir=world.scratch_root)
    if os.geteuid() == 0:
        os.chown(folder, ORDINARY, ORDINARY)
        os.setgroups([])
        os.setresgid(ORDINARY, ORDINARY, ORDINARY)
        os.setresuid(ORDINARY, ORDINARY, ORDINARY)
    attempt(probe, open_world(world, folder), out)


def namespaces(probe, world, out, attempt):
    """New namespaces, a pid 1 that waits, something to attack, and the probe beside it."""
    folder = tempfile.mkdtemp(dir=world.scratch_root)
    uid, gid = os.geteuid(), os.getegid()
    flags = NEWNS | NEWUTS | NEWIPC | NEWPID | NEWNET
    if probe.control == "ns":
        call("unshare", flags | NEWUSER)
        write("/proc/self/setgroups", "deny")
        write("/proc/self/gid_map", "0 %d 1" % gid)
        write("/proc/self/uid_map", "0 %d 1" % uid)
    else:
        call("unshare", flags)
    pid = os.fork()
    if pid:
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            # The caller must see the same end.
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
            os.kill(os.getpid(), os.WTERMSIG(status))
        return
    libc_die_with_parent()
    call("mount", None, "/", None, MS_PRIVATE_REC, None)
    call("mount", "tmpfs", folder, "tmpfs", 0, "size=64m")
    call("mount", "proc", "/proc", "proc", 0, None)
    loopback_up()
    here = open_world(world, folder)
    # Something mounted, and something mounted read-only, to attack.
    for name in ("mnt", "romnt"):
        os.mkdir(folder + "/" + name)
        call("mount", "tmpfs", folder + "/" + name, "tmpfs", 0, "size=1m")
    call("mount", None, folder + "/romnt", None, 0x20 | 0x1000 | 0x1, None)
    here.mounted, here.read_only_mount = folder + "/mnt", folder + "/romnt"
    target = subprocess.Popen(
        ["/bin/sleep", "60"], env={"TARGET": "yes"}, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    here.init_pid = here.host_pid = target.pid
    child = os.fork()
    if child == 0:
        attempt(probe, here, out)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        os._exit(0) if os.WTERMSIG(status) == signal.SIGKILL else end_by(os.WTERMSIG(status))
    os._exit(0)


def end_by(number):
    # Pid 1 of a namespace ignores most signals, so it reports the signal as an exit code nobody else uses.
    os._exit(128 + number)


def libc_die_with_parent():
    call("prctl", 1, signal.SIGKILL, 0, 0, 0)


def loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 0x41))


def open_world(world, folder):
    """The same layout as behind the walls, but everything in one writable folder."""
    facts = dict(world.__dict__)
    roots = {}
    for name in ("root", "usr", "etc", "input", "holon", "proc-sys"):
        path = folder + "/ro-" + name
        os.mkdir(path)
        write(path + "/file", "base\n", create=True)
        roots[name] = path
    for name in ("ws", "ws/src", "ws/docs", "out", "home", "tmp"):
        os.mkdir(folder + "/" + name)
    for name in ("ws/README", "ws/src/a.txt", "ws/docs/b.txt"):
        write(folder + "/" + name, "base\n", create=True)
    facts.update(
        ro=roots,
        ro_file={name: path + "/file" for name, path in roots.items()},
        ws=folder + "/ws",
        out=folder + "/out",
        tmp=folder + "/tmp",
        open=True,
    )
    return World(facts)


def write(path, text, create=False):
    fd = os.open(path, os.O_WRONLY | (os.O_CREAT if create else 0), 0o644)
    os.write(fd, text.encode())
    os.close(fd)


assert ctypes.sizeof(ctypes.c_void_p) == 8, "the probes are written for x86-64"
