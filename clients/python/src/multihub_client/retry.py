"""When and how long to wait before a request is sent again."""

from __future__ import annotations

import random
import time
from typing import Callable, Optional, TypeVar

from .errors import MultihubError, RefusalError, TransportError
from .transport import Settings

T = TypeVar("T")


def is_unanswered(error: MultihubError) -> bool:
    """Whether an error leaves open if the server has acted on the request."""
    if isinstance(error, TransportError):
        return True
    # Something on the way sent the request twice, and the answer is about the second one: its nonce was used by the first.
    return isinstance(error, RefusalError) and error.code == 3000


def is_not_sent(error: MultihubError) -> bool:
    """Whether the request has not left, because no connection was made."""
    return isinstance(error, TransportError) and error.reason == "not_sent"


def is_credential_refused(error: MultihubError) -> bool:
    """Whether an unsigned answer refuses the credential. A server that does so once does so again."""
    return isinstance(error, TransportError) and error.reason == "credential"


def wait_after(error: MultihubError, tries: int, began_s: float, settings: Settings) -> Optional[float]:
    """How long to wait before the request is sent again; ``None`` if it must not be, or no try or no time is left."""
    can_repeat = is_unanswered(error) or (
        isinstance(error, RefusalError) and error.retry in ("same_request", "check_status")
    )
    wanted_s = error.retry_after_s if isinstance(error, RefusalError) else 0.0
    if not can_repeat or tries >= settings.tries_max or wanted_s > settings.wait_max_s:
        return None
    # 2 ** 30 is beyond every wait_max_s, and 2 ** 1024 would not fit into a float.
    backoff_s = min(settings.wait_s * 2 ** min(tries - 1, 30), settings.wait_max_s)
    # Clients that failed together must not come back together.
    wait_s = max(wanted_s, backoff_s * random.uniform(0.5, 1.0))
    return None if time.monotonic() - began_s + wait_s > settings.deadline_s else wait_s


def repeatedly(settings: Settings, send: Callable[[], T], began_s: Optional[float] = None) -> T:
    """Repeats a request that is harmless to repeat until it has an answer that counts.

    Raises the error ``not_sent`` only if no try was sent; otherwise the error of a try that was.
    """
    began_s = time.monotonic() if began_s is None else began_s
    sent: Optional[MultihubError] = None
    tries = 1
    while True:
        try:
            return send()
        except MultihubError as error:
            was_not_sent = is_not_sent(error)
            # A lost answer leaves more open than a refusal, so it is kept.
            if not was_not_sent and (sent is None or is_unanswered(error) or not is_unanswered(sent)):
                sent = error
            wait_s = wait_after(error, tries, began_s, settings)
            if wait_s is None or is_credential_refused(error):
                if was_not_sent and sent is not None:
                    raise sent
                raise
        time.sleep(wait_s)
        tries += 1
