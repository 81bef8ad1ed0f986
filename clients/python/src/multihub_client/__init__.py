"""Client of the Multihub merchant API: signed requests, verified answers, payments that are never created twice."""

from .callbacks import CALLBACK_MAX_BYTES, callback_key, flask_callbacks, verify_callback, wsgi_callbacks
from .client import Client, CreatedPaymentResult
from .errors import CallbackError, MultihubError, OutcomeUnknownError, RefusalError, TransportError
from .gen import types
from .gen.tables import RETRIES
from .signatures import (
    ReplayPair,
    resend_path,
    sign_resend,
    sign_v1,
    sign_v2,
    verify_v1,
    verify_v2,
    verify_v3,
    webhook_secret,
)
from .transport import Settings

__all__ = [
    "CALLBACK_MAX_BYTES",
    "RETRIES",
    "CallbackError",
    "Client",
    "CreatedPaymentResult",
    "MultihubError",
    "OutcomeUnknownError",
    "RefusalError",
    "ReplayPair",
    "Settings",
    "TransportError",
    "callback_key",
    "flask_callbacks",
    "resend_path",
    "sign_resend",
    "sign_v1",
    "sign_v2",
    "types",
    "verify_callback",
    "verify_v1",
    "verify_v2",
    "verify_v3",
    "webhook_secret",
    "wsgi_callbacks",
]
