"""Drives the client for the tests in test/clients: one act per line of the input, one answer per line of the output."""

import json
import os
import sys
import threading
from wsgiref.simple_server import WSGIRequestHandler, make_server

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "src"))

import multihub_client as m  # noqa: E402

client = None
received = []


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass

    def get_stderr(self):
        return open(os.devnull, "w")


def settings(act):
    global client
    given = dict(act["settings"])
    for name in ("timeout", "wait", "wait_max", "deadline"):
        given[f"{name}_s"] = given.pop(f"{name}_ms") / 1000
    made = m.Settings(**given)
    client = m.Client(made)
    return repr(made)


def sign(act):
    credential = (int(act["application_id"]), act["secret"])
    pair = m.ReplayPair(act["timestamp"], act["nonce"]) if act.get("timestamp") else None
    body = act["body"].encode()
    if act["scheme"] == "v1":
        return m.sign_v1(*credential, body)
    if act["scheme"] == "v2":
        return m.sign_v2(*credential, body, pair)
    return m.sign_resend(*credential, act["path"], body, pair)


def check(act):
    body = act["body"].encode()
    if act["scheme"] == "v1":
        return m.verify_v1(act["secret"], body, act["signature"])
    names = ("request_nonce", "request_id", "http_status", "signature")
    covered = {name: act[name] for name in names}
    return m.verify_v2(int(act["application_id"]), act["secret"], body=body, **covered)


def verify(act):
    now_s = act["now_ms"] / 1000 if "now_ms" in act else None
    return m.verify_callback(act["headers"], act["body"].encode(), act["secrets"], now_s).get("id")


def serve(act):
    def handle(callback):
        if callback["id"].startswith("fail"):
            raise RuntimeError("the store is away")
        received.append(callback["id"])

    if act["middleware"] == "Flask":
        import flask

        app = flask.Flask("runner")
        app.logger.disabled = True
        view = m.flask_callbacks(act["secrets"], handle)
        app.add_url_rule("/callbacks", view_func=view, methods=["POST"])
    else:
        app = m.wsgi_callbacks(act["secrets"], handle)
    server = make_server("127.0.0.1", 0, app, handler_class=Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/callbacks"


def upload(act):
    file = dict(act["file"])
    content = file.pop("text").encode()
    more = {"scan_s": act["scan_ms"] / 1000} if "scan_ms" in act else {}
    return client.upload_file(content, operation_id=act.get("operation_id"), **more, **file)


ACTS = {
    "settings": settings,
    "create": lambda act: client.create_payment(act["method"], act["request"], resume=act.get("resume", False)),
    "call": lambda act: client.call(act["method"], act["request"]),
    "resend": lambda act: client.resend_webhook(act["payment_id"], act["operation_id"]),
    "each": lambda act: list(client.each(act["method"], act["request"])),
    "balance_text": lambda act: str(client.balance_get()["balance"]["amounts"][0]["value"]),
    "upload": upload,
    "download": lambda act: client.download_file(act["h_id"]).decode(),
    "sign": sign,
    "check": check,
    "webhook_secret": lambda act: m.webhook_secret(act["api_secret"]),
    "verify": verify,
    "key": lambda act: m.callback_key(act["callback"]),
    "serve": serve,
    "received": lambda act: received,
}


def error_of(error):
    shown = {"message": str(error)}
    if isinstance(error, m.RefusalError):
        return {**shown, "kind": "refusal", "code": error.code, "retry": error.retry, "operation_id": error.operation_id}
    if isinstance(error, m.OutcomeUnknownError):
        return {**shown, "kind": "unknown", "text": getattr(error.cause, "text", None)}
    if isinstance(error, m.TransportError):
        return {**shown, "kind": "transport", "reason": error.reason, "text": error.text, "operation_id": error.operation_id}
    if isinstance(error, m.CallbackError):
        return {**shown, "kind": "callback", "reason": error.reason}
    return {**shown, "kind": "other", "message": repr(error)}


for line in sys.stdin:
    act = json.loads(line)
    try:
        answer = {"result": ACTS[act["act"]](act)}
    except Exception as error:
        answer = {"error": error_of(error)}
    print(json.dumps(answer), flush=True)
