"""`kafkalite produce` from a pipe that says nothing more for the time being."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from kafkalite.cli.main import main
from kafkalite.testing import Broker
from tests.cli.serving import COMMAND
from tests.testing.confluent_calls import receive


def test_whoever_has_nothing_to_send_is_told_that_the_broker_is_lost() -> None:
    with Broker(topics={"t": 1}) as broker:
        command = (*COMMAND, "produce", "t", "--bootstrap", broker.bootstrap)
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as producer:
            assert producer.stdin is not None
            assert producer.stderr is not None
            try:
                producer.stdin.write(b"tea\n")
                producer.stdin.flush()
                assert receive(broker.bootstrap, "t") == b"tea"
                broker.stop()
                told = f"kafkalite: lost the broker at {broker.bootstrap}; waiting for it\n"
                assert producer.stderr.readline().decode() == told
            finally:
                producer.kill()


def test_a_record_that_is_refused_ends_it_though_more_lines_could_come(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reading, writing = os.pipe()
    with (
        os.fdopen(reading) as lines,
        os.fdopen(writing, "wb", buffering=0) as pipe,
        Broker(topics={"t": 1}, settings={"message.max.bytes": "200"}) as broker,
    ):
        monkeypatch.setattr(sys, "stdin", lines)
        pipe.write(b"x" * 1_000 + b"\n")
        assert main(["produce", "t", "--bootstrap", broker.bootstrap]) == 1
        assert capsys.readouterr().err == (
            "kafkalite: line 1: the record is larger than its topic takes (MESSAGE_TOO_LARGE);"
            " raise the topic's max.message.bytes\n"
            "kafkalite: 0 records got to t\n"
        )
