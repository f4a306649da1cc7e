"""`kafkalite completion`: what a shell needs to complete commands, options, topics and groups."""

from __future__ import annotations

from typing import Literal

Shell = Literal["bash", "zsh", "fish", "powershell"]


def completion(shell: Shell, /) -> None:
    """Print what lets a shell complete on TAB: commands, options, topics and groups.

    For bash, say `eval "$(kafkalite completion bash)"` in ~/.bashrc; in the same way for others.

    Args:
        shell: which
    """
    from kafkalite.cli.app import new_app

    print(new_app().generate_completion(shell=shell))
