"""What docs/a2a.md says to paste is pasted."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

from support import Server

PAGE = (Path(__file__).parents[4] / "docs/a2a.md").read_text()


def test_the_configurations_and_the_policy_are_taken_as_they_stand(tmp_path):
    files = dict(re.findall(r"```toml (\S+)\n(.*?)```", PAGE, re.S))
    assert set(files) == {"placet.toml", "kagent.toml", "policy.toml"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    both = tmp_path / "both.toml"
    both.write_text(files["placet.toml"] + files["kagent.toml"])
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "x"}}
    policy = str(tmp_path / "policy.toml")
    with Server(tmp_path / "data", config=both, policy=policy) as server, server.http(server.agent) as http:
        for path in ("shop/refunds", "kagent/ops"):
            # There is an agent at the address, and nobody home.
            assert http.post(f"/a2a/{path}", json=asked).json()["error"]["code"] in {-32001, -32006, -32009}
        assert http.post("/a2a/shop/other", json=asked).status_code == 404


def test_asking_the_desk_with_curl_ends_in_a_task_that_waits(server):
    begin = PAGE.index("curl -sS http://127.0.0.1:4000/a2a/desk")
    call = PAGE[begin : PAGE.index("```", begin)].replace("http://127.0.0.1:4000", server.url)
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", call],
        env={**os.environ, "AGENT": server.agent},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert json.loads(ran.stdout)["state"] == "TASK_STATE_INPUT_REQUIRED"
