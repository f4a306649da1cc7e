"""Ends of a command that a person can do something about: lines, without a traceback."""

from __future__ import annotations


class CommandError(Exception):
    """What went wrong, and what to do about it; several texts are several lines. The exit code is
    1."""


class WrongUseError(Exception):
    """What was said and cannot be meant, and what is allowed. The exit code is 2."""
