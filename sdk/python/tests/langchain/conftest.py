import sys
from pathlib import Path

import pytest
from langchain_core.tools import tool

from support import Effects, Reviewer, Server

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def ran():
    return Effects()


@pytest.fixture
def delete(ran):
    @tool
    def delete(file: str) -> str:
        """Deletes."""
        ran(file)
        return f"{file} is gone"

    return delete


@pytest.fixture
def reviewer_of(tmp_path, monkeypatch):
    """The reviewer of a server that does not wait long for the report of a killed process."""
    with Server(tmp_path / "data", settings=("requests.report_window=1s",)) as server:
        monkeypatch.setenv("PLACET_URL", server.url)
        monkeypatch.setenv("PLACET_TOKEN", server.agent)
        with Reviewer(server.url, server.ann) as ann:
            yield ann
