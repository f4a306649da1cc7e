"""SCRAM credentials as Kafka 3.9's znodes: `/config/users/NAME`, where a user's quotas stand too.

    {"version":1,"config":{
        "SCRAM-SHA-256":"salt=BASE64,stored_key=BASE64,server_key=BASE64,iterations=N",
        "producer_byte_rate":"1024"}}

What is not a credential is not ours, and stays as it is. Names are URL-encoded. Where nothing is
set any more the znode goes, unless there are quotas of the user's clients below it.

All functions here are pure. Those that read raise `ValueError` for what Kafka would not have
written.

Source: Kafka's `ScramCredentialUtils`, `Sanitizer`, `UserConfigHandler`.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import quote, unquote_plus

from kafkalite.config.java_numbers import java_integer
from kafkalite.metadata.scram import ScramCredential, ScramMechanism
from kafkalite.ports.zookeeper import Node
from kafkalite.stores import znodes

USERS: Final = f"{znodes.CONFIG}/users"
_FIELDS = {"salt", "stored_key", "server_key", "iterations"}
_PARTS_OF_A_PATH: Final = 4


def user_path(user: str) -> str:
    """Of what is set on one."""
    # Java's URLEncoder leaves more as it is, and Kafka puts a space and an asterisk right.
    name = quote(user, safe="", encoding="utf-8", errors="replace").replace("~", "%7E")
    return f"{USERS}/{name}"


def user_of(path: str) -> str | None:
    """The inverse of `user_path`; None for a path that is no single user's, as that of the quotas
    of all others, which have no credentials."""
    parts = path.split("/")
    if len(parts) != _PARTS_OF_A_PATH or not path.startswith(f"{USERS}/"):
        return None
    return None if parts[-1] == znodes.DEFAULT_NAME else unquote_plus(parts[-1])


def read_credentials(data: bytes | None) -> dict[ScramMechanism, ScramCredential]:
    """Those that a user's znode has."""
    values = znodes.read_config(data)
    return {
        each: _read_credential(values[each.mechanism_name])
        for each in ScramMechanism
        if each.mechanism_name in values
    }


def edited(
    node: Node | None, edits: Mapping[ScramMechanism, ScramCredential | None]
) -> bytes | None:
    """The data of a user's znode with those set, and those deleted that are None; None when it is
    to go. What cannot be understood counts for nothing, as for Kafka."""
    values: dict[str, str] = {}
    if node is not None:
        with suppress(ValueError):
            values = znodes.read_config(node.data)
    for mechanism, credential in edits.items():
        values.pop(mechanism.mechanism_name, None)
        if credential is not None:
            values[mechanism.mechanism_name] = _write_credential(credential)
    # Kafka looks for children. Whether there ever was one tells the znode itself.
    never_had_children = node is None or node.stat.pzxid == node.stat.czxid
    return None if not values and never_had_children else znodes.write_config(values)


def _write_credential(credential: ScramCredential) -> str:
    return (
        f"salt={b64encode(credential.salt).decode()}"
        f",stored_key={b64encode(credential.stored_key).decode()}"
        f",server_key={b64encode(credential.server_key).decode()}"
        f",iterations={credential.iterations}"
    )


def _read_credential(text: str) -> ScramCredential:
    fields = dict(part.partition("=")[::2] for part in text.split(","))
    if fields.keys() != _FIELDS:
        raise ValueError("not a SCRAM credential")  # What it is may be a secret all the same.
    iterations = java_integer(fields["iterations"])
    if iterations is None:  # No record, and no answer, could hold it.
        raise ValueError("not a number of iterations")
    return ScramCredential(
        salt=b64decode(fields["salt"], validate=True),
        stored_key=b64decode(fields["stored_key"], validate=True),
        server_key=b64decode(fields["server_key"], validate=True),
        iterations=iterations,
    )
