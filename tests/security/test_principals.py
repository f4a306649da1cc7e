from __future__ import annotations

from kafkalite.security.principals import ANONYMOUS, KafkaPrincipal


def test_a_principal_is_written_as_in_acls() -> None:
    assert str(KafkaPrincipal("User", "a:b")) == "User:a:b"
    assert str(ANONYMOUS) == "User:ANONYMOUS"
