"""What a request is answered with when its handler fails, at once or later: the one mapping from
exceptions to responses."""

from __future__ import annotations

import logging
from typing import cast

from kafkalite.errors import InvariantError, KafkaError, code_for
from kafkalite.protocol.schema import Request, Response
from kafkalite.server.apis.api import ApiModule
from kafkalite.server.purgatory import MakeAnswer

_log = logging.getLogger(__name__)


def refusal_of(module: ApiModule, request: Request, failure: Exception) -> Response | None:
    """The API's own way to say what `failure` means."""
    if isinstance(failure, KafkaError):
        code, message = failure.code, failure.message
    else:
        _log.error("%s failed", module.API.key.name, exc_info=failure)
        code, message = code_for(failure), ""
    # An `ApiModule` is typed loosely, as each takes its own request class.
    return cast("Response | None", module.refuse(request, code, message))


def made(module: ApiModule, request: Request, make: MakeAnswer) -> Response | None:
    """A parked answer, made now, or the refusal of what that raises. `InvariantError` is for the
    broker."""
    try:
        return make()
    except InvariantError:
        raise
    except Exception as failure:  # noqa: BLE001  # Nor must one that was parked.
        return refusal_of(module, request, failure)
