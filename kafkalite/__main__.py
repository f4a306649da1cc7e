"""`python -m kafkalite`."""

from __future__ import annotations

import sys


def main() -> int:
    """The command `kafkalite`."""
    from kafkalite.cli.main import main as run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
