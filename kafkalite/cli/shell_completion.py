"""`kafkalite completion`: what a shell needs to complete commands, options, topics and groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from cyclopts import App

_IN_BASH = "complete -F _kafkalite kafkalite"
_WITH_FILES_IN_BASH = "complete -o bashdefault -o default -F _kafkalite kafkalite"
"""Where nothing else is offered, such as for the file of `produce`, names of files are."""

Shell = Literal["bash", "zsh", "fish", "powershell"]


def completion_of(app: App) -> Callable[[Shell], None]:
    """The command that prints it for all commands that `app` has when it is called."""

    def completion(shell: Shell, /) -> None:
        """Print what lets a shell complete on TAB: commands, options, topics and groups.

        For bash, say `eval "$(kafkalite completion bash)"` in ~/.bashrc; in the same way for
        others.

        Args:
            shell: which
        """
        script = app.generate_completion(shell=shell)
        if shell == "bash":
            script = script.replace(_IN_BASH, _WITH_FILES_IN_BASH)
        print(script)

    return completion
