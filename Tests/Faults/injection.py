"""System calls that fail, one after another, and processes that are killed at each of theirs."""

import collections
import os
import re
import subprocess
import tempfile

from scenes import Scene
from world import HERE

# What can fail, and how.
ERRORS = {
    "write": ["ENOSPC", "EIO"], "pwrite64": ["EIO"], "fsync": ["EIO"], "fdatasync": ["EIO"],
    "renameat": ["EIO", "ENOSPC"], "renameat2": ["EIO"], "rename": ["EIO"], "linkat": ["EMLINK"],
    "unlinkat": ["EIO"], "mkdirat": ["EROFS"], "mkdir": ["EROFS"], "ftruncate": ["EIO"], "fallocate": ["ENOSPC"],
    "openat": ["EMFILE", "EACCES"], "read": ["EIO"], "pread64": ["EIO"], "flock": ["ENOLCK"],
    "socket": ["EMFILE"], "connect": ["ECONNREFUSED", "ETIMEDOUT"], "sendto": ["ECONNRESET"],
    "sendmsg": ["EPIPE"], "recvfrom": ["ECONNRESET"], "recvmsg": ["ECONNRESET"], "pipe2": ["EMFILE"],
    "vfork": ["EAGAIN"], "clone3": ["EAGAIN"], "eventfd2": ["EMFILE"], "getdents64": ["EIO"],
}
SHORT = ["write", "fsync", "renameat", "connect"]


def strace(log, calls, *more):
    return ["strace", "-f", "-qq", "--seccomp-bpf", "-e", "signal=none", "-o", log, "-e", "trace=" + ",".join(calls),
            *more]


def count_calls(scene, log):
    """How often each call is made at most by one thread: strace counts by thread."""
    scene.prepare()
    names = [name if name.startswith("?") else "?" + name for name in ERRORS]
    result = scene.run(strace(log, names))
    if result.status != 0:
        raise AssertionError(f"without a fault: {result}")
    made = collections.Counter()
    with open(log) as file:
        for line in file:
            call = re.match(r"(\d+) +(\w+)\(", line)
            if call:
                made[call.groups()] += 1
    most = collections.Counter()
    for (_, name), count in made.items():
        most[name] = max(most[name], count)
    scene.judge(result, "none")
    scene.tally.update(faults=0, done=0)
    return most


def fail_calls(program, store, name, short=False):
    """Every call of the kinds above fails in turn."""
    scene = Scene(program, store, name)
    log = tempfile.mktemp(prefix="credmgr-strace-")
    try:
        most = count_calls(scene, log)
        for call, errors in ERRORS.items():
            if short and call not in SHORT:
                continue
            for error in errors[:1] if short else errors:
                for number in range(1, most[call] + 1):
                    scene.prepare()
                    prefix = strace(log, [call], "-e", f"inject={call}:error={error}:when={number}")
                    result = scene.run(prefix)
                    with open(log) as file:
                        if "(INJECTED)" not in file.read():
                            scene.judge(result, "none")
                            scene.tally["faults"] -= 1
                            continue
                    # A reply that never arrives: the provider has replaced the refresh token by one nobody has.
                    scene.judge(result, f"{call} {number} {error}", revocable=call.startswith("recv"))
    finally:
        scene.stop()
        if os.path.exists(log):
            os.unlink(log)
    return scene.tally, scene.problems


def build_killer():
    """The program that kills; `None` where there is no C compiler."""
    path = os.path.join(tempfile.mkdtemp(prefix="credmgr-kill-"), "kill_at")
    built = subprocess.run(["cc", "-O2", "-o", path, os.path.join(HERE, "kill_at.c")])
    return path if built.returncode == 0 else None


def kill(scene, killer, who, number):
    """Runs the scene with a kill: how it ended, how many calls the process made, whether it was killed."""
    report = killer + ".report"
    result = scene.run([killer, report, who, str(number)])
    with open(report) as file:
        calls, died_at = map(int, file.read().split())
    os.unlink(report)
    return result, calls, died_at >= 0


def kill_calls(program, store, who, short=False):
    """The caller or the worker of a refresh is killed at each of its system calls."""
    scene = Scene(program, store, "refresh")
    killer = build_killer()
    try:
        _, calls, _ = kill(scene, killer, who, 0)
        for number in range(1, calls + 1, 40 if short else 1):
            result, _, died = kill(scene, killer, who, number)
            if not died:
                continue
            if who == "caller" and result.status == 137:
                result.status, result.errors, result.output = 6, "credmgr: error: killed", ""
            # Only a worker that dies between the provider's reply and the write can lose a sign-in.
            scene.judge(result, f"SIGKILL of the {who} at call {number}", revocable=who == "worker")
    finally:
        scene.stop()
    return scene.tally, scene.problems
