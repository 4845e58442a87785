"""What a call that policy allows costs: hold, run, report; beside the bare HTTP round trips that carry it."""

from __future__ import annotations

import asyncio
import json
import sys
import time

from common import milliseconds, percentile, server

import placet
from placet import AsyncClient, Call

CALLS = int(sys.argv[1]) if len(sys.argv) > 1 else 500


async def main() -> None:
    with server() as running:
        async with (
            AsyncClient(running.url, running.agent) as client,
            AsyncClient(running.url, running.agent, report="background") as later,
        ):
            http = client._line().http

            async def bare(number: int) -> tuple[float, float]:
                """One create that claims, and one report, by hand over the same connection pool."""
                body = {"kind": "action", "tool": "get_weather", "arguments": {"n": number}, "session": "bench"}
                headers = {
                    "Idempotency-Key": placet.keys.random(),
                    "Placet-Claimant": placet.keys.claimant(),
                    "Content-Type": "application/json",
                }
                began = time.perf_counter()
                made = await http.post("/v1/requests?claim=true", content=json.dumps(body), headers=headers)
                record = made.json()
                create = time.perf_counter() - began
                report = {"permit": record["permit"], "status": "succeeded"}
                (await http.post(f"/v1/requests/{record['id']}/outcome", json=report)).raise_for_status()
                return create, time.perf_counter() - began

            async def allowed(number: int) -> float:
                began = time.perf_counter()
                await client.run(Call("get_weather", {"n": number}, "bench"), lambda n: n)
                return time.perf_counter() - began

            async def in_background(number: int) -> float:
                began = time.perf_counter()
                await later.run(Call("get_weather", {"n": number}, "later"), lambda n: n)
                return time.perf_counter() - began

            async def direct() -> float:
                began = time.perf_counter()
                (await http.get("/healthz")).raise_for_status()
                return time.perf_counter() - began

            creates, trips, ours, pings, background = [], [], [], [], []
            work = {"bare": 0.0, "ours": 0.0}
            for number in range(CALLS + 20):
                # Taken in turns, so that whatever else the machine does hits all of them.
                before = time.process_time()
                create, trip = await bare(number)
                between = time.process_time()
                took = await allowed(number)
                after = time.process_time()
                ping = await direct()
                unseen = await in_background(number)
                # The report is under way meanwhile; what comes next must not be measured with it.
                await asyncio.to_thread(later._background.flush, 60)
                if number >= 20:
                    creates.append(create)
                    trips.append(trip)
                    ours.append(took)
                    pings.append(ping)
                    background.append(unseen)
                    work["bare"] += between - before
                    work["ours"] += after - between
    said(creates, trips, ours, pings, background, work)


def said(
    creates: list[float],
    trips: list[float],
    ours: list[float],
    pings: list[float],
    background: list[float],
    work: dict[str, float],
) -> None:
    print(f"{CALLS} allowed calls, one after the other")
    print(f"  a bare round trip that stores nothing       {milliseconds(pings)}")
    print(f"  a bare round trip: create and claim         {milliseconds(creates)}")
    print(f"  two bare round trips: and report            {milliseconds(trips)}")
    print(f"  client.run: create and claim, run, report   {milliseconds(ours)}")
    print(f"  the same with report='background'           {milliseconds(background)}")
    quick = (percentile(background, 0.5) - percentile(creates, 0.5)) * 1000
    print(f"  in the background, above one, at p50        {quick:.2f} ms (goal: at most 2)")
    above = (percentile(ours, 0.5) - percentile(creates, 0.5)) * 1000
    package = (percentile(ours, 0.5) - percentile(trips, 0.5)) * 1000
    print(f"  above one bare round trip, at p50           {above:.2f} ms (goal: at most 2)")
    print(f"  above two bare round trips, at p50          {package:.2f} ms: the package's own work")
    bare_work, our_work = (work[name] * 1000 / CALLS for name in ("bare", "ours"))
    print(f"  processor time of a call: {bare_work:.2f} ms by hand, {our_work:.2f} ms with client.run")


asyncio.run(main())
