"""Our collector of Python calls."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import kinetograph as kg
from benchmarks.programs import MODULES
from benchmarks.traced import Traced, in_all_programs


def recording(calls: kg.CallOptions) -> Callable[[], AbstractContextManager[None]]:
    @contextmanager
    def session() -> Iterator[None]:
        config = kg.ProfilerConfig(with_stack=True, calls=calls)
        kg.enable_profiler(config, {kg.ActivityType.CPU}, all_threads=True)
        try:
            yield
        finally:
            kg.disable_profiler()

    return session


def contenders() -> list[Traced]:
    return [
        *in_all_programs("kinetograph", recording(kg.CallOptions())),
        *in_all_programs("kinetograph, C calls", recording(kg.CallOptions(c_calls=True))),
        *in_all_programs("kinetograph, min. 10 us", recording(kg.CallOptions(min_duration_ns=10_000))),
        *in_all_programs("kinetograph, all excluded", recording(kg.CallOptions(exclude=MODULES))),
    ]
