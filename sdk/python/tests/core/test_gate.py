"""`@placet.gate` and `placet.session` against the real server."""

from __future__ import annotations

import asyncio
import enum
import inspect
import pathlib
import threading

import pytest

import placet
from placet import gating
from support import Effects, eventually


class Region(enum.Enum):
    EU = "eu"
    US = "us"


@pytest.fixture(autouse=True)
def _fresh_clients(server):
    gating.forget_defaults()


def on_thread(fn, *args, **kwargs):
    """Runs a blocking call beside the test; `.value()` waits for what it returned or raised."""
    import concurrent.futures

    pool = concurrent.futures.ThreadPoolExecutor(1)
    return pool.submit(fn, *args, **kwargs)


def test_a_gated_function_waits_runs_once_and_keeps_its_signature(reviewer):
    ran = Effects()

    @placet.gate(risk="high")
    def wipe(path: str, force: bool = False) -> str:
        """Wipes a path."""
        ran(path, force)
        return "wiped"

    assert wipe.__doc__ == "Wipes a path."
    assert list(inspect.signature(wipe).parameters) == ["path", "force"]
    running = on_thread(wipe, "/tmp/x")
    seen = reviewer.next("wipe")
    assert ran.count == 0
    assert seen.arguments == {"path": "/tmp/x", "force": False}
    assert seen.risk == "high"
    assert seen.arguments_schema["properties"] == {"path": {"type": "string"}, "force": {"type": "boolean"}}
    reviewer.decide(seen, "approve")
    assert running.result(10) == "wiped"
    assert ran.happened == [("/tmp/x", False)]


async def test_an_async_function_stays_async(reviewer):
    @placet.gate
    async def wipe(path: str) -> str:
        return f"wiped {path}"

    assert inspect.iscoroutinefunction(wipe)
    running = asyncio.create_task(wipe("a"))
    await reviewer.aapprove("wipe")
    assert await running == "wiped a"


async def test_a_sync_function_on_an_event_loop_is_refused_and_its_aio_form_is_not(reviewer):
    ran = Effects()

    @placet.gate
    def wipe(path: str) -> str:
        ran(threading.current_thread() is threading.main_thread())
        return path

    with pytest.raises(placet.BlockingCall, match=r"wipe\.aio"):
        wipe("a")
    assert reviewer.pending() == []
    running = asyncio.create_task(wipe.aio("a"))
    await reviewer.aapprove("wipe")
    assert await running == "a"
    assert ran.happened == [False]


async def test_a_sync_function_works_from_a_worker_thread_of_an_event_loop(reviewer):
    @placet.gate
    def wipe(path: str) -> str:
        return path

    running = asyncio.create_task(asyncio.to_thread(wipe, "a"))
    await reviewer.aapprove("wipe")
    assert await running == "a"


async def test_an_edit_is_checked_against_the_signature_by_the_server_already(reviewer):
    @placet.gate
    async def wipe(path: str) -> str:
        return path

    running = asyncio.create_task(wipe("a"))
    seen = await reviewer.anext("wipe")
    for arguments in ({"path": 1}, {}, {"path": "b", "more": 1}):
        with pytest.raises(placet.Invalid):
            reviewer.decide(seen, "edit", arguments=arguments)
    reviewer.decide(seen, "edit", arguments={"path": "b"})
    assert await running == "b"


async def test_edited_arguments_become_the_types_of_the_signature(reviewer):
    @placet.gate
    async def move(region: Region, factor: float) -> list:
        return [region, factor, type(factor)]

    running = asyncio.create_task(move(Region.EU, 1.5))
    await reviewer.aedit({"region": "us", "factor": 2})
    assert await running == [Region.US, 2.0, float]


async def test_arguments_that_are_not_json_are_refused_before_anybody_is_asked(reviewer):
    ran = Effects()

    @placet.gate
    async def wipe(paths: list) -> None:
        ran(paths)

    with pytest.raises(placet.NotJson, match=r"/paths/0: pathlib\.PosixPath is not JSON; pass str\(path\)"):
        await wipe([pathlib.PosixPath("/tmp")])
    assert ran.count == 0
    assert reviewer.pending() == []


async def test_describe_shows_what_json_cannot_carry_and_takes_no_edits(reviewer):
    @placet.gate(describe=lambda path: {"path": str(path)})
    async def wipe(path: pathlib.Path) -> str:
        return path.name

    running = asyncio.create_task(wipe(pathlib.Path("/tmp/x")))
    seen = await reviewer.anext("wipe")
    assert seen.arguments == {"path": "/tmp/x"}
    assert seen.allowed == ["approve", "deny"]
    reviewer.decide(seen, "approve")
    assert await running == "x"


async def test_context_parameters_never_travel(reviewer):
    class ToolContext:
        pass

    class Tools:
        @placet.gate
        async def wipe(self, path: str, tool_context: ToolContext, _secret: str = "s") -> tuple:
            return (type(self).__name__, path, type(tool_context).__name__, _secret)

    running = asyncio.create_task(Tools().wipe("a", ToolContext(), _secret="t"))
    seen = await reviewer.anext("wipe")
    assert seen.arguments == {"path": "a"}
    reviewer.decide(seen, "approve")
    assert await running == ("Tools", "a", "ToolContext", "t")


async def test_every_kind_of_parameter_reaches_the_function_as_it_was_given(reviewer):
    @placet.gate
    async def tool(a, /, b, *rest, c=3, **more):
        return [a, b, list(rest), c, more]

    with reviewer.always("approve"):
        assert await tool(1, 2, 4, 5, c=6, d=7) == [1, 2, [4, 5], 6, {"d": 7}]
        assert await tool(1, b=2) == [1, 2, [], 3, {}]


async def test_a_denied_gate_returns_a_structured_result_or_raises(reviewer):
    @placet.gate
    async def wipe(path: str) -> str:
        return path

    @placet.gate(on_denied="raise")
    async def burn(path: str) -> str:
        return path

    with reviewer.always("deny", reason="no"):
        assert (await wipe("a"))["status"] == "denied"
        with pytest.raises(placet.Denied):
            await burn("a")


async def test_the_session_and_where_a_call_comes_from_are_on_the_record(reviewer):
    @placet.gate
    async def wipe(path: str) -> str:
        return path

    with placet.session("nightly", app="cleaner", agent="sweeper", user="ann", lineage=["planner"]):
        running = asyncio.create_task(wipe("a"))
    seen = await reviewer.anext("wipe")
    assert seen.session == "nightly"
    assert seen.context == {"app": "cleaner", "agent": "sweeper", "user": "ann", "lineage": ["planner"]}
    reviewer.decide(seen, "approve")
    assert await running == "a"


async def test_two_intended_equal_calls_are_two_requests(reviewer):
    @placet.gate
    async def wipe(path: str) -> str:
        return path

    with placet.session("s1"):
        both = [asyncio.create_task(wipe("a")) for _ in range(2)]
        pending = await asyncio.to_thread(reviewer.wait_for, 2)
        assert len({one.id for one in pending}) == 2
        for one in pending:
            reviewer.decide(one, "approve")
        assert await asyncio.gather(*both) == ["a", "a"]


async def test_a_gate_inside_a_gate_asks_twice(reviewer):
    order = Effects()

    @placet.gate
    async def inner(x: int) -> int:
        order("inner")
        return x + 1

    @placet.gate
    async def outer(x: int) -> int:
        order("outer")
        return await inner(x) * 2

    running = asyncio.create_task(outer(1))
    await reviewer.aapprove("outer")
    await reviewer.aapprove("inner")
    assert await running == 4
    assert order.happened == ["outer", "inner"]


def test_a_function_gated_twice_is_refused_where_it_is_written():
    with pytest.raises(placet.ConfigError, match="gated twice"):

        @placet.gate
        @placet.gate
        def wipe(path: str) -> None: ...


def test_a_generator_is_refused_where_it_is_written():
    with pytest.raises(placet.ConfigError, match="generator"):

        @placet.gate
        def walk():
            yield 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"on_outage": "allow"},
        {"on_denied": "ignore"},
        {"tool": "a b"},
        {"expires_in": -1},
        {"risk": "hihg"},
        {"allowed": ["aprove"]},
        {"allowed": "approve"},
    ],
)
def test_words_that_do_not_exist_are_refused_where_they_are_written(wrong):
    with pytest.raises(placet.ConfigError):
        placet.gate(**wrong)(lambda: None)


async def test_a_cancelled_caller_does_not_hide_what_a_sync_function_did(server, reviewer):
    begun, go_on = threading.Event(), threading.Event()

    @placet.gate
    def slow() -> str:
        begun.set()
        go_on.wait(60)
        return "done"

    running = asyncio.create_task(slow.aio())
    seen = await reviewer.aapprove("slow")
    assert await asyncio.to_thread(begun.wait, 60)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    go_on.set()
    await asyncio.to_thread(eventually, lambda: reviewer.client.get(seen.id).state == "succeeded")


async def test_questions_are_answered_and_never_guessed(reviewer):
    async with placet.AsyncClient() as client:
        with placet.session("s1"):
            yes = asyncio.create_task(client.confirm("Publish?"))
            await reviewer.aapprove()
            assert await yes
            no = asyncio.create_task(client.confirm("Publish?"))
            await reviewer.adeny()
            assert not await no
            region = asyncio.create_task(client.ask("Which region?", "choice", options=["eu", "us"]))
            await reviewer.arespond("eu")
            assert (await region).answer == "eu"
            steps = [{"id": "a", "action": "x", "description": "first"}]
            plan = asyncio.create_task(client.propose("Move", steps))
            await reviewer.aapprove()
            assert (await plan).go
            late = await client.confirm("Anybody?", hold_for=0.1)
            assert not late
            assert late.status == "cancelled"
        with pytest.raises(placet.ConfigError, match="no session"):
            await client.confirm("Where?")
