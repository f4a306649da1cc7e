"""UpdateFeatures: what the cluster promises its clients (KIP-584), such as the version of
transactions.

Versions: 0 to 2.
- 1 knows safe and unsafe ways to lower a level, and may only ask whether it could be (KIP-778).
- 2 names no features in the answer.

All levels change or none. What is lowered holds from the next request on: transactions that are
open go on as they began. With `transaction.version` at 0, what clients of version 2 of the protocol
ask is answered UNSUPPORTED_VERSION, as there is no room for it in the records of that level.

Kafka differs: an id that was answered so is left with CONCURRENT_TRANSACTIONS there, for as long as
its coordinator lives. Here it may be asked about again.
"""

from __future__ import annotations

from functools import partial

from kafkalite.controller.events import FeaturesUpdated, FeatureUpdate, UpdateFeatures
from kafkalite.controller.features import UpgradeType
from kafkalite.errors import ErrorCode
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.controller_answers import parked_answer
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.UPDATE_FEATURES,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
    min_version=0,
    max_version=2,
    by_controller=True,
)

_FIRST_VERSION_WITH_TYPES = 1
_FIRST_VERSION_WITHOUT_RESULTS = 2


def handle(ctx: RequestContext, request: UpdateFeaturesRequest) -> Parked:
    """Ask the controller, and wait for it."""
    services = ctx.services

    def answer(_: FeaturesUpdated) -> UpdateFeaturesResponse:
        if ctx.version >= _FIRST_VERSION_WITHOUT_RESULTS:
            return UpdateFeaturesResponse(error_message=None)
        return UpdateFeaturesResponse(
            error_message=None,
            results=[
                UpdatableFeatureResult(feature=each.feature, error_message="NONE")
                for each in request.feature_updates
            ],
        )

    parked, on_reply = parked_answer(
        services, request.timeout_ms, answer=answer, refuse=partial(refuse, request)
    )
    event = UpdateFeatures(
        token=None,
        updates=tuple(_wanted(each, ctx.version) for each in request.feature_updates),
        controller_id=services.broker_id,
        validate_only=request.validate_only,
    )
    services.controller.submit(event, on_reply)
    return parked


def refuse(request: UpdateFeaturesRequest, code: ErrorCode, message: str) -> UpdateFeaturesResponse:
    """Of the request as a whole."""
    return UpdateFeaturesResponse(error_code=code, error_message=message or None)


def _wanted(update: FeatureUpdateKey, version: int) -> FeatureUpdate:
    """In version 0 `allow_downgrade` stands for an upgrade too, and so does not lower."""
    upgrade_type = update.upgrade_type
    if version < _FIRST_VERSION_WITH_TYPES:
        upgrade_type = UpgradeType.UPGRADE
    return FeatureUpdate(update.feature, update.max_version_level, upgrade_type)
