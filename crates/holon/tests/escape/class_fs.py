"""Files: writing where only reading is allowed, reading what must not be visible, links, devices, attributes."""

import ctypes
import mmap
import os
import stat
import struct
import time

from kit import Blocked, call, create, libc, probe, slurp

READ_ONLY = "EROFS EACCES EPERM"
UP = "../" * 24


# --- writing to what is read-only -------------------------------------------------------------------------------------

for _name, _words in [("root", "/"), ("usr", "/usr"), ("etc", "/etc"), ("input", "/holon/input"), ("holon", "/holon")]:

    @probe("fs-create-" + _name, "create a file in " + _words, want=READ_ONLY)
    def _(w, name=_name):
        return create(w.ro[name] + "/probe")


for _name in ("usr", "etc"):

    @probe("fs-overwrite-" + _name, "open a file of /%s for writing" % _name, want=READ_ONLY)
    def _(w, name=_name):
        os.close(os.open(w.ro_file[name], os.O_WRONLY))
        return "opened"


def _map_shared(folder, file):
    fd = os.open(file, os.O_RDWR)
    with mmap.mmap(fd, 4, mmap.MAP_SHARED, mmap.PROT_WRITE) as memory:
        memory[0:1] = b"X"
    return "wrote through a shared map"


def _append(folder, file):
    fd = os.open(file, os.O_WRONLY | os.O_APPEND)
    os.write(fd, b"more")
    return "appended"


OPERATIONS = {
    "create": lambda d, f: create(d + "/probe-new"),
    "mkdir": lambda d, f: os.mkdir(d + "/probe-dir"),
    "append": _append,
    "truncate": lambda d, f: os.truncate(f, 0),
    "chmod": lambda d, f: os.chmod(f, 0o777),
    "utime": lambda d, f: os.utime(f, (1, 1)),
    "xattr": lambda d, f: os.setxattr(f, "user.probe", b"x"),
    "map": _map_shared,
    "unlink": lambda d, f: os.unlink(f),
    "rename": lambda d, f: os.rename(f, d + "/probe-renamed"),
    "symlink": lambda d, f: os.symlink("x", d + "/probe-link"),
    "link": lambda d, f: os.link(f, d + "/probe-hard"),
    "fifo": lambda d, f: os.mkfifo(d + "/probe-fifo"),
}
for _name, _do in OPERATIONS.items():

    @probe("fs-input-" + _name, _name + " in the input folder", want=READ_ONLY)
    def _(w, do=_do):
        return do(w.ro["input"], w.ro_file["input"]) or "done"

    @probe("fs-plan-" + _name, _name + " in a read-only workspace", want=READ_ONLY, modes={"plan"})
    def _(w, do=_do):
        return do(w.ws, w.ws + "/README") or "done"

    @probe("fs-scope-" + _name, _name + " outside the write scope", want=READ_ONLY, modes={"architect"})
    def _(w, do=_do):
        return do(w.ws + "/src", w.ws + "/src/a.txt") or "done"


# --- ways around a write scope ----------------------------------------------------------------------------------------


@probe("fs-scope-link-out", "a link inside the scope to a folder outside it", want=READ_ONLY, modes={"architect"})
def _(w):
    os.symlink("../src", w.ws + "/docs/out")
    return create(w.ws + "/docs/out/probe")


@probe("fs-scope-dotdot", "leave the scope through .. of an open folder", want=READ_ONLY, modes={"architect"})
def _(w):
    fd = os.open(w.ws + "/docs", os.O_RDONLY | os.O_DIRECTORY)
    os.close(os.open("../src/probe-dotdot", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    return "created"


@probe("fs-scope-move-away", "move the open folder itself", want=READ_ONLY + " EBUSY EXDEV", modes={"architect"})
def _(w):
    os.rename(w.ws + "/docs", w.ws + "/docs-moved")
    return "moved"


@probe("fs-scope-move-out", "move a file from the scope to the outside", want=READ_ONLY + " EXDEV", modes={"architect"})
def _(w):
    create(w.ws + "/docs/probe-move")
    os.rename(w.ws + "/docs/probe-move", w.ws + "/src/probe-move")
    return "moved"


@probe("fs-scope-link-in", "hard link an outside file into the scope and write to it", want=READ_ONLY + " EXDEV",
       modes={"architect"})
def _(w):
    os.link(w.ws + "/src/a.txt", w.ws + "/docs/probe-linked")
    return _append(None, w.ws + "/docs/probe-linked")


# --- reading what is not there ----------------------------------------------------------------------------------------


@probe("fs-read-secret", "read a secret of the host by its path", want="ENOENT")
def _(w):
    return w.took_secret(slurp(w.secret), "by path")


@probe("fs-list-home", "list the home folder of the person running this", want="ENOENT")
def _(w):
    return "saw %d entries" % len(os.listdir(w.host_home))


@probe("fs-write-canary", "create a file in a world-writable folder of the host", want="ENOENT EACCES EROFS")
def _(w):
    path = w.canary_dir + "/" + ("control" if hasattr(w, "open") else "inside")
    done = create(path)
    if hasattr(w, "open"):
        os.unlink(path)
    return done


@probe("fs-read-state", "list the run store", want="ENOENT")
def _(w):
    return "saw %d entries" % len(os.listdir(w.host_state))


@probe("fs-list-homes", "find /root, /home, /srv, /opt, /mnt, /media and /boot", want="ENOENT")
def _(w):
    seen = [p for p in ("/root", "/home", "/srv", "/opt", "/mnt", "/media", "/boot") if os.path.isdir(p)]
    if not seen:
        raise FileNotFoundError(2, "none")
    return str(seen)


@probe("fs-read-shadow", "read the password file", want="ENOENT", control="rootns",
       lacks={"needs-root": "only root can read /etc/shadow in the open"})
def _(w):
    return "read %d bytes" % len(slurp("/etc/shadow"))


@probe("fs-list-run", "find sockets and state below /run and /var", want="nothing")
def _(w):
    found = []
    for top in ("/run", "/var"):
        for folder, _, files in os.walk(top):
            found += [os.path.join(folder, f) for f in files]
    if not found:
        raise Blocked("nothing")
    return "%d files, such as %s" % (len(found), found[0])


# --- links ------------------------------------------------------------------------------------------------------------


def _through(w, name, target, rest=""):
    folder = w.tmp
    path = "%s/%s" % (folder, name)
    os.symlink(target, path)
    return w.took_secret(slurp(path + rest), "through a link")


@probe("fs-symlink-absolute", "read the secret through an absolute link", want="ENOENT")
def _(w):
    return _through(w, "abs", w.secret)


@probe("fs-symlink-relative", "read the secret through a link that climbs with ..", want="ENOENT")
def _(w):
    return _through(w, "rel", UP + w.secret.lstrip("/"))


@probe("fs-symlink-chain", "read the secret through a chain of links", want="ENOENT")
def _(w):
    os.symlink(w.secret, w.tmp + "/c3")
    os.symlink("c3", w.tmp + "/c2")
    return _through(w, "c1", "c2")


@probe("fs-symlink-ancestor", "read the secret below a link that is a parent folder", want="ENOENT")
def _(w):
    return _through(w, "up", os.path.dirname(w.secret), "/" + os.path.basename(w.secret))


@probe("fs-symlink-out", "read the secret through a link in the output folder", want="ENOENT")
def _(w):
    os.symlink(w.secret, w.out + "/probe-link-out")
    try:
        return w.took_secret(slurp(w.out + "/probe-link-out"), "through output")
    finally:
        os.unlink(w.out + "/probe-link-out")


@probe("fs-symlink-race", "swap a folder for a link while opening below it", want="never")
def _(w):
    folder, base = w.tmp + "/race", os.path.basename(w.secret)
    os.mkdir(folder)
    os.mkdir(folder + "/real")
    with open(folder + "/real/" + base, "w") as f:
        f.write("decoy")
    os.symlink(os.path.dirname(w.secret), folder + "/link")
    os.rename(folder + "/real", folder + "/now")
    child = os.fork()
    if child == 0:
        stop = time.monotonic() + 1
        while time.monotonic() < stop:
            # RENAME_EXCHANGE
            libc.renameat2(-100, (folder + "/now").encode(), -100, (folder + "/link").encode(), 2)
        os._exit(0)
    hit, stop = False, time.monotonic() + 0.8
    while time.monotonic() < stop and not hit:
        try:
            hit = w.is_secret(slurp(folder + "/now/" + base))
        except OSError:
            pass
    os.waitpid(child, 0)
    if hit:
        return "read the secret"
    raise Blocked("never")


@probe("fs-dotdot-fd", "climb with .. from an open folder", want="ENOENT")
def _(w):
    fd = os.open(w.ws, os.O_RDONLY | os.O_DIRECTORY)
    got = os.open(UP + w.secret.lstrip("/"), os.O_RDONLY, dir_fd=fd)
    return w.took_secret(os.read(got, 4096), "with ..")


@probe("fs-magic-link", "climb with .. from /proc/self/fd of an open folder", want="ENOENT")
def _(w):
    fd = os.open(w.ws, os.O_RDONLY | os.O_DIRECTORY)
    return w.took_secret(slurp("/proc/self/fd/%d/%s%s" % (fd, UP, w.secret.lstrip("/"))), "with ..")


for _name in ("root", "cwd"):

    @probe("fs-proc-self-" + _name, "read the secret below /proc/self/" + _name, want="ENOENT")
    def _(w, name=_name):
        return w.took_secret(slurp("/proc/self/%s/%s%s" % (name, UP, w.secret.lstrip("/"))), "below /proc/self")

    @probe("fs-proc-init-" + _name, "read the secret below /proc/1/" + _name, want="EACCES EPERM ENOENT", control="ns")
    def _(w, name=_name):
        return w.took_secret(slurp("/proc/%d/%s/%s%s" % (w.init_pid, name, UP, w.secret.lstrip("/"))), "below init")


@probe("fs-hardlink-in", "hard link a file of the system into a writable folder", want="EXDEV EPERM EROFS")
def _(w):
    os.link(w.ro_file["usr"], w.tmp + "/hard")
    return "linked"


@probe("fs-hardlink-input", "hard link an input file into the output folder", want="EXDEV EPERM EROFS")
def _(w):
    os.link(w.ro_file["input"], w.out + "/hard")
    return "linked"


@probe("fs-rename-across", "move a file of the system into a writable folder", want="EXDEV EROFS EACCES EPERM")
def _(w):
    os.rename(w.ro_file["etc"], w.tmp + "/moved")
    return "moved"


@probe("fs-output-replace", "replace the output folder by a link", want="EBUSY EROFS EACCES EPERM")
def _(w):
    os.rename(w.out, w.out + "-old")
    os.symlink(w.tmp, w.out)
    return "replaced"


@probe("fs-output-remove", "remove the output folder", want="EBUSY EROFS EACCES EPERM ENOTEMPTY")
def _(w):
    os.rmdir(w.out)
    return "removed"


# --- devices and special files ----------------------------------------------------------------------------------------

NEEDS_ROOT = {"needs-root": "making a device needs real root in the open"}
for _name, _mode, _dev in [("char", stat.S_IFCHR, (1, 1)), ("block", stat.S_IFBLK, (254, 0))]:

    @probe("fs-mknod-" + _name, "make a %s device" % _name, want="EPERM", control="rootns", lacks=NEEDS_ROOT)
    def _(w, mode=_mode, dev=_dev):
        call("mknodat", -100, w.tmp + "/dev", mode | 0o600, os.makedev(*dev))
        return "made a device"

    @probe("fs-mknod-old-" + _name, "make a %s device with the older call" % _name, want="EPERM", control="rootns",
           lacks=NEEDS_ROOT)
    def _(w, mode=_mode, dev=_dev):
        call("mknod", w.tmp + "/dev", mode | 0o600, os.makedev(*dev))
        return "made a device"


@probe("fs-whiteout", "make an overlay whiteout (device 0:0) in the workspace", want="EPERM EROFS EACCES")
def _(w):
    call("mknodat", -100, w.ws + "/docs/whiteout", stat.S_IFCHR, 0)
    return "made a whiteout"


@probe("fs-whiteout-mode", "make a whiteout with unused bits in the mode", want="EPERM EROFS EACCES")
def _(w):
    call("mknodat", -100, w.ws + "/docs/whiteout2", 0xDEAD00000000 | stat.S_IFCHR, 0)
    return "made a whiteout"


@probe("fs-dev-list", "find a device besides the harmless ones and terminals of one's own", want="none")
def _(w):
    harmless = {"/dev/" + name for name in ("null", "zero", "full", "random", "urandom", "tty", "pts/ptmx")}
    found = []
    for folder, _, files in os.walk("/dev"):
        for name in files:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            if (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)) and path not in harmless:
                found.append(path)
    if not found:
        raise Blocked("none")
    return "%d, such as %s" % (len(found), found[0])


@probe("fs-dev-open", "open memory, disk, kvm, fuse, tun or loop devices", want="ENOENT", control="rootns",
       lacks={"ENOENT": "this machine has none of them", "needs-root": "opening them needs real root"})
def _(w):
    for name in ("mem", "kmem", "port", "vda", "sda", "nvme0n1", "kvm", "fuse", "net/tun", "loop-control", "vsock",
                 "kmsg", "uinput", "vhost-net", "dm-0", "mapper/control"):
        try:
            os.close(os.open("/dev/" + name, os.O_RDONLY | os.O_NONBLOCK))
            return "opened /dev/" + name
        except OSError:
            pass
    raise FileNotFoundError(2, "none")


@probe("fs-dev-chmod", "change the mode of a shared device node", want="EPERM EROFS EACCES")
def _(w):
    os.chmod(w.ro_file["etc"] if hasattr(w, "open") else "/dev/null", 0o600)
    return "changed"


# --- attributes and handles -------------------------------------------------------------------------------------------


@probe("fs-xattr-trusted", "set trusted.overlay.redirect on a folder", want="EPERM EROFS EACCES", control="rootns",
       lacks={"needs-root": "trusted attributes need real root", "EOPNOTSUPP": "no such attributes on this file system"})
def _(w):
    os.setxattr(w.tmp if hasattr(w, "open") else w.ws + "/docs", "trusted.overlay.redirect", b"/etc")
    return "set"


@probe("fs-xattr-overlay", "set user.overlay.opaque so that the overlay believes it", want="escaped EPERM EROFS EACCES "
       "EOPNOTSUPP")
def _(w):
    folder = w.ws + "/docs"
    os.setxattr(folder, "user.overlay.opaque", b"y")
    # A merged view gives it another name on disk; whether it did is for the host to see. Here: nothing vanished.
    if not hasattr(w, "open") and os.path.exists(folder + "/b.txt"):
        raise Blocked("escaped")
    return "set"


@probe("fs-file-capability", "give a file capabilities", want="EPERM EROFS EACCES", control="rootns",
       lacks={"needs-root": "file capabilities need real root"})
def _(w):
    create(w.tmp + "/capable")
    os.setxattr(w.tmp + "/capable", "security.capability", struct.pack("<5I", 0x02000001, 0xFF, 0, 0, 0))
    return "set"


@probe("fs-open-by-handle", "open the root of the file system by handle", want="EPERM", control="rootns",
       lacks={"needs-root": "opening by handle needs real root"})
def _(w):
    handle = ctypes.create_string_buffer(struct.pack("<Ii", 128, 0) + bytes(128), 136)
    mount = ctypes.c_int()
    # Not the workspace: an overlay has no handles to give, and the second call is the one that matters.
    place = w.scratch_root if hasattr(w, "open") else "/usr"
    call("name_to_handle_at", -100, place, handle, ctypes.byref(mount), 0)
    fd = os.open(place, os.O_RDONLY)
    return "opened %d" % call("open_by_handle_at", fd, handle, os.O_RDONLY)


@probe("fs-chown", "give a file to root", want="EPERM EINVAL EACCES EROFS", control="rootns",
       lacks={"needs-root": "giving files away needs real root"})
def _(w):
    create(w.tmp + "/gift")
    os.chown(w.tmp + "/gift", 0, 0)
    if os.stat(w.tmp + "/gift").st_uid != 0:
        raise Blocked("kept")
    return "given"


@probe("fs-sparse", "make a file of 1 TB in the output folder", want="SIGXFSZ EFBIG ENOSPC EDQUOT", control="plain")
def _(w):
    fd = os.open(w.out + "/sparse", os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        os.ftruncate(fd, 1 << 40)
        return "made"
    finally:
        os.unlink(w.out + "/sparse")


# --- live things of the host inside the workspace ---------------------------------------------------------------------


@probe("fs-socket-in-workspace", "connect to a host program's socket in the workspace", want="ECONNREFUSED ENOENT EACCES "
       "EPERM ENXIO")
def _(w):
    import socket

    path = w.victim["unix_ws"] if hasattr(w, "open") else w.ws + "/host.sock"
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    s.send(w.tag.encode())
    return "connected"


@probe("fs-fds-from-socket", "receive a host folder's descriptor through that socket", want="ECONNREFUSED ENOENT EACCES "
       "EPERM ENXIO")
def _(w):
    import socket

    path = w.victim["unix_ws"] if hasattr(w, "open") else w.ws + "/host.sock"
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    s.send(b"fd please, " + w.tag.encode())
    _, fds, _, _ = socket.recv_fds(s, 16, 1)
    got = os.open(os.path.basename(w.secret), os.O_RDONLY, dir_fd=fds[0])
    return w.took_secret(os.read(got, 4096), "through a passed descriptor")


@probe("fs-fifo-write", "write into a host program's pipe in the workspace", want="ENXIO ENOENT EACCES EPERM EROFS")
def _(w):
    path = w.victim["fifo_ws"] if hasattr(w, "open") else w.ws + "/host.fifo"
    fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    os.write(fd, w.tag.encode())
    return "wrote"


@probe("fs-fifo-read", "read from a host program's pipe in the workspace", want="nothing ENXIO ENOENT EACCES EPERM")
def _(w):
    path = w.victim["fifo_out_ws"] if hasattr(w, "open") else w.ws + "/host-out.fifo"
    if not slurp(path, 16):
        raise Blocked("nothing")
    return "read"


@probe("fs-lock-shared", "meet a host program's lock on a workspace file", want="own-lock ENOENT", info=True)
def _(w):
    import fcntl

    path = w.victim["lock_ws"] if hasattr(w, "open") else w.ws + "/host.lock"
    try:
        fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return "the host's lock is felt"
    raise Blocked("own-lock")
