"""Which rank of how many this process is: the `distributedInfo` by which tools tell traces apart."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

from kinetograph.session.ranks import rank_from_environment
from kinetograph.trace.json_text import to_json

__all__ = ["distributed_info"]


def distributed_info() -> dict[str, Any] | None:
    """What torch.distributed knows if it is initialised, else what the launcher said; None when alone.

    Torch is asked only if the program has imported it.
    """
    return _from_torch(sys.modules.get("torch")) or _from_launcher()


def _from_torch(torch: Any) -> dict[str, Any] | None:
    try:
        groups = torch.distributed
        if not (groups.is_available() and groups.is_initialized()):
            return None
        return _groups_info(torch, groups)
    except Exception:  # not imported, half imported, another version: the launcher is asked then
        return None


def _groups_info(torch: Any, groups: Any) -> dict[str, Any]:
    backend = str(groups.get_backend())
    known = {"backend": backend, "rank": int(groups.get_rank()), "world_size": int(groups.get_world_size())}
    with suppress(Exception):  # internals change from one torch to the next; the rank is what matters
        known |= _internals(torch, groups, backend)
    return known


def _internals(torch: Any, groups: Any, backend: str) -> dict[str, Any]:
    info = {"pg_count": groups.get_pg_count(), "pg_config": groups.distributed_c10d._get_all_pg_configs()}
    if backend == "nccl":
        info["nccl_version"] = ".".join(map(str, torch.cuda.nccl.version()))
    to_json(info)  # raises if it cannot be written
    return info


def _from_launcher() -> dict[str, Any] | None:
    rank = rank_from_environment()
    if rank is None or rank.world_size is None or rank.number >= rank.world_size:
        return None
    return {"rank": rank.number, "world_size": rank.world_size}
