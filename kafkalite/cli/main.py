"""Where the command line begins and ends: the exit code, and errors as one line.

Exit codes: 0 all went well, 1 something failed, 2 wrong use, 130 stopped by Ctrl-C, 141 nobody read
on (as after `| head`), which is what a shell shows for other programs that SIGPIPE ends. `run` has
those of its command.
"""

from __future__ import annotations

import gc
import os
import sys

from kafkalite.cli.early_interrupts import INTERRUPTED, raise_upon_interrupts
from kafkalite.cli.errors import CommandError, WrongUseError
from kafkalite.ports.process import open_standard_descriptors

_FAILED = 1
_WRONG_USE = 2
_NOBODY_READS = 141


def main(arguments: list[str]) -> int:
    """Do what the words say; the exit code."""
    _complete_streams()
    try:
        code = _do(arguments)
        sys.stdout.flush()
    except WrongUseError as problem:
        return _end(_WRONG_USE, *problem.args)
    except CommandError as problem:
        return _end(_FAILED, *problem.args)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # Nobody reads on, as after `| head`.
        _forget_output()
        return _NOBODY_READS
    except SystemExit as end:
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        return _NOBODY_READS  # By rich, which has forgotten the output.
    except OSError as problem:  # Of the output, as when the disk is full.
        _forget_output()
        return _end(_FAILED, f"cannot go on: {problem.strerror or problem}")
    except Exception as fault:  # A person is to see one line, whatever it is.
        if os.environ.get("KAFKALITE_TRACEBACK"):
            raise
        return _end(
            _FAILED,
            f"{type(fault).__name__}: {fault}".partition("\n")[0],
            "this is a fault of kafkalite; with KAFKALITE_TRACEBACK=1 it tells more",
        )
    return code


def _complete_streams() -> None:
    """What was closed when the process began is empty, or goes nowhere. Python has no stream for
    it, and what prints to a missing stderr would print to stdout."""
    open_standard_descriptors()
    for number, (name, mode) in enumerate([("stdin", "r"), ("stdout", "w"), ("stderr", "w")]):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


def _do(arguments: list[str]) -> int:
    if arguments[:1] == ["serve"]:
        # Until it is ready (`readiness.py`): what a start makes stays, and looking through it for
        # garbage, some 60 times, took 10 ms.
        gc.disable()
        try:
            if _serves_plainly(arguments[1:]):
                return 0
        finally:
            gc.enable()
    from kafkalite.cli.app import run

    raise_upon_interrupts()
    return run(arguments)


def _serves_plainly(words: list[str]) -> bool:
    """Whether its words were plain ones; it has run, and ended, if they were."""
    from kafkalite.cli.plain_options import read_plain
    from kafkalite.cli.serve import serve

    options = read_plain(serve, words)
    if options is None:
        return False
    serve(**options)
    return True


def _end(code: int, *lines: str) -> int:
    for line in lines:
        print(f"kafkalite: {line}", file=sys.stderr)
    return code


def _forget_output() -> None:
    """Else the interpreter tries again to write it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
