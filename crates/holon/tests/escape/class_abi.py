"""Other ways into the kernel than the one the filter is written for."""

import ctypes
import mmap
import signal
import struct

from kit import Blocked, call, in_child, libc, probe

# mov eax, imm32; xor ebx,ebx; xor ecx,ecx; xor edx,edx; int 0x80; ret
INT80 = b"\xb8%s\x31\xdb\x31\xc9\x31\xd2\xcd\x80\xc3"


def _machine(code):
    """A function made of these bytes."""
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    function = ctypes.CFUNCTYPE(ctypes.c_int)(address)
    function.keep = memory
    return function


def _judge(ended, reached):
    code, number = ended
    if number:
        raise Blocked(signal.Signals(number).name)
    if code == 0:
        return reached
    raise Blocked("code %d" % code)


for _name, _number in [("getpid", 20), ("unshare", 310), ("mount", 21), ("socketcall", 102), ("add_key", 286)]:

    @probe("abi-int80-" + _name, "32-bit entry: %s" % _name, want="SIGSYS",
           lacks={"SIGSEGV": "this kernel has no 32-bit entry"})
    def _(w, number=_number):
        run = _machine(INT80 % struct.pack("<I", number))

        def work():
            # Any answer at all means that the call was taken.
            run()
            return 0

        return _judge(in_child(work), "the kernel answered")


for _name, _number in [("getpid", 39), ("mount", 165), ("unshare", 272), ("ptrace", 521), ("execve", 520)]:

    @probe("abi-x32-" + _name, "x32 number of " + _name, want="ENOSYS", control="plain",
           lacks={"ENOSYS": "this kernel has no x32"})
    def _(w, number=_number):
        try:
            return str(call(0x40000000 + number, 0, 0, 0, 0))
        except OSError as e:
            if e.errno != 38:
                return "the kernel answered %d" % e.errno
            raise


@probe("abi-x32-range", "x32-only numbers without the x32 bit", want="ENOSYS", lacks={"ENOSYS": "this kernel has no x32"})
def _(w):
    return str(call(512 + 9, 0, 0, 0, 0))


@probe("abi-high-number", "a system call number with the high half set (mount)", want="EPERM ENOSYS", control="ns",
       lacks={"ENOSYS": "this kernel looks at all 64 bits"})
def _(w):
    number = (1 << 32) | 165
    libc.syscall.argtypes = None
    result = libc.syscall(ctypes.c_long(number), b"x", w.tmp.encode(), b"tmpfs", ctypes.c_ulong(0), None)
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, "refused")
    return "mounted"


@probe("abi-vsyscall", "the fixed time page of old programs", want="SIGSEGV SIGSYS", info=True)
def _(w):
    function = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_void_p)(0xFFFFFFFFFF600400)
    return _judge(in_child(lambda: 0 if function(None) > 0 else 1), "it answered")
