#!/usr/bin/env python3
"""Sends a v1 request and prints the response if its signature is right (Python 3.9, standard library only):
  v1.py '{"method":"gateway.ping","params":{}}'"""
import hashlib
import hmac
import os
import sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

base_url, application_id, secret = (
    os.environ.get(name) or sys.exit(f"{name} is not set") for name in ("BASE_URL", "APPLICATION_ID", "SECRET")
)
body = (sys.argv[1] if len(sys.argv) > 1 else sys.exit("give the JSON body as the argument")).encode()


def sign(content: bytes) -> str:
    return hashlib.sha512(content + secret.encode()).hexdigest()


request = Request(f"{base_url}/public/api/multihub/v1", data=body, method="POST")
request.add_header("Content-Type", "application/json")
request.add_header("X-Data-Application-Id", application_id)
request.add_header("X-Data-Hash", sign(body))
try:
    response = urlopen(request, timeout=40)
except HTTPError as refusal:
    # A refusal is a response too.
    response = refusal
response_body = response.read()
if not hmac.compare_digest(sign(response_body), response.headers.get("X-Data-Hash", "")):
    sys.exit(f"HTTP {response.status}: the response is not signed with this secret")
print(response_body.decode())
