"""The broker that users start in their tests, as they use it."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import trio

from kafkalite.errors import ErrorCode
from kafkalite.ports.clock import RealClock
from kafkalite.ports.network_sockets import SocketNetwork
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.testing import Broker, BrokerError
from kafkalite.testing.client import Client
from tests import certificates
from tests.server.requests import batch, produce
from tests.testing.broker_address import address_of, can_be_dialled
from tests.testing.confluent_calls import receive, send, topics

PRODUCE, FETCH = 9, 12


def test_a_stock_client_reads_what_it_wrote() -> None:
    with Broker(topics={"orders": 3, "bills": 1}) as broker:
        assert broker.bootstrap.startswith("127.0.0.1:")
        assert topics(broker.bootstrap) == {"orders": 3, "bills": 1}
        send(broker.bootstrap, "orders", b"tea")
        assert receive(broker.bootstrap, "orders") == b"tea"
    assert not can_be_dialled(broker.bootstrap)


def test_it_may_speak_tls(tmp_path: Path) -> None:
    """It makes its topics by TLS too, though nobody else gets in without a certificate."""
    settings = certificates.settings_of(tmp_path, ssl_client_auth="required")
    client = tmp_path / "client.pem"
    client.write_text(certificates.client().key_pem() + certificates.client().pem)
    context = ssl.create_default_context(cadata=certificates.authority().pem)
    context.load_cert_chain(client)
    with Broker(settings={"listeners": "SSL://localhost:0", **settings}, topics={"a": 2}) as broker:
        broker.create_topic("b")
        with (
            socket.create_connection(address_of(broker)) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as encrypted,
        ):
            assert encrypted.getpeercert(binary_form=True) == certificates.broker().der


def test_settings_are_the_brokers() -> None:
    with Broker(settings={"num.partitions": "3"}) as broker:
        broker.create_topic("orders")
        broker.create_topic("bills", 2, configs={"retention.ms": 1000})
        send(broker.bootstrap, "created-by-its-first-record", b"tea")
        assert topics(broker.bootstrap) == {
            "orders": 3,
            "bills": 2,
            "created-by-its-first-record": 3,
        }


def test_records_are_checked_one_by_one_unless_told_otherwise() -> None:
    """Only who looks at each record can tell which ones are from a far future."""

    async def refused_records(broker: Broker) -> int:
        client = await Client.connect(SocketNetwork(RealClock()), address_of(broker))
        request = produce("t", {0: batch(b"tea", b"rum", timestamp=1 << 50)})
        response = await client.ask(request, PRODUCE, ProduceResponse)
        client.close()
        answer = response.responses[0].partition_responses[0]
        assert answer.error_code == ErrorCode.INVALID_TIMESTAMP
        return len(answer.record_errors)

    with Broker(topics={"t": 1}) as broker:
        assert asyncio.run(refused_records(broker)) == 2
    with Broker(topics={"t": 1}, settings={"kafkalite.record.validation": "header"}) as broker:
        assert asyncio.run(refused_records(broker)) == 0


def test_a_blocking_client_works_inside_a_running_loop() -> None:
    async def main() -> str:
        async with Broker(topics={"orders": 1}) as broker:
            send(broker.bootstrap, "orders", b"tea")
            broker.create_topic("bills")
            return broker.bootstrap

    assert not can_be_dialled(asyncio.run(main()))


def test_the_loop_goes_on_while_a_broker_starts_and_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        turned = asyncio.Event()

        def once_it_turns(broker: Broker) -> Broker:
            asyncio.run_coroutine_threadsafe(turn(), loop).result()
            return start(broker)

        async def turn() -> None:
            turned.set()

        loop, start = asyncio.get_running_loop(), Broker.start
        monkeypatch.setattr(Broker, "start", once_it_turns)
        async with Broker() as broker:
            assert turned.is_set()
            assert can_be_dialled(broker.bootstrap)

    asyncio.run(main())


def test_a_cancelled_start_leaves_no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Broker] = []

    async def main() -> None:
        def cancelled_on_the_way(broker: Broker) -> Broker:
            loop.call_soon_threadsafe(entering.cancel)
            started.append(start(broker))
            return broker

        loop, start = asyncio.get_running_loop(), Broker.start
        monkeypatch.setattr(Broker, "start", cancelled_on_the_way)
        entering = asyncio.ensure_future(Broker().__aenter__())
        with pytest.raises(asyncio.CancelledError):
            await entering

    asyncio.run(main())
    (broker,) = started
    assert not broker.is_running
    assert not can_be_dialled(broker.bootstrap)


def test_under_trio() -> None:
    async def main() -> str:
        async with Broker(topics={"orders": 1}) as broker:
            await trio.to_thread.run_sync(send, broker.bootstrap, "orders", b"tea")
            return broker.bootstrap

    assert not can_be_dialled(trio.run(main))


def test_ten_side_by_side() -> None:
    brokers = [Broker(topics={f"topic-{n}": 1}).start() for n in range(10)]
    try:
        assert len({broker.bootstrap for broker in brokers}) == 10
        for n, broker in enumerate(brokers):
            assert topics(broker.bootstrap) == {f"topic-{n}": 1}
    finally:
        for broker in brokers:
            broker.stop()
    assert not any(can_be_dialled(broker.bootstrap) for broker in brokers)


def test_start_and_stop_may_be_repeated() -> None:
    broker = Broker()
    broker.stop()
    assert not broker.is_running
    assert broker.start() is broker
    first = broker.bootstrap
    assert broker.start().bootstrap == first
    broker.stop()
    broker.stop()
    assert not can_be_dialled(first)


def test_a_restart_keeps_port_and_data() -> None:
    with Broker(topics={"orders": 1}) as broker:
        first = broker.bootstrap
        send(first, "orders", b"tea")
        broker.stop()
        assert not can_be_dialled(first)
        broker.start()
        assert broker.bootstrap == first
        assert receive(first, "orders") == b"tea"


def test_a_data_folder_is_kept(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Broker(data=data, topics={"orders": 1}) as broker:
        send(broker.bootstrap, "orders", b"tea")
        with pytest.raises(BrokerError, match="another broker holds"):
            Broker(data=data).start()
    with Broker(data=str(data)) as broker:
        assert receive(broker.bootstrap, "orders") == b"tea"


def test_the_port_may_be_chosen() -> None:
    with Broker() as broker:
        bootstrap = broker.bootstrap
    with Broker(port=address_of(broker).port) as broker:
        assert broker.bootstrap == bootstrap


def test_any_thread_may_use_it() -> None:
    broker = Broker()
    all_at_once = threading.Barrier(8)

    def use(n: int) -> str:
        all_at_once.wait()
        bootstrap = broker.start().bootstrap
        broker.create_topic(f"topic-{n}")
        return bootstrap

    def stop(_: int) -> None:
        all_at_once.wait()
        broker.stop()

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(use, range(8)))) == 1
        assert topics(broker.bootstrap) == {f"topic-{n}": 1 for n in range(8)}
        list(pool.map(stop, range(8)))
    assert not can_be_dialled(broker.bootstrap)
