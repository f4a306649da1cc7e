"""The real Kafka starts on a metadata log that we wrote, and we go on with what it wrote after
that."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kafkalite.controller.events import CreateTopics, NewTopic, TopicsCreated
from kafkalite.controller.features import FINALIZED
from kafkalite.controller.settings import ControllerSettings
from kafkalite.errors import KafkaError
from kafkalite.log.files_os import OsFiles
from kafkalite.metadata.image import TopicImage
from kafkalite.protocol.messages.metadata_records import FeatureLevelRecord
from kafkalite.server.controller_driver import ControllerDriver
from kafkalite.stores import metadata_log
from kafkalite.stores.memory import MemoryStore
from kafkalite.stores.metadata_limits import MetadataLogLimits
from kafkalite.stores.metadata_log import FOLDER, MetadataLog
from kafkalite.types import BrokerId, format_uuid
from tests.controller.sample_cluster import broker_registration, uuid
from tests.server.hand_clock import HandClock

KAFKA = Path(__file__).parents[2] / "compat_tests" / "oracle" / "kafka"
CLUSTER_ID = "oracle-AAAAAAAAAAAAAAA"
DIRECTORY = uuid(2001)
LEVELS = [FeatureLevelRecord(name=name, feature_level=level) for name, level in FINALIZED.items()]


def kafka(*arguments: str) -> str:
    done = subprocess.run(
        [KAFKA, *arguments], capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def start_on(folder: Path, *names: str, incarnation: int = 0) -> dict[str, TopicImage]:
    """Run as the cluster's only broker for as long as it takes to make the topics."""
    clock = HandClock()
    log = MetadataLog.open(
        OsFiles(str(folder)),
        node_id=BrokerId(1),
        directory_id=DIRECTORY,
        now=clock.now_ms(),
        clean=False,
        formatted_with=LEVELS,
        limits=MetadataLogLimits(retention_bytes=0),
    )
    store = MemoryStore(CLUSTER_ID, clock, log)
    driver = ControllerDriver(clock, ControllerSettings())
    session = store.open_session(BrokerId(1), driver.on_store_event)
    session.register(broker_registration(1, incarnation=incarnation))
    driver.start(session)
    replies: list[TopicsCreated | KafkaError] = []
    topics = tuple(NewTopic(name, 2, configs=(("retention.ms", "7200000"),)) for name in names)
    ids = tuple(uuid(0xABCDEF << 96 | 31 * incarnation + n) for n in range(len(names)))
    driver.submit(CreateTopics(None, topics, ids, 0), replies.append)
    assert isinstance(replies[0], TopicsCreated)
    image = store.image
    if log.wants_snapshot(clock.now_ms()):
        snapshot = log.begin_snapshot(image, clock.now_ms())
        while snapshot.write_next():
            pass
        snapshot.install()
        log.clean(clock.now_ms())
    driver.stop()
    store.close()
    return dict(image.topics)


@pytest.mark.jvm
@pytest.mark.timeout(300)
@pytest.mark.parametrize("with_snapshot", [False, True])
def test_kafka_starts_where_we_stopped_and_the_reverse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_snapshot: bool
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "meta.properties").write_text(
        f"node.id=1\ndirectory.id={format_uuid(DIRECTORY)}\nversion=1\ncluster.id={CLUSTER_ID}\n"
    )
    start_on(logs, "ours")
    if with_snapshot:
        monkeypatch.setattr(metadata_log, "SNAPSHOT_AFTER", 0)
        for incarnation in range(1, 20):
            start_on(logs, incarnation=incarnation)
        (snapshot,) = (logs / FOLDER).glob("*.checkpoint")
        assert not snapshot.name.startswith("0" * 20), "the log begins there"
    made = start_on(logs, "ours-too", incarnation=20)
    assert list(made) == ["ours", "ours-too"]
    started = kafka("start", "--port", "0", "--data", str(tmp_path))
    try:
        bootstrap = started.split("bootstrap=")[1].split()[0]
        described = kafka("tool", "topics", "--bootstrap-server", bootstrap, "--describe")
        for topic in made.values():
            assert (
                f"Topic: {topic.name}\tTopicId: {format_uuid(topic.id)}\tPartitionCount: 2"
                "\tReplicationFactor: 1\tConfigs: retention.ms=7200000"
            ) in described
        new = ["--create", "--topic", "theirs", "--partitions", "3"]
        kafka("tool", "topics", "--bootstrap-server", bootstrap, *new)
    finally:
        kafka("stop", str(tmp_path))
    after = start_on(logs, "ours-again", incarnation=30)
    assert list(after) == ["ours", "ours-too", "theirs", "ours-again"]
    assert after["ours"].id == made["ours"].id
    assert [partition.leader for partition in after["theirs"].partitions] == [1, 1, 1]
