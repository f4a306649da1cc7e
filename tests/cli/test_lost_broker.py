from __future__ import annotations

import pytest

from kafkalite.cli.lost_broker import LostBroker

TOLD = "kafkalite: lost the broker at kafka:9092; waiting for it\n"


@pytest.mark.parametrize(
    ("connections", "losses"),
    [
        ([1] * 20, 0),
        ([0] * 5 + [2] + [0] * 5, 0),
        ([0] * 20, 1),
        ([1] + [0] * 20 + [1] + [0] * 20, 2),
    ],
)
def test_each_loss_is_told_once(
    capsys: pytest.CaptureFixture[str], connections: list[int], losses: int
) -> None:
    counts = iter(connections)
    broker = LostBroker("kafka:9092", lambda: bool(next(counts)))
    for _ in connections:
        broker.look()
    assert capsys.readouterr() == ("", TOLD * losses)


def test_a_broker_that_merely_closed_an_idle_connection_is_not_lost(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is asked seldom, since whoever has nothing to send may wait for hours."""
    answers = iter([True, False, False, True, False])
    broker = LostBroker("kafka:9092", lambda: False, lambda: next(answers))
    for _ in range(11):
        broker.look()
    assert capsys.readouterr() == ("", "")
    broker.look()
    assert capsys.readouterr() == ("", TOLD)
    for _ in range(3 * 6):
        broker.look()
    assert capsys.readouterr() == ("", TOLD), "it was there in between"
    assert next(answers, None) is None
