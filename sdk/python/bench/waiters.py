"""10,000 calls that wait in one process: threads, memory, and that all of them resume."""

from __future__ import annotations

import asyncio
import resource
import sys
import threading
import time

from common import server

from placet import AsyncClient, Call, Client

WAITERS = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000


def memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def main() -> None:
    limits = ("limits.pending_per_agent=20000", "requests.expires_in=1h")
    with server(*limits) as running:
        async with AsyncClient(running.url, running.agent, outage_budget=120, timeout=60) as client:
            before, began = memory(), time.monotonic()
            waiting = [
                asyncio.create_task(client.hold(Call("delete_files", {"number": n}, "bench"))) for n in range(WAITERS)
            ]
            hub = client._line().hub
            while hub.board.waiting < WAITERS:
                await asyncio.sleep(0.2)
            took = time.monotonic() - began
            ours = [one.name for one in threading.enumerate() if one is not threading.main_thread()]
            print(f"{WAITERS} calls wait after {took:.0f} s; threads besides the main one: {ours or 'none'}")
            print(
                f"  memory: {memory() - before:.0f} MiB more, {(memory() - before) * 1024 / WAITERS:.1f} KiB for each"
            )
            began = time.monotonic()
            await asyncio.to_thread(approve_all, running)
            held = await asyncio.gather(*waiting)
            assert all(one.go for one in held)
            print(f"  all approved, claimed and resumed after {time.monotonic() - began:.0f} s more")


def approve_all(running) -> None:
    with Client(running.url, running.ann, timeout=60) as reviewer, running.http(running.ann) as http:
        while True:
            page = reviewer.list(state="pending", limit=200)
            if not page:
                return
            batch = [{"id": r.id, "digest": r.digest, "version": r.version, "decision": "approve"} for r in page]
            http.post("/v1/decisions", json=batch).raise_for_status()


asyncio.run(main())
