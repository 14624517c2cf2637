"""The terminal of the person who started the run."""

import ctypes
import os
import pty

from kit import Blocked, call, probe, slurp

TIOCSTI, TIOCLINUX, TIOCSCTTY, TIOCSPGRP = 0x5412, 0x541C, 0x540E, 0x5410


def _terminals(w):
    """Behind the walls: whatever was inherited. In the open: a terminal of our own, made the controlling one."""
    if not hasattr(w, "open"):
        return [0, 1, 2]
    _, slave = pty.openpty()
    if os.fork():
        # The child may lead a session for sure; this process only passes its end on.
        _, status = os.wait()
        os._exit(os.waitstatus_to_exitcode(status))
    os.setsid()
    call("ioctl", slave, TIOCSCTTY, 0)
    return [slave]


def _on_any(w, request, argument):
    error = None
    for fd in _terminals(w):
        try:
            call("ioctl", fd, request, argument())
            return "accepted on %d" % fd
        except OSError as e:
            error = e
    raise error


for _name, _request in [("", TIOCSTI), ("-high-bits", 0x9900000000 | TIOCSTI)]:

    @probe("tty-sti" + _name, "push characters into the terminal", want="EPERM", control="plain",
           lacks={"EIO": "dev.tty.legacy_tiocsti is off"})
    def _(w, request=_request):
        return _on_any(w, request, lambda: ctypes.byref(ctypes.c_char(b"x")))


@probe("tty-linux", "use the console's selection", want="EPERM", control="none",
       lacks={"": "needs a real console; the request number alone is refused inside"})
def _(w):
    return _on_any(w, TIOCLINUX, lambda: ctypes.byref(ctypes.c_char(b"\x03")))


@probe("tty-take", "take a terminal away from its session", want="ENOTTY EPERM")
def _(w):
    if hasattr(w, "open"):
        return "took %d" % _terminals(w)[0]
    return _on_any(w, TIOCSCTTY, lambda: 1)


@probe("tty-foreground", "become the foreground of the terminal", want="ENOTTY EPERM")
def _(w):
    return _on_any(w, TIOCSPGRP, lambda: ctypes.byref(ctypes.c_int(os.getpgrp())))


@probe("tty-open", "open the controlling terminal", want="ENOENT ENXIO")
def _(w):
    _terminals(w)
    return "fd %d" % os.open("/dev/tty", os.O_RDWR)


@probe("tty-controlling", "have a controlling terminal", want="none")
def _(w):
    _terminals(w)
    number = int(slurp("/proc/self/stat").rsplit(b")", 1)[1].split()[4])
    if number == 0:
        raise Blocked("none")
    return "terminal %d" % number


@probe("tty-session", "be in the session of the person's shell", want="own")
def _(w):
    # A leader that is not visible inside shows as 0.
    if hasattr(w, "open") or os.getsid(0) == 0:
        return "session %d" % os.getsid(0)
    raise Blocked("own")


@probe("tty-take-free", "make the terminal of the run the controlling one", want="ENOTTY EPERM")
def _(w):
    if hasattr(w, "open"):
        return "took %d" % _terminals(w)[0]
    return _on_any(w, TIOCSCTTY, lambda: 0)


@probe("tty-make", "make a terminal of one's own", want="ENOENT", info=True)
def _(w):
    return "fd %d" % pty.openpty()[0]


@probe("tty-of-others", "open a terminal that somebody else made", want="ENOENT")
def _(w):
    kept = pty.openpty() if hasattr(w, "open") else ()
    for number in range(4096):
        try:
            return "fd %d of %s" % (os.open("/dev/pts/%d" % number, os.O_RDWR | os.O_NOCTTY), kept)
        except FileNotFoundError:
            pass
    raise FileNotFoundError(2, "none")


@probe("tty-flood", "make more terminals than anybody needs", want="ENOSPC ENOENT")
def _(w):
    kept = [os.openpty() for _ in range(100)]
    return "%d of them" % len(kept)


@probe("tty-console", "open a console", want="ENOENT", control="rootns",
       lacks={"ENOENT": "this machine has none", "ENXIO": "this machine has none", "EIO": "this machine has none",
              "needs-root": "the control needs real root", "ENODEV": "this machine has none"})
def _(w):
    for name in ("console", "tty0", "tty1", "ttyS0", "vcs", "vcsa1"):
        try:
            return "fd %d" % os.open("/dev/" + name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        except FileNotFoundError:
            pass
    raise FileNotFoundError(2, "none")
