"""The unmodified clients of claude-code-hooks-multi-agent-observability, against Placet's door for them.

Takes the checkout's path in CHECKOUT and the binary in PLACET_BIN. Nothing is written into the checkout.
"""

import asyncio
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import requests
from websockets.asyncio.server import serve

CHECKOUT = pathlib.Path(os.environ["CHECKOUT"])
HOOKS = CHECKOUT / ".claude" / "hooks"
sys.path.insert(0, str(HOOKS / "utils"))
sys.dont_write_bytecode = True
import hitl  # noqa: E402  (theirs)

SESSION = {"source_app": "conformance", "session_id": "session-1"}


class Placet:
    """The server, as somebody who moves to it would start it."""

    def __init__(self, data, listen="127.0.0.1:0"):
        command = [os.environ["PLACET_BIN"], "serve", "--data", data, "--listen", listen, "--dev"]
        command += ["--set", "doors.open_decide=true", "--set", "limits.requests_per_second=0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = self.process.stdout.readline().strip().rsplit(" ", 1)[1]

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def waiting(self):
        events = requests.get(f"{self.url}/events/recent", timeout=5).json()
        return [event for event in events if event.get("humanInTheLoopStatus", {}).get("status") == "pending"]

    def respond(self, event, **answer):
        answer |= {"hookEvent": event, "respondedAt": 0}
        response = requests.post(f"{self.url}/events/{event['id']}/respond", json=answer, timeout=5)
        response.raise_for_status()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(what, seconds=10):
    end = time.time() + seconds
    while time.time() < end:
        if found := what():
            return found
        time.sleep(0.01)
    raise SystemExit("it never happened")


def hitl_kinds(placet):
    """hitl.py, its three kinds, and a timeout."""
    for kind, answer, choices in [
        ("permission", {"permission": True}, None),
        ("permission", {"permission": False}, None),
        ("question", {"response": "use the other one"}, None),
        ("choice", {"choice": "blue"}, ["red", "blue"]),
    ]:
        asked = hitl.HITLRequest("May I?", kind, choices, timeout=20, observability_url=placet.url)
        heard = []
        agent = threading.Thread(target=lambda: heard.append(asked.send_and_wait({}, SESSION)))
        agent.start()
        event = until(placet.waiting)[0]
        began = time.time()
        placet.respond(event, **answer)
        agent.join(10)
        (name, value), = answer.items()
        assert heard and heard[0][name] == value, heard
        assert heard[0]["hookEvent"]["id"] == event["id"], heard
        print(f"  hitl.py {kind} -> {value!r}: heard {(time.time() - began) * 1000:.0f} ms after the answer")
    asked = hitl.HITLRequest("May I?", "permission", timeout=2, observability_url=placet.url)
    assert asked.send_and_wait({}, SESSION) is None
    assert until(lambda: not placet.waiting())
    print("  hitl.py timeout: denied by itself, recorded as a timeout")


def send_event(placet):
    """send_event.py, with a transcript."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as transcript:
        for n in range(2000):
            transcript.write(json.dumps({"type": "user", "n": n, "message": "x" * 500}) + "\n")
        transcript.flush()
        hook = {"session_id": "session-2", "tool_name": "Bash", "transcript_path": transcript.name, "tool_input": {"command": "ls"}}
        command = [sys.executable, "-B", str(HOOKS / "send_event.py"), "--source-app", "conformance"]
        command += ["--event-type", "Stop", "--add-chat", "--server-url", f"{placet.url}/events"]
        done = subprocess.run(command, input=json.dumps(hook), text=True, capture_output=True, timeout=30)
    assert done.returncode == 0 and "Failed" not in done.stderr and "status" not in done.stderr, done.stderr
    stored = requests.get(f"{placet.url}/events/recent?limit=1", timeout=5).json()[-1]
    assert stored["session_id"] == "session-2" and stored["payload"]["tool_name"] == "Bash", stored
    options = requests.get(f"{placet.url}/events/filter-options", timeout=5).json()
    assert "session-2" in options["session_ids"], options
    print(f"  send_event.py: stored as {stored['id']}, {len(stored.get('chat', []))} messages of its transcript kept")


def question(port):
    return SESSION | {
        "hook_event_type": "HumanInTheLoop",
        "payload": {},
        "humanInTheLoop": {"question": "May I?", "type": "permission", "responseWebSocketUrl": f"ws://localhost:{port}", "timeout": 120},
    }


async def listen(port, wanted, heard):
    """Takes texts as agents do, until the wanted ones were heard."""
    done = asyncio.Event()

    async def take(websocket):
        heard.append(json.loads(await websocket.recv())["hookEvent"]["id"])
        if set(heard) >= wanted:
            done.set()

    async with serve(take, "localhost", port):
        await asyncio.wait_for(done.wait(), 60)


def listener_down(placet, count):
    """The agent's listener is away for three seconds around the answers."""
    port = free_port()
    events = [requests.post(f"{placet.url}/events", json=question(port), timeout=5).json() for _ in range(count)]
    for event in events:
        placet.respond(event, permission=True)
    time.sleep(3)
    heard = []
    asyncio.run(listen(port, {event["id"] for event in events}, heard))
    assert len(heard) == len(set(heard)) == count, (len(heard), len(set(heard)))
    print(f"  listener down for 3 s: {len(set(heard))} of {count} answers delivered, each once")


def kills(data, count):
    """Killed between answer and delivery, started again."""
    delivered = 0
    for _ in range(count):
        placet = Placet(data)
        port = free_port()
        event = requests.post(f"{placet.url}/events", json=question(port), timeout=5).json()
        placet.respond(event, permission=True)
        placet.kill()
        placet = Placet(data)
        heard = []
        asyncio.run(listen(port, {event["id"]}, heard))
        delivered += 1
        placet.kill()
    print(f"  {count} kills between answer and delivery: {delivered} delivered")


def main():
    with tempfile.TemporaryDirectory() as data:
        placet = Placet(data)
        hitl_kinds(placet)
        send_event(placet)
        listener_down(placet, int(os.environ.get("ANSWERS", "200")))
        placet.kill()
        kills(data, int(os.environ.get("KILLS", "50")))


main()
