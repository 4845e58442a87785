"""Create, wait, claim, run, report against the real server."""

from __future__ import annotations

import asyncio
import threading

import pytest

import placet
from placet import AsyncClient, Call, Client
from support import Effects


def delete(*files: str, **more) -> Call:
    return Call("delete_files", {"files": list(files)}, "s1", **more)


@pytest.fixture
async def client(server):
    async with AsyncClient(server.url, server.agent) as client:
        yield client


async def test_an_approved_call_runs_once_and_is_reported(client, reviewer):
    ran = Effects()
    running = asyncio.create_task(client.run(delete("a"), lambda files: ran(files) or "gone"))
    seen = await reviewer.aapprove("delete_files")
    assert await running == "gone"
    assert ran.happened == [["a"]]
    after = await client.get(seen.id)
    assert after.state == "succeeded"
    assert after.outcome["result_digest"] == placet.digest.of_json("gone")


async def test_a_denied_call_never_runs_and_the_model_is_told_why(client, reviewer):
    ran = Effects()
    running = asyncio.create_task(client.run(delete("a"), ran))
    denied = await reviewer.adeny("the report is needed")
    result = await running
    assert ran.count == 0
    assert result["status"] == "denied"
    assert result["tool"] == "delete_files"
    assert result["reason"] == "the report is needed"
    assert result["request"] == denied.id
    assert "nothing was run" in result["message"]


async def test_a_denied_call_raises_when_asked_to(client, reviewer):
    running = asyncio.create_task(client.run(delete("a"), lambda files: None, on_denied="raise"))
    await reviewer.adeny("no")
    with pytest.raises(placet.Denied, match="no") as caught:
        await running
    assert caught.value.held.status == "denied"


async def test_an_edited_call_runs_with_the_replacement_and_nothing_else(client, reviewer):
    ran = Effects()
    held = asyncio.create_task(client.hold(delete("a", "b")))
    await reviewer.aedit({"files": ["a"]})
    held = await held
    assert held.go
    assert held.edited
    assert held.arguments == {"files": ["a"]}
    assert held.by == ["ann"]
    assert held.note() == {"placet": {"edited": True, "executed_arguments": {"files": ["a"]}}}
    async with held:
        ran(**held.arguments)
    assert ran.happened == [{"files": ["a"]}]


async def test_an_edit_that_does_not_fit_is_not_run_and_reported_failed(client, reviewer):
    call = delete("a", accepts=lambda arguments: None if "files" in arguments else "`files` is missing")
    held = asyncio.create_task(client.hold(call))
    edited = await reviewer.aedit({"paths": ["a"]})
    held = await held
    assert not held.go
    assert held.status == "failed"
    assert "`files` is missing" in held.reason
    assert (await client.get(edited.id)).state == "failed"


async def test_an_answer_takes_the_place_of_the_run(client, reviewer):
    held = asyncio.create_task(client.hold(delete("a", allowed=("approve", "respond"))))
    await reviewer.arespond("use the archive instead")
    held = await held
    assert not held.go
    assert held.result()["answer"] == "use the archive instead"


async def test_what_policy_allows_runs_without_a_person(client):
    held = await client.hold(Call("get_weather", {"city": "Oslo"}, "s1"))
    assert held.go
    assert held.by == []
    await held.succeeded({"sunny": True})
    assert (await client.get(held.request_id)).state == "succeeded"


async def test_a_request_that_nobody_decides_expires(client):
    held = await client.hold(delete("a", expires_in=1))
    assert held.status == "expired"
    with pytest.raises(placet.Expired):
        held.arguments


async def test_a_local_timeout_withdraws_the_request(client):
    held = await client.hold(delete("a"), hold_for=0.2)
    assert held.status == "cancelled"
    assert (await client.get(held.request_id)).state == "cancelled"


async def test_a_local_timeout_can_leave_the_request_pending(client, reviewer):
    held = await client.hold(delete("a"), hold_for=0.2, then="leave")
    assert held.status == "pending"
    assert (await client.get(held.request_id)).state == "pending"


async def test_a_failing_tool_is_reported_and_its_own_error_comes_out(client, reviewer):
    def boom(files):
        raise OSError("disk on fire")

    running = asyncio.create_task(client.run(delete("a"), boom))
    seen = await reviewer.aapprove()
    with pytest.raises(OSError, match="disk on fire"):
        await running
    after = await client.get(seen.id)
    assert after.state == "failed"
    assert after.outcome["note"] == "OSError: disk on fire"


async def test_a_result_that_is_not_json_is_said_to_be_none(client, reviewer):
    running = asyncio.create_task(client.run(delete("a"), lambda files: object()))
    seen = await reviewer.aapprove()
    await running
    after = await client.get(seen.id)
    assert after.state == "succeeded"
    assert after.outcome["result_digest"] is None
    assert after.outcome["note"] == "the result is not JSON"


async def test_a_cancelled_caller_withdraws_its_request(client, reviewer):
    running = asyncio.create_task(client.hold(delete("a")))
    seen = await reviewer.anext()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    after = await client.get(seen.id)
    assert after.state == "cancelled"


async def test_floats_stay_floats_when_nobody_edited(client):
    held = await client.hold(Call("get_price", {"factor": 1.0}, "s1"))
    assert type(held.arguments["factor"]) is float
    await held.succeeded()


async def test_two_processes_with_one_key_make_one_run(client, server, reviewer):
    keys = placet.Keys(strong=placet.keys.strong("test", "app", "s1", "call-1"))
    async with AsyncClient(server.url, server.agent) as other:
        both = [asyncio.create_task(one.hold(delete("a", keys=keys))) for one in (client, other)]
        await reviewer.aapprove()
        first, second = await asyncio.gather(*both)
    assert sorted([first.status, second.status]) == ["approved", "unknown"]


def test_the_blocking_client_does_the_same(server, reviewer):
    with Client(server.url, server.agent) as client:
        ran = Effects()
        results = []
        thread = threading.Thread(target=lambda: results.append(client.run(delete("a"), lambda files: ran(files) or 7)))
        thread.start()
        reviewer.approve()
        thread.join(60)
        assert results == [7]
        assert ran.count == 1
