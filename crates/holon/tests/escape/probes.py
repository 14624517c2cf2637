#!/usr/bin/python3
"""The escape battery: what an agent may try, each attempt as one probe.

A probe is a function in one of the class_*.py files:

    @probe("fs-write-usr", "create a file in /usr", want="EROFS EACCES", control="plain")
    def _(w):
        return create(w.ro["usr"] + "/probe")

  id        class and name; the class is the part before the first dash
  attempt   in words, for the report
  want      how the wall may answer: names of errors, of signals, or of Blocked("…"); any other answer fails the
            battery, because a probe that fails for the wrong reason (a missing program, a wrong path) proves nothing
  control   where the same function must SUCCEED, which shows that the probe works at all:
              plain    in the open, as whoever runs the battery: only for what harms nobody
              user     the same, but never as root
              ns       as root of throw-away namespaces (user, mount, pid, net, ipc, uts)
              rootns   the same without a user namespace: real root, for what needs it; only harmless calls
              none     impossible; `lacks` then has the reason under ""
  lacks     answers of the control that mean "this machine cannot do that anyway", each with the reason
  modes     the modes the probe makes sense in (default: all)
  info      allowed by design and only recorded

Returning (with a few words) means the probe reached what it wanted; OSError or Blocked means the wall held. Facts about
the world come in `w`: never write a path of the host into a probe. Each probe runs in its own child with a time limit.

    probes.py inside  WORLD.json OUT.jsonl     as the agent
    probes.py control WORLD.json OUT.jsonl     in the open
"""

import json
import os
import signal
import sys

import class_abi  # noqa: F401
import class_env  # noqa: F401
import class_fs  # noqa: F401
import class_git  # noqa: F401
import class_mount  # noqa: F401
import class_net  # noqa: F401
import class_proc  # noqa: F401
import class_process  # noqa: F401
import class_tty  # noqa: F401
import control
from kit import TABLE, Blocked, World, name_of

SECONDS = 20


def attempt(probe, world, out):
    """Runs one probe in this process and writes what it achieved."""
    try:
        result, escaped = str(probe.run(world)), True
    except Blocked as e:
        result, escaped = str(e), False
    except OSError as e:
        result, escaped = name_of(e), False
    except Exception as e:  # A broken probe is neither blocked nor an escape.
        result, escaped = "error: %s: %s" % (type(e).__name__, e), False
    os.write(out, json.dumps([result, escaped]).encode())


def supervised(probe, world, run):
    """Forks for one probe, so that nothing it does to itself reaches the next one."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        signal.alarm(SECONDS)
        try:
            run(probe, world, writer)
        finally:
            os._exit(0)
    os.close(writer)
    # Not until end of file: what a probe leaves behind may hold the pipe.
    _, status = os.waitpid(pid, 0)
    os.set_blocking(reader, False)
    try:
        told = os.read(reader, 1 << 16)
    except BlockingIOError:
        told = b""
    os.close(reader)
    if told:
        return json.loads(told)
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return ["hang" if name == "SIGALRM" else name, False]
    return ["error: it said nothing", False]


def judge_inside(probe, result, escaped):
    if probe.info:
        return "informational"
    if escaped:
        return "escape"
    return "blocked" if result in probe.want else "unexpected"


def judge_control(probe, result, escaped):
    if escaped:
        return "works", ""
    reason = probe.lacks.get(result, "")
    if reason:
        return "impossible", reason
    return "broken", ""


def main():
    where, facts, out = sys.argv[1:4]
    world = World(json.load(open(facts)))
    sink = os.open(out, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o644)
    for probe in TABLE:
        if where == "inside" and probe.modes and world.mode not in probe.modes:
            continue
        line = {"id": probe.id, "class": probe.kind, "attempt": probe.attempt}
        if where == "inside":
            result, escaped = supervised(probe, world, attempt)
            line.update(verdict=judge_inside(probe, result, escaped))
        else:
            result, escaped = control.run(probe, world, attempt, supervised)
            verdict, reason = judge_control(probe, result, escaped)
            line.update(verdict=verdict, reason=reason)
        line.update(result=result, escaped=escaped)
        text = json.dumps(line) + "\n"
        os.write(sink, text.encode())
        os.write(1, text.encode())


if __name__ == "__main__":
    main()
