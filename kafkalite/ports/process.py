"""Facts of this process and its machine: how long it has been running, and what it is called."""

from __future__ import annotations

import os
import time
from pathlib import Path

_START_TIME_FIELD = 22 - 3
"""In `/proc/self/stat`, counted from the field after the command's name."""


def host_name() -> str:
    """The machine's own name, for others to dial: what Kafka takes where no host is set."""
    from socket import gethostname

    return gethostname()


def age_ms() -> int:
    """Milliseconds since the process was started, its interpreter's own start included.

    To 10 ms on Linux. Elsewhere the processor time used so far, which is close while starting up.
    """
    try:
        fields = Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        started_s = int(fields[_START_TIME_FIELD]) / os.sysconf("SC_CLK_TCK")
        return int((time.clock_gettime(time.CLOCK_BOOTTIME) - started_s) * 1000)
    except (OSError, AttributeError, ValueError, IndexError):
        return int(time.process_time() * 1000)
