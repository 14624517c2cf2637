"""What every probe uses: the table, raw system calls, and the world a probe runs in."""

import ctypes
import errno
import hashlib
import os
import signal

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

TABLE = []

# x86-64 numbers; the battery is for that machine only.
SYS = dict(
    mmap=9, mprotect=10, getpid=39, socket=41, clone=56, semget=64, shmget=29, shmat=30, ptrace=101, syslog=103,
    mknod=133, personality=135, ustat=136, setpriority=141, modify_ldt=154, pivot_root=155, chroot=161, acct=163,
    adjtimex=159, mount=165, umount2=166, swapon=167, reboot=169, sethostname=170, init_module=175, iopl=172,
    delete_module=176, ioprio_set=251, kexec_load=246, add_key=248, request_key=249, keyctl=250,
    mknodat=259, unshare=272, perf_event_open=298, fanotify_init=300, name_to_handle_at=303,
    open_by_handle_at=304, setns=308, process_vm_readv=310, process_vm_writev=311, kcmp=312, finit_module=313,
    seccomp=317, bpf=321, userfaultfd=323, mq_open=240, open_tree=428, move_mount=429, fsopen=430, fspick=433,
    io_uring_setup=425, pidfd_open=434, clone3=435, pidfd_getfd=438, mount_setattr=442, pidfd_send_signal=424,
    statmount=457, listmount=458, quotactl=179, prctl=157, ioctl=16, clock_settime=227, lookup_dcookie=212,
    capset=126, process_madvise=440,
)


class Blocked(Exception):
    """The wall held, and this names how."""


class Probe:
    def __init__(self, id, kind, attempt, run, control, want, modes, info, lacks):
        self.id, self.kind, self.attempt, self.run = id, kind, attempt, run
        self.control, self.want, self.modes, self.info, self.lacks = control, want, modes, info, lacks


def probe(id, attempt, want, control="plain", modes=None, info=False, lacks=None):
    """Puts a function into the table; see probes.py for what each argument means."""

    def add(function):
        kind = id.split("-", 1)[0]
        assert all(p.id != id for p in TABLE), "two probes are called " + id
        TABLE.append(Probe(id, kind, attempt, function, control, set(want.split()), modes, info, lacks or {}))
        return function

    return add


def call(name, *args):
    """A raw system call; -1 becomes OSError. Strings and bytes are passed as pointers."""
    keep = [a.encode() if isinstance(a, str) else a for a in args]
    wide = []
    for a in keep:
        if isinstance(a, int):
            wide.append(ctypes.c_ulong(a & 0xFFFFFFFFFFFFFFFF))
        elif a is None:
            wide.append(ctypes.c_ulong(0))
        else:
            wide.append(a)
    number = SYS[name] if isinstance(name, str) else name
    result = libc.syscall(ctypes.c_long(number), *wide)
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def create(path):
    """Makes a new file with something in it."""
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    os.write(fd, b"probe\n")
    os.close(fd)
    return "created " + path


def slurp(path, size=1 << 16):
    """Reads the start of a file without ever waiting for a writer."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return os.read(fd, size)
    finally:
        os.close(fd)


def in_child(work, seconds=5):
    """Runs `work` in a child; its exit status, or the signal that ended it, as (code, signal)."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.alarm(seconds)
            code = work() or 0
        except OSError as e:
            code = e.errno
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return None, os.WTERMSIG(status)
    return os.WEXITSTATUS(status), None


def raised(code):
    """The same error in this process as a child reported by its exit code."""
    if code:
        raise OSError(code, os.strerror(code))


def name_of(error):
    return errno.errorcode.get(error.errno, str(error.errno))


class World:
    """Where a probe runs: behind the walls, or in the open for its control. Everything comes from the harness."""

    def __init__(self, facts):
        self.__dict__.update(facts)

    def is_secret(self, data):
        """Whether this is the canary; probes know only its digest, so that no output can contain it by accident."""
        text = data if isinstance(data, bytes) else data.encode()
        return hashlib.sha256(text.strip()).hexdigest() == self.victim["secret_sha256"]

    def took_secret(self, data, how):
        if self.is_secret(data):
            return "read the secret " + how
        raise Blocked("other-content")
