"""A member of a group in a process of its own, to be killed: `python -m compat_tests.group_member
MODULE:CLASS BOOTSTRAP GROUP TOPIC` polls for ever. Its session is short."""

from __future__ import annotations

import sys
from importlib import import_module

from compat_tests.group_cases import SHORT_SESSION_MS, Member


def main() -> None:
    name, bootstrap, group, topic = sys.argv[1:]
    module, _, kind = name.partition(":")
    adapter: type[Member] = getattr(import_module(module), kind)
    member = adapter.join(bootstrap, group, [topic], SHORT_SESSION_MS)
    while True:
        member.poll()


if __name__ == "__main__":
    main()
