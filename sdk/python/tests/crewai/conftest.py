"""CrewAI without a network and without a home of its own; its model is scripted."""

from __future__ import annotations

import os
import tempfile

# Read when CrewAI is imported.
os.environ.update(
    CREWAI_DISABLE_TELEMETRY="true",
    CREWAI_TRACING_ENABLED="false",
    OTEL_SDK_DISABLED="true",
    CREWAI_STORAGE_DIR=tempfile.mkdtemp(prefix="placet-crewai-"),
)
