"""Java's own key stores, which keytool calls JKS, and what Java makes of them: who has no library
for them can read them by this.

All numbers are big-endian; `n` bytes stand behind their own number.

| bytes | of a store |
| --- | --- |
| 4, 4 | FEEDFEED; the version, 1 or 2 |
| 4 | how many entries there are, which follow |
| 20 | SHA-1 of the password in UTF-16, of a phrase that is always the same, and of all before |

| bytes | of an entry |
| --- | --- |
| 4, 2 + n, 8 | 1 for a key, 2 for a certificate that is trusted; the alias; when it was made |
| 4 + n, 4 | of a key alone: an EncryptedPrivateKeyInfo in DER; how many certificates it has |
| 2 + n, 4 + n | of each certificate: its kind, in version 2 alone; the certificate in DER |

A key is hidden by what Sun made for it: SHA-1 of the password and of the 20 bytes before is the
next 20 bytes that it is XORed with. Before it stand the first 20, and behind it SHA-1 of the
password and of the key.

Source: what JDK 17's keytool writes, and which key a Kafka 4.4 shows of several.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha1
from typing import Final, NamedTuple

MAGIC: Final = b"\xfe\xed\xfe\xed"
_PHRASE: Final = b"Mighty Aphrodite"
_KEY, _TRUSTED = 1, 2
_DIGEST: Final = 20
_SEQUENCE, _OCTETS = 0x30, 0x04
_SUNS_OWN: Final = bytes.fromhex("060a2b060104012a02110101")
"""OBJECT IDENTIFIER 1.3.6.1.4.1.42.2.17.1.1, behind which there may be a NULL."""
_ELLIPTIC: Final = bytes.fromhex("06072a8648ce3d0201")
"""OBJECT IDENTIFIER 1.2.840.10045.2.1, which stands at the beginning of such a key."""
_BEGINNING: Final = 32
_LEAST_BUCKETS: Final = 16


class WrongPasswordError(ValueError):
    """It opens neither the store nor the key that it is for; or what it opens is damaged."""


class Entry(NamedTuple):
    """Of a store."""

    alias: str
    key: bytes | None
    """As the file has it, hidden; None: there is a certificate alone, which is trusted."""
    certificates: tuple[bytes, ...]
    """In DER; a key's own first."""


def read_java_key_store(data: bytes, password: str | None) -> list[Entry]:
    """All entries, in the file's order. Without a password nothing holds the file against its
    digest, as with Java. `WrongPasswordError`; `ValueError` for what is no such store."""
    reader = _Reader(data)
    version = reader.number(8) & 0xFFFF_FFFF
    if not data.startswith(MAGIC) or version not in (1, 2):
        raise ValueError("it has no version that is known")
    entries = {}
    for _ in range(reader.number(4)):  # No room is made for them: the bytes may well be fewer.
        kind = reader.number(4)
        if kind not in (_KEY, _TRUSTED):
            raise ValueError(f"it has an entry of no known kind ({kind})")
        alias = reader.text()
        reader.take(8)
        key = reader.sized(4) if kind == _KEY else None
        count = reader.number(4) if kind == _KEY else 1
        certificates = tuple(reader.certificate(version) for _ in range(count))
        entries[alias] = Entry(alias, key, certificates)
    if password is not None:
        said = data[: reader.at]
        if reader.take(_DIGEST) != _digest(_bytes_of(password), _PHRASE, said):
            raise WrongPasswordError
    return list(entries.values())


def unhidden(key: bytes, password: str) -> bytes:
    """The key of an entry, in PKCS8. Errors as above."""
    algorithm, rest = _der(_SEQUENCE, _der(_SEQUENCE, key)[0])
    hidden, _ = _der(_OCTETS, rest)
    if not algorithm.startswith(_SUNS_OWN) or len(hidden) < 2 * _DIGEST:
        raise ValueError("its key is hidden in a way that is not known")
    secret = _bytes_of(password)
    last, body, check = hidden[:_DIGEST], hidden[_DIGEST:-_DIGEST], hidden[-_DIGEST:]
    stream = bytearray()
    while len(stream) < len(body):
        last = _digest(secret, last)
        stream += last
    found = bytes(one ^ other for one, other in zip(body, stream, strict=False))
    if _digest(secret, found) != check:
        raise WrongPasswordError
    return found


def shown_by_java(keys: Sequence[tuple[Entry, bytes]]) -> tuple[Entry, bytes] | None:
    """Which of the keys, each with what it is in PKCS8, a server of Java's shows: the first of an
    elliptic curve, which clients like best, or else the first, in the order that Java's HashMap has
    for their aliases. None: no key has a certificate."""
    with_chain = [each for each in keys if each[0].certificates]
    buckets = _LEAST_BUCKETS
    while len(with_chain) > buckets * 3 // 4:
        buckets *= 2

    def place(each: tuple[Entry, bytes]) -> tuple[bool, int]:
        entry, key = each
        return _ELLIPTIC not in key[:_BEGINNING], _hash(entry.alias) % buckets

    return min(with_chain, key=place, default=None)


def _hash(alias: str) -> int:
    found = 0
    for character in alias:
        found = (31 * found + ord(character)) & 0xFFFF_FFFF
    return found ^ found >> 16


def _bytes_of(password: str) -> bytes:
    return password.encode("utf-16-be", "surrogatepass")


def _digest(*parts: bytes) -> bytes:
    return sha1(b"".join(parts), usedforsecurity=False).digest()


def _der(tag: int, data: bytes) -> tuple[bytes, bytes]:
    """What an element of that kind has, and what is behind it."""
    if len(data) < 2 or data[0] != tag:
        raise ValueError("its key is damaged")
    size, at = data[1], 2
    if size & 0x80:
        at += size & 0x7F
        size = int.from_bytes(data[2:at], "big")
    if size > len(data) - at:
        raise ValueError("its key is damaged")
    return data[at : at + size], data[at + size :]


class _Reader:
    """Where one is in a store."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        if count > len(self._data) - self.at:
            raise ValueError("it is cut off")
        self.at += count
        return self._data[self.at - count : self.at]

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width), "big")

    def sized(self, width: int) -> bytes:
        return self.take(self.number(width))

    def text(self) -> str:
        """Java's own UTF-8 has each half of a surrogate pair by itself, which suits `_hash`."""
        try:
            return self.sized(2).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise ValueError("it has an entry whose name is damaged") from error

    def certificate(self, version: int) -> bytes:
        kind = self.text() if version > 1 else "X.509"
        if kind != "X.509":
            raise ValueError(f"it has a certificate of a kind that is not known ({kind[:20]!r})")
        return self.sized(4)
