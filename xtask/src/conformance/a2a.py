"""Runs the public conformance kit of A2A against the binary that ships. The working directory is a copy of the kit.

python a2a.py desk-1.0|desk-0.3|proxy-1.0, with PLACET_BIN, and for the proxy AGENT: the words that start the sample agent.

The kit says by the ids of its messages what an agent is to do, which no product can know. In front of the desk stands
somebody who asks for what the kit means, and a reviewer who decides it; both call Placet as anybody would. Behind the proxy
stands an agent that knows those ids. Answers are passed on as they come.
"""

import http.client
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

PLACET = os.environ["PLACET_BIN"]

NEW = ["--sut-host={url}", "--transport=jsonrpc,http_json"]
OLD = ["--sut-url={url}", "--category=mandatory", "--transports=jsonrpc"]

# What an agent is to bring forth: files and texts of its own. The desk brings forth decisions.
SCRIPTED = (
    "test_task_has_text_artifact",
    "test_task_has_file_artifact",
    "test_task_has_file_url_artifact",
    "test_task_has_data_artifact",
    "test_returns_message_with_text_part",
    # It takes the names of fields in what people decided for names of the protocol's own.
    "test_no_snake_case_keys",
)

# How many tests pass, and which may fail. The kit passes over what it cannot set up, so a server that refuses everything would
# fail nothing: fewer than these is a failure too.
RUNS = {
    "desk-1.0": (156, SCRIPTED, "/a2a/v1/desk", NEW),
    "desk-0.3": (30, (), "/a2a/desk", OLD),
    "proxy-1.0": (173, (), "/a2a/kit/sample", NEW),
}

POLICY = """version = 1

[[rule]]
name = "at-once"
tool = "complete"
effect = "allow"

[[rule]]
name = "never"
tool = "reject"
effect = "deny"
reason = "the kit wants a task that is rejected"
"""


def meant(name):
    """What becomes of a task whose first message has this id: the action that is asked for."""
    for prefix, action in (
        ("tck-stream-", "soon"),
        ("test-resubscribe-message-id", "later"),
        ("tck-input-required", "wait"),
        ("tck-reject-task", "reject"),
        ("tck-", "complete"),
    ):
        if name.startswith(prefix):
            return action
    # The kit for 0.3 wants every other task to stay open.
    return "wait"


class Reviewer(threading.Thread):
    """Decides what the kit has to see decided."""

    AFTER = {"soon": 0.2, "later": 4.0}

    def __init__(self, address, key):
        super().__init__(daemon=True)
        self.address, self.key = urlsplit(address).netloc, key
        self.seen = {}

    def call(self, method, path, body=None):
        line = http.client.HTTPConnection(self.address, timeout=30)
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        try:
            line.request(method, path, json.dumps(body) if body else None, headers)
            answer = line.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        finally:
            line.close()

    def pending(self):
        return self.call("GET", "/v1/requests?state=pending&limit=200")[1]["items"]

    def approve(self, record):
        body = {"decision": "approve", "digest": record["digest"], "version": record["version"]}
        self.call("POST", f"/v1/requests/{record['id']}/decision", body)

    def complete(self, task):
        """What waits in this task."""
        for record in self.pending():
            if record["context"]["a2a"]["task"] == task:
                self.approve(record)

    def run(self):
        try:
            while True:
                for record in self.pending():
                    since = self.seen.setdefault(record["id"], time.monotonic())
                    if time.monotonic() - since > self.AFTER.get(record.get("tool"), 1e9):
                        self.approve(record)
                time.sleep(0.05)
        except OSError:
            """The server has ended, and the kit with it."""


class Asker:
    """Passes every call on, and asks the desk where the kit only speaks."""

    numbers = itertools.count()

    def __init__(self, address, reviewer):
        self.reviewer = reviewer
        upstream = urlsplit(address).netloc
        asker = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                body, task = asker.asked(body)
                line = http.client.HTTPConnection(upstream, timeout=60)
                try:
                    # With its `Host`: cards name the address that they were asked at.
                    headers = {k: v for k, v in self.headers.items() if k.lower() not in ("connection", "content-length")}
                    line.request(self.command, self.path, body or None, headers)
                    self.answer(line.getresponse(), task)
                except OSError:
                    self.close_connection = True
                finally:
                    line.close()

            do_POST = do_PUT = do_DELETE = do_GET

            def answer(self, answer, task):
                stream = (answer.getheader("content-type") or "").startswith("text/event-stream")
                if task:
                    threading.Timer(0.1 if stream else 0, asker.reviewer.complete, [task]).start()
                self.send_response_only(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                        self.send_header(name, value)
                if not stream:
                    whole = answer.read()
                    self.send_header("content-length", str(len(whole)))
                    self.end_headers()
                    self.wfile.write(whole)
                    return
                self.close_connection = True
                self.send_header("connection", "close")
                self.end_headers()
                while chunk := answer.read1(65536):
                    self.wfile.write(chunk)
                    self.wfile.flush()

            def log_message(self, *_):
                """Nobody reads it."""

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                """A client that went away is no error of ours."""

        self.server = Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def asked(self, body):
        """The body that is passed on, and the task that this message ends, if it ends one."""
        try:
            call = json.loads(body)
            message = call.get("params", call).get("message")
            texts = [part["text"] for part in message["parts"]]
            name = message["messageId"]
        except (ValueError, AttributeError, KeyError, TypeError):
            # What the kit gets wrong on purpose is the desk's to refuse.
            return body, None
        if not texts or not isinstance(name, str) or name.startswith("tck-message-response"):
            return body, None
        action = meant(name)
        if message.get("taskId"):
            return body, message["taskId"] if action == "complete" else None
        data = {"type": "approval_request", "action": action, "args": {"texts": texts, "number": next(self.numbers)}}
        part = {"kind": "data", "data": data} if "kind" in message["parts"][0] else {"data": data}
        message["parts"] = [part]
        return json.dumps(call).encode(), None


def serve(data, config):
    """The server, its address, and the key of a reviewer."""
    new = [PLACET, "key", "new", "--role", "reviewer", "--name", "tck", "--data", data]
    reviewer = subprocess.run(new, check=True, capture_output=True, text=True).stdout.strip()
    policy = Path(data) / "policy.toml"
    policy.write_text(POLICY)
    settings = {
        "limits.requests_per_second": "0",
        # The kit registers an address there, and gets what it looks at on this machine.
        "doors.callback_hosts": '["example.com"]',
    }
    words = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    command = [PLACET, "serve", "--dev", "--data", data, "--policy", policy, "--listen", "127.0.0.1:0", *words, *config]
    log = open(Path(data) / "server.log", "w")
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    return server, server.stdout.readline().strip().rsplit(" ", 1)[-1], reviewer


def sample(data):
    """The agent behind the proxy, and the configuration that names it."""
    agent = subprocess.Popen([*json.loads(os.environ["AGENT"]), str(Path(data) / "effects")], stdout=subprocess.PIPE, text=True)
    url = agent.stdout.readline().strip().rsplit(" ", 1)[-1]
    agent.stdout.readline()
    config = Path(data) / "placet.toml"
    config.write_text(f'[[doors.a2a]]\nnamespace = "kit"\nagent = "sample"\nurl = "{url}/"\ngeneric = "pass"\n')
    return agent, ["--config", str(config)]


def counted(report):
    """How many passed, and the names of those that did not."""
    passed, failed = 0, []
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            failed.append(f"{case.get('classname')}::{case.get('name')}")
        elif "skipped" not in kinds:
            passed += 1
    return passed, failed


def main():
    name = sys.argv[1]
    least, may_fail, path, words = RUNS[name]
    with tempfile.TemporaryDirectory() as data:
        agent, config = sample(data) if name.startswith("proxy") else (None, [])
        server, address, key = serve(data, config)
        try:
            if not agent:
                reviewer = Reviewer(address, key)
                reviewer.start()
                address = Asker(address, reviewer).url
            report = Path("reports/junitreport.xml")
            report.unlink(missing_ok=True)
            options = f"--junitxml={report} -W ignore"
            run = [sys.executable, "run_tck.py", *(word.format(url=f"{address}{path}") for word in words)]
            subprocess.run(run, timeout=900, env={**os.environ, "PYTEST_ADDOPTS": options})
            passed, failed = counted(report)
        finally:
            for process in filter(None, (server, agent)):
                process.terminate()
                process.wait(30)
    print(f"A2A {name}: {passed} passed, {len(failed)} failed")
    scripted = [one for one in failed if any(word in one for word in may_fail)]
    for one in failed:
        print(f"  {'needs a scripted agent' if one in scripted else 'failed'}: {one}")
    if len(scripted) < len(failed):
        sys.exit(1)
    if passed < least:
        sys.exit(f"only {passed} tests passed, and {least} did before: the others were passed over")


main()
