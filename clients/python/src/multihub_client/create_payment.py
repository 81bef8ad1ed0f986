"""Creates a payment at most once, whatever happens to the answers."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import Any, Callable, Mapping, Tuple, Union

from .errors import MultihubError, OutcomeUnknownError, RefusalError, TransportError
from .retry import is_unanswered, wait_after
from .transport import Settings

# A duplicate that was created this long ago, by either clock, can be this very request, sent twice on the way.
RECENT_S = 300
NOT_FOUND = 6010
DUPLICATE = 6009

Outcome = Tuple[Any, Union[MultihubError, None]]


def create_payment_once(
    settings: Settings,
    payment: Mapping[str, Any],
    destination: str,
    send: Callable[[], Any],
    look_up: Callable[[float], Any],
    resume: bool,
) -> Any:
    """Sends the same bytes until a signed answer says what became of the payment.

    After an answer that was lost it looks the payment up; if it does not exist yet, the look-up may have overtaken the
    create, so the same bytes are sent again. Only a signed refusal says that there is no payment; everything else ends in
    ``OutcomeUnknownError``.
    """
    c_id = payment["identifiers"]["c_id"]
    began_s, began_at_s = time.monotonic(), time.time()
    may_exist = resume
    tries = 1
    while True:
        result, error = _attempt(send, c_id)
        if error is None:
            return result
        is_undecided = is_unanswered(error, settings) or _retry_of(error) == "check_status"
        may_exist = may_exist or is_undecided
        wait_s = wait_after(error, tries, began_s, settings)
        if wait_s is not None:
            time.sleep(wait_s)
        if may_exist or _code_of(error) == DUPLICATE:
            found, problem = _attempt(lambda: look_up(began_s), c_id)
            if problem is None:
                is_recent = _time_of(found["payment"]) >= began_at_s - RECENT_S
                if _is_same(found["payment"], payment, destination) and (may_exist or is_recent):
                    return found
                if isinstance(error, RefusalError):
                    raise error
            elif _code_of(problem) != NOT_FOUND and wait_s is None:
                raise OutcomeUnknownError(c_id, problem) from problem
        if wait_s is None:
            if is_undecided:
                raise OutcomeUnknownError(c_id, error) from error
            raise error
        tries += 1


def _attempt(call: Callable[[], Any], c_id: str) -> Outcome:
    """The result of a call, or its error if it is one that the server or the network caused."""
    try:
        result = call()
    except MultihubError as error:
        return None, error
    try:
        # An answer about another payment is none: a v1 signature does not say to which request it belongs.
        if result["payment"]["identifiers"]["c_id"] == c_id:
            return result, None
    except (KeyError, TypeError):
        pass
    return None, TransportError("other_request", f"the answer is not about the payment {c_id}")


def _is_same(found: Mapping[str, Any], payment: Mapping[str, Any], destination: str) -> bool:
    return bool(
        found["amount"]["value"] == payment["amount"]["value"]
        and found["amount"]["currency"] == payment["amount"]["currency"]
        and found["destination"] == destination
    )


def _time_of(found: Mapping[str, Any]) -> float:
    created = datetime.strptime(found["timestamps"]["created"], "%Y-%m-%dT%H:%M:%S.%fZ")
    return created.replace(tzinfo=timezone.utc).timestamp()


def _code_of(error: MultihubError) -> int:
    return error.code if isinstance(error, RefusalError) else 0


def _retry_of(error: MultihubError) -> str:
    return error.retry if isinstance(error, RefusalError) else ""
