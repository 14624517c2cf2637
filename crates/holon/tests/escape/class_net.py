"""The network, and sockets that are not quite the network."""

import errno
import fcntl
import os
import socket
import struct

from kit import Blocked, call, probe

NO_WAY = "ECONNREFUSED ENETUNREACH EHOSTUNREACH EADDRNOTAVAIL"


def _tcp(family, address, port, tag):
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.settimeout(5)
        s.connect((address, port))
        s.sendall(tag.encode())
    return "connected"


@probe("net-tcp4", "connect to a listener on the host's loopback", want=NO_WAY)
def _(w):
    return _tcp(socket.AF_INET, "127.0.0.1", w.victim["tcp4"], w.tag)


@probe("net-tcp6", "the same over IPv6", want=NO_WAY)
def _(w):
    return _tcp(socket.AF_INET6, "::1", w.victim["tcp6"], w.tag)


@probe("net-tcp-mapped", "the same over an IPv4 address mapped into IPv6", want=NO_WAY)
def _(w):
    return _tcp(socket.AF_INET6, "::ffff:127.0.0.1", w.victim["tcp4"], w.tag)


@probe("net-tcp-any", "the same over the wildcard address", want=NO_WAY)
def _(w):
    return _tcp(socket.AF_INET, "0.0.0.0", w.victim["tcp4"], w.tag)


@probe("net-tcp-out", "connect to an address outside (the host's listener stands in for it in the open)", want=NO_WAY)
def _(w):
    if hasattr(w, "open"):
        return _tcp(socket.AF_INET, "127.0.0.1", w.victim["tcp4"], w.tag)
    return _tcp(socket.AF_INET, "192.0.2.1", 443, w.tag)


@probe("net-metadata", "connect to the address of a cloud's metadata service", want=NO_WAY)
def _(w):
    if hasattr(w, "open"):
        return _tcp(socket.AF_INET, "127.0.0.1", w.victim["tcp4"], w.tag)
    return _tcp(socket.AF_INET, "169.254.169.254", 80, w.tag)


@probe("net-udp4", "send a datagram to the host's loopback", want=NO_WAY + " lost")
def _(w):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    return _datagram(s, ("127.0.0.1", w.victim["udp4"]), w)


@probe("net-udp6", "the same over IPv6", want=NO_WAY + " lost")
def _(w):
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    return _datagram(s, ("::1", w.victim["udp6"]), w)


@probe("net-udp-out", "send a datagram to a name server outside", want=NO_WAY + " lost")
def _(w):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    return _datagram(s, ("127.0.0.1", w.victim["udp4"]) if hasattr(w, "open") else ("192.0.2.53", 53), w)


def _datagram(s, to, w):
    s.settimeout(2)
    s.connect(to)
    s.send(w.tag.encode())
    try:
        return "answered: " + s.recv(64).decode()
    except TimeoutError:
        raise Blocked("lost") from None


@probe("net-dns", "resolve a name", want="unresolved", control="none",
       lacks={"": "a test machine need not have a name server; net-udp-out controls the way to one"})
def _(w):
    try:
        return str(socket.getaddrinfo("example.com", 80)[0][4])
    except socket.gaierror:
        raise Blocked("unresolved") from None


@probe("net-interfaces", "find an interface besides loopback", want="only-lo", lacks={"only-lo": "this machine has none"})
def _(w):
    names = [name for _, name in socket.if_nameindex()]
    if names == ["lo"]:
        raise Blocked("only-lo")
    return str(names)


@probe("net-configure", "give an interface another address", want="EPERM", control="ns")
def _(w):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    address = struct.pack("<HH4s8x", socket.AF_INET, 0, socket.inet_aton("127.0.0.9"))
    fcntl.ioctl(s, 0x8916, struct.pack("16s16s", b"lo", address))
    return "done"


@probe("net-netlink-change", "add an address over netlink", want="EPERM", control="ns")
def _(w):
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    body = struct.pack("<BBBBi", socket.AF_INET, 8, 0, 254, 1)
    for kind in (1, 2):
        body += struct.pack("<HH4s", 8, kind, socket.inet_aton("127.0.0.8"))
    s.send(struct.pack("<IHHII", 16 + len(body), 20, 0x605, 1, 0) + body)
    code = -struct.unpack("<i", s.recv(4096)[16:20])[0]
    if code:
        raise OSError(code, os.strerror(code))
    return "added"


NO_FAMILY = {"EAFNOSUPPORT": "this kernel does not have the family", "EPROTONOSUPPORT": "nor the protocol",
             "ESOCKTNOSUPPORT": "nor the type", "needs-root": "the control needs real root", "EINVAL": "nor the protocol",
             "EPERM": "even root may not here"}
FAMILIES = [
    ("packet", 17, 3, 0x0300), ("vsock", 40, 1, 0), ("alg", 38, 5, 0), ("tipc", 30, 1, 0), ("rds", 21, 5, 0),
    ("can", 29, 3, 1), ("bluetooth", 31, 3, 1), ("xdp", 44, 3, 0), ("key", 15, 3, 2), ("smc", 43, 1, 0),
    ("kcm", 41, 2, 0), ("qipcrtr", 42, 2, 0), ("nfc", 39, 5, 0), ("caif", 37, 5, 0), ("mctp", 45, 2, 0), ("ax25", 3, 5, 0),
    ("x25", 9, 5, 0), ("appletalk", 5, 2, 0), ("llc", 26, 2, 0), ("pppox", 24, 1, 0), ("atm", 8, 2, 0), ("ib", 27, 5, 0),
]
for _name, _family, _type, _protocol in FAMILIES:

    @probe("net-family-" + _name, "open a socket of family " + _name, want="EAFNOSUPPORT", control="rootns",
           lacks=NO_FAMILY)
    def _(w, family=_family, type=_type, protocol=_protocol):
        return "fd %d" % call("socket", family, type, protocol)


@probe("net-family-high-bits", "the same with unused high bits in the family", want="EAFNOSUPPORT", control="rootns",
       lacks=NO_FAMILY)
def _(w):
    return "fd %d" % call("socket", 0x7700000000 | 40, 1, 0)


@probe("net-family-disguised", "vsock that looks like unix in the high half only", want="EAFNOSUPPORT", control="rootns",
       lacks=NO_FAMILY)
def _(w):
    return "fd %d" % call("socket", (1 << 32) | 40, 1, 0)


for _name, _protocol in [("sock-diag", 4), ("xfrm", 6), ("audit", 9), ("connector", 11), ("netfilter", 12),
                         ("uevent", 15), ("generic", 16), ("crypto", 21)]:

    @probe("net-netlink-" + _name, "open netlink " + _name, want="EAFNOSUPPORT", control="rootns", lacks=NO_FAMILY)
    def _(w, protocol=_protocol):
        return "fd %d" % call("socket", 16, 3, protocol)


@probe("net-netlink-high-bits", "netlink audit behind unused high bits", want="EAFNOSUPPORT", control="rootns",
       lacks=NO_FAMILY)
def _(w):
    return "fd %d" % call("socket", 16, 3, 0xFF00000000 | 15)


for _name, _family in [("raw4", socket.AF_INET), ("raw6", socket.AF_INET6)]:

    @probe("net-" + _name, "open a raw socket", want="EPERM", control="ns")
    def _(w, family=_family):
        socket.socket(family, socket.SOCK_RAW, 255)
        return "opened"


@probe("net-ping", "open a ping socket", want="EACCES EPERM", control="rootns",
       lacks={"EACCES": "net.ipv4.ping_group_range is closed here", "needs-root": "the control needs real root"})
def _(w):
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
    return "opened"


@probe("net-abstract", "connect to an abstract socket of the host", want="ECONNREFUSED EPERM")
def _(w):
    s = socket.socket(socket.AF_UNIX)
    s.connect("\0" + w.victim["abstract"])
    s.send(w.tag.encode())
    return "connected"


@probe("net-unix-path", "connect to a socket file of the host", want="ENOENT EACCES")
def _(w):
    s = socket.socket(socket.AF_UNIX)
    s.connect(w.victim["unix_path"])
    s.send(w.tag.encode())
    return "connected"


@probe("net-docker", "reach a container daemon, the message bus or a display", want="ENOENT ECONNREFUSED", control="none",
       lacks={"": "a test machine need not run any; net-unix-path controls the way"})
def _(w):
    for path in ("/var/run/docker.sock", "/run/podman/podman.sock", "/run/dbus/system_bus_socket", "/tmp/.X11-unix/X0",
                 "/run/containerd/containerd.sock", "/run/user/%d/bus" % os.getuid()):
        try:
            socket.socket(socket.AF_UNIX).connect(path)
            return "connected to " + path
        except OSError as e:
            if e.errno not in (errno.ENOENT, errno.ECONNREFUSED):
                raise
    raise FileNotFoundError(errno.ENOENT, "none")
