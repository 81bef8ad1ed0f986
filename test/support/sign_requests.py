"""Hooks of Schemathesis: sign the final bytes of each request with the credential in the environment."""

import hashlib
import os

import requests
import schemathesis


class Signature(requests.auth.AuthBase):
    """Signs what is about to be sent, after everything else has made it."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        body = request.body or b""
        if isinstance(body, str):
            body = body.encode()
        request.headers["X-Data-Application-Id"] = os.environ["APPLICATION_ID"]
        request.headers["X-Data-Hash"] = hashlib.sha512(body + os.environ["SECRET"].encode()).hexdigest()
        return request


schemathesis.auth.set_from_requests(Signature())
