"""Which command was meant. Each is imported only when it runs, so that `serve` starts lean."""

from __future__ import annotations

import argparse

from kafkalite import __version__
from kafkalite.cli.serve import add_parser


def main(arguments: list[str]) -> int:
    """The exit code: 0 well, 1 failed, 2 wrong use."""
    parser = argparse.ArgumentParser(
        prog="kafkalite", description="A server that speaks Kafka's protocol."
    )
    parser.add_argument("--version", action="version", version=f"kafkalite {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    add_parser(commands)
    options = parser.parse_args(arguments)
    return int(options.run(options))
