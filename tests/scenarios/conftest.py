"""`--rewrite`: put what the cores say now into the transcripts; the diff is then to be reviewed.

Give the folder with it (`pytest tests/scenarios --rewrite`): pytest reads this file first only
then.
"""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite", action="store_true", help="rewrite the transcripts in tests/scenarios"
    )


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    """Whether transcripts are to be rewritten rather than compared."""
    return bool(request.config.getoption("--rewrite", default=False))
