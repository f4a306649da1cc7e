#!/usr/bin/env python3
"""Ports of loopback that nobody has: free_port.py [HOW-MANY]

Whoever is told one binds it a second or two later, when a JVM has started, and again after a restart. Ports that a
system gives to anyone who asks for any may be somebody else's by then. These are of another range, and each call, of
any process of this user, goes on in it where the last one ended. Standard library only."""
import os, socket, sys, tempfile

FIRST, COUNT = 20000, 10000


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    import fcntl  # Windows has none.

    found = []
    with open(os.path.join(tempfile.gettempdir(), f"kafka-oracle-port-{os.getuid()}"), "a+") as last:
        fcntl.flock(last, fcntl.LOCK_EX)
        last.seek(0)
        at = int(last.read() or os.getpid())
        for _ in range(COUNT):
            at += 1
            port = FIRST + at % COUNT
            if is_free(port):
                found.append(port)
            if len(found) == count:
                break
        else:
            raise SystemExit(f"free_port: not {count} free ports from {FIRST} on")
        last.truncate(0)
        last.write(str(at))
    return found


if __name__ == "__main__":
    print(*free_ports(int(sys.argv[1]) if len(sys.argv) > 1 else 1))
