#!/usr/bin/env python3
"""Sends a v2 request and prints the response if its signature is right (Python 3.9, standard library only):
  v2.py '{"method":"gateway.ping","params":{}}'"""
import hashlib
import hmac
import os
import secrets
import sys
import time
from urllib.error import HTTPError
from urllib.request import Request, urlopen

PATH = "/public/api/multihub/v2"
base_url, application_id, secret = (
    os.environ.get(name) or sys.exit(f"{name} is not set") for name in ("BASE_URL", "APPLICATION_ID", "SECRET")
)
body = (sys.argv[1] if len(sys.argv) > 1 else sys.exit("give the JSON body as the argument")).encode()


def sign(*lines: str) -> str:
    return hmac.new(secret.encode(), "\n".join(lines).encode(), hashlib.sha512).hexdigest()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


timestamp, nonce = str(int(time.time())), secrets.token_hex(16)
request = Request(base_url + PATH, data=body, method="POST")
request.add_header("Content-Type", "application/json")
request.add_header("X-Data-Application-Id", application_id)
request.add_header("X-Data-Timestamp", timestamp)
request.add_header("X-Data-Nonce", nonce)
request.add_header(
    "X-Data-Signature",
    sign("service-multihub-request-v2", application_id, "POST", PATH, timestamp, nonce, sha256(body)),
)
try:
    response = urlopen(request, timeout=40)
except HTTPError as refusal:
    # A refusal is a response too.
    response = refusal
response_body = response.read()
request_id = response.headers.get("X-Request-ID", "")
covered = (application_id, nonce, request_id, str(response.status), sha256(response_body))
expected = sign("service-multihub-response-v2", *covered)
if not hmac.compare_digest(expected, response.headers.get("X-Data-Signature", "")):
    sys.exit(f"HTTP {response.status}: the response is not signed with this secret")
print(response_body.decode())
