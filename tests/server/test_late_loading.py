"""APIs and coordinators are loaded after the broker listens, while other files may be open."""

from __future__ import annotations

import errno
import logging
import os

import pytest

from kafkalite.controller.requests import decide_request
from kafkalite.coordinator.groups.consumer.coordination import ConsumerCoordination
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalite.server import late_loading
from kafkalite.server.apis.api import ApiModule
from kafkalite.server.apis.table import APIS, ApiTable
from kafkalite.server.late_loading import (
    CONSUMER_RULES,
    CONTROLLER_RULES,
    LOAD_AFTER_MS,
    LOAD_AGAIN_MS,
)
from kafkalite.testing.simulation import Simulation
from tests.server.running import simulated, start

NO_FILES = OSError(errno.EMFILE, os.strerror(errno.EMFILE))


@simulated
async def test_what_cannot_be_loaded_is_loaded_later(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tries: list[int] = []

    def load_one_more(self: ApiTable) -> bool:
        tries.append(simulation.clock.now_ms() - began)
        if len(tries) == 1:
            raise NO_FILES
        return False

    monkeypatch.setattr(ApiTable, "load_one_more", load_one_more)
    began = simulation.clock.now_ms()
    with caplog.at_level(logging.WARNING):
        async with start(simulation, MemoryFiles()) as running:
            await running.wait_ms(2 * LOAD_AGAIN_MS)
    assert tries == [LOAD_AFTER_MS, LOAD_AFTER_MS + LOAD_AGAIN_MS]
    assert caplog.messages == [f"part of the code cannot be loaded: {NO_FILES}"]


@simulated
async def test_the_rules_of_the_controller_and_of_consumer_groups_come_last(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []
    monkeypatch.setattr(late_loading, "import_module", loaded.append)
    async with start(simulation, MemoryFiles()) as running:
        assert not loaded, "a start waits for them"
        await running.wait_ms(2 * LOAD_AFTER_MS + len(APIS))
    assert loaded == [CONTROLLER_RULES, CONSUMER_RULES]
    assert loaded == [decide_request.__module__, ConsumerCoordination.__module__]


@simulated
async def test_a_request_for_it_closes_its_connection_and_no_other(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, refusal = ApiTable.find, [NO_FILES]

    def find(self: ApiTable, key: int) -> ApiModule | None:
        if refusal:
            raise refusal.pop()
        return found(self, key)

    monkeypatch.setattr(ApiTable, "find", find)
    request = MetadataRequest(topics=None)
    async with start(simulation, MemoryFiles()) as running:
        client, other = await running.connect("client"), await running.connect("other")
        with pytest.raises(ConnectionError):
            await client.ask(request, 9, MetadataResponse)
        assert (await other.ask(request, 9, MetadataResponse)).brokers
