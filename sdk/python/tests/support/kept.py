"""What every framework whose stopped runs are kept in a store is held to: they go on by themselves when decided."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

import placet
from placet.kept import FileRuns

from . import REFUSE, Effects, Proxy, Reviewer, Server


class KeptRuns:
    """Agents delete the files `a`, `b`, … in one turn, then `z` in the next one if they are told to go on."""

    def agent(self, ran: Effects, kind: str, files: str = "a", again: bool = False, client: Any = None) -> Any:
        """An agent whose tool `delete` is gated (mode pause), or held by the framework's own means."""
        raise NotImplementedError

    def resumer(self, agent: Any, store: Any, **more: Any) -> Any:
        raise NotImplementedError

    def told(self, result: Any) -> str:
        """Everything that the model was told about its calls."""
        raise NotImplementedError

    def waits(self, result: Any) -> int:
        """How many calls a run that stopped waits for."""
        raise NotImplementedError

    # --- What they are held to ---------------------------------------------------------------------------------------

    @pytest.fixture
    def store(self, tmp_path):
        return FileRuns(tmp_path / "runs")

    @pytest.fixture(params=["gated", "native"])
    def kind(self, request):
        return request.param

    @pytest.fixture
    def results(self):
        return {}

    @pytest.fixture
    def make(self, store, results):
        """A resumer as another process would make it: nothing but the store is shared."""
        made = []

        def make(ran, kind, files="a", again=False, client=None, **more):
            agent = self.agent(ran, kind, files, again, client)
            made.append(self.resumer(agent, store, client=client, on_result=results.__setitem__, **more))
            return made[-1]

        return make

    async def test_runs_go_on_when_they_are_decided(self, server, reviewer, make, store, results, kind):
        ran = Effects()
        begins = make(ran, kind)
        for key in ("yes", "no", "later"):
            assert self.waits(await begins.begin(key, "clean")) == 1
        by_key = {one.session: one for one in reviewer.wait_for(3)}
        assert (ran.count, sorted(store.list())) == (0, ["later", "no", "yes"])
        reviewer.decide(by_key["yes"], "approve")
        async with make(ran, kind, scan_every=600):
            await until(lambda: "yes" in results)
            reviewer.decide(by_key["no"], "deny", reason="keep it")
            await until(lambda: "no" in results)
        assert (ran.happened, store.list()) == (["a"], ["later"])
        assert "gone" in self.told(results["yes"])
        assert "keep it" in self.told(results["no"])
        assert reviewer.client.get(by_key["yes"].id).state == "succeeded"
        assert len(reviewer.client.list()) == 3

    async def test_a_run_that_stops_again_is_kept_again(self, server, reviewer, make, store, results, kind):
        ran = Effects()
        await make(ran, kind, again=True).begin("k", "clean")
        for happened in (["a"], ["a", "z"]):
            reviewer.approve()
            assert [str(one) for one in (await make(ran, kind, again=True).once()).went_on] == ["k"]
            assert ran.happened == happened
        assert (store.list(), list(results)) == ([], ["k"])

    async def test_two_resumers_run_each_call_once(self, server, reviewer, make, store, results, kind):
        for number in range(4):
            ran, key = Effects(), f"k{number}"
            await make(ran, kind, "ab").begin(key, "clean")
            for one in reviewer.wait_for(2):
                reviewer.decide(one, "approve")
            both = [make(ran, kind, "ab") for _ in range(2)]
            run = placet.resume.Run(key)
            # Not `once`: in one process its lock would let only one of them in.
            went = await asyncio.gather(*(one.source.go_on(run) for one in both), return_exceptions=True)
            assert (sorted(ran.happened), went.count(True), store.list()) == (["a", "b"], 1, [])
            assert "not run" not in self.told(results[key])

    async def test_an_outage_loses_no_approval(self, server, reviewer, make, store, results, kind):
        ran, away = Effects(), []
        with Proxy(server.url, lambda method, path: REFUSE if away and method == "POST" else None) as line:
            client = placet.AsyncClient(line.url, server.agent, outage_budget=0.1)
            resumer = make(ran, kind, client=client)
            await resumer.begin("k", "clean")
            reviewer.approve()
            away.append(True)
            failed = (await make(ran, kind, client=client).once()).failed
            assert ([type(one) for one in failed.values()], ran.count) == ([placet.Unreachable], 0)
            away.clear()
            await resumer.once()
        assert (ran.happened, store.list()) == (["a"], [])
        assert "gone" in self.told(results["k"])

    async def test_a_run_that_could_not_be_asked_about_is_kept_and_asked_about_later(
        self, server, reviewer, make, store, results
    ):
        ran, away = Effects(), [True]
        with Proxy(server.url, lambda method, path: REFUSE if away else None) as line:
            client = placet.AsyncClient(line.url, server.agent, outage_budget=0.1)
            await make(ran, "native", client=client).begin("k", "clean")
            assert (store.list(), reviewer.pending()) == (["k"], [])
        async with make(ran, "native", scan_every=0.1):
            await asyncio.to_thread(reviewer.approve)
            await until(lambda: "k" in results)
        assert (ran.happened, store.list()) == (["a"], [])

    async def test_a_call_that_another_process_runs_is_left_until_its_outcome_is_known(
        self, tmp_path, monkeypatch, make, store, results, kind
    ):
        with Server(tmp_path / "data", settings=("requests.report_window=1s",)) as server:
            monkeypatch.setenv("PLACET_URL", server.url)
            monkeypatch.setenv("PLACET_TOKEN", server.agent)
            ran = Effects()
            with Reviewer(server.url, server.ann) as ann:
                await make(ran, kind).begin("k", "clean")
                seen = ann.approve()
                await placet.AsyncClient().claim(seen.id, "another process, and its secret")
                assert (await make(ran, kind).once()).went_on == []
                await until(lambda: ann.client.get(seen.id).state == "unknown")
                assert len((await make(ran, kind).once()).went_on) == 1
        assert (ran.count, store.list()) == (0, [])
        assert "not run again" in self.told(results["k"])

    async def test_a_yes_in_what_is_kept_decides_nothing(self, server, reviewer, make, store, results):
        ran = Effects()
        await make(ran, "gated").begin("k", "clean")
        seen = reviewer.next()
        store.put("k", self.forged(store.get("k")))
        assert (await make(ran, "gated").once()).went_on == []
        reviewer.decide(seen, "deny", reason="never")
        await make(ran, "gated").once()
        assert ran.count == 0
        assert "never" in self.told(results["k"])

    def forged(self, kept: dict[str, Any]) -> dict[str, Any]:
        return json.loads(json.dumps(kept))

    async def test_an_edit_is_what_runs(self, server, reviewer, make, results):
        ran = Effects()
        await make(ran, "gated").begin("k", "clean")
        reviewer.edit({"file": "b"})
        await make(ran, "gated").once()
        assert ran.happened == ["b"]

    async def test_a_call_that_fails_does_not_run_again(self, server, reviewer, make, store, results, kind):
        class Broken(Effects):
            def __call__(self, *what, **named):
                super().__call__(*what, **named)
                raise OSError("the disk is on fire")

        ran = Broken()
        await make(ran, kind).begin("k", "clean")
        reviewer.approve()
        resumer = make(ran, kind)
        for _ in range(3):
            await resumer.once()
        assert (ran.count, store.list()) == (1, [])

    async def test_calls_go_on_as_they_are_decided(self, server, reviewer, make, store, results):
        ran = Effects()
        await make(ran, "gated", "ab").begin("k", "clean")
        first, second = reviewer.wait_for(2)
        reviewer.decide(second, "approve")
        assert len((await make(ran, "gated", "ab").once()).went_on) == 1
        assert (ran.happened, store.list()) == ([second.arguments["file"]], ["k"])
        assert (await make(ran, "gated", "ab").once()).went_on == []
        reviewer.decide(first, "deny", reason="keep it")
        await make(ran, "gated", "ab").once()
        assert (ran.count, store.list(), len(reviewer.client.list())) == (1, [], 2)
        assert "gone" in self.told(results["k"])
        assert "keep it" in self.told(results["k"])

    async def test_a_session_around_the_run_is_around_it_again(self, server, reviewer, make, results, kind):
        ran = Effects()
        with placet.session("chat-9", user="carol", tenant="acme"):
            await make(ran, kind).begin("k", "clean")
        seen = reviewer.approve()
        assert (seen.session, seen.context["user"]) == ("chat-9", "carol")
        await make(ran, kind).once()
        assert (ran.count, len(reviewer.client.list())) == (1, 1)

    async def test_a_run_that_waits_takes_no_new_message(self, server, reviewer, make):
        ran = Effects()
        await make(ran, "gated").begin("k", "clean")
        with pytest.raises(placet.ConfigError, match="waits for a decision"):
            await make(ran, "gated").begin("k", "and now?")


async def until(condition) -> None:
    for _ in range(6000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come true in time")
