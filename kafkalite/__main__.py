"""`python -m kafkalite`."""

from __future__ import annotations

import sys


def main() -> int:
    """The command `kafkalite`."""
    try:
        from kafkalite.cli.early_interrupts import end_at_once_upon_interrupts
    except KeyboardInterrupt:
        return 130
    end_at_once_upon_interrupts()
    from kafkalite.cli.main import main as run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
