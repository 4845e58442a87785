"""Calls every operation of the OpenAPI document with the keys of an agent, a reviewer and an admin, as schemathesis makes them up.

python openapi.py EXAMPLES, with PLACET_BIN and schemathesis installed. Fails on a status that is not documented, an answer that
does not fit its schema, and every failure of the server.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

PLACET = os.environ["PLACET_BIN"]
ROLES = ("agent", "reviewer", "admin")

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
# Streams do not end, a freeze stops everything else, and a policy or a revoked key would change what the other calls meet.
LEFT_OUT = ("/v1/stream", "/v1/ws", "/v1/freeze", "/v1/policy", "/v1/keys/{id}")

# One of each kind, so that what is read is not empty.
ASKED = (
    {"kind": "action", "session": "s", "tool": "pay", "arguments": {"amount": 1}, "summary": "why"},
    {"kind": "plan", "session": "s", "title": "move", "steps": [{"id": "1", "action": "pack", "description": "all"}]},
    {"kind": "input", "session": "s", "question": "Which?", "input": {"type": "text"}, "default": "this"},
    {"kind": "confirmation", "session": "s", "message": "Sure?"},
)


def call(url, key, path, body=None):
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(url + path, json.dumps(body).encode() if body else None, headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def fill(url, keys):
    """Requests in several states; the id of one."""
    made = [call(url, keys["agent"], "/v1/requests", body) for body in ASKED for _ in range(2)]
    for record, word in ((made[0], "approve"), (made[2], "deny"), (made[6], "approve")):
        body = {"decision": word, "digest": record["digest"], "version": record["version"], "reason": "so"}
        call(url, keys["reviewer"], f"/v1/requests/{record['id']}/decision", body)
    call(url, keys["agent"], f"/v1/requests/{made[0]['id']}/claim", {"claimant": "c" * 32})
    return made[1]["id"]


def fuzz(url, role, key, known, examples, folder):
    """The counts of one role, and whether it went well."""
    config = folder / f"{role}.toml"
    half = [f'[[operations]]\ninclude-path-regex = "^/v1/requests/[{{]id[}}]"\nparameters = {{ "path.id" = "{known}" }}\n']
    config.write_text("\n".join(half))
    words = [word for path in LEFT_OUT for word in ("--exclude-path", path)]
    st = Path(sys.executable).with_name("schemathesis")
    run = [st, "--config-file", config, "run", f"{url}/openapi.json", "-H", f"Authorization: Bearer {key}"]
    run += ["-c", ",".join(CHECKS), *words, "--phases", "examples,coverage,fuzzing", "-n", str(examples), "--seed", "7"]
    run += ["--continue-on-failure", "--warnings", "off", "--no-color", "--request-timeout", "20"]
    # It keeps what it found beside where it runs.
    done = subprocess.run(run, capture_output=True, text=True, cwd=folder)
    said = done.stdout + done.stderr
    counted = re.search(r"Tested: (\d+).*?(\d+) generated", said, re.S)
    print(f"{role}: {counted[1]} operations, {counted[2]} calls" if counted else said, flush=True)
    if done.returncode:
        print(said, flush=True)
    return done.returncode == 0


def main():
    examples = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder) / "data")
        new = [PLACET, "key", "new", "--data", data, "--role"]
        keys = {
            role: subprocess.run([*new, role, "--name", f"the-{role}"], check=True, capture_output=True, text=True).stdout.strip()
            for role in ROLES
        }
        settings = ["--set", "limits.requests_per_second=0", "--set", "limits.wait_max=100ms"]
        log = open(Path(folder) / "server.log", "w")
        command = [PLACET, "serve", "--data", data, "--listen", "127.0.0.1:0", *settings]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            url = server.stdout.readline().strip().rsplit(" ", 1)[-1]
            known = fill(url, keys)
            went = [fuzz(url, role, keys[role], known, examples, Path(folder)) for role in ROLES]
        finally:
            server.terminate()
            server.wait(30)
    sys.exit(0 if all(went) else 1)


main()
