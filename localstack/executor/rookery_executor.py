"""Runs the functions of LocalStack's Lambda as processes of this machine, without Docker.

LAMBDA_RUNTIME_EXECUTOR=host selects it. It serves the Runtime API of AWS Lambda
(https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html) on a port of loopback for each environment, and knows
programs named bootstrap only, those of the runtime provided.al2023.
"""

import json
import os
import queue
import subprocess
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from localstack import config
from localstack.services.lambda_.invocation.lambda_models import InvocationResult
from localstack.services.lambda_.invocation.plugins import RuntimeExecutorPlugin
from localstack.services.lambda_.invocation.runtime_executor import RuntimeExecutor

PATHS = "/2018-06-01/runtime/"
START_SECONDS = 30  # until a program asks for its first event; AWS gives it 10, but has a processor for each


class RuntimeAPI(ThreadingHTTPServer):
    """The API that one process asks for events."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.waiting = queue.Queue()
        self.ready = threading.Event()
        self.init_error = None
        self.running = {}  # what waits for an answer, by the id of its request

    def handle_error(self, request, client_address):
        """A process that is ended cuts its request off."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16  # an answer is one write

    def log_message(self, format, *args):
        """Requests are not logged."""

    def answer(self, code, body=b"", headers=()):
        self.send_response(code)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path != PATHS + "invocation/next":
            self.answer(404)
            return
        self.server.ready.set()
        event = self.server.waiting.get()
        if event is None:  # the environment ends
            self.close_connection = True
            return
        event["taken"].set()
        self.answer(200, event["payload"], event["headers"])

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        all = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            all += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return all

    def do_POST(self):
        body = self.body()
        if self.path == PATHS + "init/error":
            self.server.init_error = body
            self.server.ready.set()
            self.answer(202)
            return
        request, _, kind = self.path.removeprefix(PATHS + "invocation/").partition("/")
        waits = self.server.running.pop(request, None)
        if waits is None or kind not in ("response", "error"):
            self.answer(400)
            return
        waits[1].extend([body, kind == "error"])
        waits[0].set()
        self.answer(202)


class HostExecutor(RuntimeExecutor):
    def __init__(self, id, function_version):
        super().__init__(id=id, function_version=function_version)
        self.api = None
        self.process = None
        self.log = tempfile.TemporaryFile("w+b")

    def start(self, env_vars):
        code = Path(self.function_version.config.code.get_unzipped_code_location())
        program = code / "bootstrap"
        program.chmod(program.stat().st_mode | 0o111)
        own = {name: str(value) for name, value in env_vars.items()}
        self.environment = {"PATH": os.environ["PATH"], **own, "LAMBDA_TASK_ROOT": str(code)}
        self.spawn()

    def spawn(self):
        """Starts the process: also in the place of one that has ended, as AWS Lambda does."""
        self.stop()
        code = self.environment["LAMBDA_TASK_ROOT"]
        self.api = RuntimeAPI()
        threading.Thread(target=self.api.serve_forever, args=(0.05,), daemon=True).start()
        address = {"AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self.api.server_port}"}
        self.process = subprocess.Popen(
            [code + "/bootstrap"], cwd=code, stdin=subprocess.DEVNULL, env={**self.environment, **address},
            stdout=self.log, stderr=subprocess.STDOUT,
        )
        end = time.monotonic() + START_SECONDS
        while not self.api.ready.wait(0.01):
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("the program asked for no event: " + self.get_logs())
        if self.api.init_error:
            raise RuntimeError("the program could not begin: " + self.api.init_error.decode())

    def invoke(self, payload):
        request = payload["invoke-id"]
        start, began = self.log.seek(0, os.SEEK_END), time.monotonic()
        body, failed = self.attempt(request, payload)
        if body is None:  # the process had ended before it took the event
            body, failed = self.attempt(request, payload)
        if body is None:
            body, failed = failure(request, "Runtime.ExitError", "the program ended before it took the event")
        took = (time.monotonic() - began) * 1000
        self.log.seek(start)
        said = self.log.read().decode(errors="replace")
        logs = f"START RequestId: {request} Version: $LATEST\n{said}END RequestId: {request}\n" \
            f"REPORT RequestId: {request}\tDuration: {took:.2f} ms\n"
        return InvocationResult(request, body, is_error=failed, logs=logs)

    def attempt(self, request, payload):
        if self.process.poll() is not None:
            try:
                self.spawn()
            except RuntimeError as error:
                return failure(request, "Runtime.ExitError", str(error))
        timeout = int(self.function_version.config.timeout)
        done, answer, taken, began = threading.Event(), [], threading.Event(), time.monotonic()
        self.api.running[request] = (done, answer)
        self.api.waiting.put({"taken": taken, "payload": payload["payload"].encode(), "headers": [
            ("Content-Type", "application/json"),
            ("Lambda-Runtime-Aws-Request-Id", request),
            ("Lambda-Runtime-Deadline-Ms", str(int((time.time() + timeout) * 1000))),
            ("Lambda-Runtime-Invoked-Function-Arn", payload["invoked-function-arn"]),
            ("Lambda-Runtime-Trace-Id", payload.get("trace-id", "")),
        ]})
        while not done.wait(0.05):
            if self.process.poll() is not None:
                if done.wait(0.05):  # it answered, and then ended
                    break
                if not taken.is_set():
                    return None, True
                return failure(request, "Runtime.ExitError", f"the program ended with {self.process.returncode}")
            if time.monotonic() - began > timeout:
                self.process.kill()
                self.process.wait()
                return failure(request, "Sandbox.Timedout", f"Task timed out after {timeout}.00 seconds")
        return answer[0], answer[1]

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(0.5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.api:
            self.api.waiting.put(None)
            self.api.shutdown()
            self.api.server_close()

    def get_logs(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def get_address(self):
        return "127.0.0.1"

    def get_endpoint_from_executor(self):
        return "127.0.0.1"

    def get_runtime_endpoint(self):
        return f"http://127.0.0.1:{config.GATEWAY_LISTEN[0].port}/_unused/{self.id}"

    @classmethod
    def prepare_version(cls, function_version):
        if function_version.config.code:
            function_version.config.code.prepare_for_execution()

    @classmethod
    def cleanup_version(cls, function_version):
        """Nothing is left of a version."""


def failure(request, kind, text):
    said = {"errorType": kind, "errorMessage": f"RequestId: {request} Error: {text}"}
    return json.dumps(said).encode(), True


class HostExecutorPlugin(RuntimeExecutorPlugin):
    name = "host"

    def load(self, *args, **kwargs):
        return HostExecutor
