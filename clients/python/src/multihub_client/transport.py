"""Sends signed requests, and verifies the signature of each answer before anything in it is used."""

from __future__ import annotations

import http.client
import json
import re
import secrets
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional
from urllib.parse import urlsplit

from .errors import RefusalError, TransportError
from .signatures import V1_PATH, V2_PATH, ReplayPair, sign_resend, sign_v1, sign_v2, verify_v1, verify_v2

ANSWER_MAX_BYTES = 16 * 1024 * 1024
TEXT_MAX = 2_000
# The refusals that the server does not sign, because it does not know whose secret to sign them with.
UNSIGNED_CODES = range(3000, 3004)
LATE_S = 0.2


@dataclass(frozen=True)
class Settings:
    """What a client knows. Times are in seconds."""

    base_url: str
    application_id: int
    secret: str = field(repr=False)
    # "v1" or "v2": a credential works with one of them.
    version: str
    # The time for one answer. Creating a payment can take 35 seconds.
    timeout_s: float = 40.0
    # How often a request is sent at most.
    tries_max: int = 5
    # The first wait; each further one is twice as long.
    wait_s: float = 0.25
    # The longest wait. An answer that asks for more is passed on to the caller.
    wait_max_s: float = 60.0
    # After this time no try begins.
    deadline_s: float = 180.0

    def __post_init__(self) -> None:
        if not re.fullmatch("[0-9a-f]{64}", self.secret):
            raise ValueError("the secret is not 64 lower-case hexadecimal characters")
        if self.version not in ("v1", "v2"):
            raise ValueError("the version is not v1 or v2")


@dataclass(frozen=True)
class Answer:
    """The bytes of an answer, and its headers by lower-case name."""

    http_status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text, for people."""
        return self.body[:TEXT_MAX].decode("utf-8", "replace")


def send_signed(
    settings: Settings, body: bytes, path: Optional[str] = None, *, is_withdrawal: bool = False
) -> Any:
    """Sends one signed request and returns the ``result`` of the answer. ``path`` is set on the resend path."""
    is_v2 = settings.version == "v2"
    pair = ReplayPair(str(int(time.time())), secrets.token_hex(16))
    application_id, secret = settings.application_id, settings.secret
    if path is not None:
        signed = sign_resend(application_id, secret, path, body, pair)
    elif is_v2:
        signed = sign_v2(application_id, secret, body, pair)
    else:
        signed = sign_v1(application_id, secret, body)
        if is_withdrawal:
            # The v1 hash does not cover the pair, but a withdrawal that is sent twice on the way is refused by its nonce.
            signed.update({"X-Data-Timestamp": pair.timestamp, "X-Data-Nonce": pair.nonce})
    url = settings.base_url.rstrip("/") + (path or (V2_PATH if is_v2 else V1_PATH))
    headers = {"Content-Type": "application/json", **signed}
    answer = exchange("POST", url, headers, body, timeout_s=settings.timeout_s)
    if path is None and is_v2:
        is_signed = verify_v2(
            application_id,
            secret,
            request_nonce=pair.nonce,
            request_id=answer.headers.get("x-request-id", ""),
            http_status=answer.http_status,
            body=answer.body,
            signature=answer.headers.get("x-data-signature", ""),
        )
    else:
        is_signed = verify_v1(secret, answer.body, answer.headers.get("x-data-hash", ""))
    if not is_signed:
        raise _unsigned(answer)
    return _result_of(answer)


def _unsigned(answer: Answer) -> TransportError:
    http_status, text = answer.http_status, answer.text
    try:
        is_credential = json.loads(text)["error"]["code"] in UNSIGNED_CODES
    except (ValueError, KeyError, TypeError):
        is_credential = False
    hint = "; check the secret and the application id first" if is_credential else ""
    message = f"HTTP {http_status}: the answer is not signed with this secret{hint}: {text}"
    return TransportError("credential" if is_credential else "unsigned", message, http_status=http_status, text=text)


def _result_of(answer: Answer) -> Any:
    status = answer.http_status
    try:
        envelope = json.loads(answer.body.decode("utf-8"))
        if envelope["success"] is True:
            return envelope["result"]
        error = envelope["error"]
        refusal = RefusalError(
            int(error["code"]),
            str(error["message"]),
            details=error.get("details"),
            context=error.get("context"),
            request_id=str(envelope.get("request_id")),
            http_status=status,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"HTTP {status}: the answer is not an envelope"
        raise TransportError("malformed", message, http_status=status, text=answer.text) from error
    raise refusal


def exchange(
    method: str,
    url: str,
    headers: Dict[str, str],
    body: Optional[bytes],
    *,
    timeout_s: float,
    max_bytes: int = ANSWER_MAX_BYTES,
) -> Answer:
    """Sends a request within the time limit and reads at most ``max_bytes`` of the answer. Follows no redirect."""
    parts = urlsplit(url)
    make = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = make(parts.hostname or "", parts.port, timeout=timeout_s)
    late, done = threading.Event(), threading.Event()
    is_sent = False

    def watch() -> None:
        # The time limit of a socket is one for each of its operations; this one is for the whole exchange. A socket that is
        # being connected cannot be shut down, so this repeats.
        wait_s = timeout_s
        while not done.wait(wait_s):
            late.set()
            wait_s = LATE_S
            try:
                if connection.sock is not None:
                    connection.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    threading.Thread(target=watch, daemon=True).start()
    try:
        connection.connect()
        if late.is_set():
            raise socket.timeout
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        is_sent = True
        connection.request(method, target, body=body, headers={**headers, "Connection": "close"})
        response = connection.getresponse()
        content = response.read(max_bytes + 1)
        # A read with a limit does not notice a body that ends early.
        length = response.getheader("Content-Length")
        if len(content) > max_bytes:
            raise TransportError("too_large", f"the answer has more than {max_bytes} bytes")
        if late.is_set() or (length is not None and len(content) != int(length)):
            raise http.client.IncompleteRead(content)
        answered = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, answered, content)
    except (OSError, http.client.HTTPException, ValueError) as error:
        is_late = late.is_set() or isinstance(error, socket.timeout)
        if not is_sent:
            problem = f"no connection within {timeout_s} s" if is_late else f"no connection: {error!r}"
            raise TransportError("not_sent", problem) from error
        if is_late:
            raise TransportError("timeout", f"no answer within {timeout_s} s") from error
        raise TransportError("no_answer", f"no answer: {error!r}") from error
    finally:
        done.set()
        connection.close()
