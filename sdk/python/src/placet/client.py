"""The two clients: the same calls, one for asyncio, one blocking."""

from .aio import AsyncClient
from .blocking import Client

__all__ = ["AsyncClient", "Client"]
