from __future__ import annotations

import pytest

from kafkalite.errors import InvariantError
from kafkalite.metadata.changes import Change, UnknownChange
from kafkalite.metadata.draft import MetadataDraft
from kafkalite.metadata.image import ConfigResource, ConfigResourceType, MetadataImage
from kafkalite.metadata.scram import ScramKey
from kafkalite.protocol.messages.metadata_records import (
    BeginTransactionRecord,
    ControllerEndpoint,
    FeatureLevelRecord,
    FenceBrokerRecord,
    NoOpRecord,
    ProducerIdsRecord,
    RegisterControllerRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UnregisterControllerRecord,
)
from kafkalite.types import BrokerId, ControllerEpoch, Offset
from tests.metadata.sample_changes import (
    credential,
    folded,
    golden_changes,
    image_of,
    partition,
    registration,
    registration_change,
    setting,
    topic,
    uuid,
)

TOPIC = ConfigResourceType.TOPIC


def test_deleting_takes_the_settings_along() -> None:
    before = image_of(topic("t", 1), setting(TOPIC, "t", "retention.ms", "5"), topic("u", 2))
    change = folded(before, RemoveTopicRecord(topic_id=uuid(1)))
    assert list(change.image.topics) == ["u"]
    assert list(change.image.topics_by_id) == [uuid(2)]
    assert change.image.configs == {}
    assert [t.name for t in change.delta.deleted] == ["t"]
    assert change.delta.configs == (ConfigResource(TOPIC, "t"),)


def test_settings_are_set_and_taken_back() -> None:
    before = image_of(setting(TOPIC, "t", "a", "1"), setting(TOPIC, "t", "b", "2"))
    after = folded(before, setting(TOPIC, "t", "a", None), setting(TOPIC, "t", "b", "3")).image
    assert after.topic_config("t") == {"b": "3"}
    assert before.topic_config("t") == {"a": "1", "b": "2"}
    nothing = folded(after, setting(TOPIC, "t", "b", None), setting(TOPIC, "t", "c", None)).image
    assert nothing.configs == {}


def test_features_at_level_0_are_gone() -> None:
    first = folded(MetadataImage(), FeatureLevelRecord(name="share.version", feature_level=2))
    assert first.image.features == {"share.version": 2}
    assert first.delta.features
    same = folded(first.image, FeatureLevelRecord(name="share.version", feature_level=2))
    assert not same.delta.features
    gone = folded(first.image, FeatureLevelRecord(name="share.version", feature_level=0))
    assert gone.image.features == {}
    assert gone.delta.features
    assert not folded(first.image).delta.features


def test_credentials_are_of_a_user_and_a_mechanism() -> None:
    before = image_of(credential("alice"), credential("alice", 2), credential("bob"))
    after = folded(
        before,
        credential("alice", salt=b"new"),
        RemoveUserScramCredentialRecord(name="alice", mechanism=2),
        RemoveUserScramCredentialRecord(name="nobody", mechanism=1),
    ).image
    assert {key: each.salt for key, each in after.scram_credentials.items()} == {
        (1, "alice"): b"new",
        (1, "bob"): b"salt",
    }
    assert (
        after.scram_credentials[ScramKey(1, "bob")] is before.scram_credentials[ScramKey(1, "bob")]
    )
    assert len(before.scram_credentials) == 3
    assert folded(before, credential("bob"), credential("bob", 2)).delta.users == ("bob",)
    assert folded(after, topic("t", 1)).image.scram_credentials is after.scram_credentials


def test_brokers_are_fenced_and_unfenced_in_all_three_ways() -> None:
    image = image_of(registration(1, fenced=True))
    assert image.brokers[BrokerId(1)].fenced
    steps: list[tuple[Change, bool]] = [
        (UnfenceBrokerRecord(id=1, epoch=0), False),
        (FenceBrokerRecord(id=1, epoch=0), True),
        (registration_change(1, fenced=-1), False),
        (registration_change(1, fenced=1), True),
        (registration_change(1, fenced=0), True),
    ]
    for change, fenced in steps:
        fold = folded(image, change)
        image = fold.image
        assert image.brokers[BrokerId(1)].fenced is fenced
        assert fold.delta.brokers == (1,)


def test_changes_of_a_registration() -> None:
    image = image_of(
        registration(1),
        registration_change(1, in_controlled_shutdown=1, log_dirs=[uuid(7)]),
        registration_change(1, fenced=0),
    )
    broker = image.brokers[BrokerId(1)]
    assert broker.in_controlled_shutdown
    assert not broker.active
    assert broker.log_dirs == (uuid(7),)


def test_brokers_and_controllers_leave() -> None:
    image = image_of(
        registration(1),
        RegisterControllerRecord(
            controller_id=1,
            incarnation_id=uuid(9),
            end_points=[ControllerEndpoint(name="CONTROLLER", host="h", port=1)],
        ),
    )
    assert image.controllers[BrokerId(1)].endpoints[0].name == "CONTROLLER"
    after = folded(
        image,
        UnregisterBrokerRecord(broker_id=1, broker_epoch=0),
        UnregisterControllerRecord(controller_id=1),
    ).image
    assert not after.brokers
    assert not after.controllers


def test_position_and_cluster_are_given_at_the_end() -> None:
    draft = MetadataDraft(MetadataImage())
    draft.apply(ProducerIdsRecord(next_producer_id=3000))
    image = draft.finish(
        end_offset=Offset(9),
        epoch=ControllerEpoch(4),
        controller_id=BrokerId(2),
        cluster_id="abc",
    ).image
    assert (image.end_offset, image.epoch, image.controller_id) == (9, 4, 2)
    assert (image.cluster_id, image.next_producer_id) == ("abc", 3000)


def test_what_is_not_acted_on_is_passed_by() -> None:
    change = folded(
        image_of(topic("t", 1)), NoOpRecord(), BeginTransactionRecord(), UnknownChange(99, b"")
    )
    assert change.delta == folded(image_of()).delta


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (FenceBrokerRecord(id=1, epoch=7), "names broker 1 at epoch 7"),
        (UnregisterBrokerRecord(broker_id=2, broker_epoch=0), "names broker 2"),
    ],
)
def test_contradictions_are_a_broken_log(change: Change, words: str) -> None:
    base = image_of(topic("t", 1), partition(1, 0, [1]), registration(1))
    with pytest.raises(InvariantError, match=words):
        folded(base, change)


def test_the_real_log_folds_into_what_it_was() -> None:
    """The facts are in its dump: 20 topics, and a broker that was shut down."""
    image = image_of(*golden_changes())
    assert image.features == {
        "metadata.version": 33,
        "eligible.leader.replicas.version": 1,
        "group.version": 1,
        "share.version": 2,
        "streams.version": 1,
        "transaction.version": 2,
    }
    assert len(image.topics) == 20
    assert image.topics_by_id.keys() == {t.id for t in image.topics.values()}
    assert image.topic_config("truncated") == {
        "file.delete.delay.ms": "100",
        "index.interval.bytes": "256",
        "internal.segment.bytes": "16384",
    }
    broker = image.brokers[BrokerId(1)]
    assert broker.fenced
    assert broker.in_controlled_shutdown
    assert (broker.endpoints[0].port, broker.epoch) == (19292, 14)
    plain = image.partition("plain", 0)
    assert plain is not None
    assert (plain.leader, plain.leader_epoch, plain.isr) == (-1, 1, ())
    assert plain.eligible_leader_replicas == (1,)
    assert image.controllers[BrokerId(1)].features["kraft.version"].max == 1
    assert image.next_producer_id == 1000


def test_folding_one_by_one_or_all_at_once_is_the_same() -> None:
    changes = golden_changes()
    image = MetadataImage()
    for change in changes:
        image = folded(image, change).image
    assert image == image_of(*changes)
