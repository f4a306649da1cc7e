"""Ends of a command that a person can do something about: one line, without a traceback."""

from __future__ import annotations


class CommandError(Exception):
    """What went wrong, and what to do about it; several texts are several lines. The exit code is
    1."""
