import os
import sys
from pathlib import Path

import agents

sys.path.insert(0, str(Path(__file__).parent))
# Nothing leaves this machine.
os.environ.setdefault("OPENAI_AGENTS_DISABLE_TRACING", "1")
agents.set_tracing_disabled(True)
