"""What the measurements share: a server, and percentiles."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support import Server


@contextmanager
def server(*settings: str) -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as folder, Server(Path(folder) / "data", settings=settings) as running:
        yield running


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def milliseconds(values: list[float]) -> str:
    return ", ".join(f"p{round(share * 100)} {percentile(values, share) * 1000:.2f} ms" for share in (0.5, 0.9, 0.99))
