"""Wrong command lines: what is wrong and what is right, in one line of our own words."""

from __future__ import annotations

import shlex

import pytest

from kafkalite.cli.main import main

WRONG = {
    "fly": "there is no command fly; there are serve, run, cluster, topics, produce, consume, "
    "groups, configs, users, dump-log, verify-log, completion",
    "srve": "there is no command srve (is it serve?); there are serve, run, cluster, topics, "
    "produce, consume, groups, configs, users, dump-log, verify-log, completion",
    "--fly": "there is no option --fly; `kafkalite --help` tells what there is",
    "topics lst": "there is no command lst (is it list?); there are list, describe, create, alter, "
    "delete",
    "topics list extra": "extra: there is one word too many; `kafkalite topics list --help` tells "
    "what there is",
    "topics delete a --json b": "b: such words stand together, before the options or behind; "
    "`kafkalite topics delete --help` tells what there is",
    "topics list --bogus": "there is no option --bogus; `kafkalite topics list --help` tells what "
    "there is",
    "topics list --jsn": "there is no option --jsn (is it --json?); `kafkalite topics list --help` "
    "tells what there is",
    "topics list -b": "-b needs a value; `kafkalite topics list --help` tells what there is",
    "topics list --json=maybe": "--json maybe: it takes no value",
    "topics describe": "NAMES is missing; `kafkalite topics describe --help` tells what there is",
    "topics create a --partitions 0": "--partitions: 0 is not from 1 to 2147483647",
    "topics create a --partitions 1.5": "--partitions 1.5: expected a whole number",
    "topics create a --replication-factor 0x1": "--replication-factor 0x1: expected a whole number",
    "produce t --format xml": "--format xml: expected text or json",
    "produce t --partition -1": "--partition: -1 is not from 0 to 2147483646",
    "consume t --partition 1 --partition -1": "--partition: -1 is not from 0 to 2147483646",
    "consume t -n 0": "-n: 0 is not from 1 to 9223372036854775807",
    "consume t -fx": "there is no option -x; `kafkalite consume --help` tells what there is",
    "consume t --group ''": "--group: the empty text is no name",
    "groups reset g --shift x": "--shift x: expected a whole number",
    "configs describe table t": "KIND table: expected topic, broker or group",
    "run --port 70000 -- true": "--port: 70000 is not from 0 to 65535",
    "run --topic": "--topic needs a value; `kafkalite run --help` tells what there is",
    "serve --partitions 0": "--partitions: 0 is not from 1 to 2147483647",
    "serve --port 1 --port 2": "--port can be said only once",
    "serve --port=": "--port: expected a whole number",
}


@pytest.mark.parametrize("words", WRONG)
def test_it_is_told_in_one_line(capsys: pytest.CaptureFixture[str], words: str) -> None:
    assert main(shlex.split(words)) == 2
    assert capsys.readouterr() == ("", f"kafkalite: {WRONG[words]}\n")


@pytest.mark.parametrize(
    "words",
    [
        "topics create a:{}",
        "topics create a --partitions {}",
        "produce a --partition {}",
        "consume a -n {}",
        "consume a --from {}",
        "consume a --from @{}",
        "consume a --from {}m",
        "groups reset g --to 1 --topic a:0,{}",
        "run --topic a:{} true",
        "serve --port {}",
        "serve --set listeners=PLAINTEXT://localhost:{}",
    ],
)
def test_a_number_too_long_for_python_is_a_mistake_like_others(
    capsys: pytest.CaptureFixture[str], words: str
) -> None:
    digits = "1" * 5_000
    assert main(words.format(digits).split()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert digits in line
