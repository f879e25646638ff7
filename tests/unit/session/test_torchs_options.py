"""Options that a program made for torch.profiler, as several versions of PyTorch keep them."""

from __future__ import annotations

from typing import Any

import pytest

import kinetograph as kg
from kinetograph.session.profile_options import experimental_options


def config_of_torch(*state: Any) -> Any:
    kind = type(
        "_ExperimentalConfig", (), {"__module__": "torch._C._profiler", "__getstate__": lambda self: state}
    )
    return kind()


@pytest.mark.parametrize(
    "config",
    [
        config_of_torch(["a"], False, True, False, ["cycles"]),
        config_of_torch(["a"], False, True, False, False, ["cycles"]),
        config_of_torch(["a"], False, True, False, False, False, False, False, ["cycles"]),
        config_of_torch([b"a"], False, True, [b"cycles"], *[False] * 7, ""),
        config_of_torch([b"a"], False, True, [b"cycles"], *[False] * 7, "", False, False),
    ],
    ids=["2.4", "2.6", "2.8", "2.11", "2.13"],
)
def test_those_of_each_version_are_taken(config: Any) -> None:
    assert experimental_options(config) == kg.ExperimentalConfig(
        profiler_metrics=["a"], verbose=True, performance_events=["cycles"]
    )
