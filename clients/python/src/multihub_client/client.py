"""A client of one credential."""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from contextlib import contextmanager
from typing import Any, Dict, Iterator, Mapping, Optional, cast, overload

from typing import Literal

from .create_payment import Wanted, create_payment_once
from .errors import MultihubError, TransportError
from .gen import types as t
from .gen.methods import MethodCalls
from .gen.tables import METHOD_KEYS
from .retry import repeatedly
from .signatures import resend_path
from .transport import Settings, exchange, send_signed

FILE_MAX_BYTES = 10 * 1024 * 1024
UPLOAD_ANSWER_MAX_BYTES = 64 * 1024
SCAN_POLL_S = (0.5, 1.0, 2.0, 4.0)

# The payment as the create or the look-up showed it. Only the answer to a create shows receiver.bank.
CreatedPaymentResult = t.PaymentInResult


class Client(MethodCalls):
    """Signs requests, verifies the signature of each answer before it uses it, and repeats what is harmless to repeat.

    Methods raise ``RefusalError`` for a signed refusal and ``TransportError`` without a signed answer. A client holds no
    connection, so threads can share it.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def call(self, method: str, request: Mapping[str, Any]) -> Any:
        """Calls a method by its name."""
        key = METHOD_KEYS.get(method)
        if key is None:
            raise ValueError(f"there is no method {method}")
        operation = {"operation_id": str(uuid.uuid4())} if key == "operation_id" else {}
        body = _encode({"method": method, "params": {}, **operation, **request})
        if key == "payment":
            return send_signed(self._settings, body, is_withdrawal=method == "payment.out")
        with _noting(request.get("operation_id", operation.get("operation_id"))):
            return repeatedly(self._settings, lambda: send_signed(self._settings, body))

    def each(self, method: str, request: Mapping[str, Any]) -> Iterator[Any]:
        """Every item of a list, page by page."""
        params: Dict[str, Any] = dict(request.get("params", {}))
        while True:
            page = self.call(method, {**request, "params": params})
            yield from page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return
            if cursor == params.get("cursor"):
                raise MultihubError("the list repeats a page")
            params["cursor"] = cursor

    @overload
    def create_payment(
        self, method: Literal["payment.in"], request: t.PaymentInRequest, *, resume: bool = False
    ) -> CreatedPaymentResult: ...

    @overload
    def create_payment(
        self, method: Literal["payment.out"], request: t.PaymentOutRequest, *, resume: bool = False
    ) -> CreatedPaymentResult: ...

    def create_payment(self, method: str, request: Mapping[str, Any], *, resume: bool = False) -> CreatedPaymentResult:
        """Creates a deposit or a withdrawal at most once, also when answers are lost.

        Keep the request until this returns or raises; after a crash or an ``OutcomeUnknownError`` call it again with
        ``resume=True``.
        """
        payment = request["params"]["payment"]
        body = _encode({"method": method, **request})
        identifiers = {"c_id": payment["identifiers"]["c_id"]}
        status = _encode({"method": "payment.status", "params": {"payment": {"identifiers": identifiers}}})

        def look_up(began_s: float) -> Any:
            return repeatedly(self._settings, lambda: send_signed(self._settings, status), began_s)

        is_withdrawal = method == "payment.out"
        wanted = Wanted(
            identifiers["c_id"],
            "out" if is_withdrawal else "in",
            payment["amount"]["value"],
            payment["amount"]["currency"],
            request["service_id"],
            payment["receiver"]["bank"]["account"]["id"] if is_withdrawal else None,
        )

        def send() -> Any:
            return send_signed(self._settings, body, is_withdrawal=is_withdrawal)

        return cast(CreatedPaymentResult, create_payment_once(self._settings, wanted, send, look_up, resume))

    def resend_webhook(self, payment_id: str, operation_id: Optional[str] = None) -> t.WebhookResendResult:
        """Queues the callback of a payment with a final status again."""
        operation_id = operation_id or str(uuid.uuid4())
        body = _encode({"payment_id": payment_id, "operation_id": operation_id})
        path = resend_path(payment_id)
        with _noting(operation_id):
            result = repeatedly(self._settings, lambda: send_signed(self._settings, body, path))
        return cast("t.WebhookResendResult", result)

    def upload_file(
        self,
        content: bytes,
        *,
        purpose: Literal["ticket", "ticket_comment"],
        name: str,
        mime_type: str,
        operation_id: Optional[str] = None,
        scan_s: float = 60.0,
    ) -> t.AttachmentStatusResult:
        """Uploads a file and waits until it is scanned. Returns its status, ``scanning`` when the scan takes longer.

        ``operation_id`` is the idempotency key: with the same one and the same file, an interrupted upload goes on.
        """
        operation_id = operation_id or str(uuid.uuid4())
        sha256 = hashlib.sha256(content).hexdigest()
        params = {"purpose": purpose, "name": name, "mime_type": mime_type, "size": len(content), "sha256": sha256}
        prepared = self.call("attachment.prepare", {"operation_id": operation_id, "params": params})
        attachment = {"h_id": prepared["attachment"]["identifiers"]["h_id"]}
        if prepared["attachment"]["status"] in ("awaiting_upload", "uploaded"):
            url = prepared["upload"]["url"]
            with _noting(operation_id):
                repeatedly(self._settings, lambda: self._put(url, mime_type, content))
            self.attachment_finalize({"operation_id": operation_id, "params": {"attachment": {"h_id": attachment["h_id"]}}})
        began_s = time.monotonic()
        polls = 0
        while True:
            status = self.attachment_status({"params": {"attachment": {"h_id": attachment["h_id"]}}})
            if status["status"] in ("ready", "rejected", "expired") or time.monotonic() - began_s > scan_s:
                return status
            time.sleep(min(SCAN_POLL_S[min(polls, len(SCAN_POLL_S) - 1)], scan_s))
            polls += 1

    def _put(self, url: str, mime_type: str, content: bytes) -> None:
        """Sends the bytes. The answer is unsigned, so only the signed answer to the finalize says that they arrived."""
        answer = exchange(
            "PUT",
            url,
            {"Content-Type": mime_type},
            content,
            timeout_s=self._settings.timeout_s,
            max_bytes=UPLOAD_ANSWER_MAX_BYTES,
        )
        if not 200 <= answer.http_status < 300:
            message = f"HTTP {answer.http_status}: {answer.text}"
            raise TransportError("unsigned", message, http_status=answer.http_status, text=answer.text)

    def download_file(self, h_id: str) -> bytes:
        """Downloads a ready file. Its bytes have the SHA-256 that the signed answer names."""
        shown = self.attachment_get({"params": {"attachment": {"h_id": h_id}}})

        def get() -> bytes:
            timeout_s = self._settings.timeout_s
            answer = exchange("GET", shown["download"]["url"], {}, None, timeout_s=timeout_s, max_bytes=FILE_MAX_BYTES)
            if hashlib.sha256(answer.body).hexdigest() != shown["attachment"]["sha256"]:
                message = f"HTTP {answer.http_status}: other bytes than those of the file"
                raise TransportError("unsigned", message, http_status=answer.http_status)
            return answer.body

        return repeatedly(self._settings, get)


@contextmanager
def _noting(operation_id: Optional[str]) -> Iterator[None]:
    """Notes the operation_id of a request on its error, because the client may have generated it."""
    try:
        yield
    except MultihubError as error:
        error.operation_id = operation_id
        raise


def _encode(request: Mapping[str, Any]) -> bytes:
    _refuse_floats(request, "request")
    return json.dumps(request, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")


def _refuse_floats(value: Any, path: str) -> None:
    """An amount in floating point is not exact, and no other field is a fraction."""
    if isinstance(value, float):
        raise TypeError(f"{path} is a float: amounts are whole numbers of minor units")
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _refuse_floats(inner, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for index, inner in enumerate(value):
            _refuse_floats(inner, f"{path}.{index}")
