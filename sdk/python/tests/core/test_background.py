"""Reports in the background: nobody waits for them, none is lost at the end of a program, and an error is seen."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from placet import AsyncClient, Call, Client, ConfigError, background
from support import Once, Proxy, eventually

LOOK = """
version = 1
[[rule]]
name = "looking"
effect = "allow"
tool = "look"
"""


@pytest.fixture
def open_server(server):
    with server.http(server.admin) as http:
        http.put("/v1/policy", json={"policy": LOOK}).raise_for_status()
    return server


def look(n: int) -> Call:
    return Call("look", {"n": n}, "s1")


def ended(server, state: str = "succeeded") -> int:
    with server.http(server.ann) as http:
        return len(http.get("/v1/requests", params={"state": state}).json()["items"])


class Held:
    """A rule that holds every report back until it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()

    def __call__(self, method: str, path: str) -> object:
        if path.endswith("/outcome"):
            assert self.go.wait(60)


def test_a_call_goes_on_before_its_report_has_arrived(open_server):
    held = Held()
    with Proxy(open_server.url, held) as proxy, Client(proxy.url, open_server.agent, report="background") as client:
        assert client.run(look(1), lambda n: n) == 1
        assert ended(open_server) == 0
        held.go.set()
        eventually(lambda: ended(open_server) == 1)


async def test_closing_an_async_client_sends_what_is_left(open_server):
    async with AsyncClient(open_server.url, open_server.agent, report="background") as client:
        assert await asyncio.gather(*(client.run(look(n), lambda n: n) for n in range(5))) == [0, 1, 2, 3, 4]
    assert ended(open_server) == 5


PROGRAM = """
import asyncio, sys
from placet import AsyncClient, Call, Client
call = Call("look", {"n": 1}, "s1")
if sys.argv[1] == "blocking":
    print(Client(report="background").run(call, lambda n: n))
else:
    async def main():
        print(await AsyncClient(report="background").run(call, lambda n: n))
    asyncio.run(main())
"""


@pytest.mark.parametrize("how", ["blocking", "async"])
def test_a_program_that_ends_without_closing_has_reported(open_server, how):
    environ = {"PLACET_URL": open_server.url, "PLACET_TOKEN": open_server.agent, "PYTHONPATH": ":".join(sys.path)}
    words = [sys.executable, "-c", PROGRAM, how]
    done = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    assert ended(open_server) == 1


def test_a_report_that_does_not_arrive_is_seen(open_server, caplog):
    refuse = Once("POST", "/outcome", (422, "application/problem+json", '{"code": "invalid", "detail": "no"}'))
    with Proxy(open_server.url, refuse) as proxy, Client(proxy.url, open_server.agent, report="background") as client:
        client.run(look(1), lambda n: n)
        client.close()
    assert "could not be reported" in caplog.text


def test_beyond_the_bound_a_call_reports_by_itself(open_server, monkeypatch):
    monkeypatch.setattr(background, "MOST", 0)
    with Client(open_server.url, open_server.agent, report="background") as client:
        client.run(look(1), lambda n: n)
        assert ended(open_server) == 1


def test_there_is_no_third_way_to_report():
    with pytest.raises(ConfigError, match="use now or background"):
        Client("http://127.0.0.1:1", "plk_agent_x", report="never")
