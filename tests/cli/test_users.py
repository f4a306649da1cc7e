"""What `kafkalite users` says, of a broker whose users of PLAIN it cannot see."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalite.cli.main import main
from kafkalite.testing import Broker


def test_users_of_plain_are_not_said_to_be_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": "org.apache.kafka.common.security."
        'plain.PlainLoginModule required user_alice="alice-secret";',
    }
    client = tmp_path / "client.properties"
    client.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        "sasl.username=alice\nsasl.password=alice-secret\n"
    )
    with Broker(settings=settings) as broker:
        words = ["users", "list", "-b", broker.bootstrap, "--command-config", str(client)]
        assert main(words) == 0
    assert capsys.readouterr().err == (
        "There are no users of SCRAM; `kafkalite users add NAME` adds one. Those of PLAIN stand in "
        "the settings of brokers.\n"
    )
