"""Fixtures for every test folder. The real server's binary is named by PLACET_BIN."""

from support import reviewer, server, standing_server

__all__ = ["reviewer", "server", "standing_server"]
