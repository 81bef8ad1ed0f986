"""Creates a payment at most once, whatever happens to the answers."""

from __future__ import annotations

import time
from typing import Any, Callable, Mapping, NamedTuple, Optional, Tuple, Union

from .errors import MultihubError, OutcomeUnknownError, RefusalError, TransportError
from .retry import is_credential_refused, is_not_sent, is_unanswered, wait_after
from .times import seconds_of
from .transport import Settings

# A duplicate that was created this long ago, by either clock, can be this very request, sent twice on the way.
RECENT_S = 300
NOT_FOUND = 6010
DUPLICATE = 6009


class Wanted(NamedTuple):
    """The parts of a request that say whether a payment is the one that it creates."""

    c_id: str
    destination: str
    value: int
    currency: str
    service_id: int
    # The account of the recipient of a withdrawal.
    account_id: Optional[str]


Outcome = Tuple[Any, Union[MultihubError, None]]


def create_payment_once(
    settings: Settings,
    wanted: Wanted,
    send: Callable[[], Any],
    look_up: Callable[[float], Any],
    resume: bool,
) -> Any:
    """Sends the same bytes until a signed answer says what became of the payment.

    After an answer that was lost it looks the payment up; if it does not exist yet, the look-up may have overtaken the
    create, so the same bytes are sent again. Only a signed refusal, or that no create has left, says that there is no payment;
    everything else ends in ``OutcomeUnknownError``.
    """
    c_id = wanted.c_id
    began_s, began_at_s = time.monotonic(), time.time()
    may_exist = is_sent = resume
    tries = 1
    while True:
        result, error = _attempt(send, c_id)
        if error is None:
            return result
        # After a try that was sent, another that was not proves nothing: the refusal of the first can be an older answer.
        is_sent = is_sent or not is_not_sent(error)
        is_undecided = (is_unanswered(error) and is_sent) or _retry_of(error) == "check_status"
        may_exist = may_exist or is_undecided
        wait_s = wait_after(error, tries, began_s, settings)
        if wait_s is not None:
            time.sleep(wait_s)
        is_duplicate = _code_of(error) == DUPLICATE
        # On v1 the refusal can be the answer to an earlier request.
        may_be_stale = settings.version == "v1" and wait_s is None and not is_duplicate and is_sent
        if may_exist or may_be_stale or is_duplicate:
            found, problem = _attempt(lambda: look_up(began_s), c_id)
            if problem is None:
                is_recent = (seconds_of(found["payment"]["timestamps"]["created"]) or 0) >= began_at_s - RECENT_S
                if _is_same(found["payment"], wanted) and (may_exist or may_be_stale or is_recent):
                    return found
                if isinstance(error, RefusalError):
                    raise error
            elif is_credential_refused(error) and is_credential_refused(problem):
                raise OutcomeUnknownError(c_id, problem) from problem
            elif wait_s is None and _code_of(problem) != NOT_FOUND:
                if may_exist or not _is_refused_alike(error, problem):
                    raise OutcomeUnknownError(c_id, problem) from problem
        is_late = time.monotonic() - began_s > settings.deadline_s
        if wait_s is None or is_late:
            if is_undecided or (may_exist and wait_s is not None):
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


def _is_same(found: Mapping[str, Any], wanted: Wanted) -> bool:
    """Whether a payment is the wanted one, by all that its answer shows."""
    account_id = found.get("receiver", {}).get("bank_account", {}).get("id")
    return bool(
        found["amount"]["value"] == wanted.value
        and found["amount"]["currency"] == wanted.currency
        and found["destination"] == wanted.destination
        and str(found.get("service_id", wanted.service_id)) == str(wanted.service_id)
        and (account_id is None or wanted.account_id in (None, account_id))
    )


def _is_refused_alike(error: MultihubError, problem: MultihubError) -> bool:
    """Whether the look-up was refused for the reason of the create.

    The reason is one that concerns any request, such as the credential (3xxx) or a field (9000).
    """
    code = _code_of(error)
    return code == _code_of(problem) and (code // 1000 == 3 or code == 9000)


def _code_of(error: MultihubError) -> int:
    return error.code if isinstance(error, RefusalError) else 0


def _retry_of(error: MultihubError) -> str:
    return error.retry if isinstance(error, RefusalError) else ""
