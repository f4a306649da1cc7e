"""SCRAM credentials by way of the brokers of a cluster. What Kafka answers to odd requests is in
`test_admin_answers.py`."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kafkalite.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)
from kafkalite.testing.simulation import Simulation
from tests.server.running import simulated
from tests.server.running_cluster import Cluster, three_brokers

SHA_256 = 1


def setting(*users: str) -> AlterUserScramCredentialsRequest:
    return AlterUserScramCredentialsRequest(
        upsertions=[
            ScramCredentialUpsertion(
                name=user,
                mechanism=SHA_256,
                iterations=4096,
                salt=b"salt",
                salted_password=b"secret",
            )
            for user in users
        ]
    )


def deleting(*users: str) -> AlterUserScramCredentialsRequest:
    deletions = [ScramCredentialDeletion(name=user, mechanism=SHA_256) for user in users]
    return AlterUserScramCredentialsRequest(deletions=deletions)


async def alter(
    cluster: Cluster, broker: int, request: AlterUserScramCredentialsRequest
) -> Mapping[str, ErrorCode]:
    response = await cluster.ask(broker, request, 0, AlterUserScramCredentialsResponse)
    return {each.user: ErrorCode(each.error_code) for each in response.results}


async def described(cluster: Cluster, broker: int) -> list[str]:
    request = DescribeUserScramCredentialsRequest(users=None)
    response = await cluster.ask(broker, request, 0, DescribeUserScramCredentialsResponse)
    return [each.user for each in response.results]


@simulated
async def test_whoever_was_told_may_log_in_anywhere(simulation: Simulation) -> None:
    """Any broker takes it, and when it has answered all of them know."""
    async with three_brokers(simulation) as cluster:
        for broker, user in ((1, "alice"), (2, "bob"), (3, "carol")):
            assert await alter(cluster, broker, setting(user)) == {user: ErrorCode.NONE}
            for each in (1, 2, 3):
                assert cluster.brokers[each].image.scram_credential(SHA_256, user) is not None
        assert await alter(cluster, 3, deleting("bob", "nobody")) == {
            "bob": ErrorCode.NONE,
            "nobody": ErrorCode.RESOURCE_NOT_FOUND,
        }
        for each in (1, 2, 3):
            assert await described(cluster, each) == ["alice", "carol"]


@simulated
async def test_the_next_controller_knows_them(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        await alter(cluster, 2, setting("alice", "bob"))
        await cluster.kill(cluster.controller)
        left = next(iter(cluster.brokers))
        assert await alter(cluster, left, deleting("alice")) == {"alice": ErrorCode.NONE}
        assert await alter(cluster, left, deleting("alice")) == {
            "alice": ErrorCode.RESOURCE_NOT_FOUND
        }
        assert await described(cluster, left) == ["bob"]


@simulated
async def test_without_a_controller_every_user_is_refused(simulation: Simulation) -> None:
    async with three_brokers(simulation, request_timeout_ms="2000") as cluster:
        simulation.weather.partition({"broker-1"}, {"broker-2"})
        request = setting("alice", "bob")
        request.deletions = deleting("carol").deletions
        codes = await alter(cluster, 2, request)
        assert codes == dict.fromkeys(("carol", "alice", "bob"), ErrorCode.REQUEST_TIMED_OUT)


@simulated
async def test_no_log_tells_a_salted_password(
    simulation: Simulation, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the controller fails over it, and tells of what."""

    def fail(*words: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("kafkalite.controller.requests.alter_scram_credentials", fail)
    async with three_brokers(simulation) as cluster:
        assert await alter(cluster, 1, setting("alice")) == {
            "alice": ErrorCode.UNKNOWN_SERVER_ERROR
        }
    assert "alice" in caplog.text
    assert "secret" not in caplog.text
