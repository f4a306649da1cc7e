from __future__ import annotations

import hashlib
import json

import pytest

from kafkalite.controller.scram import derived_credential
from kafkalite.metadata.scram import ScramCredential, ScramMechanism
from kafkalite.ports.zookeeper import Node, Stat
from kafkalite.stores import znodes
from kafkalite.stores.znodes_users import USERS, edited, read_credentials, user_of, user_path
from tests.stores.golden_znodes import moment

GOLDEN = moment("users")
SHA_256, SHA_512 = ScramMechanism
MADE = Stat(5, 5, 5, 0, 0)
CREDENTIAL = ScramCredential(b"salt", b"stored", b"server", 4096)
WRITTEN = '"salt=c2FsdA==,stored_key=c3RvcmVk,server_key=c2VydmVy,iterations=4096"'


def data(user: str) -> bytes:
    found = GOLDEN[user_path(user)].data
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("user", "mechanism", "password", "iterations"),
    [
        ("alice", SHA_256, b"alice-secret", 8192),
        ("alice", SHA_512, b"alice-secret", 4096),
        ("b ob*,=ä", SHA_512, b"x", 4096),
    ],
)
def test_what_a_kafka_wrote_is_what_is_made_of_the_password(
    user: str, mechanism: ScramMechanism, password: bytes, iterations: int
) -> None:
    found = read_credentials(data(user))[mechanism]
    salted = hashlib.pbkdf2_hmac(mechanism.hash_name, password, found.salt, iterations)
    assert found == derived_credential(
        mechanism, salt=found.salt, salted_password=salted, iterations=iterations
    )


@pytest.mark.parametrize("user", ["alice", "b ob*,=ä"])
def test_it_is_written_as_it_was_read(user: str) -> None:
    golden = data(user)
    again = edited(Node(golden, MADE), dict(read_credentials(golden)))
    assert again is not None
    assert json.loads(again) == json.loads(golden)


def test_paths_and_names_of_users() -> None:
    named = {path: user_of(path) for path in GOLDEN if path.startswith(f"{USERS}/")}
    assert list(named.values()) == [None, "alice", "b ob*,=ä"]
    assert [user_path(user) for user in named.values() if user] == list(named)[1:]
    assert user_of(f"{USERS}/alice/clients/c1") is None
    assert user_of("/config/topics/alice") is None
    ascii = "".join(map(chr, range(1, 128)))
    # As Kafka's `Sanitizer` has it.
    assert user_path(ascii).endswith(
        "%1F%20%21%22%23%24%25%26%27%28%29%2A%2B%2C-.%2F0123456789%3A%3B%3C%3D%3E%3F%40"
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ%5B%5C%5D%5E_%60abcdefghijklmnopqrstuvwxyz%7B%7C%7D%7E%7F"
    )
    assert user_of(user_path(ascii)) == ascii
    assert user_path("<default>") == f"{USERS}/%3Cdefault%3E"
    assert user_of(user_path("<default>")) == "<default>"


def test_what_is_not_ours_stays() -> None:
    node = Node(data("alice"), MADE)
    without = edited(node, {SHA_256: None, SHA_512: None})
    assert without == b'{"version":1,"config":{"producer_byte_rate":"1024"}}'
    one_set = edited(Node(without, MADE), {SHA_512: CREDENTIAL})
    assert one_set is not None
    assert json.loads(one_set)["config"] == {
        "producer_byte_rate": "1024",
        "SCRAM-SHA-512": json.loads(WRITTEN),
    }


def test_a_znode_without_anything_goes_unless_something_is_below() -> None:
    written = edited(None, {SHA_256: CREDENTIAL})
    assert written == b'{"version":1,"config":{"SCRAM-SHA-256":%b}}' % WRITTEN.encode()
    assert edited(Node(written, MADE), {SHA_256: None}) is None
    with_child = MADE._replace(pzxid=9)
    assert edited(Node(written, with_child), {SHA_256: None}) == b'{"version":1,"config":{}}'
    assert edited(None, {SHA_256: None}) is None


def test_what_cannot_be_understood_is_written_anew() -> None:
    assert edited(Node(b"{", MADE), {SHA_256: CREDENTIAL}) == edited(None, {SHA_256: CREDENTIAL})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "salt=c2FsdA==",
        "salt=c2FsdA==,stored_key=c3RvcmVk,server_key=c2VydmVy",
        "salt=c2FsdA==,stored_key=c3RvcmVk,server_key=c2VydmVy,iterations=many",
        "salt=c2FsdA==,stored_key=c3RvcmVk,server_key=c2VydmVy,iterations=2147483648",
        "salt=c2FsdA==,stored_key=c3RvcmVk,server_key=c2VydmVy,iterations=5_000",
        "salt=c2FsdA==,stored_key=c3RvcmVk,server_key=c2VydmVy,iterations=1,more=1",
        "salt=c2FsdA==,stored_key=c3RvcmVk,server_key=*,iterations=1",
        "salt=c2FsdA==,stored_key=c3R vcmVk,server_key=c2VydmVy,iterations=1",
    ],
)
def test_what_is_no_credential_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".") as refusal:
        read_credentials(znodes.write_config({"SCRAM-SHA-256": text}))
    assert "c3R" not in str(refusal.value)
