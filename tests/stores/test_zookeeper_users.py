"""SCRAM credentials over ZooKeeper, ours and those of others."""

from __future__ import annotations

from kafkalite.metadata.scram import ScramKey
from kafkalite.metadata.store import Committed, CredentialsEdited
from kafkalite.ports.zookeeper import Create, Delete, SetData
from kafkalite.protocol.messages.metadata_records import RemoveUserScramCredentialRecord
from kafkalite.stores import znodes
from kafkalite.stores.znodes_users import USERS, user_path
from tests.metadata.sample_changes import credential
from tests.stores.golden_znodes import moment
from tests.stores.zookeeper_cluster import Cluster, Member

ALICE = f"{USERS}/alice"
SET = b'"salt=c2FsdA==,stored_key=c3RvcmVk,server_key=c2VydmVy,iterations=4096"'
BY_256 = b'{"version":1,"config":{"SCRAM-SHA-256":%b}}' % SET


def removal(user: str, mechanism: int = 1) -> RemoveUserScramCredentialRecord:
    return RemoveUserScramCredentialRecord(name=user, mechanism=mechanism)


def notification(path: str) -> Create:
    return Create(znodes.CONFIG_CHANGE, znodes.write_change_at(path), sequential=True)


def notified(cluster: Cluster) -> list[bytes | None]:
    names = cluster.hand_children(znodes.CONFIG_CHANGES)
    return [cluster.data(f"{znodes.CONFIG_CHANGES}/{name}") for name in names]


def keys(member: Member) -> set[tuple[int, str]]:
    return set(member.image.scram_credentials)


def test_what_is_set_is_seen_by_all_and_notified(cluster: Cluster) -> None:
    one, two = Member(cluster, 1), Member(cluster, 2)
    assert isinstance(one.commit(credential("alice"), credential("b ob*", 2)), Committed)
    assert cluster.data(ALICE) == BY_256
    assert cluster.data(f"{USERS}/b%20ob%2A") == BY_256.replace(b"256", b"512")
    assert notified(cluster) == [
        b'{"version":2,"entity_path":"users/alice"}',
        b'{"version":2,"entity_path":"users/b%20ob%2A"}',
    ]
    for member in (one, two):
        assert keys(member) == {(1, "alice"), (2, "b ob*")}
    assert two.image.scram_credentials[ScramKey(1, "alice")].stored_key == b"stored"
    assert two.deltas[-1].users == ("alice", "b ob*")
    assert not [event for event in one.heard if isinstance(event, CredentialsEdited)]
    one.commit(credential("alice"))
    assert len(notified(cluster)) == 2, "nothing has changed"


def test_what_is_deleted_leaves_nothing(cluster: Cluster) -> None:
    one, two = Member(cluster, 1), Member(cluster, 2)
    one.commit(credential("alice"), credential("alice", 2))
    one.commit(removal("alice"))
    assert cluster.data(ALICE) == BY_256.replace(b"256", b"512")
    one.commit(removal("alice", 2))
    assert cluster.node(ALICE) is None
    assert len(notified(cluster)) == 3
    assert keys(one) == keys(two) == set()
    assert two.deltas[-1].users == ("alice",)


def test_quotas_of_a_user_and_of_its_clients_stay(cluster: Cluster) -> None:
    one = Member(cluster, 1)
    cluster.write(
        Create(ALICE, b'{"version":1,"config":{"producer_byte_rate":"1024"}}'),
        notification(ALICE),
        Create(f"{USERS}/bob"),
    )
    cluster.write(
        Create(f"{USERS}/bob/clients"),
        Create(f"{USERS}/bob/clients/c", b'{"version":1,"config":{"producer_byte_rate":"5"}}'),
        notification(f"{USERS}/bob/clients/c"),
        notification(f"{USERS}/bob"),
    )
    one.commit(credential("alice"), credential("bob"))
    assert cluster.data(ALICE) == (
        b'{"version":1,"config":{"producer_byte_rate":"1024","SCRAM-SHA-256":%b}}' % SET
    )
    one.commit(removal("alice"), removal("bob"))
    assert cluster.data(ALICE) == b'{"version":1,"config":{"producer_byte_rate":"1024"}}'
    assert cluster.data(f"{USERS}/bob") == b'{"version":1,"config":{}}'
    assert cluster.node(f"{USERS}/bob/clients/c") is not None


def test_what_stands_there_is_read_at_first(cluster: Cluster) -> None:
    golden = {path: node.data for path, node in moment("users").items() if USERS in path}
    cluster.fill(golden)
    cluster.fill({f"{USERS}/broken": b'{"version":1,"config":{"SCRAM-SHA-256":"salt=x"}}'})
    one = Member(cluster, 1)
    assert keys(one) == {(1, "alice"), (2, "alice"), (2, "b ob*,=ä")}
    assert one.image.scram_credentials[ScramKey(1, "alice")].iterations == 8192


def test_what_others_set_and_delete_is_seen_and_told_to_the_controller(cluster: Cluster) -> None:
    one, two = Member(cluster, 1), Member(cluster, 2)
    one.commit(credential("alice", 2))
    one.news()
    cluster.write(SetData(ALICE, BY_256), notification(ALICE))
    (told,) = one.news()
    assert isinstance(told, CredentialsEdited)
    assert told.user == "alice"
    assert told.newest() == one.image.credentials_of("alice")
    assert keys(one) == keys(two) == {(1, "alice")}
    assert two.news() == [], "only the controller acts on it"
    cluster.write(Delete(ALICE), notification(ALICE))
    (told,) = one.news()
    assert isinstance(told, CredentialsEdited)
    assert told.newest() == {}
    assert keys(one) == keys(two) == set()


def test_what_changed_while_the_connection_was_lost_is_seen(cluster: Cluster) -> None:
    one = Member(cluster, 1)
    one.commit(credential("alice"), credential("bob"))
    id = one.session._zookeeper.id
    cluster.zookeeper.disconnect(id)
    cluster.write(Delete(ALICE), Create(user_path("new"), BY_256))
    cluster.zookeeper.reconnect(id)
    cluster.turns.drain()
    assert keys(one) == {(1, "bob"), (1, "new")}


def test_users_are_not_watched_since_notifications_tell(cluster: Cluster) -> None:
    """As by a Kafka: there may be many of them."""
    cluster.fill({ALICE: BY_256})
    one = Member(cluster, 1)
    cluster.write(SetData(ALICE, BY_256.replace(b"256", b"512")))
    cluster.write(Create(f"{USERS}/bob", BY_256), notification(f"{USERS}/bob"))
    assert keys(one) == {(1, "alice"), (1, "bob")}
    cluster.write(notification(ALICE))
    assert keys(one) == {(2, "alice"), (1, "bob")}
