"""The names of `kg.ondemand`."""

from __future__ import annotations

from kinetograph.ondemand.client import Client, register_client

__all__ = ["Client", "register_client"]
