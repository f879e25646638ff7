"""Which process of a distributed job this is, by what launchers put into the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping

from kinetograph.session.values import Value

__all__ = ["Rank", "rank_from_environment"]

# torchrun; Open MPI; MPICH, Intel MPI; MVAPICH; PMIx; Slurm, whose variables are there for single tasks too.
_VARIABLES = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("PMIX_RANK", "PMIX_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)


class Rank(Value):
    """`world_size` is None where only the rank is known."""

    number: int = 0
    world_size: int | None = None


def rank_from_environment(environment: Mapping[str, str] = os.environ) -> Rank | None:
    """None for a program that is no part of a job, or the only process of one."""
    for rank_variable, size_variable in _VARIABLES:
        number = _whole(environment.get(rank_variable, ""))
        if number is not None:
            size = _whole(environment.get(size_variable, ""))
            return None if size == 1 else Rank(number, size)
    return None


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None
