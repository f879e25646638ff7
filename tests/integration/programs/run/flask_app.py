"""A Flask application on loopback, with a thread for each request; a request ends it."""

import os
import signal
import threading

from flask import Flask, request
from werkzeug.serving import make_server

import kinetograph as kg

app = Flask(__name__)


@app.get("/square/<int:number>")
def square(number: int) -> dict[str, int]:
    with kg.scope("square"):
        return {"square": number * number}


@app.post("/echo")
def echo() -> bytes:
    return request.get_data()


@app.get("/broken")
def broken() -> str:
    raise ValueError("of the application")


server = make_server("127.0.0.1", 0, app, threaded=True)
signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
print(server.port, os.getpid(), flush=True)
server.serve_forever()
print("served", flush=True)
