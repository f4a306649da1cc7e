"""Whom a certificate is of, as a principal's name: the subject's distinguished name as Java writes
it (RFC 2253, `X500Principal.getName()`), which is what Kafka makes a principal of by default.

A certificate is X.509 in DER, and was believed already: it is walked to its subject, and not
checked. The tests have Java's answers.

Missing: `ssl.principal.mapping.rules` other than DEFAULT.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

_KEYWORDS: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
_TEXTS: Final = frozenset((0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E))
"""Tags of what Java takes for text, and for UTF-8; other values are written in hexadecimal."""
_ESCAPED: Final = ',=+<>#;"\\'
_BLANKS: Final = " \r"
_VERSION_TAG: Final = 0xA0
_BEFORE_SUBJECT: Final = 4
"""Serial number, algorithm, issuer and validity; in front of them the version, which may be
missing."""


class _Element(NamedTuple):
    """Of DER: tag, length, content."""

    tag: int
    content: bytes
    whole: bytes


def subject_name(certificate: bytes) -> str:
    """Of a certificate; empty when it names nobody."""
    (outer,) = _elements(certificate)
    signed = next(_elements(outer.content))
    parts = list(_elements(signed.content))
    if parts[0].tag == _VERSION_TAG:
        del parts[0]
    return written(parts[_BEFORE_SUBJECT].content)


def written(name: bytes) -> str:
    """The text of a distinguished name, of which `name` is the content in DER: the last part is
    named first."""
    parts = ["+".join(map(_attribute, _elements(part.content))) for part in _elements(name)]
    return ",".join(reversed(parts))


def _attribute(attribute: _Element) -> str:
    kind, value = _elements(attribute.content)
    oid = _oid(kind.content)
    keyword = _KEYWORDS.get(oid)
    if keyword is None or value.tag not in _TEXTS:
        return f"{keyword or oid}=#{value.whole.hex()}"
    return f"{keyword}={_escaped(value.content.decode('utf-8', 'replace'))}"


def _escaped(text: str) -> str:
    head = len(text) - len(text.lstrip(_BLANKS))
    tail = len(text.rstrip(_BLANKS))
    shown = []
    for index, character in enumerate(text):
        if character == "\0":
            shown.append("\\00")
        elif character in _ESCAPED or index < head or index >= tail:
            shown.append(f"\\{character}")
        else:
            shown.append(character)
    return "".join(shown)


def _oid(content: bytes) -> str:
    numbers: list[int] = []
    number = 0
    for byte in content:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(number)
            number = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))


def _elements(data: bytes) -> Iterator[_Element]:
    position = 0
    while position < len(data):
        start, length = position + 2, data[position + 1]
        if length >= 0x80:
            more = length & 0x7F
            length = int.from_bytes(data[start : start + more], "big")
            start += more
        end = start + length
        yield _Element(data[position], data[start:end], data[position:end])
        position = end
