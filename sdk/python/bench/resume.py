"""From the approval to the function's resume, with 200 calls waiting over one stream, beside a bare long poll."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import defaultdict

from common import milliseconds, percentile, server

import placet
from placet import AsyncClient, Call, Client

WAITERS = int(sys.argv[1]) if len(sys.argv) > 1 else 200


def call(number: int) -> Call:
    return Call("delete_files", {"number": number}, "bench")


async def measured(run, settled, reviewer: Client) -> list[float]:
    """How long after the reviewer's call went out each waiter went on. One decision at a time."""
    found = []
    for pending in await asyncio.to_thread(lambda: reviewer.list(state="pending", limit=500)):
        resumed = run(pending.id)
        await asyncio.sleep(0.005)
        began = time.perf_counter()
        deciding = asyncio.get_running_loop().run_in_executor(
            None, lambda one=pending: reviewer.decide(one.id, "approve", digest=one.digest, version=one.version)
        )
        found.append(await resumed - began)
        await deciding
        # The report of one must not be in the way of the next.
        await settled(pending.id)
    return found


async def main() -> None:
    with server() as running:
        reviewer = Client(running.url, running.ann)

        # The server's own wake latency: a bare long poll, on a connection of its own, and then a bare claim.
        async with AsyncClient(running.url, running.agent) as raw:
            made = [await raw.create(call(n).body()) for n in range(WAITERS)]
            http = raw._line().http

            async def polled(id: str) -> float:
                answer = await http.get(f"/v1/requests/{id}", params={"wait": "25s"}, timeout=60)
                assert answer.json()["state"] == "approved"
                return time.perf_counter()

            async def nothing(_: str) -> None: ...

            bare = await measured(lambda id: asyncio.ensure_future(polled(id)), nothing, reviewer)
            claims = []
            for one in made:
                began = time.perf_counter()
                claimed = await raw.claim(one.id, placet.keys.claimant())
                claims.append(time.perf_counter() - began)
                await raw.report(one.id, claimed.permit, "succeeded")

        async with AsyncClient(running.url, running.agent) as client:
            ended: dict[str, asyncio.Future[float]] = {}
            reported: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

            async def held(number: int) -> None:
                found = await client.hold(call(number))
                assert found.go
                ended[found.request_id].set_result(time.perf_counter())
                await found.succeeded()
                reported[found.request_id].set()

            waiting = [asyncio.create_task(held(n)) for n in range(WAITERS)]
            while client._line().hub.board.waiting < WAITERS:
                await asyncio.sleep(0.05)
            await asyncio.sleep(1)

            def resumed(id: str) -> asyncio.Future[float]:
                ended[id] = asyncio.get_running_loop().create_future()
                return ended[id]

            ours = await measured(resumed, lambda id: reported[id].wait(), reviewer)
            await asyncio.gather(*waiting)
        reviewer.close()
    print(f"{WAITERS} waiting calls over one stream, one approved at a time")
    print(f"  approve -> a bare long poll answers        {milliseconds(bare)}")
    print(f"  a bare claim                               {milliseconds(claims)}")
    print(f"  approve -> the function resumes, claimed   {milliseconds(ours)}")
    ratio = percentile(ours, 0.5) / (percentile(bare, 0.5) + percentile(claims, 0.5))
    print(f"  that is, at p50, {ratio:.2f} times a bare long poll and a bare claim")
    above = percentile(ours, 0.5) - percentile(bare, 0.5)
    print(f"  above the server's wake latency, at p50    {above * 1000:.2f} ms (goal: at most 10)")


asyncio.run(main())
