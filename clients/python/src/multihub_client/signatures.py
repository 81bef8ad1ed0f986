"""The signatures of requests, answers and callbacks. All of them are lower-case hexadecimal digits."""

from __future__ import annotations

import hashlib
import hmac
from typing import Dict, NamedTuple, Optional, Union
from urllib.parse import quote

V1_PATH = "/public/api/multihub/v1"
V2_PATH = "/public/api/multihub/v2"


class ReplayPair(NamedTuple):
    """The Unix time in seconds and the nonce of a request, which the server accepts once."""

    timestamp: str
    nonce: str


def resend_path(payment_id: str) -> str:
    """The path that queues the callback of a payment again."""
    return f"/api/v1/payments/{quote(payment_id, safe='')}/webhook/resend"


def _sha512(data: bytes) -> str:
    return hashlib.sha512(data).hexdigest()


def _hmac512(secret: str, *lines: Union[str, int]) -> str:
    text = "\n".join(str(line) for line in lines)
    return hmac.new(secret.encode(), text.encode(), hashlib.sha512).hexdigest()


def _equal(expected: str, received: str) -> bool:
    """Compares in constant time."""
    return hmac.compare_digest(expected.encode(), received.encode("utf-8", "surrogatepass"))


def sign_v1(application_id: int, secret: str, body: bytes) -> Dict[str, str]:
    """The headers that sign a v1 request: a hash of its exact bytes."""
    return {"X-Data-Application-Id": str(application_id), "X-Data-Hash": _sha512(body + secret.encode())}


def sign_v2(application_id: int, secret: str, body: bytes, pair: ReplayPair) -> Dict[str, str]:
    """The headers that sign a v2 request."""
    digest = hashlib.sha256(body).hexdigest()
    prefix = "service-multihub-request-v2"
    signature = _hmac512(secret, prefix, application_id, "POST", V2_PATH, pair.timestamp, pair.nonce, digest)
    return {
        "X-Data-Application-Id": str(application_id),
        "X-Data-Timestamp": pair.timestamp,
        "X-Data-Nonce": pair.nonce,
        "X-Data-Signature": signature,
    }


def sign_resend(
    application_id: int, secret: str, path: str, body: bytes, pair: Optional[ReplayPair] = None
) -> Dict[str, str]:
    """The headers that sign a request to the resend path, with a pair or without one."""
    if pair is None:
        return sign_v1(application_id, secret, body)
    prefix = "\n".join(["service-merchant-webhook-resend-v1", "POST", path, pair.timestamp, pair.nonce, "", ""])
    return {
        "X-Data-Application-Id": str(application_id),
        "X-Data-Timestamp": pair.timestamp,
        "X-Data-Nonce": pair.nonce,
        "X-Data-Hash": _sha512(prefix.encode() + body + secret.encode()),
    }


def verify_v1(secret: str, body: bytes, signature: str) -> bool:
    """Whether the header ``X-Data-Hash`` of a v1 or resend response is right."""
    return _equal(_sha512(body + secret.encode()), signature)


def verify_v2(
    application_id: int,
    secret: str,
    *,
    request_nonce: str,
    request_id: str,
    http_status: int,
    body: bytes,
    signature: str,
) -> bool:
    """Whether the header ``X-Data-Signature`` of a v2 response is right."""
    digest = hashlib.sha256(body).hexdigest()
    prefix = "service-multihub-response-v2"
    expected = _hmac512(secret, prefix, application_id, request_nonce, request_id, http_status, digest)
    return _equal(expected, signature)


def verify_v3(secret: str, *, timestamp: str, nonce: str, webhook_id: str, body: bytes, signature: str) -> bool:
    """Whether the header ``X-Webhook-Signature-V3`` of a callback is right."""
    signed = f"{timestamp}.{nonce}.{webhook_id}.".encode("utf-8", "surrogatepass") + body
    return _equal(hmac.new(secret.encode(), signed, hashlib.sha512).hexdigest(), signature)


def webhook_secret(api_secret: str) -> str:
    """The secret of the callbacks to a payment's ``webhook_url``, derived from the API secret that created the payment."""
    return hmac.new(api_secret.encode(), b"service:merchant-webhook-signing:v1", hashlib.sha256).hexdigest()
