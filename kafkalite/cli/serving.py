"""Runs one broker until it is told to stop, and tells when it is ready."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, NamedTuple

from kafkalite.cli.client_listeners import ClientListener, client_listeners
from kafkalite.cli.errors import CommandError
from kafkalite.cli.listening import host_resolves
from kafkalite.cli.readiness import Ready, ReadyFile, tell_ready
from kafkalite.cli.start_failures import check_descriptors, explained
from kafkalite.cli.stop_signals import event_of_stop_signals
from kafkalite.cli.topic_wish import FirstTopics
from kafkalite.config.listeners import is_controller_alone
from kafkalite.log.directory_set import LogFolderFailedError, Place
from kafkalite.ports.loop import new_event_loop
from kafkalite.ports.vigil import STAY_AWAKE_US
from kafkalite.server.broker import Broker
from kafkalite.server.this_machine import fail_on_broken_invariants, ports_of_this_machine

if TYPE_CHECKING:
    from kafkalite.cli.first_users import FirstUser
    from kafkalite.config.views import BrokerConfig
    from kafkalite.errors import InvariantError
    from kafkalite.ports.network import Address, Network

log = logging.getLogger(__name__)


class Plan(NamedTuple):
    """What to serve, and how to tell of it."""

    config: BrokerConfig
    folders: tuple[str, ...]
    """The log folders; none: memory."""
    topics: FirstTopics
    users: tuple[FirstUser, ...]
    """Of SCRAM."""
    as_json: bool
    ready_file: str | None
    zookeeper: str | None = None
    """Hosts and chroot of the ensemble that its cluster is kept in; None: it is one of its own."""


def serve_until_stopped(plan: Plan) -> None:
    """`CommandError` when it cannot start, stopped by itself, or could not stop cleanly."""
    check_descriptors()
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(_serve_in_its_role(plan))
    except BrokenPipeError:  # Nobody reads the ready line.
        raise
    except OSError as problem:  # Of the stop: those of the start are explained.
        raise CommandError(f"no clean stop: {problem}") from problem


async def _serve_in_its_role(plan: Plan) -> None:
    if is_controller_alone(plan.config.settings):
        from kafkalite.cli.lone_controller import serve_as_controller

        await serve_as_controller(plan.config, plan.ready_file, as_json=plan.as_json)
    else:
        await _serve(plan)


async def _serve(plan: Plan) -> None:
    stopped = event_of_stop_signals()
    file = None if plan.ready_file is None else ReadyFile(plan.ready_file)
    async with AsyncExitStack() as stack:
        data = ",".join(plan.folders) or None
        with explained(data, plan.config):
            first, *others = _places(plan.folders)
            ports = ports_of_this_machine(plan.config, first.files, stay_awake_us=STAY_AWAKE_US)
            membership = None
            if plan.zookeeper is not None:
                from kafkalite.server.zookeeper_membership import Membership

                membership = Membership(plan.config, plan.zookeeper, ports.clock, ports.entropy)
                await stack.enter_async_context(membership)
            broker = Broker(
                plan.config,
                ports,
                location=first.location,
                more_places=others,
                store=None if membership is None else membership.store,
                has_kafkas_beside_it=membership is not None,
                on_failure=stopped.set,
            )
            fail_on_broken_invariants(broker)
            await stack.enter_async_context(broker)
            if membership is not None:
                membership.attach(broker)
                await membership.wait_joined()
        listeners = client_listeners(plan.config, broker.addresses, host_resolves)
        if not listeners[0].is_usable:
            _warn_of_where_clients_are_sent(listeners[0])
        address = listeners[0].address
        for policy, topics in plan.topics.items():
            network = broker.network_to(listeners[0].name)
            await _create_topics(network, address, topics, policy)
        if plan.users:
            from kafkalite.cli.first_users import create_users

            network = broker.network_to(listeners[0].name)
            await create_users(network, address, plan.users, ports.entropy)
        addresses = {each.name: str(each.address) for each in listeners}
        ready = Ready(str(address), data, addresses)
        tell_ready(ready, file, stack, as_json=plan.as_json)
        await stopped.wait()
    if broker.failure is not None:
        raise CommandError(_why_it_stopped(broker.failure))


def _why_it_stopped(failure: InvariantError) -> str:
    if isinstance(failure, LogFolderFailedError):
        return f"stopped: {failure}; mend the disk, or choose another folder with --data"
    return f"stopped, for its data contradicts itself: {failure}"


def _places(folders: Sequence[str]) -> list[Place]:
    if not folders:
        from kafkalite.log.files_memory import MemoryFiles

        return [Place("in memory", MemoryFiles())]
    from kafkalite.log.files_os import OsFiles
    from kafkalite.log.open_files import OpenFiles, descriptor_limit

    open_files = OpenFiles(descriptor_limit())
    named: dict[str, str] = {}
    for folder in folders:
        place = os.path.realpath(folder)
        if place in named:
            raise CommandError(
                f"{folder} and {named[place]} are one folder, and log.dirs names it twice"
            )
        named[place] = folder
        if os.path.exists(os.path.join(folder, "metadata", "meta.properties")):
            raise CommandError(
                f"{folder} is the folder of a cluster (`kafkalite cluster`); "
                "choose another folder with --data"
            )
    return [Place(folder, OsFiles(folder, open_files=open_files)) for folder in folders]


def _warn_of_where_clients_are_sent(listener: ClientListener) -> None:
    log.warning(
        "clients on this machine will not get further: the listener %s sends them to %s; --port "
        "listens for this machine, or let advertised.listeners name what it knows",
        listener.name,
        listener.told or "no address at all",
    )


async def _create_topics(
    network: Network, address: Address, topics: dict[str, int], cleanup_policy: str | None
) -> None:
    """Those that an earlier run left are there already."""
    from kafkalite.errors import ErrorCode
    from kafkalite.testing.first_topics import create_topics

    there = (ErrorCode.TOPIC_ALREADY_EXISTS,)
    configs = {} if cleanup_policy is None else {"cleanup.policy": cleanup_policy}
    refusals = await create_topics(network, address, topics, configs, allowed=there)
    if refusals:
        raise CommandError(*refusals)
