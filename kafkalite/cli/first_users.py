"""Users of SCRAM that a broker is to have from the start, in the words of Kafka's
`kafka-storage format --add-scram`: `SCRAM-SHA-256=[name=alice,password=alice-secret]`, perhaps with
`iterations=8192`.

Kafka differs: it makes the first users with the cluster, once. Here a start makes those that are
missing, and leaves the others as they are.

Kafka differs: `--add-scram` also takes a salt, and a password that was salted by somebody.

Source: KIP-900.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn

from kafkalite.cli.errors import CommandError, WrongUseError

if TYPE_CHECKING:
    from kafkalite.ports.entropy import Entropy
    from kafkalite.ports.network import Address, Network

_WRITTEN: Final = re.compile(
    r"(?P<mechanism>SCRAM-SHA-(?:256|512))=\[(?P<parts>[^,=]+=[^,]*(?:,[^,=]+=[^,]*)*)\]"
)
_VERSION: Final = 0


class FirstUser(NamedTuple):
    """One credential."""

    mechanism: str
    """As SASL names it."""
    name: str
    password: str
    iterations: int = 4096

    def __repr__(self) -> str:
        """Without the password."""
        return f"FirstUser({self.mechanism}, {self.name})"


def parse_first_users(texts: Sequence[str]) -> tuple[FirstUser, ...]:
    """`WrongUseError` for what is none; it does not tell the text, which has a secret."""
    return tuple(map(_parse, texts))


def _parse(text: str) -> FirstUser:
    from kafkalite.metadata.scram import ScramMechanism

    found = _WRITTEN.fullmatch(text.strip())
    if found is None:
        _refuse("expected SCRAM-SHA-256=[name=NAME,password=PASSWORD], or SCRAM-SHA-512")
    parts = dict(each.split("=", 1) for each in found["parts"].split(","))
    name, password = parts.pop("name", ""), parts.pop("password", "")
    iterations = parts.pop("iterations", str(FirstUser._field_defaults["iterations"]))
    if not name or not password:
        _refuse("it has no name, or no password")
    if parts:
        _refuse(f"{next(iter(parts))} is not known; name, password and iterations are")
    mechanism = ScramMechanism[found["mechanism"].replace("-", "_")]
    least, most = mechanism.min_iterations, mechanism.max_iterations
    if not iterations.isdecimal() or not least <= int(iterations) <= most:
        _refuse(f"its iterations are not from {least} to {most}")
    return FirstUser(found["mechanism"], name, password, int(iterations))


def _refuse(why: str) -> NoReturn:
    raise WrongUseError(f"--add-scram: {why}")


async def create_users(
    network: Network, address: Address, users: Sequence[FirstUser], entropy: Entropy
) -> None:
    """Those that have no such credential yet. `CommandError` for one that is refused."""
    from kafkalite.metadata.scram import ScramMechanism
    from kafkalite.protocol.messages.describe_user_scram_credentials import (
        DescribeUserScramCredentialsRequest,
        DescribeUserScramCredentialsResponse,
    )
    from kafkalite.testing.client import Client
    from kafkalite.testing.users import add_credentials, upsertion

    client = await Client.connect(network, address, "kafkalite-users")
    try:
        known = await client.ask(
            DescribeUserScramCredentialsRequest(users=None),
            _VERSION,
            DescribeUserScramCredentialsResponse,
        )
        there = {
            (each.user, info.mechanism) for each in known.results for info in each.credential_infos
        }
        for mechanism in ScramMechanism:  # One request may alter a user once.
            missing = {
                each.name: each
                for each in users
                if each.mechanism == mechanism.mechanism_name
                and (each.name, mechanism) not in there
            }
            upsertions = [
                upsertion(each.name, each.password, mechanism, entropy, each.iterations)
                for each in missing.values()
            ]
            refusals = await add_credentials(client, upsertions) if upsertions else []
            if refusals:
                raise CommandError(*refusals)
    finally:
        client.close()
