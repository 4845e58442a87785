"""Fixtures for every test folder. The real server's binary is named by PLACET_BIN."""

import pytest

# What is asserted there says what it saw, as it does in the tests.
pytest.register_assert_rewrite("support")

from support import reviewer, server, standing_server, stock
from support.topologies import counted, pytest_runtest_makereport

__all__ = ["counted", "pytest_runtest_makereport", "reviewer", "server", "standing_server", "stock"]
