"""What OpenSSL's errors mean to a person, as part of a sentence about the peer."""

from __future__ import annotations

import ssl

_WORDS = {
    "WRONG_VERSION_NUMBER": "it does not speak TLS",
    "HTTP_REQUEST": "it speaks HTTP without TLS",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "it shows no certificate (ssl.client.auth=required)",
    "NO_SHARED_CIPHER": "it knows no cipher suite that is allowed here",
    "UNSUPPORTED_PROTOCOL": "it knows no version of TLS that is allowed here",
}
_ALERT = "_ALERT_"


class TlsError(ConnectionError):
    """TLS with the peer has come to nothing; says why in one line."""


def words_for(error: ssl.SSLError) -> str:
    """In one line."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    reason = error.reason or str(error)
    if _ALERT in reason:
        said = reason.partition(_ALERT)[2].lower().replace("_", " ")
        return f"it refuses TLS with this side ({said})"
    return _WORDS.get(reason) or f"no TLS with it ({reason.lower().replace('_', ' ')})"
