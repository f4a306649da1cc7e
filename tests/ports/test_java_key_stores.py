"""Java's own key stores, as keytool has made them (`tests/data/make/key_stores.sh`), and what is
told of damaged ones."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_der_private_key
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.ports.java_key_stores import (
    MAGIC,
    Entry,
    WrongPasswordError,
    read_java_key_store,
    shown_by_java,
    unhidden,
)

STORES = Path(__file__).parent.parent / "data" / "key-stores"
BROKER, SEVERAL, TRUST = (
    (STORES / f"{name}.jks").read_bytes() for name in ("broker", "several", "trust")
)
PASSWORD = "changeit"
OF_THE_KEY = "of-the-key"
OF_TRUST = "geheimnis-äß€"
TOO_MANY = (2**32 - 1).to_bytes(4, "big")
"""More than there is."""


def subjects(entry: Entry) -> list[str]:
    loaded = map(x509.load_der_x509_certificate, entry.certificates)
    return [each.subject.rfc4514_string() for each in loaded]


def test_a_key_with_its_chain_and_a_password_of_its_own() -> None:
    authority, broker = sorted(read_java_key_store(BROKER, PASSWORD))
    assert (authority.alias, authority.key, subjects(authority)) == (
        *("authority", None),
        ["CN=authority"],
    )
    assert (broker.alias, subjects(broker)) == ("broker", ["CN=broker", "CN=authority"])
    assert broker.key is not None
    key = load_der_private_key(unhidden(broker.key, OF_THE_KEY), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    own = x509.load_der_x509_certificate(broker.certificates[0])
    assert key.public_key() == own.public_key()
    for wrong in (PASSWORD, ""):
        with pytest.raises(WrongPasswordError):
            unhidden(broker.key, wrong)


def test_a_password_opens_it_or_none_is_asked_for() -> None:
    entries = read_java_key_store(TRUST, OF_TRUST)
    assert sorted(map(subjects, entries)) == [["CN=authority"], ["CN=broker"]]
    # A digest that is not asked for may be missing, and what stands behind it is no matter.
    for data in (TRUST, TRUST[:-20]):
        assert read_java_key_store(data, None) == entries
    assert read_java_key_store(TRUST + b"more", OF_TRUST) == entries
    for wrong in (PASSWORD, ""):
        with pytest.raises(WrongPasswordError):
            read_java_key_store(TRUST, wrong)


def test_the_key_that_a_kafka_shows_of_several() -> None:
    """A Kafka 4.4 on that file shows `kafka2`, though `p`, of RSA, is the first by its alias."""
    keys = [
        (entry, unhidden(entry.key, PASSWORD))
        for entry in read_java_key_store(SEVERAL, PASSWORD)
        if entry.key is not None
    ]
    assert len(keys) == 5
    shown = shown_by_java(keys)
    assert shown is not None
    assert subjects(shown[0]) == ["CN=kafka2"]
    rsa = next(each for each in keys if each[0].alias == "p")
    assert shown_by_java([rsa]) == rsa
    without_chain = (shown[0]._replace(certificates=()), shown[1])
    assert shown_by_java([without_chain, rsa]) == rsa
    assert shown_by_java([without_chain]) is None


TWELVE = "one two three four five six seven eight nine ten eleven twelve"


@pytest.mark.parametrize(
    ("aliases", "first"),
    [
        (TWELVE, "nine"),
        # One more, and there are twice as many buckets.
        (" ".join(f"kafka-{number}" for number in range(81, 93)), "kafka-89"),
        (" ".join(f"kafka-{number}" for number in range(81, 94)), "kafka-91"),
        ("mid kafka2 p kafka1 alpha", "p"),
        ("broker-1.example.com broker-2.example.com broker-3.example.com", "broker-3.example.com"),
        ("ключ \ud83d\udd11 schlüssel", "schlüssel"),
        # All three have one hash.
        ("AaBB AaAa BBBB", "AaBB"),
    ],
)
def test_the_order_is_that_of_javas_hash_map(aliases: str, first: str) -> None:
    """What a HashMap of Java 17 with those keys goes through first."""
    keys = [(Entry(alias, b"", (b"",)), b"") for alias in aliases.split()]
    shown = shown_by_java(keys)
    assert shown is not None
    assert shown[0].alias == first


def test_the_older_version_says_no_kinds_of_certificates() -> None:
    older = TRUST.replace(MAGIC + b"\0\0\0\2", MAGIC + b"\0\0\0\1").replace(b"\0\5X.509", b"")
    assert read_java_key_store(older, None) == read_java_key_store(TRUST, None)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (MAGIC, "it is cut off"),
        (MAGIC + b"\0\0\0\3\0\0\0\0", "no version that is known"),
        (MAGIC + b"\0\0\0\2" + TOO_MANY, "it is cut off"),
        (MAGIC + b"\0\0\0\2\0\0\0\1\0\0\0\3", r"an entry of no known kind \(3\)"),
        (BROKER.replace(b"\0\6broker", b"\xff\xffbroker"), "it is cut off"),
        (BROKER.replace(b"broker", b"brok\xffr", 1), "an entry whose name is damaged"),
        (BROKER.replace(b"X.509", b"X\n509", 1), r"a kind that is not known \('X\\n509'\)"),
        (BROKER.replace(b"\x05X.509\0\0", b"\x05X.509\xff\xff", 1), "it is cut off"),
    ],
)
def test_what_is_no_such_store(data: bytes, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read_java_key_store(data, None)


@pytest.mark.parametrize("password", [OF_TRUST, None])
def test_wherever_it_is_cut_off(password: str | None) -> None:
    digest = 20 if password is None else 0
    for size in range(len(TRUST) - digest):
        with pytest.raises(ValueError, match="cut off"):
            read_java_key_store(TRUST[:size], password)


def test_whichever_byte_is_changed() -> None:
    for at in range(len(TRUST)):
        changed = TRUST[:at] + bytes([TRUST[at] ^ 0x81]) + TRUST[at + 1 :]
        with pytest.raises(ValueError, match=r"^$|cut off|known|damaged"):
            read_java_key_store(changed, OF_TRUST)


@given(st.sampled_from([1, 2]), st.integers(0, 2**32 - 1) | st.integers(0, 3), st.binary())
def test_any_bytes_are_read_or_refused(version: int, count: int, rest: bytes) -> None:
    data = MAGIC + version.to_bytes(4, "big") + count.to_bytes(4, "big") + rest
    found: list[Entry] = []
    told = "known"
    try:
        found = read_java_key_store(data, None)
    except ValueError as error:
        told = str(error)
    assert len(found) <= count
    assert re.search("cut off|known|damaged", told)


def der(tag: int, content: bytes) -> bytes:
    return bytes([tag, 0x82]) + len(content).to_bytes(2, "big") + content


SUNS_OWN = bytes.fromhex("300e060a2b060104012a021101010500")


@pytest.mark.parametrize(
    ("key", "says"),
    [
        (b"", "its key is damaged"),
        (b"\x31\x00", "its key is damaged"),
        (der(0x31, SUNS_OWN + der(4, bytes(99))), "its key is damaged"),
        (der(0x30, SUNS_OWN), "its key is damaged"),
        (b"\x30\xff" + b"\xff" * 200, "its key is damaged"),
        (der(0x30, SUNS_OWN + b"\x04\x84\xff\xff\xff\xff"), "its key is damaged"),
        (der(0x30, SUNS_OWN + der(4, bytes(39))), "hidden in a way that is not known"),
        (der(0x30, b"\x30\x02\x05\x00" + der(4, bytes(99))), "hidden in a way that is not known"),
    ],
)
def test_keys_that_are_damaged(key: bytes, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        unhidden(key, PASSWORD)


def test_a_key_whose_parameters_are_left_out() -> None:
    """As newer ones of Java write where there are none. The key is empty, hence its digest."""
    digest = hashlib.sha1(PASSWORD.encode("utf-16-be")).digest()
    algorithm = der(0x30, SUNS_OWN[2:-2])
    assert unhidden(der(0x30, algorithm + der(4, bytes(20) + digest)), PASSWORD) == b""


@given(st.binary(max_size=200))
def test_any_bytes_of_a_key_are_refused(key: bytes) -> None:
    for data in (key, der(0x30, SUNS_OWN + key), der(0x30, SUNS_OWN + der(4, key))):
        with pytest.raises(ValueError, match=r"^its key is |^$"):
            unhidden(data, PASSWORD)
