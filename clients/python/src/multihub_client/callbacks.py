"""Verifies callbacks, as a function and for WSGI and Flask."""

from __future__ import annotations

import importlib
import json
import time
from typing import Any, Callable, Iterable, List, Mapping, Optional, Sequence, Tuple, cast

from .errors import CallbackError
from .gen.types import Callback
from .signatures import verify_v3
from .times import seconds_of

# The largest callback.
CALLBACK_MAX_BYTES = 256 * 1024
MAX_AGE_S = 300
_STATUS_TEXTS = {204: "No Content", 400: "Bad Request", 401: "Unauthorized", 413: "Payload Too Large"}

# Stores a verified callback. When it raises, the answer is 500, and Multihub sends the callback again.
Handler = Callable[[Callback], None]


def verify_callback(
    headers: Mapping[str, Optional[str]], body: bytes, secrets: Sequence[str], now_s: Optional[float] = None
) -> Callback:
    """Verifies a callback over the exact bytes that arrived, and returns what it says.

    ``secrets`` are those of the endpoint or of the ``webhook_url``; two while one is rotated. Nothing is parsed before its
    signature is verified, in constant time. Raises ``CallbackError``.
    """
    check_secrets(secrets)
    if len(body) > CALLBACK_MAX_BYTES:
        raise CallbackError("too_large", "the body is larger than any callback")
    by_name = {name.lower(): value for name, value in headers.items()}

    def read(name: str) -> str:
        value = by_name.get(name)
        if not value:
            raise CallbackError("missing_header", f"{name} is missing")
        return value

    timestamp, nonce, webhook_id = read("x-webhook-timestamp"), read("x-webhook-nonce"), read("x-webhook-id")
    signature = read("x-webhook-signature-v3")
    is_authentic = any(
        verify_v3(secret, timestamp=timestamp, nonce=nonce, webhook_id=webhook_id, body=body, signature=signature)
        for secret in secrets
    )
    if not is_authentic:
        raise CallbackError("signature", "the signature is wrong")
    sent_s = seconds_of(timestamp)
    if sent_s is None or abs((time.time() if now_s is None else now_s) - sent_s) > MAX_AGE_S:
        raise CallbackError("timestamp", "the callback is not of the last five minutes")
    try:
        return cast(Callback, json.loads(body.decode("utf-8")))
    except ValueError as error:
        raise CallbackError("malformed", "the body is not JSON") from error


def callback_key(callback: Callback) -> str:
    """What a receiver stores to handle a callback once. Refunds of one payment have the same ``id``, but different keys."""
    payment = callback["data"]["result"].get("payment")
    if payment is None:
        return callback["id"]
    operations = [f"{one['id']}={one['status']['status']}" for one in payment["operations"]]
    return "|".join([callback["id"], payment["status"]["status"], *operations])


def check_secrets(secrets: Sequence[str]) -> None:
    """Raises ``ValueError`` unless there are secrets."""
    if not secrets or isinstance(secrets, str) or "" in secrets:
        raise ValueError("a secret of the callbacks is missing")


def _status_of(headers: Mapping[str, Optional[str]], body: bytes, secrets: Sequence[str], handle: Handler) -> int:
    try:
        callback = verify_callback(headers, body, secrets)
    except CallbackError as error:
        return {"too_large": 413, "malformed": 400}.get(error.reason, 401)
    handle(callback)
    return 204


def wsgi_callbacks(secrets: Sequence[str], handle: Handler) -> Callable[..., Iterable[bytes]]:
    """A WSGI application that receives callbacks at the path where it is mounted."""
    check_secrets(secrets)

    def application(environ: Mapping[str, Any], start_response: Callable[[str, List[Tuple[str, str]]], Any]) -> List[bytes]:
        headers = {key[5:].replace("_", "-"): value for key, value in environ.items() if key.startswith("HTTP_")}
        try:
            length = int(environ.get("CONTENT_LENGTH") or 0)
        except ValueError:
            length = 0
        if length > CALLBACK_MAX_BYTES:
            status = 413
        else:
            # An error of the handler goes on to the server, which answers 500 and logs it.
            status = _status_of(headers, environ["wsgi.input"].read(max(length, 0)), secrets, handle)
        start_response(f"{status} {_STATUS_TEXTS[status]}", [] if status == 204 else [("Content-Length", "0")])
        return []

    return application


def flask_callbacks(secrets: Sequence[str], handle: Handler) -> Callable[[], Tuple[str, int]]:
    """A view for Flask: ``app.add_url_rule("/callbacks", view_func=flask_callbacks(...), methods=["POST"])``."""
    check_secrets(secrets)
    flask: Any = importlib.import_module("flask")

    def multihub_callbacks() -> Tuple[str, int]:
        # The exact bytes are signed, so they are read before anything parses them.
        body: bytes = flask.request.stream.read(CALLBACK_MAX_BYTES + 1)
        return "", _status_of(dict(flask.request.headers), body, secrets, handle)

    return multihub_callbacks
