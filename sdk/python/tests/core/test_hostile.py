"""A server that lies, in every way we know, meets the blocking and the async gate: nothing runs."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from dataclasses import asdict

import httpx
import pytest

import placet
from placet import AsyncClient, Client
from support.hostile import CONTROLS, LARGEST, LIES, MODES, Ending, Hostile, everywhere, process

SETTINGS = {"timeout": 1.0, "outage_budget": 0.4}
HOLD_FOR = 1.5
ALL = [*CONTROLS, *LIES]
BIG = [mode for mode in LIES if "big" in mode.traits]
RAN = "the call ran"


@pytest.fixture(scope="module")
def hostile():
    server = Hostile()
    yield server
    server.close()


PATIENT = {mode.name for mode in [*CONTROLS, *BIG]} | {"other_tool", "other_kind_after_wait", "wait_about_another"}
"""What ends by itself has time: a busy machine must not end it in another way."""


def settings(url: str) -> dict[str, float]:
    return {"timeout": 20.0, "outage_budget": 1.0} if url.split("/")[-2] in PATIENT else SETTINGS


def hold_for(url: str) -> float:
    return HOLD_FOR if url.split("/")[-2] not in PATIENT or "stream" in url else 60.0


def gated(ending: Ending, client: Client | AsyncClient):
    @placet.gate(tool="delete_files", hold_for=hold_for(client.url), on_denied="raise", client=client)
    def delete(files: list[str], force: int) -> str:
        ending.ran.append((files, force))
        return RAN

    return delete


def blocking(url: str, ending: Ending) -> None:
    with Client(url, "plk_agent_x", **settings(url)) as client, placet.session("s1"):
        try:
            ending.said = gated(ending, client)(["a"], 7)
        except placet.PlacetError as error:
            ending.said = f"{type(error).__name__}: {error}"


async def on_a_loop(url: str, ending: Ending) -> None:
    async with AsyncClient(url, "plk_agent_x", **settings(url)) as client, placet.session("s1"):
        try:
            ending.said = await gated(ending, client).aio(["a"], 7)
        except placet.PlacetError as error:
            ending.said = f"{type(error).__name__}: {error}"


def play(how: str, url: str, ending: Ending) -> None:
    try:
        blocking(url, ending) if how == "blocking" else asyncio.run(on_a_loop(url, ending))
    except BaseException as error:
        ending.errors = f"{type(error).__name__}: {error}"


@pytest.fixture(scope="module", params=["blocking", "async"])
def endings(request, hostile):
    """Both gates, in every mode."""
    small = [mode for mode in ALL if "big" not in mode.traits]
    return everywhere(small, lambda mode, ending: play(request.param, hostile.at(mode, request.param), ending))


@pytest.fixture(scope="module", params=["blocking", "async"])
def child(request, hostile):
    """The modes that are about size, and an honest one, in one process whose memory is looked at."""
    ending = Ending()
    urls = [hostile.at(mode, f"{request.param}-child") for mode in [*BIG, *CONTROLS[:1]]]
    paths = os.pathsep.join(filter(None, sys.path))
    process([sys.executable, __file__, request.param, *urls], ending, PYTHONPATH=paths)
    return ending


@pytest.fixture
def children(child):
    return {name: Ending(**found) for name, found in json.loads(child.said).items()}


def refused(ending: Ending) -> None:
    assert ending.ended, "it did not come to an end"
    assert ending.errors == "", "an error that no caller expects"
    assert ending.ran == []
    assert ": " in ending.said
    assert RAN not in ending.said


@pytest.mark.parametrize("mode", [mode.name for mode in CONTROLS])
def test_an_honest_answer_runs_the_call_once(endings, mode):
    ending = endings[mode]
    assert (ending.said, ending.errors) == (RAN, "")
    assert ending.ran == [(["edited"] if mode == "honest_edit" else ["a"], 7)]


@pytest.mark.parametrize("mode", [mode.name for mode in LIES if "big" not in mode.traits])
def test_nothing_runs_on_a_lie(endings, mode):
    refused(endings[mode])


@pytest.mark.parametrize("mode", [mode.name for mode in BIG])
def test_nothing_runs_on_what_has_no_end(children, mode):
    refused(children[mode])


def test_memory_stays_bounded_however_much_is_sent(child, children):
    assert children["honest"].said == RAN
    assert child.resident < LARGEST


QUESTIONS = ["no_decision", "decision_deny", "digest_wrong", "decision_digest_wrong", "other_kind_same_digest"]
QUESTIONS += ["wait_about_another", "state_twice", "unknown_decision", "unknown_state", "stream_about_another"]


def confirmed(url: str) -> bool:
    with Client(url, "plk_agent_x", **settings(url)) as client:
        try:
            return client.confirm("Go live?", session="s1", hold_for=hold_for(url)).go
        except placet.WrongAnswer:
            return False


@pytest.mark.parametrize("mode", ["honest", "honest_after_wait"])
def test_an_honest_yes_to_a_confirmation_is_one(hostile, mode):
    assert confirmed(hostile.at(MODES[mode], "confirmation"))


@pytest.mark.parametrize("mode", QUESTIONS)
def test_a_lie_is_no_yes_to_a_confirmation(hostile, mode):
    assert not confirmed(hostile.at(MODES[mode], "confirmation"))


class Dribble(httpx.BaseTransport, httpx.SyncByteStream):
    """A transport of somebody else, whose answers do not end."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "application/json"}, stream=self)

    def __iter__(self):
        while True:
            time.sleep(0.01)
            yield b" "


def test_a_transport_that_knows_no_deadline_has_one():
    with Client("http://placet.test", "plk_agent_x", timeout=0.1, outage_budget=0.1, transport=Dribble()) as client:
        assert client.hold(placet.Call("t", {}, "s1")).status == "unreachable"


@pytest.mark.parametrize(
    ("mode", "sentence"),
    [
        ("other_tool", "what was approved is not what was asked for here"),
        ("other_kind_after_wait", "what was approved is not what was asked for here"),
        ("wait_about_another", "WrongAnswer: the server answered about another request"),
    ],
)
def test_what_is_wrong_with_an_answer_is_said(endings, mode, sentence):
    assert sentence in endings[mode].said


@pytest.mark.parametrize(("mode", "sentence"), [("endless_body", "longer than 4 MiB"), ("gzip_bomb", "packed (gzip)")])
def test_what_is_wrong_with_an_answer_that_is_too_much_is_said(children, mode, sentence):
    assert sentence in children[mode].said


def test_a_key_is_never_carried_to_another_host(endings, hostile):
    assert hostile.seen("honest", "stolen") == []


if __name__ == "__main__":
    _, how, *urls = sys.argv
    by_name = {url.split("/")[-2]: url for url in urls}
    met = everywhere([MODES[name] for name in by_name], lambda mode, ending: play(how, by_name[mode.name], ending))
    print(json.dumps({name: asdict(ending) for name, ending in met.items()}))
