"""The tools of the agents behind the proxy. Who is asked about a call is up to the framework that is given them."""

from __future__ import annotations

import asyncio
from typing import Any

from .serve import effect


def delete_file(path: str, size: int = 0) -> dict[str, Any]:
    """Deletes a file."""
    return effect("delete_file", path=path, size=size)


def pay(to: str, amount: int) -> dict[str, Any]:
    """Sends money."""
    return effect("pay", to=to, amount=amount)


async def migrate(table: str) -> dict[str, Any]:
    """Migrates a table, which takes a while."""
    done = effect("migrate", table=table)
    await asyncio.sleep(2)
    return done


def read_file(path: str) -> dict[str, Any]:
    """Reads a file."""
    return effect("read_file", path=path)


GATED = (delete_file, pay, migrate)
"""What a person must confirm. Nobody is asked about `read_file`."""
