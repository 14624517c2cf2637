#!/usr/bin/python3
"""A program of the host that the probes try to reach. It notes every contact, one line each.

    victim.py FOLDER WORKSPACE MARKER      writes FOLDER/victim.json when it is ready, FOLDER/contacts.log ever after
"""

import ctypes
import fcntl
import hashlib
import json
import os
import selectors
import signal
import socket
import sys

from kit import call, libc

folder, workspace, marker = sys.argv[1:4]
with open(os.path.join(folder, "secret.txt"), "rb") as f:
    secret = f.read()
log = os.open(os.path.join(folder, "contacts.log"), os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
waiting = selectors.DefaultSelector()


def note(what, data=b""):
    os.write(log, ("%s %s\n" % (what, data.decode(errors="replace").replace("\n", " "))).encode())


def listen(name, family, address):
    s = socket.socket(family, socket.SOCK_STREAM)
    s.bind(address)
    s.listen(64)

    def contact():
        peer, _ = s.accept()
        peer.settimeout(2)
        try:
            data = peer.recv(64)
            note(name, data)
            if data.startswith(b"fd please"):
                socket.send_fds(peer, [b"here"], [os.open(folder, os.O_RDONLY | os.O_DIRECTORY)])
        except OSError:
            note(name, b"and gone")
        peer.close()

    waiting.register(s, selectors.EVENT_READ, contact)
    return s


def datagrams(name, family, address):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.bind(address)

    def contact():
        data, peer = s.recvfrom(64)
        note(name, data)
        s.sendto(b"heard", peer)

    waiting.register(s, selectors.EVENT_READ, contact)
    return s.getsockname()[1]


def place(name, make):
    path = os.path.join(workspace, name)
    if os.path.lexists(path):
        os.unlink(path)
    make(path)
    return path


facts = {"pid": os.getpid(), "secret_sha256": hashlib.sha256(secret.strip()).hexdigest()}
facts["tcp4"] = listen("tcp4", socket.AF_INET, ("127.0.0.1", 0)).getsockname()[1]
facts["tcp6"] = listen("tcp6", socket.AF_INET6, ("::1", 0)).getsockname()[1]
facts["udp4"] = datagrams("udp4", socket.AF_INET, ("127.0.0.1", 0))
facts["udp6"] = datagrams("udp6", socket.AF_INET6, ("::1", 0))
facts["abstract"] = "holon-victim-" + marker
listen("abstract", socket.AF_UNIX, "\0" + facts["abstract"])
facts["unix_path"] = os.path.join(folder, "s")
listen("unix", socket.AF_UNIX, facts["unix_path"])
os.chmod(facts["unix_path"], 0o777)
os.chdir(workspace)  # Names of sockets are short.
place("host.sock", lambda _: listen("workspace socket", socket.AF_UNIX, "host.sock"))
os.chmod("host.sock", 0o777)
facts["unix_ws"] = os.path.join(workspace, "host.sock")
os.chdir("/")

facts["fifo_ws"] = place("host.fifo", lambda p: os.mkfifo(p, 0o666))
fifo = os.open(facts["fifo_ws"], os.O_RDWR | os.O_NONBLOCK)
waiting.register(fifo, selectors.EVENT_READ, lambda: note("fifo", os.read(fifo, 64)))
facts["fifo_out_ws"] = place("host-out.fifo", lambda p: os.mkfifo(p, 0o666))
fifo_out = os.open(facts["fifo_out_ws"], os.O_RDWR | os.O_NONBLOCK)
try:
    # As much as it takes, once: a later write would change its time.
    while os.write(fifo_out, b"for a friend of the host\n"):
        pass
except BlockingIOError:
    pass
facts["lock_ws"] = place("host.lock", lambda p: open(p, "w").close())
lock = os.open(facts["lock_ws"], os.O_RDWR)
fcntl.flock(lock, fcntl.LOCK_EX)

facts["shm_key"] = 0x48000000 | os.getpid()
segment = call("shmget", facts["shm_key"], 4096, 0o1000 | 0o666)
libc.shmat.restype = ctypes.c_void_p
ctypes.memmove(libc.shmat(segment, None, 0), secret + b"\0", len(secret) + 1)
facts["mqueue"] = "/holon-victim-%d" % os.getpid()
try:
    call("mq_open", facts["mqueue"].lstrip("/"), os.O_CREAT | os.O_RDWR, 0o666, None)
except OSError as e:
    note("setup", b"no message queues: %d" % e.errno)
facts["posix_shm"] = "holon-victim-%d" % os.getpid()
with open("/dev/shm/" + facts["posix_shm"], "wb") as f:
    f.write(secret)

for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGURG, signal.SIGCONT):
    signal.signal(number, lambda n, _: note("signal %s" % signal.Signals(n).name))


def leave():
    libc.shmctl(segment, 0, None)
    libc.syscall(241, facts["mqueue"].lstrip("/").encode())
    for path in ("/dev/shm/" + facts["posix_shm"],):
        os.unlink(path)


temporary = os.path.join(folder, "victim.json.new")
with open(temporary, "w") as f:
    json.dump(facts, f)
os.rename(temporary, os.path.join(folder, "victim.json"))
# The harness ends it by making this file.
stop = os.path.join(folder, "victim.stop")
while not os.path.exists(stop):
    for key, _ in waiting.select(0.05):
        key.data()
leave()
