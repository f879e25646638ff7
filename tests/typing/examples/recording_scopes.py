"""Scopes as context managers and decorators keep the types of what they wrap."""

from typing import assert_type

import kinetograph as kg


@kg.scope("double")
def double(number: int) -> int:
    return 2 * number


@kg.scope("fetch")
async def fetch(name: str) -> bytes:
    return name.encode()


async def everything() -> None:
    with kg.scope("all", step=3):
        assert_type(double(2), int)
        assert_type(await fetch("x"), bytes)
    kg.mark("done")
    kg.counter("queue", 3)


def window() -> None:
    kg.enable_profiler(kg.ProfilerConfig(), {kg.ActivityType.CPU}, all_threads=True)
    result = kg.disable_profiler()
    assert_type(result, kg.ProfilerResult)
    result.save("trace.json.gz")
