"""The resumer of google-adk: it finds whose a decision is, in another process, and after kills in the middle."""

from __future__ import annotations

import asyncio

import pytest
from google.adk.sessions.database_session_service import DatabaseSessionService

import placet
from adk.lives import Agent, line, load
from adk.rounds import waiting
from adk.scripted import agent, call, model, results, run, runner, said
from placet import resume_command
from placet.adapters import adk
from support import HANG, Effects, Once, Proxy, eventually
from support.topologies import LONG

WHO = {"user_id": "u1", "session_id": "s1"}
PAUSED = {"resumable": True, "mode": "pause"}
pytestmark = pytest.mark.filterwarnings("ignore")


class Shop:
    """Its runner can be made again and again: nothing but the database survives."""

    def __init__(self, folder):
        self.folder = folder
        self.client = placet.AsyncClient()
        self.wired = Effects()
        self.llm = model([call("wire", to="bob")])

    def runner(self, app="shop"):
        def wire(to: str) -> dict:
            """Sends money."""
            self.wired(to)
            return {"sent": to}

        sessions = DatabaseSessionService(f"sqlite+aiosqlite:///{self.folder}/sessions.db")
        plugin = adk.PlacetPlugin(self.client, mode="pause")
        return runner(agent(self.llm, [wire]), [plugin], resumable=True, sessions=sessions, app=app)


@pytest.fixture
def shop(server, tmp_path):
    return Shop(tmp_path)


async def happens(condition) -> None:
    await asyncio.to_thread(eventually, condition)


async def test_sessions_of_several_users_go_on_as_they_are_decided(shop, reviewer):
    """Some were decided before the resumer began, some while it listens; sessions of another app are not touched."""
    for user in ("ann", "bob"):
        await run(shop.runner(), user=user, session="same")
    await run(shop.runner("other"), user="ann", session="same")
    first = await reviewer.anext("wire")
    assert first.context["user"] == "ann"
    reviewer.decide(first, "approve")
    async with adk.Resumer(shop.runner(), shop.client):
        await happens(lambda: reviewer.client.get(first.id).state == "succeeded")
        for one in reviewer.wait_for(2):
            reviewer.decide(one, "approve")
        await happens(lambda: shop.wired.count == 2)
    states = sorted((one.context["app"], one.state) for one in reviewer.client.list(limit=10))
    assert states == [("other", "approved"), ("shop", "succeeded"), ("shop", "succeeded")]


async def test_once_does_what_is_decided_and_finds_nothing_the_second_time(shop, reviewer):
    await run(shop.runner())
    assert len((await adk.Resumer(shop.runner(), shop.client).once()).waiting) == 1
    await reviewer.adeny("too much", "wire")
    resumer = adk.Resumer(shop.runner(), shop.client)
    assert [str(one) for one in (await resumer.once()).went_on] == ["shop/u1/s1"]
    assert shop.llm.results[-1]["reason"] == "too much"
    done = await resumer.once()
    assert (done.went_on, done.waiting, done.failed) == ([], [], {})
    assert shop.wired.count == 0


async def test_an_outage_between_answer_and_claim_loses_no_approval(shop, reviewer, server):
    runs = shop.runner()
    await run(runs)
    await reviewer.aapprove("wire")
    with Proxy(server.url, Once("POST", "/v1/requests", (503, "text/plain", "busy"))) as proxy:
        shop.client = placet.AsyncClient(proxy.url, server.agent, outage_budget=0.0)
        with pytest.raises(adk.GoesOnLater, match="can be resumed again"):
            await adk.resume(shop.runner(), client=shop.client, **WHO)
        assert shop.wired.count == 0
        await adk.resume(shop.runner(), client=shop.client, **WHO)
    assert shop.wired.count == 1


async def test_a_resumer_that_is_cancelled_in_the_middle_leaves_the_approval_to_the_next(shop, reviewer, server):
    await run(shop.runner())
    record = await reviewer.aapprove("wire")
    with Proxy(server.url, Once("POST", "/v1/requests", HANG)) as proxy:
        shop.client = placet.AsyncClient(proxy.url, server.agent, timeout=60)
        resuming = asyncio.create_task(adk.Resumer(shop.runner(), shop.client, finish_within=0.0).run())
        await happens(lambda: proxy.count("POST", "/v1/requests") > 0)
        resuming.cancel()
        with pytest.raises(asyncio.CancelledError):
            await resuming
        assert (reviewer.client.get(record.id).state, shop.wired.count) == ("approved", 0)
        assert len((await adk.Resumer(shop.runner(), shop.client, grace=0.0).once()).went_on) == 1
    assert (reviewer.client.get(record.id).state, shop.wired.count) == ("succeeded", 1)


async def test_a_result_of_which_the_model_did_not_hear_is_told_by_the_next_resumer(shop, reviewer):
    """The process died after the result was stored, and before the model was called."""
    runs = shop.runner()
    await run(runs)
    await reviewer.adeny("too much", "wire")
    real, shop.llm.say = shop.llm.say, None
    with pytest.raises(TypeError):
        await adk.resume(runs, client=shop.client, **WHO)
    shop.llm.say = real
    session = await runs.session_service.get_session(app_name="shop", **WHO)
    assert results(session.events, "wire")[-1]["status"] == "denied"
    assert len((await adk.Resumer(shop.runner(), shop.client, grace=0.0).once()).went_on) == 1
    session = await runs.session_service.get_session(app_name="shop", **WHO)
    assert said(session.events) == "go done"


async def test_a_pause_that_was_half_stored_when_the_process_died_goes_on(shop, reviewer):
    """Of the two events of a pause the second is missing; `resume` says so, and the resumer adds it."""
    runs = shop.runner()
    append = runs.session_service.append_event

    async def dies(session, event):
        if event.actions.requested_tool_confirmations:
            raise ConnectionError("killed")
        return await append(session, event)

    runs.session_service.append_event = dies
    with pytest.raises(ConnectionError):
        await run(runs)
    await reviewer.aapprove("wire")
    with pytest.raises(adk.BrokenPause, match="not read to its end"):
        await adk.resume(shop.runner(), client=shop.client, **WHO)
    assert len((await adk.Resumer(shop.runner(), shop.client, grace=600.0).once()).went_on) == 0
    assert len((await adk.Resumer(shop.runner(), shop.client, grace=0.0).once()).went_on) == 1
    assert shop.wired.count == 1


async def test_the_command_makes_a_resumer_of_a_runner(shop):
    made = await resume_command.made(shop.runner(), "shop:runner")
    assert (type(made), made.client) == (adk.Resumer, shop.client)
    made = await resume_command.made(shop.runner, "shop:make")
    assert type(made) is adk.Resumer
    with pytest.raises(placet.ConfigError, match="give a google-adk Runner"):
        await resume_command.made(shop.runner().agent, "shop:agent")


# --- In processes that are killed ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def _loaded():
    load()


@pytest.fixture
def bot(tmp_path, server, _loaded):
    made = Agent(server, tmp_path)
    yield made
    for life in made.lives:
        life.kill()


def killed_before_the_claim(bot, reviewer, server, what, **options):
    """A process that stored the answer, and asks for the permit when it is killed."""
    record = reviewer.approve("wire")
    with Proxy(server.url, Once("POST", "/v1/requests", HANG)) as proxy:
        life = bot.start(what, url=proxy.url, **options)
        eventually(lambda: proxy.count("POST", "/v1/requests") > 0)
        life.kill()
    assert (bot.effect, reviewer.client.get(record.id).state) == ([], "approved")
    return record


@pytest.mark.topology("killed while resuming")
@pytest.mark.parametrize("resumable", [True, False])
def test_killed_between_answer_and_claim_the_next_resume_runs_it(bot, reviewer, server, resumable, counted):
    options = {**PAUSED, "resumable": resumable}
    bot.start("start", **options).wait_for("ended")
    record = killed_before_the_claim(bot, reviewer, server, "resume", **options)
    bot.start("resume", **options).wait_for("ended")
    assert bot.effect == ["bob 20.0"]
    assert reviewer.client.get(record.id).state == "succeeded"
    counted(bot.effect, by=line)


def test_a_resumer_that_is_killed_twice_is_followed_by_one_that_goes_on(bot, reviewer, server):
    """Killed before the claim, and then while the second call runs, which never runs again."""
    options = {**PAUSED, "branches": 2}
    bot.start("start", **options).wait_for("ended")
    first = killed_before_the_claim(bot, reviewer, server, "resumer", **options)
    second = bot.start("resumer", **options)
    eventually(lambda: reviewer.client.get(first.id).state == "succeeded")
    second.kill()
    slow = bot.start("resumer", **options, slow=600.0)
    other = reviewer.approve("wire")
    eventually(lambda: len(bot.effect) == 2)
    slow.kill()
    last = bot.start("resumer", **options)
    for _ in range(3):
        last.wait_for("scanned")
    assert len(set(bot.effect)) == len(bot.effect) == 2
    assert reviewer.client.get(other.id).state == "claimed"  # until its time is over; then unknown


@LONG
@pytest.mark.topology("killed while resuming")
def test_of_two_branches_the_next_resumer_runs_the_approved_one_alone(bot, reviewer, server, counted):
    options = {**PAUSED, "branches": 2}
    bot.start("start", **options).wait_for("ended")
    reviewer.wait_for(2)
    reviewer.deny("too much", "wire")
    approved = killed_before_the_claim(bot, reviewer, server, "resumer", **options)
    bot.start("resumer", **options)
    eventually(lambda: reviewer.client.get(approved.id).state == "succeeded")
    eventually(lambda: asyncio.run(waiting(bot.folder)) == [])
    counted(bot.effect, by=lambda arguments: f"s1 {arguments['to']}")
