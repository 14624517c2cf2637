#!/usr/bin/python3
"""Runs a command with a bounded address space and says at the end how much memory it took at most.

    meter.py MEGABYTES COMMAND ARGS…       the last line of standard error is `PEAK <MiB>`; the exit code is the command's
"""

import os
import resource
import sys

limit, command = int(sys.argv[1]) << 20, sys.argv[2:]
pid = os.fork()
if pid == 0:
    # Only so that a greedy command cannot take the machine along.
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    os.execvp(command[0], command)
_, status, used = os.wait4(pid, 0)
os.write(2, b"PEAK %d\n" % (used.ru_maxrss >> 10))
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)
