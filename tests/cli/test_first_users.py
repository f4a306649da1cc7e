"""Users of SCRAM that are there when a broker is ready."""

from __future__ import annotations

import pytest

from kafkalite.cli import serving
from kafkalite.cli.errors import CommandError, WrongUseError
from kafkalite.cli.first_users import FirstUser, create_users, parse_first_users
from kafkalite.cli.main import main
from kafkalite.cli.serving import Plan
from kafkalite.controller.scram import derived_credential
from kafkalite.metadata.scram import ScramMechanism
from kafkalite.ports.network import Address
from kafkalite.testing.simulation import Simulation
from tests.server.running import Running, served

ALICE = FirstUser("SCRAM-SHA-256", "alice", "secret")


@pytest.mark.parametrize(
    ("text", "user"),
    [
        ("SCRAM-SHA-256=[name=alice,password=secret]", ALICE),
        (" SCRAM-SHA-256=[password=secret,name=alice] ", ALICE),
        (
            "SCRAM-SHA-512=[name=a,iterations=8192,password=b=]]",
            ("SCRAM-SHA-512", "a", "b=]", 8192),
        ),
    ],
)
def test_they_are_written_as_for_kafka_storage(text: str, user: FirstUser) -> None:
    assert parse_first_users([text, text]) == (user, user)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("alice:secret", "expected SCRAM-SHA-256=[name=NAME,password=PASSWORD], or SCRAM-SHA-512"),
        ("SCRAM-SHA-1=[name=a,password=secret]", "expected SCRAM-SHA-256="),
        ("SCRAM-SHA-256=[name=a,secret]", "expected SCRAM-SHA-256="),
        ("SCRAM-SHA-256=[name=a,password=]", "it has no name, or no password"),
        ("SCRAM-SHA-256=[password=secret]", "it has no name, or no password"),
        ("SCRAM-SHA-256=[name=a,password=secret,salt=b]", "salt is not known"),
        ("SCRAM-SHA-256=[name=a,password=secret,iterations=4095]", "not from 4096 to 16384"),
        ("SCRAM-SHA-256=[name=a,password=secret,iterations=x]", "not from 4096 to 16384"),
    ],
)
def test_what_is_none_is_told_without_its_secret(text: str, why: str) -> None:
    with pytest.raises(WrongUseError) as refused:
        parse_first_users([text])
    told = str(refused.value)
    assert told.startswith("--add-scram: ")
    assert why in told
    assert "secret" not in told
    assert "secret" not in repr(ALICE)


async def create(running: Running, *users: FirstUser) -> None:
    simulation: Simulation = running.simulation
    network, entropy = simulation.network.node("client"), simulation.entropy
    await create_users(network, Address("broker", 9092), users, entropy)


@served()
async def test_those_that_are_missing_are_made(running: Running) -> None:
    await create(running, ALICE)
    image = running.broker._services.image
    first = image.scram_credential(ScramMechanism.SCRAM_SHA_256, "alice")
    assert first is not None
    other, bob = FirstUser("SCRAM-SHA-512", "alice", "b"), FirstUser("SCRAM-SHA-256", "bob", "c")
    await create(running, ALICE._replace(password="changed"), other, bob, bob)
    image = running.broker._services.image
    assert image.scram_credential(ScramMechanism.SCRAM_SHA_256, "alice") == first
    assert image.scram_credential(ScramMechanism.SCRAM_SHA_512, "alice") is not None
    assert image.scram_credential(ScramMechanism.SCRAM_SHA_256, "bob") is not None


@served()
async def test_a_client_may_prove_that_it_has_the_password(running: Running) -> None:
    import hashlib

    await create(running, ALICE)
    found = running.broker._services.image.scram_credential(ScramMechanism.SCRAM_SHA_256, "alice")
    assert found is not None
    assert found.iterations == 4096
    salted = hashlib.pbkdf2_hmac("sha256", b"secret", found.salt, found.iterations)
    assert found == derived_credential(
        ScramMechanism.SCRAM_SHA_256,
        salt=found.salt,
        salted_password=salted,
        iterations=found.iterations,
    )


@served()
async def test_one_that_is_refused_is_named(running: Running) -> None:
    with pytest.raises(CommandError, match="user 'alice' cannot be made: Too few iterations"):
        await create(running, ALICE._replace(iterations=1))


def test_the_option_has_them_made_before_the_broker_is_ready(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plans: list[Plan] = []
    monkeypatch.setattr(serving, "serve_until_stopped", plans.append)
    option = "--add-scram=SCRAM-SHA-256=[name=alice,password=secret]"
    assert main(["serve", "--ephemeral", option]) == 0
    assert [plan.users for plan in plans] == [(ALICE,)]
    assert main(["serve", "--ephemeral", "--add-scram=alice"]) == 2
    assert "--add-scram: expected SCRAM-SHA-256=[name=NAME" in capsys.readouterr().err
    assert len(plans) == 1
