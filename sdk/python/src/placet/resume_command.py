"""`python -m placet.resume module:name`: a resumer as a program of its own."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import inspect
import logging
import os
import signal
import sys
from typing import Any

from .errors import ConfigError, PlacetError
from .resume import Resumer

ADAPTERS = {"google.adk": "placet.adapters.adk", "langgraph": "placet.adapters.langgraph"}
"""Packages whose objects need no resumer around them: `adapter.Resumer(object)` makes it."""

ABOUT = """Goes on with paused runs when a person has decided, until it is stopped.

NAME is something in MODULE: a resumer, a function that makes one (async or not), or a google-adk Runner. The module is
found as `python -m` finds it: in the current folder first. PLACET_URL and PLACET_TOKEN say where the server is."""


def main(words: list[str] | None = None) -> int:
    """The exit code: 0 when it was stopped, 1 when a run failed (--once), 2 when it could not begin."""
    parser = argparse.ArgumentParser(
        "python -m placet.resume", description=ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", metavar="MODULE:NAME", help="for example my_agent:runner")
    parser.add_argument("--once", action="store_true", help="go on with what is decided now, and end")
    parser.add_argument("--verbose", action="store_true", help="also log why runs failed, with tracebacks")
    options = parser.parse_args(words)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("placet").setLevel(logging.DEBUG if options.verbose else logging.INFO)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        found = named(options.what)
        return asyncio.run(_main(found, options.what, options.once))
    except PlacetError as error:
        print(f"placet.resume: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def named(what: str) -> Any:
    """What `module:name` names."""
    module, colon, name = what.partition(":")
    if not (module and colon and name):
        raise ConfigError(f"`{what}` names nothing; give MODULE:NAME, for example my_agent:runner")
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and (module == error.name or module.startswith(f"{error.name}.")):
            raise ConfigError(f"there is no module `{module}` here ({os.getcwd()})") from error
        raise
    for part in name.split("."):
        if not hasattr(found, part):
            raise ConfigError(f"module `{module}` has no `{name}`")
        found = getattr(found, part)
    return found


async def made(found: Any, what: str) -> Resumer:
    """The resumer that this is, makes, or can be made from."""
    adapted = _adapted(found)
    if adapted is None and not isinstance(found, Resumer) and callable(found):
        found = found()
        if inspect.isawaitable(found):
            found = await found
        adapted = _adapted(found)
    found = found if adapted is None else adapted
    if not isinstance(found, Resumer):
        raise ConfigError(
            f"`{what}` is a {type(found).__name__}; give a resumer, a function that makes one, or a Runner"
        )
    return found


def _adapted(found: Any) -> Resumer | None:
    if isinstance(found, (Resumer, type)):
        return None
    for base in type(found).__mro__:
        for package, adapter in ADAPTERS.items():
            if f"{base.__module__}.".startswith(f"{package}."):
                resumer: Resumer = importlib.import_module(adapter).Resumer(found)
                return resumer
    return None


async def _main(found: Any, what: str, once: bool) -> int:
    resumer = await made(found, what)
    try:
        if once:
            progress = await resumer.once()
            went, waits, failed = len(progress.went_on), len(progress.waiting), len(progress.failed)
            print(f"{went} went on, {waits} wait, {failed} failed")
            return 1 if failed else 0
        with _signals(resumer):
            await resumer.run()
        return 0
    finally:
        await resumer.aclose()


@contextlib.contextmanager
def _signals(resumer: Resumer) -> Any:
    """The first SIGTERM or SIGINT stops in order; the second one at once."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    seen: list[int] = []

    def stop() -> None:
        seen.append(1)
        resumer.stop()
        if len(seen) > 1 and task is not None:
            task.cancel()

    wanted = (signal.SIGTERM, signal.SIGINT)
    with contextlib.suppress(NotImplementedError, RuntimeError):  # Windows has no such handlers; Ctrl-C still works
        for one in wanted:
            loop.add_signal_handler(one, stop)
    try:
        yield
    except asyncio.CancelledError:
        if len(seen) < 2:
            raise
    finally:
        with contextlib.suppress(NotImplementedError, RuntimeError):
            for one in wanted:
                loop.remove_signal_handler(one)
