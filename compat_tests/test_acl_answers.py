"""Access rules on a broker without an authorizer: kafkalite and the real Kafka say that there is
none. What a Kafka with one answers is recorded in `tests/data`."""

from __future__ import annotations

import pytest

from compat_tests.golden import Golden

SECURITY_DISABLED = 54
EVERYTHING = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}
RULE = {
    "resource_type": 2,
    "resource_name": "x",
    "resource_pattern_type": 3,
    "principal": "User:a",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}
REFUSED = {"error_code": SECURITY_DISABLED, "error_message": "No Authorizer is configured."}

every_version = pytest.mark.parametrize("version", [1, 2, 3])


@pytest.fixture(scope="module")
def golden(bootstrap: str) -> Golden:
    return Golden(bootstrap)


@every_version
def test_rules_are_not_described(golden: Golden, version: int) -> None:
    assert golden.call("DescribeAcls", version, EVERYTHING) == {
        "throttle_time_ms": 0,
        "error_code": SECURITY_DISABLED,
        "error_message": "No Authorizer is configured on the broker",
        "resources": [],
    }


@every_version
def test_rules_are_not_made(golden: Golden, version: int) -> None:
    for creations in ([], [RULE, RULE]):
        answer = golden.call("CreateAcls", version, {"creations": creations})
        assert answer == {"throttle_time_ms": 0, "results": [REFUSED] * len(creations)}


@every_version
def test_rules_are_not_deleted(golden: Golden, version: int) -> None:
    for filters in ([], [EVERYTHING, EVERYTHING]):
        answer = golden.call("DeleteAcls", version, {"filters": filters})
        refused = {**REFUSED, "matching_acls": []}
        assert answer == {"throttle_time_ms": 0, "filter_results": [refused] * len(filters)}
