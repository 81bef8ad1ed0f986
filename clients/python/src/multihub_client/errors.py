"""The errors of this package."""

from __future__ import annotations

from typing import Any, Dict, Optional

from .gen.tables import RETRIES


class MultihubError(Exception):
    """What all errors of this package extend.

    ``operation_id`` is the key of the request that failed, given or generated; ``None`` where its method has none.
    """

    operation_id: Optional[str] = None


class RefusalError(MultihubError):
    """A signed answer that says no. ``retry`` says what a program can do about it, by the table ``RETRIES``."""

    def __init__(
        self,
        code: int,
        message: str,
        *,
        details: Optional[Dict[str, Any]],
        context: Optional[Dict[str, Any]],
        request_id: str,
        http_status: int,
    ) -> None:
        field = (details or {}).get("description")
        super().__init__(f"{code}: {message} ({field})" if field else f"{code}: {message}")
        self.code = code
        self.details = details
        self.context = context
        self.request_id = request_id
        self.http_status = http_status
        self.retry = RETRIES.get(code, "never")

    @property
    def retry_after_s(self) -> float:
        """How long the answer asks to wait, in seconds."""
        seconds = (self.details or {}).get("retry_after_seconds")
        return float(seconds) if isinstance(seconds, int) else 0.0


class TransportError(MultihubError):
    """No signed answer arrived, so whether the server has acted is not known.

    It has not when ``reason`` is ``not_sent``: no connection was made. Other reasons are ``no_answer``, ``timeout``, ``credential``, ``unsigned``, ``too_large``, ``malformed`` or
    ``other_request``; ``text`` is what arrived instead, which proves nothing. ``credential`` is an unsigned refusal of the
    signature or the application id: when it stays, one of the two is wrong.
    """

    def __init__(
        self, reason: str, message: str, *, http_status: Optional[int] = None, text: Optional[str] = None
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.http_status = http_status
        self.text = text


class OutcomeUnknownError(MultihubError):
    """No signed answer says whether the payment was created. It may exist.

    Call ``create_payment`` again later with the same request and ``resume=True``; never create it under another ``c_id``.
    """

    def __init__(self, c_id: str, cause: MultihubError) -> None:
        super().__init__(f"the payment {c_id} may exist; resume it under the same c_id: {cause}")
        self.c_id = c_id
        self.cause = cause


class CallbackError(MultihubError):
    """A request that is not a callback of Multihub, or not one of the last five minutes.

    ``reason`` is ``too_large``, ``missing_header``, ``signature``, ``timestamp`` or ``malformed``.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
