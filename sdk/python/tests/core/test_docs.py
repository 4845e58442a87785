"""What the documentation shows is true: its Python runs, in order, and the example does what it says."""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import placet
from placet import gating
from support.docs import paste_blocking, snippet

ROOT = Path(__file__).parents[4]


async def test_the_python_in_the_page_runs(placet_gateway, capsys):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/sdk/python.md").read_text(), re.S)
    assert len(blocks) >= 6
    placet_gateway.always("approve")
    names: dict = {}
    for block in blocks:
        # Blocks with an `await` go on this loop; the others wait as plain programs do.
        code = compile(block, "python.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if code.co_flags & inspect.CO_COROUTINE:
            await eval(code, names)
        else:
            await asyncio.to_thread(exec, code, names)
    await asyncio.to_thread(names["test_my_agent"], placet_gateway)
    assert "paid ann" in capsys.readouterr().out


async def test_the_python_that_the_dashboard_hands_out_waits_and_runs_once(server, reviewer, capsys):
    gating.forget_defaults()
    running = asyncio.create_task(asyncio.to_thread(paste_blocking, snippet("python")))
    seen = await reviewer.aapprove("delete_files")
    await running
    assert seen.arguments == {"files": ["report.md"]}
    assert capsys.readouterr().out == "deleting ['report.md']\n1\n"


def test_the_python_of_every_page_is_run_by_some_test():
    tests = "".join(file.read_text() for file in (ROOT / "sdk/python/tests").glob("*/test_*.py"))
    pages = [page for page in (ROOT / "docs/sdk").glob("*.md") if "```python" in page.read_text()]
    # The README shows the first lines of python.md.
    unread = {page.name for page in pages if f'blocks("{page.name}")' not in tests} - {"python.md", "README.md"}
    assert unread == set()


def test_the_options_of_the_page_are_the_options_of_the_gate():
    page = (ROOT / "docs/sdk/python.md").read_text()
    for name in inspect.signature(placet.gate).parameters:
        assert name == "fn" or f"`{name}`" in page, name


def test_the_example_does_what_it_says():
    ran = subprocess.run(
        [str(ROOT / "examples/python/try.sh")],
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.splitlines() == [
        "== two old files; ann keeps the report",
        "1 of 2 files are gone",
        "report.old",
        "== again; ann says no",
        "not done: denied, the audit is on Monday",
        "draft.old",
        "report.old",
        "== again; the script is killed while it waits, and started anew",
        "ann is still asked once",
        "2 of 2 files are gone",
    ]
