"""A broker that is never ready shows as a failure that says for what, and not as a hang."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compat_tests import golden as module
from compat_tests.golden import LOADING, Fields, Golden
from compat_tests.test_error_cases import join_busy

REFUSED = {"error_code": LOADING}
LED_NOWHERE: dict[str, Fields] = {
    "FindCoordinator": {"coordinators": [REFUSED]},
    "CreateTopics": {"topics": [{"name": "t", "topic_id": "0" * 32}]},
    "Fetch": {"responses": [REFUSED]},
}
WAITS: dict[str, Callable[[Golden], object]] = {
    "a coordinator of": Golden.await_coordinators,
    "producer ids": lambda golden: golden.init_producer_id(4, {}),
    "leaders of t": lambda golden: golden.fresh_topics({"t": {}}),
    "a coordinator of busy": join_busy,
    "the groups of the coordinator": lambda golden: _found(golden).await_coordinators(),
    "a member id of busy": lambda golden: join_busy(_found(golden)),
}


class Refusing(Golden):
    """Asks nobody: every answer refuses."""

    coordinators_are_found = False

    def call(self, api: str, version: int, fields: Fields) -> Fields:
        if api == "FindCoordinator" and self.coordinators_are_found:
            return {"coordinators": [{"error_code": 0}]}
        return LED_NOWHERE.get(api, REFUSED)


def _found(golden: Golden) -> Golden:
    assert isinstance(golden, Refusing)
    golden.coordinators_are_found = True
    return golden


@pytest.mark.parametrize("awaited", WAITS)
@pytest.mark.timeout(60)
def test_a_wait_has_an_end(awaited: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.01)
    with pytest.raises(AssertionError, match=f"^{awaited}.* is not ready"):
        WAITS[awaited](Refusing("127.0.0.1:1"))
