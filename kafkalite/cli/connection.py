"""How the commands reach a broker, any broker: through kafka-python, which is imported when it is
needed."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeVar

from cyclopts import Parameter

from kafkalite.cli.errors import CommandError
from kafkalite.cli.refusals import Refusal
from kafkalite.cli.settings import WrongUseError

if TYPE_CHECKING:
    from kafka import KafkaConsumer, KafkaProducer
    from kafka.admin import KafkaAdminClient

T = TypeVar("T")

_DEFAULT_PORT = 9092
_MAX_PORT = 65535
_CLIENT_ID = "kafkalite-cli"
_CONNECT_WITHIN_S = 5.0
"""For each address."""
_ANSWER_WITHIN_MS = 10_000
_ELSEWHERE = "start one with `kafkalite serve`, or name another with --bootstrap"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Connection:
    """Which cluster."""

    bootstrap: Annotated[
        str, Parameter(alias="-b", env_var="KAFKA_BOOTSTRAP_SERVERS", metavar="HOST:PORT")
    ] = f"localhost:{_DEFAULT_PORT}"
    """a broker of the cluster, or some with commas between"""

    @contextmanager
    def admin(self) -> Iterator[KafkaAdminClient]:
        """For the length of a `with`. Errors of kafka-python in it become `CommandError`."""
        self._reach()
        from kafka.admin import KafkaAdminClient

        with self._explained(), closing(self._connect(KafkaAdminClient, {})) as admin:
            yield admin

    @contextmanager
    def producer(self, **settings: object) -> Iterator[KafkaProducer]:
        """As `admin`. What is not acknowledged when it ends is given up."""
        self._reach()
        from kafka import KafkaProducer
        from kafka.errors import KafkaTimeoutError

        with self._explained():
            producer = self._connect(KafkaProducer, settings)
            try:
                yield producer
            finally:
                with suppress(KafkaTimeoutError):
                    producer.close(timeout=0)

    @contextmanager
    def consumer(self, **settings: object) -> Iterator[KafkaConsumer]:
        """As `admin`. A group is left when it ends."""
        self._reach()
        from kafka import KafkaConsumer

        settings["allow_auto_create_topics"] = False
        with self._explained():
            consumer = self._connect(KafkaConsumer, settings)
            try:
                yield consumer
            finally:
                consumer.close(autocommit=False)

    def _connect(self, client: Callable[..., T], settings: Mapping[str, object]) -> T:
        from kafka.errors import KafkaTimeoutError

        try:
            return client(
                bootstrap_servers=self._servers(),
                client_id=_CLIENT_ID,
                bootstrap_timeout_ms=_ANSWER_WITHIN_MS,
                **settings,
            )
        except KafkaTimeoutError as error:
            raise CommandError(
                f"{self.bootstrap} takes connections, and does not answer like a Kafka broker "
                f"without TLS and SASL; {_ELSEWHERE}"
            ) from error

    @contextmanager
    def _explained(self) -> Iterator[None]:
        from kafka.errors import KafkaError

        try:
            yield
        except KafkaError as error:
            raise CommandError(self.words_for(error)) from error

    def words_for(self, error: BaseException) -> str:
        """An error of kafka-python in one line."""
        from kafka.errors import BrokerResponseError, KafkaTimeoutError

        match error:
            case BrokerResponseError(errno=int(code)):
                said = error.args[0] if error.args and isinstance(error.args[0], str) else None
                return str(Refusal(code, said))
            case KafkaTimeoutError():
                return f"{self.bootstrap} did not answer in time"
            case _:
                return f"{self.bootstrap}: {error}"

    def _servers(self) -> list[str]:
        return [
            f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            for host, port in self._addresses()
        ]

    def _addresses(self) -> list[tuple[str, int]]:
        addresses = []
        for text in self.bootstrap.split(","):
            host, colon, port = text.strip().rpartition(":")
            if not colon or port.endswith("]"):
                host, port = text.strip(), str(_DEFAULT_PORT)
            host = host.removeprefix("[").removesuffix("]")
            if not host or not port.isdecimal() or not 0 < int(port) <= _MAX_PORT:
                raise WrongUseError(
                    f"--bootstrap {self.bootstrap}: expected HOST:PORT, such as localhost:9092"
                )
            addresses.append((host, int(port)))
        return addresses

    def _reach(self) -> None:
        """Tell at once, and why, when none of the addresses takes a connection: kafka-python goes
        on trying."""
        logging.getLogger("kafka").setLevel(logging.CRITICAL + 1)
        problem: OSError | UnicodeError | None = None
        for address in self._addresses():
            try:
                socket.create_connection(address, _CONNECT_WITHIN_S).close()
            except (OSError, UnicodeError) as error:
                problem = error
            else:
                return
        assert problem is not None
        why = getattr(problem, "strerror", None) or str(problem)
        raise CommandError(
            f"no broker at {self.bootstrap} ({why[0].lower()}{why[1:]}); {_ELSEWHERE}"
        ) from problem
