"""What every framework whose run ends while calls wait for approval is held to, in one process and across several."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import placet

from .effects import Effects
from .processes import Processes
from .proxy import HANG, Once, Proxy, eventually


class Bridged:
    """Calls that the framework holds by its own means, decided by Placet."""

    bridge: Any
    """The adapter's bridge."""

    def native(self, ran: Effects, files: str = "a") -> Any:
        """An agent that calls a tool once for each file, all in one turn; the framework holds it, and `ran` counts."""
        raise NotImplementedError

    def told(self, result: Any) -> list[Any]:
        """What the model was told of each call."""
        raise NotImplementedError

    async def test_an_approval_nobody_gives_is_a_no(self, server, ran):
        result = await self.bridge("s1", expires_in="1s").run(self.native(ran), "clean")
        assert "Nobody decided in time" in self.told(result)[0]
        assert ran.count == 0

    async def test_an_approval_that_is_taken_back_before_its_call_runs_is_told_as_that(self, server, reviewer, ran):
        async with placet.AsyncClient() as client:
            running = asyncio.create_task(self.bridge("s1", client).run(self.native(ran, "ab"), "clean"))
            first, second = await asyncio.to_thread(reviewer.wait_for, 2)
            reviewer.decide(first, "approve")
            # The bridge waits for one after the other: now it has seen the first decision.
            board = client._line().hub.board
            await asyncio.to_thread(eventually, lambda: second.id in board._slots)
            with server.http(server.ann) as http:
                http.post(f"/v1/requests/{first.id}/revoke", json={}).raise_for_status()
            reviewer.decide(second, "approve")
            told, other = self.told(await running)
        assert "taken back" in told
        assert (other, ran.happened) == ("gone", ["b"])

    async def test_a_permit_in_hand_is_reported_as_not_run_when_the_next_cannot_be_claimed(self, server, reviewer, ran):
        gone = (401, "application/problem+json", '{"code": "unauthorized", "detail": "the key is unknown"}')
        # Both calls are asked about, then each is claimed with a create of its own: the last of the four fails.
        with Proxy(server.url, Once("POST", "/v1/requests", gone, skip=3)) as proxy, reviewer.always():
            bridge = self.bridge("s1", placet.AsyncClient(proxy.url, server.agent))
            with pytest.raises(placet.WrongKey):
                await bridge.run(self.native(ran, "ab"), "clean")
        first, second = (reviewer.client.get(one.id) for one in sorted(reviewer.seen, key=lambda one: one.created_at))
        assert (first.state, second.state, ran.count) == ("failed", "approved", 0)
        assert first.outcome["note"].startswith("not run: the key is unknown")

    async def test_a_server_that_is_away_ends_the_run_without_an_approval(self, server, ran):
        server.kill()
        bridge = self.bridge("s1", placet.AsyncClient(outage_budget=0.3))
        with pytest.raises(placet.Unreachable):
            await bridge.run(self.native(ran), "clean")
        assert ran.count == 0


class Stored:
    """Runs that one process begins and another goes on with, held by the framework's own means or by a gated tool."""

    main: Callable[..., None]
    """`main(folder, url, token, kind, how, *rest)` is one half of a run, as a static method.

    `kind` is native or gated, `how` start or go-on. It deletes the file `a`; what the model was told of that goes into
    `said.json`. With `slow` in `rest` the tool takes longer than any test, with `forged` nobody is asked to approve.
    """

    @pytest.fixture
    def processes(self, server, tmp_path) -> Processes:
        return Processes(self.main, server, tmp_path)

    @pytest.fixture
    def said(self, tmp_path) -> Callable[[], str]:
        return (tmp_path / "said.json").read_text

    @pytest.mark.parametrize("kind", ["native", "gated"])
    def test_a_stored_run_that_is_resumed_twice_runs_its_call_once(self, reviewer, processes, kind):
        assert processes.run(kind, "start") == 0
        reviewer.approve("delete")
        for one in [processes(kind, "go-on") for _ in range(2)]:
            one.join(120)
        assert processes.effects == ["a"]

    @pytest.mark.topology("killed while resuming")
    @pytest.mark.parametrize("kind", ["native", "gated"])
    def test_a_process_killed_in_the_middle_of_the_call_is_not_followed_by_a_second_run(
        self, reviewer, processes, said, kind, counted
    ):
        assert processes.run(kind, "start") == 0
        seen = reviewer.approve("delete")
        killed = processes(kind, "go-on", "slow")
        processes.wait_for_an_effect()
        killed.kill()
        killed.join()
        assert reviewer.client.get(seen.id).state == "claimed"
        assert processes.run(kind, "go-on") == 0
        assert "not run again" in said()
        assert processes.effects == ["a"]
        counted(processes.effects, by="file")

    @pytest.mark.topology("killed while held")
    @pytest.mark.topology("killed while resuming")
    @pytest.mark.parametrize("decision", ["approve", "deny"])
    @pytest.mark.parametrize("kind", ["native", "gated"])
    def test_processes_killed_while_they_wait_and_while_they_go_on_are_followed_by_one_that_ends(
        self, server, reviewer, processes, said, kind, decision, counted
    ):
        assert processes.run(kind, "start") == 0
        with Proxy(server.url) as line:
            waits = processes(kind, "go-on", url=line.url)
            line.wait_for_a_waiter()
            waits.kill()
            waits.join()
        reviewer.decide(reviewer.next("delete"), decision, **({"reason": "never"} if decision == "deny" else {}))
        # It asks for the permit; where there is none to have, it only looks.
        hangs = {"POST"} if decision == "approve" else {"POST", "GET"}

        def rule(method: str, path: str) -> Any:
            return HANG if method in hangs and path.startswith("/v1/requests") else None

        with Proxy(server.url, rule) as line:
            goes_on = processes(kind, "go-on", url=line.url)
            eventually(lambda: any(rule(*one) for one in list(line.seen)))
            goes_on.kill()
            goes_on.join()
        assert processes.effects == []
        assert processes.run(kind, "go-on") == 0
        assert ("gone" if decision == "approve" else "never") in said()
        counted(processes.effects, by="file")

    def test_a_forged_yes_after_a_no_cannot_run_a_gated_tool(self, reviewer, processes, said):
        assert processes.run("gated", "start") == 0
        reviewer.deny("never", "delete")
        assert processes.run("gated", "go-on", "forged") == 0
        assert "never" in said()
        assert processes.effects == []

    def test_a_forged_yes_before_the_decision_waits_for_it(self, reviewer, processes, said):
        assert processes.run("gated", "start") == 0
        with processes.waiting("gated", "go-on", "forged") as forged:
            assert forged.is_alive()
            assert processes.effects == []
            reviewer.deny("never", "delete")
        assert "never" in said()
        assert processes.effects == []
