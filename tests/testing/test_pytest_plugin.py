"""The fixtures that pytest has as soon as kafkalite is installed, in test suites of their own."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest_plugins = ["pytester"]

USED_IN_TWO_TESTS = """
    import pytest
    from tests.testing.confluent_calls import receive, send, topics

    seen = []

    @pytest.mark.parametrize("n", [1, 2])
    def test_one_broker_for_all(kafka, n):
        send(kafka.bootstrap, "orders", b"tea")
        seen.append(kafka.bootstrap)
        assert len(set(seen)) == 1

    @pytest.mark.parametrize("n", [1, 2])
    def test_one_broker_for_each(kafka_broker, n):
        assert topics(kafka_broker.bootstrap) == {}
        send(kafka_broker.bootstrap, "orders", b"tea")

    @pytest.mark.parametrize("n", ["a/ü", "a/ü"])
    def test_one_topic_for_each(kafka, kafka_topic, n):
        assert topics(kafka.bootstrap)[kafka_topic] == 1
        assert kafka_topic.startswith("test_one_topic_for_each-a")
        send(kafka.bootstrap, kafka_topic, str(len(seen)).encode())
        seen.append(kafka_topic)
        assert receive(kafka.bootstrap, kafka_topic) == str(len(seen) - 1).encode()
"""


def test_brokers_and_topics_are_shared_or_fresh(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(USED_IN_TWO_TESTS)
    pytester.runpytest_inprocess("-p", "no:randomly").assert_outcomes(passed=6)


def test_each_worker_of_xdist_has_its_own(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest

        @pytest.mark.parametrize("n", [1, 2])
        def test_one_topic(kafka, kafka_topic, n, tmp_path_factory):
            shared = tmp_path_factory.getbasetemp().parent
            (shared / kafka.bootstrap.replace(":", "-")).touch()
    """)
    without = ("anyio", "hypothesispytest", "randomly", "timeout")  # They take their time.
    result = pytester.runpytest_subprocess(
        *("-n2", "--dist=each", f"--basetemp={pytester.path / 'shared'}"),
        *(f"-pno:{name}" for name in without),
    )
    result.assert_outcomes(passed=4)
    brokers = [path for path in (pytester.path / "shared").iterdir() if path.is_file()]
    assert len(brokers) == 2


def test_marks_say_how_they_are_to_be(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        from tests.testing.confluent_calls import send, topics

        @pytest.mark.kafka_broker(topics={"orders": 2}, settings={"num.partitions": 4})
        def test_broker(kafka_broker):
            send(kafka_broker.bootstrap, "bills", b"tea")
            assert topics(kafka_broker.bootstrap) == {"orders": 2, "bills": 4}

        @pytest.mark.kafka_topic(partitions=3, configs={"cleanup.policy": "compact"})
        def test_topic(kafka, kafka_topic):
            assert topics(kafka.bootstrap)[kafka_topic] == 3
            with pytest.raises(AssertionError, match="INVALID_RECORD"):
                send(kafka.bootstrap, kafka_topic, b"no key")

        class TestAll:
            pytestmark = pytest.mark.kafka_topic(partitions=5)

            def test_topic(self, kafka, kafka_topic):
                assert topics(kafka.bootstrap)[kafka_topic] == 5
    """)
    pytester.runpytest_inprocess("--strict-markers").assert_outcomes(passed=3)


def test_settings_come_from_the_configuration_and_the_command_line(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("""
        [pytest]
        kafkalite_settings =
            num.partitions = 3
            auto.create.topics.enable=false
    """)
    pytester.makepyfile("""
        import pytest
        from tests.testing.confluent_calls import send, topics

        def test_session(kafka, kafka_topic):
            assert topics(kafka.bootstrap) == {kafka_topic: WANTED}

        @pytest.mark.kafka_broker(settings={"auto.create.topics.enable": True})
        def test_mark(kafka_broker):
            send(kafka_broker.bootstrap, "orders", b"tea")
            assert topics(kafka_broker.bootstrap) == {"orders": WANTED}
    """)
    test = pytester.path / "test_settings_come_from_the_configuration_and_the_command_line.py"
    text = test.read_text()
    test.write_text(text.replace("WANTED", "3"))
    pytester.runpytest_inprocess().assert_outcomes(passed=2)
    test.write_text(text.replace("WANTED", "5"))
    pytester.runpytest_inprocess("--kafkalite-set=num.partitions=5").assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("option", "test", "told"),
    [
        ("num.partitons=3", "def test(kafka): ...", "*num.partitons: no such broker*"),
        (
            "num.partitions",
            "def test(kafka): ...",
            "*--kafkalite-set: num.partitions: exp*",
        ),
        (
            "num.partitions=3",
            "@pytest.mark.kafka_topic(partitions=0)\ndef test(kafka_topic): ...",
            "*topic 'test-1' cannot be created: Number of partitions was set to an invalid*",
        ),
        (
            "num.partitions=3",
            "@pytest.mark.kafka_broker({'a': 3})\ndef test(kafka_broker): ...",
            "*@pytest.mark.kafka_broker: name the arguments, as in topics=...",
        ),
        (
            "num.partitions=3",
            "@pytest.mark.kafka_broker(topcs={'a': 3})\ndef test(kafka_broker): ...",
            "*@pytest.mark.kafka_broker: there is no argument topcs; there are topics, settings, *",
        ),
        (
            "num.partitions=3",
            "@pytest.mark.kafka_broker(settings=3)\ndef test(kafka_broker): ...",
            "*settings=3: expected values by Kafka's names*",
        ),
        (
            "num.partitions=3",
            "@pytest.mark.kafka_topic(name='a')\ndef test(kafka_topic): ...",
            "*@pytest.mark.kafka_topic: there is no argument name; there are partitions, configs",
        ),
    ],
)
def test_a_mistake_is_told_in_one_line(
    pytester: pytest.Pytester, option: str, test: str, told: str
) -> None:
    pytester.makepyfile(f"import pytest\n{test}")
    result = pytester.runpytest_inprocess("--kafkalite-set", option)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(told)
    result.stdout.no_fnmatch_line("*broker.py*")


def test_a_project_may_have_a_kafka_of_its_own(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("""
        import pytest
        from kafkalite.testing import Broker

        @pytest.fixture(scope="session")
        def kafka():
            with Broker(settings={"num.partitions": 7}) as broker:
                yield broker
    """)
    pytester.makepyfile("""
        from tests.testing.confluent_calls import topics

        def test_topic(kafka, kafka_topic):
            assert topics(kafka.bootstrap) == {kafka_topic: 7}
    """)
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_a_broker_that_stopped_by_itself_fails_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        from kafkalite.errors import InvariantError

        def test_nothing_wrong_is_seen(kafka_broker):
            life = kafka_broker._life
            life._loop.call_soon_threadsafe(break_something)
            life._thread.join(10)

        def break_something():
            raise InvariantError("two and two are five")
    """)
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines("*stopped by itself*two and two are five")


def test_async_tests_use_the_same_fixtures(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        from aiokafka import AIOKafkaProducer
        from tests.testing.confluent_calls import receive

        @pytest.fixture
        def anyio_backend():
            return "asyncio"

        @pytest.mark.anyio
        async def test_topic(kafka, kafka_topic):
            async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap) as producer:
                await producer.send_and_wait(kafka_topic, b"tea")
            assert receive(kafka.bootstrap, kafka_topic) == b"tea"
    """)
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_a_project_without_kafka_imports_next_to_nothing() -> None:
    program = (
        "import sys, pytest; before = set(sys.modules)\n"
        "import kafkalite.testing.pytest_plugin\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    imported = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert imported.stdout.split() == [
        "kafkalite",
        "kafkalite.testing",
        "kafkalite.testing.pytest_plugin",
    ]


def test_help_names_options_and_marks(pytester: pytest.Pytester) -> None:
    told = pytester.runpytest_inprocess("--help").stdout
    told.fnmatch_lines(["*--kafkalite-set=KEY=VALUE*", "*kafkalite_settings (linelist):*"])
    marks = pytester.runpytest_inprocess("--markers").stdout
    marks.fnmatch_lines(["@pytest.mark.kafka_broker(*", "@pytest.mark.kafka_topic(*"])
