"""The store of stopped runs: whole after a crash, one process at a time, and nothing unreadable hides the rest."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import placet
from placet.kept import FileRuns, RunStore

KEYS = ["chat-9", "../../etc/passwd", "", "ü" * 300, "a\ud800b"]


@pytest.fixture
def runs(tmp_path):
    return FileRuns(tmp_path / "runs")


@pytest.mark.parametrize("key", KEYS, ids=range(len(KEYS)))
def test_a_run_is_found_under_any_key_and_stays_in_its_folder(runs, tmp_path, key):
    runs.put(key, {"state": "ä\ud800"})
    runs.put(key, {"state": [1]})
    assert (runs.get(key), runs.list()) == ({"state": [1]}, [key])
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    runs.delete(key)
    runs.delete(key)
    assert (runs.get(key), runs.list(), list(runs.folder.iterdir())) == (None, [], [])


def test_what_cannot_be_written_leaves_the_old_run_and_nothing_else(runs):
    runs.put("k", {"state": 1})
    with pytest.raises(TypeError):
        runs.put("k", {"state": object()})
    assert (runs.get("k"), len(list(runs.folder.iterdir()))) == ({"state": 1}, 1)


def test_a_crash_before_the_rename_leaves_the_old_run(runs, monkeypatch):
    runs.put("k", {"state": 1})
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("the power is gone")))
    with pytest.raises(OSError, match="power"):
        runs.put("k", {"state": 2})
    assert (runs.get("k"), runs.list()) == ({"state": 1}, ["k"])


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"key": 1, "run": {}}', b'{"key": "other", "run": {}}', b"\xff"])
def test_a_file_that_is_no_run_is_left_out_and_hides_no_other(runs, text):
    runs.put("k", {"state": 1})
    (runs.folder / f"{'0' * 40}.json").write_bytes(text)
    assert runs.list() == ["k"]


def test_one_takes_a_run_at_a_time_and_each_run_has_a_lock_of_its_own(runs):
    with runs.take("a") as first, runs.take("a") as second, runs.take("b") as other:
        assert (first, second, other) == (True, False, True)
    with runs.take("a") as again:
        assert again
    assert list(runs.folder.iterdir()) == []


def test_the_lock_of_a_killed_process_ends_with_it(runs):
    program = f"""
from placet.kept import FileRuns
with FileRuns({str(runs.folder)!r}).take("a") as mine:
    print(mine, flush=True)
    input()
"""
    path = os.pathsep.join([str(Path(placet.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    ran = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert ran.stdout.readline() == "True\n"
    with runs.take("a") as mine:
        assert not mine
    ran.send_signal(signal.SIGKILL)
    ran.communicate()
    with runs.take("a") as mine:
        assert mine


def test_it_is_a_store_and_other_things_are_not(runs):
    assert isinstance(runs, RunStore)
    assert not isinstance({}, RunStore)
