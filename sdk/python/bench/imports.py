"""How long `import placet` takes, and what a first call needs, beside the interpreter alone. In processor time, so that
whatever else the machine does is left out."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

CASES = {
    "the interpreter alone": "pass",
    "import placet": "import placet",
    "import placet; placet.gate": "import placet; placet.gate",
    "import placet; placet.AsyncClient()": "import placet; placet.AsyncClient(token='x')",
    "import httpx": "import httpx",
}


def processor_time(code: str) -> float:
    process = subprocess.Popen([sys.executable, "-c", code])
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0
    return used.ru_utime + used.ru_stime


times: dict[str, list[float]] = {name: [] for name in CASES}
for _ in range(15):
    for name, code in CASES.items():
        times[name].append(processor_time(code))
base = statistics.median(times["the interpreter alone"])
for name, found in times.items():
    median = statistics.median(found)
    print(f"{name:40} {median * 1000:7.1f} ms   {(median - base) * 1000:6.1f} ms above the interpreter")
