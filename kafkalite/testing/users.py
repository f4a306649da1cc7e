"""Users that a broker for a test knows by their passwords: by PLAIN, for the settings say so, and
by SCRAM, as soon as it runs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

from kafkalite.config.jaas import quoted
from kafkalite.config.sasl import ENABLED, JAAS, PLAIN, PLAIN_MODULE, SCRAM, SCRAM_MODULE
from kafkalite.errors import ErrorCode
from kafkalite.metadata.scram import ScramMechanism
from kafkalite.ports.entropy import Entropy
from kafkalite.ports.network import Address, Network
from kafkalite.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialUpsertion,
)
from kafkalite.testing.client import Client

LISTENER: Final = "SASL_PLAINTEXT"
"""The name of the one where they come in, and what is spoken there."""
MECHANISMS: Final = (PLAIN, *SCRAM)
_VERSION: Final = 0
_SALT_BYTES: Final = 16


def checked_users(users: object) -> dict[str, str]:
    """Passwords by name. `ValueError`, in one line, for what is none."""
    expected = "expected passwords by name, such as {'alice': 'secret'}"
    if not isinstance(users, Mapping):
        raise ValueError(f"users of type {type(users).__name__}: {expected}")
    for name, password in users.items():
        if not isinstance(name, str) or not isinstance(password, str):
            raise ValueError(f"users: {name!r}: {expected}")
        if not name or not password or "\0" in name + password:
            raise ValueError(f"users: {name!r}: a name or password is empty, or has a zero in it")
    return dict(users)


def settings_of(users: Mapping[str, str]) -> dict[str, str]:
    """Of a broker that lets them in at `LISTENER`, by each of `MECHANISMS`."""
    known = "".join(f" {quoted('user_' + name)}={quoted(word)}" for name, word in users.items())
    logins = {PLAIN: f"{PLAIN_MODULE} required{known};"}
    logins |= dict.fromkeys(SCRAM, f"{SCRAM_MODULE} required;")
    own = f"listener.name.{LISTENER.lower()}."
    return {
        ENABLED: ",".join(MECHANISMS),
        **{f"{own}{each.lower()}.{JAAS}": login for each, login in logins.items()},
    }


async def make_known(
    network: Network, address: Address, users: Mapping[str, str], entropy: Entropy
) -> list[str]:
    """To a broker that runs, for SCRAM. Gives its refusals, each in words for a person."""
    client = await Client.connect(network, address, "kafkalite-users")
    try:
        refusals = []
        for mechanism in ScramMechanism:  # Kafka takes one of a user at a time.
            upsertions = [upsertion(*user, mechanism, entropy) for user in users.items()]
            refusals += await add_credentials(client, upsertions)
        return refusals
    finally:
        client.close()


async def add_credentials(
    client: Client, upsertions: Sequence[ScramCredentialUpsertion]
) -> list[str]:
    """At most one of each user. Gives the refusals, each in words for a person."""
    request = AlterUserScramCredentialsRequest(upsertions=[*upsertions])
    response = await client.ask(request, _VERSION, AlterUserScramCredentialsResponse)
    return [
        f"user {each.user!r} cannot be made: "
        f"{each.error_message or ErrorCode(each.error_code).name}"
        for each in response.results
        if each.error_code
    ]


def upsertion(
    name: str,
    password: str,
    mechanism: ScramMechanism,
    entropy: Entropy,
    iterations: int | None = None,
) -> ScramCredentialUpsertion:
    """Of a user with that password. `iterations`: of the hash; None: the fewest."""
    salt = entropy.token_bytes(_SALT_BYTES)
    iterations = mechanism.min_iterations if iterations is None else iterations
    return ScramCredentialUpsertion(
        name=name,
        mechanism=mechanism,
        iterations=iterations,
        salt=salt,
        salted_password=hashlib.pbkdf2_hmac(
            mechanism.hash_name, password.encode(), salt, iterations
        ),
    )
