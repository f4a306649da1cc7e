"""Facts of this process and its machine: how long it has been running, what it is called, and which
descriptors it has."""

from __future__ import annotations

import os
import time

_START_TIME_FIELD = 22 - 3
"""In `/proc/self/stat`, counted from the field after the command's name."""
_OPEN_MAX = 10_240
"""What macOS allows at most, whatever it says."""


_STANDARD = (0, 1, 2)


def open_standard_descriptors() -> None:
    """Before an event loop is made: have `/dev/null` for input, output and errors where whoever
    started this process has closed them. Else a loop's own descriptors get their numbers, and
    uvloop aborts the process when it is to close such a one."""
    for number in _STANDARD:
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)  # The lowest free number, which this one is.
            os.set_inheritable(null, True)  # By the commands of `kafkalite run` too.


def raise_descriptor_limit() -> None:
    """Let this process have as many descriptors as it may give itself, as a JVM does: connections
    and segments take one each."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit, setrlimit
    except ImportError:  # Windows has no such limit.
        return
    soft, hard = getrlimit(RLIMIT_NOFILE)
    if soft in (hard, RLIM_INFINITY):
        return
    for wanted in (hard, max(soft, _OPEN_MAX)):
        try:
            setrlimit(RLIMIT_NOFILE, (wanted, hard))
            return
        except (OSError, ValueError):
            continue


def host_name() -> str:
    """The machine's own name, for others to dial: what Kafka takes where no host is set."""
    from socket import gethostname

    return gethostname()


def age_ms() -> int:
    """Milliseconds since the process was started, its interpreter's own start included.

    To 10 ms on Linux. Elsewhere the processor time used so far, which is close while starting up.
    """
    try:
        # Not by `pathlib`, whose import takes 4 ms of a start.
        with open("/proc/self/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        started_s = int(fields[_START_TIME_FIELD]) / os.sysconf("SC_CLK_TCK")
        return int((time.clock_gettime(time.CLOCK_BOOTTIME) - started_s) * 1000)
    except (OSError, AttributeError, ValueError, IndexError):
        return int(time.process_time() * 1000)
