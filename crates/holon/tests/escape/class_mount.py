"""Mounts and namespaces."""

import ctypes
import os
import signal
import struct
import subprocess

from kit import Blocked, SYS, call, create, libc, probe, raised

MS_REMOUNT_BIND, MS_BIND, MNT_DETACH, AT_FDCWD = 0x20 | 0x1000, 0x1000, 2, -100
NAMESPACES = dict(user=0x10000000, mount=0x20000, pid=0x20000000, net=0x40000000, ipc=0x8000000, uts=0x4000000,
                  cgroup=0x2000000)


@probe("mount-tmpfs", "mount a new file system", want="EPERM", control="ns")
def _(w):
    call("mount", "x", w.tmp, "tmpfs", 0, None)
    return "mounted"


for _kind in ("proc", "sysfs", "cgroup2", "devpts", "overlay", "bpf", "securityfs"):

    @probe("mount-" + _kind, "mount %s" % _kind, want="EPERM", control="rootns",
           lacks={"needs-root": "the control is made with real root", "ENODEV": "not in this kernel",
                  "EBUSY": "mounted elsewhere in a way that forbids a second time"})
    def _(w, kind=_kind):
        options = "lowerdir=%s:%s" % (w.ro["usr"], w.ro["etc"]) if kind == "overlay" else None
        call("mount", "x", w.tmp, kind, 0, options)
        return "mounted"


@probe("mount-bind", "bind / over a folder", want="EPERM", control="ns")
def _(w):
    call("mount", "/", w.tmp, None, MS_BIND | 0x4000, None)
    return "bound"


@probe("mount-umount", "take away what covers something", want="EPERM", control="ns")
def _(w):
    call("umount2", w.mounted, MNT_DETACH)
    return "unmounted"


@probe("mount-umount-proc", "uncover a hidden file of /proc", want="EPERM", control="ns")
def _(w):
    call("umount2", w.mounted if hasattr(w, "open") else "/proc/keys", MNT_DETACH)
    return "unmounted"


@probe("mount-remount", "make a read-only mount writable", want="EPERM", control="ns")
def _(w):
    call("mount", None, w.read_only_mount, None, MS_REMOUNT_BIND, None)
    return create(w.read_only_mount + "/probe")


@probe("mount-remount-workspace", "make the read-only workspace writable", want="EPERM", control="ns", modes={"plan"})
def _(w):
    place = w.read_only_mount if hasattr(w, "open") else w.ws
    call("mount", None, place, None, MS_REMOUNT_BIND, None)
    return create(place + "/probe")


@probe("mount-setattr", "the same with mount_setattr", want="EPERM", control="ns")
def _(w):
    attributes = struct.pack("<4Q", 0, 1, 0, 0)
    call("mount_setattr", AT_FDCWD, w.read_only_mount, 0, attributes, len(attributes))
    return create(w.read_only_mount + "/probe")


@probe("mount-share", "make the root mount propagate", want="EPERM", control="ns")
def _(w):
    call("mount", None, "/", None, 0x100000 | 0x4000, None)
    return "shared"


@probe("mount-fsopen", "open a file system with the new calls", want="EPERM", control="ns")
def _(w):
    return "fd %d" % call("fsopen", "tmpfs", 0)


@probe("mount-fspick", "pick up an existing mount", want="EPERM", control="ns")
def _(w):
    return "fd %d" % call("fspick", AT_FDCWD, w.mounted, 0)


@probe("mount-open-tree", "clone the mount tree", want="EPERM", control="ns")
def _(w):
    # AT_RECURSIVE: parts of a tree made by somebody else may only be taken whole.
    return "fd %d" % call("open_tree", AT_FDCWD, w.mounted if hasattr(w, "open") else "/", 1 | 0x8000)


@probe("mount-open-tree-plain", "open_tree without cloning", want="EPERM", control="plain")
def _(w):
    return "fd %d" % call("open_tree", AT_FDCWD, "/", 0)


@probe("mount-move", "move a mount", want="EPERM", control="ns")
def _(w):
    call("move_mount", AT_FDCWD, w.mounted, AT_FDCWD, w.tmp, 0)
    return "moved"


@probe("mount-list", "list mounts with the new calls", want="EPERM", control="plain",
       lacks={"ENOSYS": "kernel older than 6.8"})
def _(w):
    request = struct.pack("<IIQQ", 24, 0, 0xFFFFFFFFFFFFFFFF, 0)
    return "%d mounts" % call("listmount", request, ctypes.create_string_buffer(8 * 64), 64, 0)


@probe("mount-pivot", "pivot_root", want="EPERM", control="ns")
def _(w):
    os.mkdir(w.mounted + "/old") if hasattr(w, "open") else None
    call("pivot_root", w.mounted, w.mounted + "/old")
    return "pivoted"


@probe("mount-chroot", "chroot", want="EPERM", control="ns")
def _(w):
    call("chroot", w.tmp)
    return "changed"


# --- namespaces -------------------------------------------------------------------------------------------------------

for _name, _flag in NAMESPACES.items():
    _where = "plain" if _name == "user" else "ns"

    @probe("mount-unshare-" + _name, "unshare the %s namespace" % _name, want="EPERM", control=_where)
    def _(w, flag=_flag):
        call("unshare", flag)
        return "unshared"

    @probe("mount-clone-" + _name, "clone into a new %s namespace" % _name, want="EPERM", control=_where)
    def _(w, flag=_flag):
        pid = call("clone", flag | signal.SIGCHLD, 0, 0, 0, 0)
        if pid == 0:
            libc._exit(0)
        os.waitpid(pid, 0)
        return "cloned"


@probe("mount-clone-high-bits", "clone into a user namespace with unused high bits set", want="EPERM EINVAL",
       lacks={"EINVAL": "this kernel refuses the bits"})
def _(w):
    pid = call("clone", 0xABCD00000000 | NAMESPACES["user"] | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        libc._exit(0)
    os.waitpid(pid, 0)
    return "cloned"


@probe("mount-clone3-user", "clone3 into a new user namespace", want="ENOSYS EPERM")
def _(w):
    args = struct.pack("<11Q", NAMESPACES["user"], 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
    pid = call("clone3", args, len(args))
    if pid == 0:
        libc._exit(0)
    os.waitpid(pid, 0)
    return "cloned"


@probe("mount-setns-self", "setns into one's own namespace", want="EPERM", control="ns")
def _(w):
    call("setns", os.open("/proc/self/ns/uts", os.O_RDONLY), 0)
    return "entered"


@probe("mount-setns-init", "setns into the namespace of init", want="EACCES EPERM", control="ns")
def _(w):
    call("setns", os.open("/proc/%d/ns/mnt" % w.init_pid, os.O_RDONLY), 0)
    return "entered"


@probe("mount-ns-ioctl", "ask the own user namespace for its parent", want="EPERM ENOTTY EACCES", control="ns",
       lacks={"EPERM": "the parent is outside the control's namespaces"})
def _(w):
    # NS_GET_USERNS of the own mount namespace: one's own user namespace, then NS_GET_PARENT of that.
    own = libc.ioctl(os.open("/proc/self/ns/mnt", os.O_RDONLY), 0xB701)
    if own < 0:
        raised(ctypes.get_errno())
    if hasattr(w, "open"):
        return "fd %d" % own
    parent = libc.ioctl(own, 0xB702)
    if parent < 0:
        raised(ctypes.get_errno())
    grandparent = libc.ioctl(parent, 0xB702)
    if grandparent < 0:
        raised(ctypes.get_errno())
    return "fd %d" % grandparent


@probe("mount-nested-sandbox", "start a program in namespaces of its own", want="refused", control="plain")
def _(w):
    done = subprocess.run(["/usr/bin/unshare", "--user", "--map-root-user", "--mount", "/bin/true"], capture_output=True)
    if done.returncode == 0:
        return "started"
    raise Blocked("refused" if b"not permitted" in done.stderr else done.stderr.decode())


@probe("mount-userns-limit", "raise the number of user namespaces", want="EROFS EACCES EPERM", control="ns")
def _(w):
    os.close(os.open("/proc/sys/user/max_user_namespaces", os.O_WRONLY))
    return "opened"


@probe("mount-hostname", "change the host name", want="EPERM", control="ns")
def _(w):
    call("sethostname", "escaped", 7)
    return "changed"


assert SYS["mount"] == 165
