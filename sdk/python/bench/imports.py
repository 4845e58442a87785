"""How long `import placet` takes, and with it what a first call needs, beside the interpreter alone."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

CASES = {
    "the interpreter alone": "pass",
    "import placet": "import placet",
    "import placet; placet.gate": "import placet; placet.gate",
    "import placet; placet.AsyncClient()": "import placet; placet.AsyncClient(token='x')",
    "import httpx": "import httpx",
}
times = {name: [] for name in CASES}
for _ in range(15):
    for name, code in CASES.items():
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times[name].append(time.perf_counter() - began)
base = statistics.median(times["the interpreter alone"])
for name, found in times.items():
    median = statistics.median(found)
    print(f"{name:40} {median * 1000:7.1f} ms   {(median - base) * 1000:6.1f} ms above the interpreter")
