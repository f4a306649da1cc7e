"""What docs/compatibility.md says of the clients: which versions they ask for.

The record was made of all their tests (`record_client_versions.py`); here each that is written in
Python does a little of everything, through a relay that looks on. Another release of a client may
ask for other versions: then they must be such as are served, and the record of its tests is to be
made anew. Of clients in other languages a file of their folder says which release it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from importlib.metadata import version

import pytest

from compat_tests.aiokafka.adapter import AiokafkaClient
from compat_tests.aiokafka.member import AiokafkaMember
from compat_tests.client_cases import Client
from compat_tests.confluent.adapter import ConfluentClient
from compat_tests.confluent.member import ConfluentMember
from compat_tests.group_cases import Member, Place, poll_until
from compat_tests.kafka_python.adapter import KafkaPythonClient
from compat_tests.kafka_python.member import KafkaPythonMember
from compat_tests.process import KafkaliteProcess
from compat_tests.record_client_versions import CLIENTS as RECORDED_CLIENTS
from compat_tests.record_client_versions import HERE, RECORD, names
from compat_tests.sample import samples
from compat_tests.watching_relay import WITNESS, Asked, WatchingRelay
from kafkalite.server.apis.table import APIS

pytestmark = pytest.mark.needs_process

CLIENTS: dict[str, tuple[Callable[[str], Client], type[Member]]] = {
    "confluent-kafka": (ConfluentClient, ConfluentMember),
    "kafka-python": (KafkaPythonClient, KafkaPythonMember),
    "aiokafka": (AiokafkaClient, AiokafkaMember),
}
RECORDED = json.loads(RECORD.read_text(encoding="utf-8"))
LANGUAGES = ("go", "java", "node", "rust")
"""Folders of the programs in other languages."""
SURELY = {
    "ApiVersions",
    "CreateTopics",
    "DeleteTopics",
    "Fetch",
    "FindCoordinator",
    "InitProducerId",
    "JoinGroup",
    "LeaveGroup",
    "ListGroups",
    "ListOffsets",
    "Metadata",
    "OffsetCommit",
    "OffsetFetch",
    "Produce",
    "SyncGroup",
}
"""What every client asks for `use`."""


@pytest.fixture
def relay(start_kafkalite: Callable[..., KafkaliteProcess]) -> Iterator[WatchingRelay]:
    with WatchingRelay() as relay:
        advertised = {"advertised.listeners": f"PLAINTEXT://{relay.address}"}
        broker = start_kafkalite(settings=advertised)
        relay.target = broker.port
        yield relay
        assert broker.stop() == 0


def use(client: Client, join: type[Member], address: str) -> None:
    """A topic, an idempotent producer, a reader, and a member of a group that commits."""
    client.create_topic("t")
    sent = samples(10)
    assert client.produce("t", sent, idempotent=True) == list(range(10))
    assert len(client.read("t", 10)) == 10
    assert client.offsets("t") == (0, 10)
    member = join.join(address, "g", ["t"])
    poll_until(lambda got: len(got) == 10, member)
    member.commit({Place("t", 0): 10})
    member.leave()
    assert "g" in client.groups()
    client.delete_topic("t")


@pytest.mark.parametrize("package", CLIENTS)
def test_clients_ask_for_what_the_page_says(package: str, relay: WatchingRelay) -> None:
    make_client, member = CLIENTS[package]
    use(make_client(relay.address), member, relay.address)
    seen = relay.seen(names())
    assert not_served(seen) == {}
    assert seen.keys() >= SURELY
    if version(package) == RECORDED[package]["version"]:
        asks: Asked = RECORDED[package]["asks"]
        assert {api: asks[api] for api in SURELY} == {api: seen[api] for api in SURELY}
        assert all(set(versions) <= set(asks[api]) for api, versions in seen.items())


def test_what_a_witness_asks_is_not_noted(relay: WatchingRelay) -> None:
    """Else its versions would be put down to the client whose records it reads."""
    assert ConfluentClient(relay.address, WITNESS).topics() == set()
    assert relay.seen(names()) == {}
    assert ConfluentClient(relay.address).topics() == set()
    assert relay.seen(names()).keys() == {"ApiVersions", "Metadata"}


def not_served(seen: Asked) -> Asked:
    """A client that asked for such a version was hung up upon."""
    served: dict[int, range] = {
        module.API.key: range(module.API.min_version, module.API.max_version + 1) for module in APIS
    }
    keys = {name: key for key, name in names().items()}
    return {
        api: versions
        for api, versions in seen.items()
        if not set(versions) <= set(served.get(keys[api], range(0)))
    }


@pytest.mark.parametrize("package", RECORDED)
def test_what_is_on_record_is_served(package: str) -> None:
    assert not_served(RECORDED[package]["asks"]) == {}


def test_every_client_is_on_record() -> None:
    assert list(RECORDED) == list(RECORDED_CLIENTS)


@pytest.mark.parametrize(
    "name", [name for name in RECORDED_CLIENTS if name not in (*CLIENTS, "kcat")]
)
def test_the_record_is_of_the_release_that_is_locked(name: str) -> None:
    """Else: `python -m compat_tests.record_client_versions NAME`. kcat is the machine's own."""
    assert RECORDED[name]["version"] == RECORDED_CLIENTS[name].version()


def test_every_class_of_language_cases_is_recorded() -> None:
    """A new library has its row on the page."""
    recorded = " ".join(test for client in RECORDED_CLIENTS.values() for test in client.tests)
    for file in (file for folder in LANGUAGES for file in (HERE / folder).glob("test_*.py")):
        if file.name in recorded and f"{file.name}::" not in recorded:
            continue
        classes = re.findall(r"^class (Test\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
        for name in classes:
            assert f"{file.parent.name}/{file.name}::{name}" in recorded.split(), name
