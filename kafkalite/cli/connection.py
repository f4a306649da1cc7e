"""How the commands reach a broker, any broker: through kafka-python, which is imported when it is
needed."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeVar

from cyclopts import Parameter

from kafkalite.cli.client_security import ClientSecurity, read_security
from kafkalite.cli.errors import CommandError, WrongUseError
from kafkalite.cli.reachability import check_advertised, try_to_connect, written
from kafkalite.cli.refusals import Refusal

if TYPE_CHECKING:
    from kafka import KafkaConsumer, KafkaProducer
    from kafka.admin import KafkaAdminClient

T = TypeVar("T")

_DEFAULT_PORT = 9092
_MAX_PORT = 65535
_ADDRESS = re.compile(
    r"(\[(?P<ipv6>[^\[\]]+)\]|(?P<host>[^:\[\]]+))(:(?P<port>\d{1,5}))?", re.ASCII
)
_ANSWER_WITHIN_MS = 10_000
_CLOSE_WITHIN_S = 1.0
_ELSEWHERE = "start one with `kafkalite serve`, or name another with --bootstrap"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Connection:
    """Which cluster."""

    bootstrap: Annotated[str, Parameter(alias="-b", env_var="KAFKA_BOOTSTRAP_SERVERS")] = (
        f"localhost:{_DEFAULT_PORT}"
    )
    """a broker of the cluster, or some with commas between"""
    command_config: str | None = None
    """security.protocol, sasl.* and ssl.* of a client, as Kafka's tools take them"""

    @contextmanager
    def admin(self) -> Iterator[KafkaAdminClient]:
        """For the length of a `with`. Errors of kafka-python in it become `CommandError`."""
        from kafka.admin import KafkaAdminClient

        with self._explained(), closing(self._connect(KafkaAdminClient, {})) as admin:
            yield admin

    @contextmanager
    def producer(self, **settings: object) -> Iterator[KafkaProducer]:
        """As `admin`. What is not acknowledged when it ends is given up."""
        from kafka import KafkaProducer
        from kafka.errors import KafkaError

        with self._explained():
            producer = self._connect(KafkaProducer, settings)
            try:
                yield producer
            finally:
                try:
                    producer.close(timeout=_CLOSE_WITHIN_S)
                except KafkaError:
                    sys.unraisablehook = lambda _: None  # Its finalizer would fail once more.

    @contextmanager
    def consumer(self, **settings: object) -> Iterator[KafkaConsumer]:
        """As `admin`. A group is left when it ends."""
        from kafka import KafkaConsumer

        settings["allow_auto_create_topics"] = False
        with self._explained():
            consumer = self._connect(KafkaConsumer, settings)
            try:
                yield consumer
            finally:
                consumer.close(autocommit=False)

    def check(self) -> None:
        """`CommandError` when no address takes a connection, or no longer does: kafka-python tells
        nothing of that, it waits until its time is over."""
        self._reachable()

    def is_there(self) -> bool:
        """Whether an address takes a connection. It may take some seconds to tell."""
        try:
            self.check()
        except CommandError:
            return False
        return True

    def _connect(self, client: Callable[..., T], settings: Mapping[str, object]) -> T:
        from kafka.errors import KafkaTimeoutError

        from kafkalite.cli.authentication import CLIENT_ID

        security = self._security()
        place = self._reachable()
        check_advertised(place, security)
        try:
            return client(
                bootstrap_servers=written(place),
                client_id=CLIENT_ID,
                bootstrap_timeout_ms=_ANSWER_WITHIN_MS,
                **security.settings(),
                **settings,
            )
        except KafkaTimeoutError as error:
            self.check()
            spoken = security.protocol
            raise CommandError(
                f"{self.bootstrap} takes connections, and does not answer like a Kafka broker "
                f"that speaks {spoken}; say what it speaks in a file for --command-config, or name "
                "another with --bootstrap"
            ) from error

    def _security(self) -> ClientSecurity:
        return (
            ClientSecurity() if self.command_config is None else read_security(self.command_config)
        )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        from kafka.errors import KafkaError

        logging.getLogger("kafka").setLevel(logging.CRITICAL + 1)  # What matters is raised.
        try:
            yield
        except KafkaError as error:
            raise CommandError(self.words_for(error)) from error

    def words_for(self, error: BaseException) -> str:
        """An error of kafka-python in one line."""
        from kafka.errors import BrokerResponseError, KafkaConnectionError, KafkaTimeoutError

        if isinstance(error, BrokerResponseError) and isinstance(error.errno, int):
            said = error.args[0] if error.args and isinstance(error.args[0], str) else None
            return str(Refusal(error.errno, said))
        match error:
            case KafkaTimeoutError():
                return f"{self.bootstrap} did not answer in time"
            case KafkaConnectionError():
                why = f" ({error.args[0]})" if error.args else ""
                return f"{self.bootstrap}: a broker of its cluster cannot be reached{why}"
            case _:
                return f"{self.bootstrap}: {error}"

    def _addresses(self) -> list[tuple[str, int]]:
        addresses = []
        for text in self.bootstrap.split(","):
            read = _ADDRESS.fullmatch(text.strip())
            port = int(read["port"] or _DEFAULT_PORT) if read else 0
            if read is None or not 0 < port <= _MAX_PORT:
                raise WrongUseError(
                    f"--bootstrap {self.bootstrap}: expected HOST:PORT, such as localhost:9092"
                )
            addresses.append((read["ipv6"] or read["host"], port))
        return addresses

    def _reachable(self) -> tuple[str, int]:
        """The first address that takes a connection. kafka-python would go on trying all of them;
        this tells at once when there is none, and why."""
        problem: OSError | UnicodeError | None = None
        for place in self._addresses():
            try:
                try_to_connect(place)
            except (OSError, UnicodeError) as error:
                problem = error
            else:
                return place
        assert problem is not None
        why = getattr(problem, "strerror", None) or str(problem)
        raise CommandError(
            f"no broker at {self.bootstrap} ({why[0].lower()}{why[1:]}); {_ELSEWHERE}"
        ) from problem
