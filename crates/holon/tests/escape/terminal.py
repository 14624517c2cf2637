#!/usr/bin/python3
"""Runs a command as the foreground of a terminal of its own and tells, as JSON, what reached that terminal.

    terminal.py SECONDS COMMAND ARGS…
"""

import json
import os
import pty
import select
import signal
import sys
import time

seconds, command = float(sys.argv[1]), sys.argv[2:]
pid, master = pty.fork()
if pid == 0:
    # This process leads the session, as a person's shell would, and waits for the command.
    child = os.fork()
    if child == 0:
        os.execvp(command[0], command)
    _, status = os.waitpid(child, 0)
    # What the command, or what it started, typed for us.
    ready, _, _ = select.select([0], [], [], 0)
    typed = os.read(0, 4096) if ready else b""
    os.write(1, b"\nTYPED %d\n" % len(typed))
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)

shown, stop = b"", time.monotonic() + seconds
while time.monotonic() < stop:
    ready, _, _ = select.select([master], [], [], 0.2)
    if ready:
        try:
            chunk = os.read(master, 1 << 16)
        except OSError:
            break
        if not chunk:
            break
        shown += chunk
else:
    os.kill(pid, signal.SIGKILL)
_, status = os.waitpid(pid, 0)
print(json.dumps({"code": os.waitstatus_to_exitcode(status), "shown": shown.decode(errors="replace")}))
