"""Runs the public conformance kit of A2A against the approval desk. The working directory is a copy of the kit.

python a2a.py 1.0|0.3, with PLACET_BIN naming a binary that was built with the feature `tck`.
"""

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

PLACET = os.environ["PLACET_BIN"]

# How many tests passed when this was written. The kit passes over what it cannot set up, so a desk that refuses everything
# would fail nothing: fewer than these is a failure too. None is allowed to fail.
KITS = {
    "1.0": (171, "/a2a/v1/desk", ["--sut-host={url}", "--transport=jsonrpc,http_json"]),
    "0.3": (30, "/a2a/desk", ["--sut-url={url}", "--category=mandatory", "--transports=jsonrpc"]),
}


def serve(data):
    """The server and its address."""
    new = [PLACET, "key", "new", "--role", "reviewer", "--name", "tck", "--data", data]
    reviewer = subprocess.run(new, check=True, capture_output=True, text=True).stdout.strip()
    settings = {
        "limits.requests_per_second": "0",
        # The kit registers an address there, and gets what it looks at on this machine.
        "doors.callback_hosts": '["example.com"]',
    }
    words = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    command = [PLACET, "serve", "--dev", "--data", data, "--listen", "127.0.0.1:0", *words]
    log = open(Path(data) / "server.log", "w")
    environment = {**os.environ, "PLACET_TCK_REVIEWER": reviewer}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment, text=True)
    return server, server.stdout.readline().strip().rsplit(" ", 1)[-1]


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
    least, path, words = KITS[sys.argv[1]]
    with tempfile.TemporaryDirectory() as data:
        server, address = serve(data)
        try:
            url = f"{address}{path}"
            report = Path("reports/junitreport.xml")
            report.unlink(missing_ok=True)
            options = f"--junitxml={report} -W ignore"
            run = [sys.executable, "run_tck.py", *(word.format(url=url) for word in words)]
            subprocess.run(run, timeout=900, env={**os.environ, "PYTEST_ADDOPTS": options})
            passed, failed = counted(report)
        finally:
            server.terminate()
            server.wait(30)
    print(f"A2A {sys.argv[1]}: {passed} passed, {len(failed)} failed")
    for name in failed:
        print(f"  failed: {name}")
    if failed:
        sys.exit(1)
    if passed < least:
        sys.exit(f"only {passed} tests passed, and {least} did before: the others were passed over")


main()
