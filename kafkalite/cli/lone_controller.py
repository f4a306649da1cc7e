"""`serve` as a process that is a controller alone: it stands where it was wanted until it is
stopped, so that a compose file with controllers of their own starts as it is."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from kafkalite.cli.client_listeners import client_listeners
from kafkalite.cli.listening import host_resolves
from kafkalite.cli.readiness import Ready, ReadyFile, tell_ready
from kafkalite.cli.start_failures import explained
from kafkalite.cli.stop_signals import event_of_stop_signals
from kafkalite.ports.clock import RealClock
from kafkalite.server.listeners import Listeners
from kafkalite.server.lone_controller import answer
from kafkalite.server.this_machine import network_of_this_machine

if TYPE_CHECKING:
    from kafkalite.config.views import BrokerConfig


async def serve_as_controller(
    config: BrokerConfig, ready_file: str | None, *, as_json: bool
) -> None:
    """Until a signal. `CommandError` when it cannot listen. The others, see `Plan`."""
    stopped = event_of_stop_signals()
    file = None if ready_file is None else ReadyFile(ready_file)
    clock = RealClock()
    network = network_of_this_machine(config, clock)
    listeners = Listeners(config, network, clock, checks_views=False)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(lambda: listeners.stop(clock.now_ms()))
        with explained(None, config):
            listeners.start(answer)
        found = client_listeners(config, listeners.addresses, host_resolves)
        addresses = {each.name: str(each.address) for each in found}
        ready = Ready(str(found[0].address), None, addresses, is_broker=False)
        tell_ready(ready, file, stack, as_json=as_json)
        await stopped.wait()
