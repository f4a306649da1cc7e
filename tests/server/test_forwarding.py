"""Requests that the controller decides, asked of any broker of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafkalite.controller.events import ConfigsAltered
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import ConfigResource, MetadataImage
from kafkalite.protocol.messages import alter_configs
from kafkalite.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from kafkalite.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalite.protocol.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafkalite.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from kafkalite.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from kafkalite.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafkalite.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafkalite.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafkalite.protocol.messages.metadata_records import ConfigRecord
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from kafkalite.protocol.schema import Request
from kafkalite.server.controller_channel import RETRY_MS
from kafkalite.server.core_driver import OnReply
from kafkalite.server.peer_requests import OnResponse
from kafkalite.testing.simulation import Simulation
from kafkalite.types import BrokerId
from tests.server.requests import batch, produce, produced
from tests.server.running import PRODUCE, creatable, simulated
from tests.server.running_cluster import Cluster, cluster_of, three_brokers


async def create(cluster: Cluster, id: int, name: str, timeout_ms: int = 5_000) -> int:
    """The code of a topic that broker `id` is asked to create."""
    request = CreateTopicsRequest(topics=[creatable(name)], timeout_ms=timeout_ms)
    response = await cluster.ask(id, request, 7, CreateTopicsResponse)
    return response.topics[0].error_code


@pytest.mark.parametrize("id", [1, 2, 3])
@simulated
async def test_any_broker_takes_what_the_controller_decides(
    simulation: Simulation, id: int
) -> None:
    async with three_brokers(simulation) as cluster:
        assert cluster.controller == 1
        request = CreateTopicsRequest(topics=[creatable("t", 3)], timeout_ms=5_000)
        response = await cluster.ask(id, request, 7, CreateTopicsResponse)
        (topic,) = response.topics
        assert (topic.name, topic.error_code, topic.num_partitions) == ("t", 0, 3)
        assert topic.topic_id == cluster.store.image.topics["t"].id
        for index, each in enumerate(cluster.store.image.topics["t"].partitions):
            request_there = produce("t", {index: batch(b"x")}, acks=1)
            told = await cluster.ask(each.leader, request_there, PRODUCE, ProduceResponse)
            assert produced(told)[0].error_code == ErrorCode.NONE, "it may be used at once"
        refused = await cluster.ask(id, request, 5, CreateTopicsResponse)
        assert refused.topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS
        deleted = await cluster.ask(
            id, DeleteTopicsRequest(topic_names=["t"], timeout_ms=1_000), 5, DeleteTopicsResponse
        )
        assert deleted.responses[0].error_code == 0
        assert not cluster.store.image.topics


@simulated
async def test_what_is_refused_before_its_handler_is_refused_as_anywhere(
    simulation: Simulation,
) -> None:
    async with three_brokers(simulation) as cluster:
        assert [await create(cluster, id, "t", timeout_ms=0) for id in (1, 2)] == [
            ErrorCode.REQUEST_TIMED_OUT
        ] * 2


@simulated
async def test_it_is_handed_over_once(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with three_brokers(simulation) as cluster:
        link = cluster.brokers[2].link
        assert link is not None
        ask, asked = link.peers.ask, []

        # Any: whatever else `Peers.ask` takes.
        def counted(to: BrokerId, request: Request, on_reply: OnResponse, **rest: Any) -> None:
            asked.append(type(request))
            ask(to, request, on_reply, **rest)

        monkeypatch.setattr(link.peers, "ask", counted)
        assert await create(cluster, 2, "t") == 0
        assert asked.count(EnvelopeRequest) == 1


class Kafka39:
    """Broker 1 as broker 2 sees it: one that registers no features, opens no Envelopes and has no
    version 2 of UpdateFeatures. It does what it is asked on being asked a second time."""

    def __init__(self, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
        link = cluster.brokers[2].link
        assert link is not None
        image = link.controller._image()
        kafka = image.brokers[BrokerId(1)]._replace(features={})
        image = image._replace(brokers={**image.brokers, kafka.id: kafka})
        monkeypatch.setattr(link.controller, "_image", lambda: image)
        self._ask = link.peers.ask
        self.asked: list[type[Request]] = []
        self.settings: list[Change] = []
        """That broker 2 has written."""
        self.is_late = False
        """Whether another has written its settings first: once."""
        monkeypatch.setattr(link.peers, "ask", self.ask)
        monkeypatch.setattr(link.controller, "alter_own", self.alter)

    def alter(
        self,
        decide: Callable[[MetadataImage], tuple[list[Change], ConfigsAltered]],
        on_reply: OnReply,
    ) -> None:
        changes, answer = decide(MetadataImage())
        is_late, self.is_late = self.is_late, False
        self.settings += [] if is_late else changes
        on_reply(KafkaError(ErrorCode.NOT_CONTROLLER) if is_late else answer)

    # Any: whatever else `Peers.ask` takes.
    def ask(self, to: BrokerId, request: Request, on_reply: OnResponse, **rest: Any) -> None:
        self.asked.append(type(request))
        if isinstance(request, EnvelopeRequest):
            on_reply(KafkaError(ErrorCode.NETWORK_EXCEPTION, "it hung up"))
        elif isinstance(request, UpdateFeaturesRequest):
            good = UpdatableFeatureResult(feature="a", error_message="NONE")
            bad = UpdatableFeatureResult(feature="b", error_code=42, error_message="why")
            on_reply(UpdateFeaturesResponse(results=[good, bad]))
        elif len(self.asked) == 1 and isinstance(request, IncrementalAlterConfigsRequest):
            not_yet = [
                AlterConfigsResourceResponse(
                    error_code=ErrorCode.NOT_CONTROLLER, resource_name=each.resource_name
                )
                for each in request.resources
            ]
            on_reply(IncrementalAlterConfigsResponse(responses=not_yet))
        elif len(self.asked) == 1:
            no_topic = CreatableTopicResult(name="t", error_code=ErrorCode.NOT_CONTROLLER)
            on_reply(CreateTopicsResponse(topics=[no_topic]))
        else:
            self._ask(to, request, on_reply, **rest)


@simulated
async def test_a_kafka_over_zookeeper_is_asked_without_an_envelope(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with three_brokers(simulation) as cluster:
        kafka = Kafka39(cluster, monkeypatch)
        request = CreateTopicsRequest(topics=[creatable("t")], timeout_ms=5_000)
        answer = await cluster.ask(2, request, 5, CreateTopicsResponse)
        assert [(each.name, each.error_code) for each in answer.topics] == [("t", 0)]
        assert kafka.asked == [CreateTopicsRequest] * 2
        simulation.weather.partition({"broker-1"}, {"broker-2"})
        assert await create(cluster, 2, "u") == ErrorCode.REQUEST_TIMED_OUT
        simulation.weather.heal()
        simulation.network.deliver_held()


@simulated
async def test_topics_that_a_request_needs_are_made_by_it(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with three_brokers(simulation) as cluster:
        kafka = Kafka39(cluster, monkeypatch)
        topic = MetadataRequestTopic(name="t")
        request = MetadataRequest(topics=[topic], allow_auto_topic_creation=True)
        answer = await cluster.ask(2, request, 9, MetadataResponse)
        assert [(each.name, each.error_code) for each in answer.topics] == [("t", 0)]
        assert kafka.asked == [CreateTopicsRequest] * 2


def own(*names: str, type: int = 4, key: str = "log.retention.ms") -> list[AlterConfigsResource]:
    config = AlterableConfig(name=key, config_operation=0, value="60000")
    return [
        AlterConfigsResource(resource_type=type, resource_name=name, configs=[config])
        for name in names
    ]


@pytest.mark.parametrize("is_late", [False, True])
@simulated
async def test_beside_it_each_broker_alters_its_own_settings(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch, is_late: bool
) -> None:
    async with three_brokers(simulation) as cluster:
        kafka = Kafka39(cluster, monkeypatch)
        kafka.is_late = is_late
        request = IncrementalAlterConfigsRequest(
            resources=[*own("2", "1"), *own("2", type=8, key="kafka")]
        )
        answer = await cluster.ask(2, request, 1, IncrementalAlterConfigsResponse)
        assert [(each.error_code, each.error_message) for each in answer.responses] == [
            (0, None),
            (ErrorCode.INVALID_REQUEST, "Unexpected broker id, expected 2, but received 1"),
            (ErrorCode.INVALID_CONFIG, "Logger kafka does not exist!"),
        ]
        assert kafka.settings == [
            ConfigRecord(resource_type=4, resource_name="2", name="log.retention.ms", value="60000")
        ]
        assert kafka.asked == []


@simulated
async def test_what_is_not_its_own_it_asks_the_kafka_for(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own once, however often it asks."""
    async with three_brokers(simulation) as cluster:
        assert await create(cluster, 2, "t") == 0
        kafka = Kafka39(cluster, monkeypatch)
        topic = own("t", type=2, key="retention.ms")
        request = IncrementalAlterConfigsRequest(resources=[*topic, *own("2", "")])
        answer = await cluster.ask(2, request, 1, IncrementalAlterConfigsResponse)
        assert [(each.resource_name, each.error_code) for each in answer.responses] == [
            ("2", 0),
            ("t", 0),
            ("", 0),
        ]
        assert len(kafka.settings) == 1
        assert kafka.asked == [IncrementalAlterConfigsRequest] * 2
        configs = cluster.store.image.configs
        assert configs[ConfigResource(2, "t")] == {"retention.ms": "60000"}
        assert configs[ConfigResource(4, "")]["log.retention.ms"] == "60000"
        assert ConfigResource(4, "2") not in configs, "as far as the Kafka was asked"


@simulated
async def test_all_settings_at_once_are_its_own_too(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with three_brokers(simulation) as cluster:
        assert await create(cluster, 2, "t") == 0
        kafka = Kafka39(cluster, monkeypatch)
        kafka.asked.append(AlterConfigsRequest)
        config = alter_configs.AlterableConfig(name="message.max.bytes", value="9")
        resources = [
            alter_configs.AlterConfigsResource(
                resource_type=type, resource_name=name, configs=[config] if type == 4 else []
            )
            for type, name in ((2, "t"), (4, "2"))
        ]
        request = AlterConfigsRequest(resources=resources)
        answer = await cluster.ask(2, request, 2, AlterConfigsResponse)
        assert [(each.resource_name, each.error_code) for each in answer.responses] == [
            ("2", 0),
            ("t", 0),
        ]
        assert len(kafka.settings) == 1


@pytest.mark.parametrize("version", [1, 2])
@simulated
async def test_what_it_says_of_each_feature_a_newer_client_hears_too(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    async with three_brokers(simulation) as cluster:
        Kafka39(cluster, monkeypatch)
        request = UpdateFeaturesRequest(feature_updates=[], timeout_ms=5_000)
        answer = await cluster.ask(2, request, version, UpdateFeaturesResponse)
        if version == 1:
            assert [each.error_code for each in answer.results] == [0, 42]
        else:
            assert (answer.error_code, answer.error_message) == (42, "why")


@simulated
async def test_answers_come_in_the_order_of_the_requests(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        client = await cluster.client(2)
        first = client.send(
            CreateTopicsRequest(topics=[creatable("t")], timeout_ms=5_000), 7, CreateTopicsResponse
        )
        second = client.send(ApiVersionsRequest(), 0, ApiVersionsResponse)
        assert (await first).topics[0].error_code == 0
        assert (await second).error_code == 0


@simulated
async def test_nobody_hears_that_the_controller_has_moved(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        assert await create(cluster, 3, "a") == 0
        cluster.store.depose()
        assert cluster.controller == 2
        for id, name in ((1, "b"), (2, "c"), (3, "d")):
            assert await create(cluster, id, name) == 0
        await cluster.kill(2)
        assert cluster.controller == 3
        assert await create(cluster, 1, "e") == 0


@simulated
async def test_while_there_is_no_controller_it_waits(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        await create(cluster, 2, "a")
        simulation.weather.partition({"broker-1"}, {"broker-2"})
        request = CreateTopicsRequest(topics=[creatable("b")], timeout_ms=60_000)
        answer = (await cluster.client(2)).send(request, 7, CreateTopicsResponse)
        await cluster.wait_ms(10_000)
        assert not answer.done()
        simulation.weather.heal()
        simulation.network.deliver_held()
        await cluster.wait_ms(RETRY_MS)
        assert (await answer).topics[0].error_code == 0


@simulated
async def test_what_nobody_decides_in_time_is_refused(simulation: Simulation) -> None:
    async with three_brokers(simulation, request_timeout_ms="2000") as cluster:
        simulation.weather.partition({"broker-1"}, {"broker-2"})
        before_ms = simulation.clock.now_ms()
        assert await create(cluster, 2, "b") == ErrorCode.REQUEST_TIMED_OUT
        assert simulation.clock.now_ms() - before_ms == 2_000
        simulation.weather.heal()
        simulation.network.deliver_held()


@simulated
async def test_a_client_that_has_gone_is_forgotten(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        simulation.weather.partition({"broker-1"}, {"broker-2"})
        client = await cluster.client(2, "gone")
        answer = client.send(
            CreateTopicsRequest(topics=[creatable("t")], timeout_ms=5_000), 7, CreateTopicsResponse
        )
        await cluster.wait_ms()
        client.close()
        await cluster.wait_ms()
        with pytest.raises(ConnectionError):
            await answer
        simulation.weather.heal()
        simulation.network.deliver_held()
        assert await create(cluster, 2, "u") == 0


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", ErrorCode.INVALID_REQUEST),
        (bytes((0, 3, 0, 12)), ErrorCode.INVALID_REQUEST),
        (bytes((0, 19, 0, 99)), ErrorCode.UNSUPPORTED_VERSION),
        (bytes((0, 19, 0, 7, 0)), ErrorCode.INVALID_REQUEST),
    ],
    ids=["nothing", "not to be forwarded", "no such version", "cut off"],
)
@simulated
async def test_envelopes_around_something_else_are_refused(
    simulation: Simulation, data: bytes, code: ErrorCode
) -> None:
    async with three_brokers(simulation) as cluster:
        request = EnvelopeRequest(request_data=data, client_host_address=bytes(4))
        answer = await cluster.ask(1, request, 0, EnvelopeResponse)
        assert (answer.error_code, answer.response_data) == (code, None)
        elsewhere = await cluster.ask(2, request, 0, EnvelopeResponse)
        assert elsewhere.error_code == ErrorCode.NOT_CONTROLLER


@simulated
async def test_topics_that_a_request_needs_are_made_through_any_broker(
    simulation: Simulation,
) -> None:
    async with three_brokers(simulation) as cluster:
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name="t")], allow_auto_topic_creation=True
        )
        answer = await cluster.ask(2, request, 9, MetadataResponse)
        assert [(each.name, each.error_code) for each in answer.topics] == [("t", 0)]
        assert {each.node_id for each in answer.brokers} == {1, 2, 3}


@simulated
async def test_each_broker_names_itself_when_asked_for_the_controller(
    simulation: Simulation,
) -> None:
    """One that has just died is named by nobody."""
    async with three_brokers(simulation) as cluster:
        request = MetadataRequest(topics=[])
        for id in (1, 2, 3):
            answer = await cluster.ask(id, request, 9, MetadataResponse)
            assert answer.controller_id == id


@simulated
async def test_producer_ids_of_two_brokers_are_never_the_same(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)
        ids = [
            (await cluster.ask(id, request, 4, InitProducerIdResponse)).producer_id
            for id in (1, 2, 3, 1, 2, 3)
        ]
        assert len(set(ids)) == 6
        assert min(ids) >= 0


@simulated
async def test_a_broker_is_asked_about_its_own_settings_wherever_the_controller_is(
    simulation: Simulation,
) -> None:
    async with three_brokers(simulation) as cluster:

        async def alter(asked: int, about: str) -> int:
            change = AlterableConfig(name="log.retention.ms", config_operation=0, value="60000")
            resource = AlterConfigsResource(resource_type=4, resource_name=about, configs=[change])
            request = IncrementalAlterConfigsRequest(resources=[resource])
            answer = await cluster.ask(asked, request, 1, IncrementalAlterConfigsResponse)
            return answer.responses[0].error_code

        assert [await alter(id, str(id)) for id in (1, 2, 3)] == [0, 0, 0]
        assert await alter(2, "") == 0
        assert await alter(2, "3") == ErrorCode.INVALID_REQUEST
        assert await alter(2, "1") == ErrorCode.INVALID_REQUEST


@simulated
async def test_features_are_changed_through_any_broker(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        for id, level in ((3, 1), (2, 2), (1, 1)):
            update = FeatureUpdateKey(
                feature="transaction.version", max_version_level=level, upgrade_type=level % 2 + 1
            )
            request = UpdateFeaturesRequest(feature_updates=[update], timeout_ms=5_000)
            answer = await cluster.ask(id, request, 2, UpdateFeaturesResponse)
            assert answer.error_code == 0, answer.error_message
            assert cluster.store.image.features["transaction.version"] == level


@simulated
async def test_what_brokers_ask_each_other_is_not_told_to_clients(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        answer = await cluster.ask(1, ApiVersionsRequest(), 0, ApiVersionsResponse)
        keys = {each.api_key for each in answer.api_keys}
        assert not keys & {7, 56, 58, 63, 67, 73}


@simulated
async def test_it_is_served_on_the_brokers_own_listener_alone(simulation: Simulation) -> None:
    async with cluster_of(
        simulation,
        1,
        listeners="OWN://localhost:7000,PLAINTEXT://localhost:9092",
        listener_security_protocol_map="OWN:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        inter_broker_listener_name="OWN",
    ) as cluster:
        with pytest.raises(ConnectionError):
            await cluster.ask(1, EnvelopeRequest(), 0, EnvelopeResponse)
