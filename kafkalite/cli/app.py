"""The command line as a whole: the commands, and how they are read.

A command is a function: its parameters are its options, its docstring is its help. Each is imported
when it is used. It returns when all went well, and else raises `CommandError` or `WrongUseError`.
"""

from __future__ import annotations

from cyclopts import App, CycloptsError, Parameter

from kafkalite import __version__
from kafkalite.cli.cluster import cluster
from kafkalite.cli.configs import configs
from kafkalite.cli.consume import consume
from kafkalite.cli.dump_log import dump_log
from kafkalite.cli.errors import WrongUseError
from kafkalite.cli.groups import groups
from kafkalite.cli.mistakes import convert_strictly, what_is_wrong
from kafkalite.cli.panels import BROKER, CLUSTER, FOLDERS, OPTIONS
from kafkalite.cli.produce import produce
from kafkalite.cli.run import run as run_command
from kafkalite.cli.run import with_command_marked
from kafkalite.cli.serve import serve
from kafkalite.cli.shell_completion import completion_of
from kafkalite.cli.topics import topics
from kafkalite.cli.users import users
from kafkalite.cli.value_words import HelpInWords
from kafkalite.cli.verify_log import verify_log


def new_app() -> App:
    """All commands."""
    app = App(
        name="kafkalite",
        help="A server that speaks Kafka's protocol, and tools that look into any Kafka.",
        version=__version__,
        group_parameters=OPTIONS,
        help_formatter=HelpInWords(),
        default_parameter=Parameter(negative=(), show_default=_shown, converter=convert_strictly),
    )
    app.command(serve, group=BROKER, sort_key=1)
    app.command(run_command, group=BROKER, sort_key=2)
    app.command(cluster)
    app.command(topics)
    app.command(produce, group=CLUSTER, sort_key=2)
    app.command(consume, group=CLUSTER, sort_key=3)
    app.command(groups)
    app.command(configs)
    app.command(users)
    app.command(dump_log, group=FOLDERS, sort_key=1)
    app.command(verify_log, group=FOLDERS, sort_key=2)
    app.command(completion_of(app), group=OPTIONS)
    app["--help"].group = app["--version"].group = OPTIONS
    return app


def run(arguments: list[str]) -> int:
    """Read the words and do what they say; the exit code."""
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    if arguments[:1] == ["run"]:
        arguments = ["run", *with_command_marked(arguments[1:])]
    _check_encoding(arguments)
    try:
        code = new_app()(
            arguments, exit_on_error=False, print_error=False, result_action="return_value"
        )
    except CycloptsError as error:
        raise WrongUseError(what_is_wrong(error)) from error
    return code or 0


def _check_encoding(arguments: list[str]) -> None:
    """Names, keys and settings are UTF-8 in Kafka. The words of another command, which come after
    `--`, may be anything."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    for word in own:
        try:
            word.encode()
        except UnicodeEncodeError as error:
            raise WrongUseError(f"{word!a} is no text in the encoding of this terminal") from error


def _shown(default: object) -> str | None:
    """Defaults that say something; None: do not show it."""
    return str(default) if default and default != () else None
