from __future__ import annotations

from kafkalite.security.exchange import Authenticated, NotAuthenticatedError


def test_who_is_let_in_stays_in_unless_it_is_said() -> None:
    assert Authenticated(b"", "alice").expires_at_ms is None


def test_a_client_hears_why_unless_it_is_said() -> None:
    assert NotAuthenticatedError("why").is_told
    assert str(NotAuthenticatedError("why", is_told=False)) == "why"
