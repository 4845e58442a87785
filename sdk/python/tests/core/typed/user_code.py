"""What a program sees of the package, for type checkers. It is checked, and never run.

A line that ends with `# error` must be one for mypy and for pyright; no other line may be.
"""

from collections.abc import Coroutine
from typing import Any

from typing_extensions import assert_type

import placet
from placet import Refusal, Waiting
from placet.adapters.adk import before_tool, tool


@placet.gate
def pay(to: str, cents: int) -> int:
    return cents


@placet.gate(risk="high", on_denied="raise")
def raising(to: str) -> int:
    return len(to)


@placet.gate(tool="bank/transfer", allowed=("approve", "deny"), on_outage="pause")
async def transfer(to: str) -> str:
    return to


@placet.gate(on_denied="raise")
async def raising_transfer(to: str) -> str:
    return to


class Shop:
    @placet.gate(on_denied="raise")
    def sell(self, what: str) -> int:
        return len(what)

    @placet.gate
    async def deliver(self, what: str) -> int:
        return len(what)


def a_refusal_is_part_of_the_result() -> None:
    assert_type(pay("ann", cents=5), int | Refusal)
    paid = pay("ann", 5)
    if not isinstance(paid, int):
        assert_type(paid["request"], str | None)
        print(paid["status"] == "denied", paid["message"], paid.get("reason"))
        paid["statuss"]  # error
    pay("ann", 5) + 1  # error
    pay("ann", "five")  # error
    pay("ann")  # error


def raised_it_is_not() -> None:
    assert_type(raising("ann"), int)
    assert_type(Shop().sell("milk"), int)
    Shop().sell(7)  # error


async def async_functions_stay_so() -> None:
    assert_type(await transfer("ann"), str | Refusal)
    assert_type(await raising_transfer("ann"), str)
    assert_type(await Shop().deliver("milk"), int | Refusal)
    assert_type(await pay.aio("ann", 5), int | Refusal)
    assert_type(await raising.aio("ann"), int)
    coming: Coroutine[Any, Any, int] = raising.aio("ann")
    await coming
    await raising.aio(5)  # error
    transfer("ann").upper()  # error


def words_are_checked() -> None:
    placet.gate(risk="hgih")  # error
    placet.gate(on_denied="ignore")  # error
    placet.gate(on_outage="allow")  # error
    placet.gate(allowed=("aprove",))  # error
    placet.gate(hold_four=5)  # error
    placet.Client(on_outage="allow")  # error
    placet.Call("t", {}, "s", risk="hgih")  # error


def tell(waiting: Waiting) -> None:
    print(waiting.tool, waiting.url)
    if waiting.why == "gone":  # error
        print("never")


async def atell(waiting: Waiting) -> None: ...


def five(to: str) -> int:
    return 5


async def afive(to: str) -> int:
    return 5


def clients(call: placet.Call) -> None:
    client = placet.Client(on_waiting=tell)
    assert_type(client.run(call, five), int | Refusal)
    assert_type(client.run(call, five, on_denied="raise"), int)
    assert_type(client.hold(call, then="leave").result(), Refusal)
    client.hold(call, then="wait")  # error
    client.decide("req_1", "aprove", digest="", version=1)  # error
    placet.Client(on_waiting="loud")  # error


async def async_clients(call: placet.Call) -> None:
    client = placet.AsyncClient(on_waiting=atell)
    assert_type(await client.run(call, afive), int | Refusal)
    assert_type(await client.run(call, five, on_denied="raise"), int)
    held = await client.hold(call)
    assert_type(held.url, str | None)
    if held.status == "aproved":  # error
        print("never")
    with placet.session("s"):
        await client.ask("Which?", "chioce")  # error
        await client.confirm("Now?", hold_fro=5)  # error
        assert_type((await client.confirm("Now?", risk="low", hold_for=5)).go, bool)


@tool
def credit(to: str, cents: int) -> str:
    return to


async def of_google_adk() -> None:
    assert_type(await credit("ann", 5), str | Refusal | dict[str, Any])
    await credit("ann")  # error
    tool(five, risk="hgih")  # error
    before_tool(mode="blok")  # error
